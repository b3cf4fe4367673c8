/* Telemetry of answers: a histogram of latencies, and samples in a ring buffer.
 *
 * Decides nothing about a message: all pass. Of answers, one in `sample_mask` + 1 becomes a
 * record, and each that took `slow_ns` or longer.
 *
 * The host sets `.rodata.settings`, at any time, and reads `records`. When it does not keep up,
 * records are lost, and `.bss.totals` says how many; no message waits. `latencies` counts answers
 * by the logarithm of their latency: number n is from 2^n to 2^(n+1) - 1 ns, number 0 below 2.
 */
#include "message.h"

#define BUCKETS 32

struct settings {
	__u32 sample_mask; /* A power of two less 1. */
	__u32 slow_ns;
};

const volatile struct settings settings SEC(".rodata.settings") = {
	.sample_mask = 63,
	.slow_ns = 1000,
};

struct totals {
	__u64 answers;
	__u64 lost; /* Records for which there was no room. */
};

struct totals totals SEC(".bss.totals");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BUCKETS);
	__type(key, __u32);
	__type(value, __u64);
} latencies SEC(".maps");

struct record {
	__u64 address;
	__u32 number; /* Of the answer. */
	__u32 latency_ns;
	__u16 tag;
	__u8 port; /* Of the device. */
	__u8 island; /* Of the host. */
	__u8 channel;
	__u8 opcode;
	__u8 dev_load;
	__u8 slow;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} records SEC(".maps");

static __always_inline __u32 log2_of(__u32 value)
{
	__u32 log = 0;

#pragma unroll
	for (int step = 16; step; step >>= 1) {
		if (value >> step) {
			value >>= step;
			log += step;
		}
	}
	return log;
}

/* A function of its own, so that the types of the object file have the record's. */
static __noinline void fill(struct record *record, const struct cxl_event *event, __u64 number)
{
	record->address = event->address;
	record->number = number;
	record->latency_ns = event->latency_ns;
	record->tag = event->tag;
	record->port = event->port;
	record->island = event->island;
	record->channel = event->channel;
	record->opcode = event->opcode;
	record->dev_load = event->dev_load;
	record->slow = event->latency_ns >= settings.slow_ns;
}

POLICY(telemetry)
{
	struct record *record;
	__u64 number, *count;
	__u32 bucket;

	if (!is_answer(event))
		return cxl_pass();
	number = __sync_fetch_and_add(&totals.answers, 1);
	bucket = log2_of(event->latency_ns);
	count = bpf_map_lookup_elem(&latencies, &bucket);
	if (count)
		__sync_fetch_and_add(count, 1);

	if (number & settings.sample_mask && event->latency_ns < settings.slow_ns)
		return cxl_pass();
	record = bpf_ringbuf_reserve(&records, sizeof(*record), 0);
	if (!record) {
		__sync_fetch_and_add(&totals.lost, 1);
		return cxl_pass();
	}
	fill(record, event, number);
	bpf_ringbuf_submit(record, 0);
	return cxl_pass();
}

POLICY_LICENSE("Dual BSD/GPL")
