/* Queues of a network interface by what is left until a deadline.
 *
 * Decides: a transfer with less than `urgent_ns` left goes into queue 0, one with less than four
 * times as much into queue 1, all others and those without a deadline into queues 2 and 3, those
 * of priority 4 and more into 2. While an attention phase runs at a GPU, other phases' transfers
 * without a deadline go last. While a switch island asks a price for the memory of its object, a
 * transfer in queue 3 is held once, for `hold_ns` a token of the price.
 *
 * The host sets `.rodata.settings` and `price_at`, by movement: 1 more than the key of its price in
 * `island_prices`, or 0. It copies `phases` from GPUs and `island_prices` from islands;
 * their owners change them. `met` counts, by movement, what came in time, and what did not.
 */
#include "transfer.h"

#define MOVEMENTS 64
#define SOURCES 16
#define PHASE_ATTENTION 1
#define PHASES 3
#define PRICES 256

struct settings {
	__u32 urgent_ns;
	__u32 hold_ns;
	__u32 sources; /* Hosts that `phases` has entries of. */
};

const volatile struct settings settings SEC(".rodata.settings") = {
	.urgent_ns = 4000,
	.hold_ns = 100,
};

/* As GPUs have it, three entries each. */
struct phase {
	__u64 began_ns;
	__u64 spent_ns;
	__u64 epoch;
	__u32 active;
	__u32 reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SOURCES * PHASES);
	__type(key, __u32);
	__type(value, struct phase);
} phases SEC(".maps");

/* As `load_tokens` of an island has it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PRICES);
	__type(key, __u32);
	__type(value, __u32);
} island_prices SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MOVEMENTS);
	__type(key, __u32);
	__type(value, __u32);
} price_at SEC(".maps");

struct counts {
	__u64 in_time;
	__u64 late;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MOVEMENTS);
	__type(key, __u32);
	__type(value, struct counts);
} met SEC(".maps");

/* One GPU is asked: that which the transfer comes from. */
static __always_inline int attention_runs(const struct dpu_transfer *transfer)
{
	__u32 key = transfer->source * PHASES + PHASE_ATTENTION;
	struct phase *phase;

	if (transfer->source >= settings.sources)
		return 0;
	phase = bpf_map_lookup_elem(&phases, &key);
	return phase && phase->active;
}

static __always_inline __u8 queue_of(const struct dpu_transfer *transfer, __u64 now)
{
	__u64 left = transfer->deadline_ns > now ? transfer->deadline_ns - now : 0;

	if (transfer->deadline_ns) {
		if (left < settings.urgent_ns)
			return 0;
		return left < 4 * (__u64)settings.urgent_ns ? 1 : 2;
	}
	if (transfer->phase != PHASE_ATTENTION && attention_runs(transfer))
		return 3;
	return transfer->priority >= 4 ? 2 : 3;
}

static __always_inline __u32 price_of(const struct dpu_transfer *transfer)
{
	__u32 key = transfer->movement, *at = bpf_map_lookup_elem(&price_at, &key), *price;

	if (!at || !*at)
		return 0;
	key = *at - 1;
	price = bpf_map_lookup_elem(&island_prices, &key);
	return price ? *price : 0;
}

static __always_inline __u64 deadline_queue(struct dpu_transfer *transfer)
{
	__u64 now = bpf_ktime_get_ns();
	__u8 queue = queue_of(transfer, now);

	if (queue == 3 && !transfer->held) {
		__u64 wait = (__u64)price_of(transfer) * settings.hold_ns;

		if (wait)
			return dpu_hold(wait > MOST_HOLD_NS ? MOST_HOLD_NS : wait);
	}
	return dpu_send(queue);
}

static __always_inline void note_arrival(const struct dpu_transfer *transfer)
{
	__u32 key = transfer->movement;
	struct counts *counts = bpf_map_lookup_elem(&met, &key);

	if (!counts)
		return;
	if (transfer->deadline_ns && bpf_ktime_get_ns() > transfer->deadline_ns)
		counts->late += 1;
	else
		counts->in_time += 1;
}
