/* The context of programs for packets: the first bytes of an Ethernet frame, filled up with zeros.
 *
 * All headers fit: 14 bytes of Ethernet, 4 of a VLAN tag, and 60 each of IPv4 and TCP with as many
 * options as there can be. So no length has to be compared, and a header that is cut off is zeros.
 */
#ifndef FANWEAVE_PROGRAMS_FRAME_H
#define FANWEAVE_PROGRAMS_FRAME_H

#include <fanweave/bpf.h>

#define FRAME_BYTES 144

#define TYPE_IPV4 0x0800
#define TYPE_VLAN 0x8100
#define PROTOCOL_TCP 6

struct ethernet {
	__u8 destination[6];
	__u8 source[6];
	__u16 type;
};

struct vlan {
	__u16 tag;
	__u16 type;
};

struct ipv4 {
	__u8 version_length; /* Length in words of 4 bytes. */
	__u8 service;
	__u16 total_length;
	__u16 identification;
	__u16 fragment; /* The last 13 bits: offset. */
	__u8 time_to_live;
	__u8 protocol;
	__u16 checksum;
	__u32 source;
	__u32 destination;
};

struct tcp {
	__u16 source;
	__u16 destination;
	__u32 sequence;
	__u32 acknowledgement;
	__u8 length; /* In words of 4 bytes, in the upper half. */
	__u8 flags;
	__u16 window;
	__u16 checksum;
	__u16 urgent;
};

struct frame {
	struct ethernet ethernet;
	__u8 payload[FRAME_BYTES - sizeof(struct ethernet)];
};

_Static_assert(sizeof(struct frame) == FRAME_BYTES, "frame");

/* The IPv4 header, behind one VLAN tag or none; null if the frame has none. */
static __always_inline const struct ipv4 *ipv4_of(const struct frame *frame)
{
	const struct vlan *vlan = (const void *)frame->payload;

	if (frame->ethernet.type == bpf_htons(TYPE_IPV4))
		return (const void *)frame->payload;
	if (frame->ethernet.type == bpf_htons(TYPE_VLAN) && vlan->type == bpf_htons(TYPE_IPV4))
		return (const void *)(vlan + 1);
	return NULL;
}

/* The TCP header of a first fragment; null if the packet is another or malformed. */
static __always_inline const struct tcp *tcp_of(const struct ipv4 *ipv4)
{
	__u32 length = (ipv4->version_length & 15) * 4;

	if (ipv4->protocol != PROTOCOL_TCP || ipv4->fragment & bpf_htons(0x1fff) ||
	    length < sizeof(*ipv4))
		return NULL;
	return (const void *)ipv4 + length;
}

#endif
