// Memories of the testbench: filled from, and written to, files named by plusargs, so that no
// word of them passes through Python. A memory whose file is not given reads as zero.

module fanweave_bench_memory #(
    parameter WIDTH = 32,
    parameter DEPTH = 1024,
    parameter ADDRESS = 10,
    parameter PLUSARG = "memory=%s"
) (
    input  wire [ADDRESS-1:0] address,
    output wire [WIDTH-1:0]   data
);
  reg [WIDTH-1:0] words [0:DEPTH-1];
  reg [8*4096-1:0] file;  // no string, so that it is plain Verilog for every simulator
  initial begin
    if ($value$plusargs(PLUSARG, file)) $readmemh(file, words);
  end
  assign data = words[address];
endmodule

// Writes one line for each result: cycle, elements, last, data; all hexadecimal.
module fanweave_bench_sink #(
    parameter WIDTH = 32
) (
    input wire             clk,
    input wire             valid,
    input wire [31:0]      cycle,
    input wire [7:0]       elements,
    input wire             last,
    input wire [WIDTH-1:0] data,
    input wire             close
);
  reg [8*4096-1:0] file;  // no string, so that it is plain Verilog for every simulator
  integer descriptor;
  initial begin
    descriptor = 0;
    if ($value$plusargs("results=%s", file)) descriptor = $fopen(file, "w");
  end
  always @(posedge clk) begin
    if (valid && descriptor != 0) $fdisplay(descriptor, "%h %h %h %h", cycle, elements, last, data);
    if (close && descriptor != 0) begin
      $fclose(descriptor);
      descriptor <= 0;
    end
  end
endmodule
