/* What several policies ask of a message. */
#ifndef FANWEAVE_POLICIES_MESSAGE_H
#define FANWEAVE_POLICIES_MESSAGE_H

#include <fanweave/cxl.h>

/* Ports that an event can name. */
#define PORTS 256
/* A cache line has 64 bytes. */
#define LINE_SHIFT 6
/* Each host has addresses of its own, so its port stands above them. */
#define PORT_SHIFT 56
#define ADDRESS_MASK ((1ULL << PORT_SHIFT) - 1)

/* A prefix of port and address, the first byte first, as tries want it. */
struct place {
	__u32 bits;
	__u32 high;
	__u32 low;
};

#define PLACE_BITS 64

/* Prefixes that a trie of a policy has room for. */
#ifndef PREFIXES
#define PREFIXES 64
#endif

/* A policy is a program of its own, or, with POLICY_STEP, a step of a larger one. */
#ifdef POLICY_STEP
#define POLICY(name) static __always_inline __u64 name(struct cxl_event *event)
#define POLICY_LICENSE(text)
#else
#define POLICY(name) SEC("cxl") __u64 name(struct cxl_event *event)
#define POLICY_LICENSE(text) char LICENSE[] SEC("license") = text;
#endif

static __always_inline int is_read(const struct cxl_event *event)
{
	return event->channel == CXL_CHANNEL_M2S_REQ &&
	       (event->opcode == CXL_REQ_MEM_RD || event->opcode == CXL_REQ_MEM_RD_DATA);
}

static __always_inline int is_write(const struct cxl_event *event)
{
	return event->channel == CXL_CHANNEL_M2S_RWD &&
	       (event->opcode == CXL_RWD_MEM_WR || event->opcode == CXL_RWD_MEM_WR_PTL);
}

static __always_inline int is_request(const struct cxl_event *event)
{
	return event->channel == CXL_CHANNEL_M2S_REQ || event->channel == CXL_CHANNEL_M2S_RWD;
}

static __always_inline int is_answer(const struct cxl_event *event)
{
	return event->channel == CXL_CHANNEL_S2M_NDR || event->channel == CXL_CHANNEL_S2M_DRS;
}

/* Number of a host's block of 2^shift bytes, different for each port of entry. */
static __always_inline __u64 block_of(const struct cxl_event *event, __u32 shift)
{
	return (__u64)event->port << PORT_SHIFT | (event->address & ADDRESS_MASK) >> (shift & 63);
}

static __always_inline struct place place_of(const struct cxl_event *event)
{
	__u64 block = block_of(event, 0);
	struct place place = {
		.bits = PLACE_BITS,
		.high = bpf_htonl((__u32)(block >> 32)),
		.low = bpf_htonl((__u32)block),
	};

	return place;
}

#endif
