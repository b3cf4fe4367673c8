/* A token bucket that follows the load of devices (DevLoad).
 *
 * Each host's port earns tokens in the switch; a delayed message waits until there are as many as
 * its verdict takes. This program sets the price. Decides: a request to an island with a price
 * is delayed for price times the weight of its host; one to an island without a price passes, and
 * so do answers.
 *
 * Prices follow what devices say in their answers: a light load takes `step` off, an optimal one
 * leaves it, a moderate overload adds `step`, and a severe one doubles it; from 0 to `most`.
 *
 * The host sets `.rodata.settings` and `weights`, by port (0 counts as 1), at any time; `prices`,
 * by island, begin at 0. Two engines may take one step instead of two; the next answer mends it.
 */
#include "message.h"

struct settings {
	__u32 step; /* Tokens. */
	__u32 most; /* Tokens; together with a weight less than 2^32. */
};

const volatile struct settings settings SEC(".rodata.settings") = {
	.step = 4,
	.most = 256,
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PORTS);
	__type(key, __u32);
	__type(value, __u32);
} prices SEC(".maps"), weights SEC(".maps");

static __always_inline __u32 next_price(__u32 price, __u8 load)
{
	__u32 step = settings.step, most = settings.most, rise;

	if (load == CXL_LOAD_OPTIMAL)
		return price;
	if (load == CXL_LOAD_LIGHT)
		return price > step ? price - step : 0;
	rise = load == CXL_LOAD_MODERATE_OVERLOAD || price < step ? step : price;
	/* Without a sum that could go beyond 32 bits. */
	return price < most && rise < most - price ? price + rise : most;
}

POLICY(load_tokens)
{
	/* The device is where a request goes and where an answer comes from. */
	__u32 island = is_answer(event) ? event->port : event->island;
	__u32 port = event->port, *price, *weight;

	if (!is_answer(event) && !is_request(event))
		return cxl_pass();
	price = bpf_map_lookup_elem(&prices, &island);
	if (!price)
		return cxl_pass();
	if (is_answer(event)) {
		*price = next_price(*price, event->dev_load);
		return cxl_pass();
	}
	if (!*price)
		return cxl_pass();
	weight = bpf_map_lookup_elem(&weights, &port);
	if (weight && *weight)
		return cxl_delay(*price * *weight);
	return cxl_delay(*price);
}

POLICY_LICENSE("Dual BSD/GPL")
