/* How long kernels of each phase take: a histogram, and how many took longer than a bound.
 *
 * Decides nothing. The host sets `bounds`; a GPU has no section of constants. `durations`, by phase and the logarithm of
 * the time, number 32 p + n is phase p from 2^n to 2^(n+1) - 1 ns; `slow` counts by phase.
 */
#define BUCKETS 32

struct {
	__uint(type, BPF_MAP_TYPE_GPU_ARRAY_MAP);
	__uint(max_entries, PHASES);
	__type(key, __u32);
	__type(value, __u64);
} bounds SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_GPU_ARRAY_MAP);
	__uint(max_entries, PHASES * BUCKETS);
	__type(key, __u32);
	__type(value, __u64);
} durations SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_GPU_ARRAY_MAP);
	__uint(max_entries, PHASES);
	__type(key, __u32);
	__type(value, __u64);
} slow SEC(".maps");

static __always_inline void add_one(void *map, __u32 key)
{
	__u64 *count = bpf_map_lookup_elem(map, &key);

	if (count)
		__sync_fetch_and_add(count, 1);
}

static __always_inline void kernel_latency(__u32 phase, __u64 spent)
{
	__u64 rest = spent, *bound = bpf_map_lookup_elem(&bounds, &phase);
	__u32 bucket = 0;

	if (!spent || !bound)
		return;
#pragma unroll
	for (int step = 16; step; step >>= 1) {
		if (rest >> step) {
			rest >>= step;
			bucket += step;
		}
	}
	add_one(&durations, phase * BUCKETS + (bucket & (BUCKETS - 1)));
	if (spent > *bound)
		add_one(&slow, phase);
}
