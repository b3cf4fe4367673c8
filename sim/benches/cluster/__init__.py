"""The cluster in Verilator: whole programs, with outer memory and a host around it."""
