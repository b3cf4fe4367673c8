"""Places the operators of a language model on heterogeneous devices and times the whole."""
