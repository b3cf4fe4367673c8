/* What several templates of a DPU ask of a transfer. */
#ifndef FANWEAVE_FABRIC_TRANSFER_H
#define FANWEAVE_FABRIC_TRANSFER_H

#include <fanweave/dpu.h>

#define TENANTS 16
#define MOST_HOLD_NS 1000000

/* A prefix of tenant and address, the first byte first, as tries want it. */
struct range {
	__u32 bits;
	__u32 high;
	__u32 low;
};

static __always_inline struct range range_of(const struct dpu_transfer *transfer)
{
	__u64 place = (__u64)transfer->tenant << 56 | (transfer->address & ((1ULL << 56) - 1));
	struct range range = {
		.bits = 64,
		.high = bpf_htonl((__u32)(place >> 32)),
		.low = bpf_htonl((__u32)place),
	};

	return range;
}

static __always_inline int is_done(const struct dpu_transfer *transfer)
{
	return transfer->event == DPU_EVENT_DONE;
}

#endif
