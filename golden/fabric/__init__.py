"""The semantic movement graph: what moves in a fabric of devices, and what is wanted of it."""
