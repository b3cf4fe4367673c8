/* Balance of reads and writes on links that carry both directions at once.
 *
 * Data of reads come back while data of writes go out, so a link is used best when as many of both
 * are on their way. Decides: if an island has at least `window` more reads on their way than
 * writes, a read of a range with a copy elsewhere is redirected to the copy's island, if that one
 * is nearer to balance; else it is delayed for `tokens` while there are writes to let past. A
 * write is delayed in the opposite case, and never redirected: copies would differ.
 *
 * The host sets `.rodata.settings`, and `copies`: prefixes of port and address (8 bits and 56) of
 * ranges that are only read, and the island of the copy. `flows`, by island, are what is on its
 * way; they count requests and their answers, so an answer to a request from before the program
 * was loaded counts for nothing. Which request an answer without data belongs to is not known, so
 * all that are answered by Cmp count as writes.
 */
#include "message.h"

struct settings {
	__u32 window; /* Messages; at least 1. */
	__u32 tokens;
};

const volatile struct settings settings SEC(".rodata.settings") = {
	.window = 8,
	.tokens = 4,
};

struct flow {
	__s32 reads; /* Answered with data. */
	__s32 writes; /* Answered without. */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PORTS);
	__type(key, __u32);
	__type(value, struct flow);
} flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, PREFIXES);
	__type(key, struct place);
	__type(value, __u32);
} copies SEC(".maps");

static __always_inline int is_answered_by_cmp(const struct cxl_event *event)
{
	return event->channel == CXL_CHANNEL_M2S_REQ &&
	       (event->opcode == CXL_REQ_MEM_INV || event->opcode == CXL_REQ_MEM_INV_NT ||
		event->opcode == CXL_REQ_MEM_CLN_EVCT);
}

static __always_inline void finish(__s32 *count)
{
	if (*count > 0)
		__sync_fetch_and_add(count, -1);
}

/* The flow of the island with the copy, if there is one that is nearer to balance. */
static __always_inline struct flow *better(const __u32 *island, __s32 excess)
{
	struct flow *flow = bpf_map_lookup_elem(&flows, island);

	return flow && flow->reads - flow->writes < excess ? flow : NULL;
}

static __always_inline __u64 on_read(const struct cxl_event *event, struct flow *flow)
{
	__s32 excess = flow->reads - flow->writes;
	__u64 verdict = cxl_pass();

	if (excess >= (__s32)settings.window) {
		struct place place = place_of(event);
		__u32 *copy = bpf_map_lookup_elem(&copies, &place);
		struct flow *other = copy ? better(copy, excess) : NULL;

		if (other) {
			flow = other;
			verdict = cxl_redirect(*copy);
		} else if (flow->writes > 0) {
			verdict = cxl_delay(settings.tokens);
		}
	}
	__sync_fetch_and_add(&flow->reads, 1);
	return verdict;
}

static __always_inline __u64 on_write(struct flow *flow)
{
	__u64 verdict = cxl_pass();

	if (flow->reads > 0 && flow->writes - flow->reads >= (__s32)settings.window)
		verdict = cxl_delay(settings.tokens);
	__sync_fetch_and_add(&flow->writes, 1);
	return verdict;
}

POLICY(duplex_balance)
{
	__u32 island = is_answer(event) ? event->port : event->island;
	struct flow *flow = bpf_map_lookup_elem(&flows, &island);

	if (!flow)
		return cxl_pass();
	if (is_read(event))
		return on_read(event, flow);
	if (is_write(event))
		return on_write(flow);
	if (is_answered_by_cmp(event))
		__sync_fetch_and_add(&flow->writes, 1);
	else if (event->channel == CXL_CHANNEL_S2M_DRS)
		finish(&flow->reads);
	else if (event->channel == CXL_CHANNEL_S2M_NDR && event->opcode == CXL_NDR_CMP)
		finish(&flow->writes);
	return cxl_pass();
}

POLICY_LICENSE("Dual BSD/GPL")
