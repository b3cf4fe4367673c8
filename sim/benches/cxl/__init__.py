"""Traffic through the CXL switch and its island, held against the model."""
