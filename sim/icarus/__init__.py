"""The same Verilog in Icarus Verilog, so that no result hangs on one simulator."""
