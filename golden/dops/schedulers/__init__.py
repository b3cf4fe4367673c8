"""Schedulers behind one interface: each decides order and device of the operators of a pass."""
