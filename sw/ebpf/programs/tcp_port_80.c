/* Returns 1 if a TCP packet comes from or goes to port 80, else 0. */
#include "frame.h"

#define PORT 80

SEC("frame")
__u64 tcp_port_80(const struct frame *frame)
{
	const struct ipv4 *ipv4 = ipv4_of(frame);
	const struct tcp *tcp = ipv4 ? tcp_of(ipv4) : NULL;

	return tcp && (tcp->source == bpf_htons(PORT) || tcp->destination == bpf_htons(PORT));
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
