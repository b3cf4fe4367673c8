/* Hot pages, counted exactly.
 *
 * Decides: a page whose reads and writes in an epoch reach `threshold` is to be moved to the
 * memory behind port `target`: its message passes, and the host is asked once an epoch. All other
 * messages pass.
 *
 * The host sets `.rodata.settings`, at any time; a new `epoch` makes all counts begin again,
 * without a walk over the map. It may read `pages`: the counts of the epoch that each page was
 * last used in. A page that is not used for long gives its place to another and is forgotten.
 */
#include "message.h"

struct settings {
	__u32 threshold; /* Uses that make a page hot; 0: no page is. */
	__u32 epoch;
	__u32 page_shift; /* Pages have 2^page_shift bytes. */
	__u32 target; /* Port of the near memory; what goes there already is not counted. */
};

const volatile struct settings settings SEC(".rodata.settings") = {
	.threshold = 64,
	.page_shift = 12,
};

struct use {
	__u32 epoch;
	__u32 count;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 512);
	__type(key, __u64);
	__type(value, struct use);
} pages SEC(".maps");

POLICY(hot_pages)
{
	__u8 target = settings.target;
	struct use *use;
	__u32 epoch;
	__u64 page;

	if (!(is_read(event) || is_write(event)) || event->island == target)
		return cxl_pass();

	epoch = settings.epoch;
	page = block_of(event, settings.page_shift);
	use = bpf_map_lookup_elem(&pages, &page);
	if (!use) {
		struct use none = { .epoch = epoch };

		/* Another engine may be faster; its count stays. */
		bpf_map_update_elem(&pages, &page, &none, BPF_NOEXIST);
		use = bpf_map_lookup_elem(&pages, &page);
		if (!use)
			return cxl_pass();
	}
	if (use->epoch != epoch) {
		use->count = 0;
		use->epoch = epoch;
	}
	/* Only the use that reaches it exactly, so that the host is asked once. */
	if (__sync_fetch_and_add(&use->count, 1) + 1 == settings.threshold)
		return cxl_promote(target);
	return cxl_pass();
}

POLICY_LICENSE("Dual BSD/GPL")
