/* A program made of policies: each is a step, and a message has one verdict in the end. */
#ifndef FANWEAVE_FABRIC_STEPS_H
#define FANWEAVE_FABRIC_STEPS_H

#include "message.h"

static __always_inline __u8 action_of(__u64 verdict)
{
	return (__u8)verdict;
}

/* The verdict so far and that of one more step. The first that changes something holds, but a
 * later redirection is a better place of the same data. Steps behind see where the message goes. */
static __always_inline __u64 joined(struct cxl_event *event, __u64 so_far, __u64 step)
{
	__u8 action = action_of(step);

	if (action == CXL_REDIRECT &&
	    (action_of(so_far) == CXL_PASS || action_of(so_far) == CXL_REDIRECT)) {
		event->island = (__u8)(step >> 8);
		return step;
	}
	return action_of(so_far) == CXL_PASS ? step : so_far;
}

#endif
