"""The switch islands to the cycle: queues, credits, verdicts and devices, as the RTL has them."""
