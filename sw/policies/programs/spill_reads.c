/* Reads of what lies twice, by what is open at the place of its home.
 *
 * Decides: a read of a range with a copy goes to the copy's island, while as many reads are open at
 * its own one as the limit of that one says. The switch weighs that for each read, so others that
 * go there find a place; a read of anything else, and all that is no read, passes.
 *
 * Limits follow what devices say in their answers: an overload takes `step` off, down to `least`,
 * a light load adds it, up to `most`; an optimal one leaves it.
 *
 * The host sets `.rodata.settings`, and `spills`: prefixes of port and address (8 bits and 56) of
 * ranges that are only read, and the island of the copy. `taken`, by island, is what its limit is
 * below `most`; it begins at 0. Two engines may take one step instead of two.
 */
#include "message.h"

struct settings {
	__u32 most; /* Reads; at least as many as `least`. */
	__u32 least;
	__u32 step;
};

const volatile struct settings settings SEC(".rodata.settings") = {
	.most = 56,
	.least = 16,
	.step = 4,
};

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, PREFIXES);
	__type(key, struct place);
	__type(value, __u32);
} spills SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PORTS);
	__type(key, __u32);
	__type(value, __u32);
} taken SEC(".maps");

static __always_inline __u32 next_taken(__u32 so_far, __u8 load)
{
	__u32 step = settings.step, room = settings.most - settings.least;

	if (load == CXL_LOAD_OPTIMAL)
		return so_far;
	if (load == CXL_LOAD_LIGHT)
		return so_far > step ? so_far - step : 0;
	/* Without a sum that could go beyond 32 bits. */
	return so_far < room && step < room - so_far ? so_far + step : room;
}

POLICY(spill_reads)
{
	/* The device is where a request goes and where an answer comes from. */
	__u32 island = is_answer(event) ? event->port : event->island, *copy, *less;
	struct place place;

	if (!is_answer(event) && !is_read(event))
		return cxl_pass();
	less = bpf_map_lookup_elem(&taken, &island);
	if (!less)
		return cxl_pass();
	if (is_answer(event)) {
		*less = next_taken(*less, event->dev_load);
		return cxl_pass();
	}
	place = place_of(event);
	copy = bpf_map_lookup_elem(&spills, &place);
	if (!copy || *copy == island)
		return cxl_pass();
	return cxl_spill(*copy, settings.most - *less);
}

POLICY_LICENSE("Dual BSD/GPL")
