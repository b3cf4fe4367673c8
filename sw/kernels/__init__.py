"""Programs for the cluster: their compiler, start-up code, kernels and checks."""
