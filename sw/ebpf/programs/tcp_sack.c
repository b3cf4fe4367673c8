/* Returns 1 if a TCP packet acknowledges selectively (option 5, RFC 2018), else 0.
 *
 * Options that are malformed, or go on behind the header, end the search.
 */
#include "frame.h"

#define OPTION_END 0
#define OPTION_NOP 1
#define OPTION_SACK 5

static __always_inline __u64 has_sack(const __u8 *options, __u64 length)
{
	__u64 at = 0;

	/* Every turn takes a byte at least, so there is an end without a count of turns. */
	while (at < length) {
		__u8 kind = options[at];

		if (kind == OPTION_SACK)
			return 1;
		if (kind == OPTION_END)
			break;
		if (kind == OPTION_NOP) {
			at++;
			continue;
		}
		if (at + 1 >= length || options[at + 1] < 2)
			break;
		at += options[at + 1];
	}
	return 0;
}

SEC("frame")
__u64 tcp_sack(const struct frame *frame)
{
	const struct ipv4 *ipv4 = ipv4_of(frame);
	const struct tcp *tcp = ipv4 ? tcp_of(ipv4) : NULL;
	__u32 length;

	if (!tcp)
		return 0;
	length = (tcp->length >> 4) * 4;
	if (length <= sizeof(*tcp))
		return 0;
	return has_sack((const void *)(tcp + 1), length - sizeof(*tcp));
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
