/* Access control by port, address range and opcode.
 *
 * Decides: a request is let through if the longest prefix of its port and address that there is a
 * grant for allows its opcode; all other requests are denied. Answers and back-invalidations pass:
 * they belong to what was let through.
 *
 * The host sets `grants`: bits of a prefix (8 are the port, then 56 of the address, so a naturally
 * aligned range of 2^n bytes has 64 - n), and the opcodes that it allows, bit n for opcode n. A
 * longer prefix overrides a shorter one, also with fewer opcodes. It may change them at any time.
 * `denied`, by port, counts what was refused.
 */
#include "message.h"

struct grant {
	__u16 req; /* Opcodes of requests without data. */
	__u16 rwd; /* Opcodes of requests with data. */
};

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, PREFIXES);
	__type(key, struct place);
	__type(value, struct grant);
} grants SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PORTS);
	__type(key, __u32);
	__type(value, __u64);
} denied SEC(".maps");

POLICY(access_control)
{
	__u32 port = event->port;
	struct grant *grant;
	struct place place;
	__u64 *count;

	if (!is_request(event))
		return cxl_pass();
	place = place_of(event);
	grant = bpf_map_lookup_elem(&grants, &place);
	if (grant) {
		__u32 allowed = event->channel == CXL_CHANNEL_M2S_REQ ? grant->req : grant->rwd;

		if (allowed >> (event->opcode & 31) & 1)
			return cxl_pass();
	}
	count = bpf_map_lookup_elem(&denied, &port);
	if (count)
		__sync_fetch_and_add(count, 1);
	return cxl_deny();
}

POLICY_LICENSE("Dual BSD/GPL")
