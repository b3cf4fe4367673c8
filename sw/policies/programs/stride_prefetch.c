/* Prefetch of streams with a constant stride.
 *
 * Decides nothing about a message: all pass. Reads of a host in one region are a stream. When the
 * distance from line to line was the same `confidence` times in a row, the line that is `distance`
 * strides ahead is advised, unless it lies in another region.
 *
 * The host sets `.rodata.settings`, at any time, and takes advice from the queue `prefetches`;
 * when it is full, the oldest one goes. `streams` are the histories of regions. Two engines that
 * see the same stream may mix its history up: that costs an advice, and nothing else hangs on it.
 */
#include "message.h"

struct settings {
	__u32 region_shift; /* Regions have 2^region_shift bytes. */
	__u32 confidence; /* Equal strides in a row that make a stream. */
	__u32 distance; /* Strides ahead. */
};

const volatile struct settings settings SEC(".rodata.settings") = {
	.region_shift = 16,
	.confidence = 2,
	.distance = 4,
};

struct stream {
	__u64 line; /* Of the last read. */
	__s64 stride; /* In lines. */
	__u32 confidence;
	__u32 reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 64);
	__type(key, __u64);
	__type(value, struct stream);
} streams SEC(".maps");

struct advice {
	__u64 address; /* Of the line. */
	__u8 port; /* Of the host. */
	__u8 island; /* Where the stream's reads go. */
	__u8 reserved[6];
};

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 64);
	__type(value, struct advice);
} prefetches SEC(".maps");

static __always_inline void advise(const struct cxl_event *event, __u64 line)
{
	struct advice advice = {
		.address = line << LINE_SHIFT,
		.port = event->port,
		.island = event->island,
	};

	/* A host that is late wants what is new. */
	bpf_map_push_elem(&prefetches, &advice, BPF_EXIST);
}

POLICY(stride_prefetch)
{
	__u32 shift = settings.region_shift & 63;
	__u64 line = event->address >> LINE_SHIFT, ahead, region;
	struct stream *stream;
	__s64 stride;

	if (!is_read(event))
		return cxl_pass();

	region = block_of(event, shift);
	stream = bpf_map_lookup_elem(&streams, &region);
	if (!stream) {
		struct stream first = { .line = line };

		bpf_map_update_elem(&streams, &region, &first, BPF_ANY);
		return cxl_pass();
	}
	stride = line - stream->line;
	if (!stride)
		return cxl_pass();
	stream->line = line;
	if (stride != stream->stride) {
		stream->stride = stride;
		stream->confidence = 1;
		return cxl_pass();
	}
	if (++stream->confidence < settings.confidence)
		return cxl_pass();

	ahead = line + stride * settings.distance;
	if (ahead << LINE_SHIFT >> shift == event->address >> shift)
		advise(event, ahead);
	return cxl_pass();
}

POLICY_LICENSE("Dual BSD/GPL")
