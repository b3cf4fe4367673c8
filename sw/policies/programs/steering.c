/* Steering of KV cache and FFN weights to islands, by longest prefix.
 *
 * Decides: a read or write of a range that has a route is redirected to the route's island, unless
 * it goes there already. A write that does is mirrored if the range has a copy, such as a prompt's
 * cache that another island decodes from. All other messages pass.
 *
 * The host sets `routes`: prefixes of port and address (8 bits and 56), and for each an island,
 * what lies there, and where the copy is. A longer prefix overrides a shorter one, so that a
 * layer, or a page of the cache, can live elsewhere than the rest. It may change them at any time,
 * when the data have moved. `traffic`, by kind, counts lines; number 0 is what has no route.
 */
#include "message.h"

enum kind {
	KIND_OTHER = 0,
	KIND_KV = 1,
	KIND_FFN = 2,
	KIND_ATTENTION = 3,
	KINDS = 4,
};

struct route {
	__u8 island;
	__u8 kind;
	__u8 has_copy; /* 0 or 1. */
	__u8 copy; /* Its island. */
};

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, PREFIXES);
	__type(key, struct place);
	__type(value, struct route);
} routes SEC(".maps");

struct lines {
	__u64 read;
	__u64 written;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, KINDS);
	__type(key, __u32);
	__type(value, struct lines);
} traffic SEC(".maps");

POLICY(steering)
{
	int reads = is_read(event);
	__u32 kind = KIND_OTHER;
	struct route *route;
	struct lines *lines;
	struct place place;

	if (!reads && !is_write(event))
		return cxl_pass();
	place = place_of(event);
	route = bpf_map_lookup_elem(&routes, &place);
	if (route)
		kind = route->kind;
	lines = bpf_map_lookup_elem(&traffic, &kind);
	if (lines)
		__sync_fetch_and_add(reads ? &lines->read : &lines->written, 1);
	if (!route)
		return cxl_pass();
	if (route->island != event->island)
		return cxl_redirect(route->island);
	if (!reads && route->has_copy)
		return cxl_mirror(route->copy);
	return cxl_pass();
}

POLICY_LICENSE("Dual BSD/GPL")
