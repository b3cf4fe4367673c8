/* Shares of tenants at a network interface.
 *
 * Decides: a transfer whose tenant has no share is rejected, and so is one outside of its tenant's
 * ranges. A tenant earns bytes at the rate of its share, and keeps at most `burst` of them; a
 * transfer takes its bytes, and one that finds less than nothing is held until there is something
 * again. So a tenant that sends more than its share delays nobody but itself.
 *
 * The host sets `shares`, by tenant, and `ranges`: prefixes of tenant and address (8 bits and 56).
 * `buckets`, by tenant, are what was earned; only this device changes them.
 */
#include "transfer.h"

struct share {
	__u64 bytes_per_ms; /* 0: as much as it likes. */
	__u64 burst; /* Bytes. */
	__u32 known; /* 1. */
	__u32 reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TENANTS);
	__type(key, __u32);
	__type(value, struct share);
} shares SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, PREFIXES);
	__type(key, struct range);
	__type(value, __u32);
} ranges SEC(".maps");

struct bucket {
	__s64 bytes;
	__u64 filled_ns;
	__u64 held;
	__u64 rejected;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TENANTS);
	__type(key, __u32);
	__type(value, struct bucket);
} buckets SEC(".maps");

#define NS_PER_MS 1000000

static __always_inline void fill_up(struct bucket *bucket, const struct share *share, __u64 now)
{
	__u64 earned = (now - bucket->filled_ns) * share->bytes_per_ms / NS_PER_MS;

	if (!bucket->filled_ns || bucket->bytes + (__s64)earned > (__s64)share->burst)
		bucket->bytes = share->burst;
	else
		bucket->bytes += earned;
	bucket->filled_ns = now;
}

static __always_inline __u64 tenant_share(struct dpu_transfer *transfer)
{
	__u32 tenant = transfer->tenant;
	struct range range = range_of(transfer);
	struct share *share = bpf_map_lookup_elem(&shares, &tenant);
	struct bucket *bucket = bpf_map_lookup_elem(&buckets, &tenant);
	__u64 now = bpf_ktime_get_ns(), wait;

	if (!share || !bucket)
		return dpu_reject();
	if (!share->known || !bpf_map_lookup_elem(&ranges, &range)) {
		bucket->rejected += 1;
		return dpu_reject();
	}
	if (!share->bytes_per_ms)
		return dpu_send(0);
	fill_up(bucket, share, now);
	if (bucket->bytes < 0) {
		bucket->held += 1;
		wait = (__u64)-bucket->bytes * NS_PER_MS / share->bytes_per_ms + 1;
		return dpu_hold(wait > MOST_HOLD_NS ? MOST_HOLD_NS : wait);
	}
	bucket->bytes -= transfer->bytes;
	return dpu_send(0);
}
