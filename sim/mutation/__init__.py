"""How many faults put into the RTL the tests find."""
