/* Which phase a GPU is in, and for how long.
 *
 * Decides nothing. At the entry of a phase's kernel, `phases` says that it runs, since when, and
 * how often it began; at its exit, how long it took in all. One thread in a warp counts, and of
 * these the first that comes. Only this device changes `phases`; others copy it.
 *
 * The map is one for all threads of the GPU (1503) and the time is the GPU's (502), as bpftime has
 * them.
 */
#include <fanweave/bpftime.h>

#define PHASES 3

struct phase {
	__u64 began_ns;
	__u64 spent_ns;
	__u64 epoch;
	__u32 active;
	__u32 reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_GPU_ARRAY_MAP);
	__uint(max_entries, PHASES);
	__type(key, __u32);
	__type(value, struct phase);
} phases SEC(".maps");

static __always_inline void phase_begins(__u32 number)
{
	struct phase *phase = bpf_map_lookup_elem(&phases, &number);

	if (!phase || bpf_get_lane_id() != 0 || phase->active)
		return;
	phase->active = 1;
	phase->began_ns = bpf_get_globaltimer();
	phase->epoch += 1;
}

static __always_inline __u64 phase_ends(__u32 number)
{
	struct phase *phase = bpf_map_lookup_elem(&phases, &number);
	__u64 spent;

	if (!phase || bpf_get_lane_id() != 0 || !phase->active)
		return 0;
	phase->active = 0;
	spent = bpf_get_globaltimer() - phase->began_ns;
	phase->spent_ns += spent;
	return spent;
}
