/* Returns 1 if an IPv4 packet goes to 192.168.1.0/24, behind one VLAN tag or none, else 0. */
#include "frame.h"

#define SUBNET 0xc0a80100
#define MASK 0xffffff00

SEC("frame")
__u64 subnet(const struct frame *frame)
{
	const struct ipv4 *ipv4 = ipv4_of(frame);

	return ipv4 && (ipv4->destination & bpf_htonl(MASK)) == bpf_htonl(SUBNET);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
