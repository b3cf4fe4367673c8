/* Hot pages, counted by a count-min sketch (Cormode and Muthukrishnan, 2005).
 *
 * Decides what `hot_pages` does, in memory that does not grow with the pages in use: each row has
 * a counter for a hash of the page, and the least of them is the estimate. It is never below the
 * true count, and with N uses in an epoch above it by more than e * N / WIDTH for one page in
 * e^ROWS. So a page may be called hot too early, never too late.
 *
 * The host sets `.rodata.settings`, at any time. Before it begins a new epoch it fills the value
 * of `sketches` that this epoch will use, number `epoch & 1`, with zeros. `asked` holds the pages
 * that it was asked for, with their epochs.
 */
#include "message.h"

#define ROWS 4
#define WIDTH_BITS 9
#define WIDTH (1 << WIDTH_BITS)

struct settings {
	__u32 threshold; /* Uses that make a page hot; at least 1. */
	__u32 epoch;
	__u32 page_shift; /* Pages have 2^page_shift bytes. */
	__u32 target; /* Port of the near memory; what goes there already is not counted. */
};

const volatile struct settings settings SEC(".rodata.settings") = {
	.threshold = 64,
	.page_shift = 12,
};

struct sketch {
	__u32 counts[ROWS][WIDTH];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct sketch);
} sketches SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 128);
	__type(key, __u64);
	__type(value, __u32);
} asked SEC(".maps");

/* A hash is the upper bits of a product with an odd number (Dietzfelbinger and others, 1997). */
static const __u64 multipliers[ROWS] = {
	0x9e3779b97f4a7c15,
	0xc2b2ae3d27d4eb4f,
	0x165667b19e3779f9,
	0xd6e8feb86659fd93,
};

static __always_inline __u32 count_use(struct sketch *sketch, __u64 page)
{
	__u32 least = ~0U;

#pragma unroll
	for (int row = 0; row < ROWS; row++) {
		__u32 column = page * multipliers[row] >> (64 - WIDTH_BITS);
		__u32 count = __sync_fetch_and_add(&sketch->counts[row][column], 1) + 1;

		if (count < least)
			least = count;
	}
	return least;
}

POLICY(hot_pages_sketch)
{
	__u8 target = settings.target;
	struct sketch *sketch;
	__u32 epoch, half, *last;
	__u64 page;

	if (!(is_read(event) || is_write(event)) || event->island == target)
		return cxl_pass();

	epoch = settings.epoch;
	half = epoch & 1;
	sketch = bpf_map_lookup_elem(&sketches, &half);
	if (!sketch)
		return cxl_pass();
	page = block_of(event, settings.page_shift);
	if (count_use(sketch, page) < settings.threshold)
		return cxl_pass();

	/* An estimate may jump over the threshold, so the host was asked if this says so. */
	last = bpf_map_lookup_elem(&asked, &page);
	if (last && *last == epoch)
		return cxl_pass();
	bpf_map_update_elem(&asked, &page, &epoch, BPF_ANY);
	return cxl_promote(target);
}

POLICY_LICENSE("Dual BSD/GPL")
