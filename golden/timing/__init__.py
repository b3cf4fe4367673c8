"""End-to-end timing of a model that serves requests: arrivals, batching, memory, metrics."""
