// Bound into the top of every model built with waveforms. It counts rising clock edges from the
// start of the simulation and dumps only the cycles in [dump_from, dump_to]:
//     +dump_file=NAME +dump_from=CYCLE +dump_to=CYCLE
module fanweave_dump_window(input wire clk);
  /*verilator tracing_off*/
  string file;
  longint from, upto, cycle;
  bit on;
  initial begin
    cycle = 0;
    from = 0;
    upto = 64'h7fff_ffff_ffff_fffe;
    if ($value$plusargs("dump_from=%d", from)) begin end
    if ($value$plusargs("dump_to=%d", upto)) begin end
    if ($value$plusargs("dump_file=%s", file)) begin
      on = 1;
      $dumpfile(file);
      if (from == 0) $dumpvars(0);
    end
  end
  always @(posedge clk) begin
    cycle <= cycle + 1;
    if (on && from != 0 && cycle == from) $dumpvars(0);
    // There is no working $dumpoff here; closing the file is what happens at the end, too.
    if (on && cycle == upto + 1) begin
      on <= 0;
      $c("vlSymsp->_traceDumpClose();");
    end
  end
endmodule
