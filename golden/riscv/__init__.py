"""Golden model of the cluster: its cores instruction by instruction, its memory and devices."""
