/* Start-up: stacks, units on, traps to the host, main, and its result to the host. */
#include <fanweave/cluster_map.h>

    .section .text.start, "ax"
    .globl _start
    .type _start, @function
_start:
    .option push
    .option norelax
    la gp, __global_pointer$
    .option pop
    li t0, 0x6600               /* floating point and vectors: initial, not off */
    csrs mstatus, t0
    la t0, trap_entry
    csrw mtvec, t0
    csrr a0, mhartid
    li t0, STACKS
    bgeu a0, t0, park           /* no stack */
    addi t1, a0, 1
    li t2, STACK_BYTES
    mul t1, t1, t2
    li sp, L1_BASE
    add sp, sp, t1
    mv s0, a0
    jal ra, main
    bnez s0, park
    slli a0, a0, 1
    ori a0, a0, 1
    li t0, HOST_TOHOST
    sw a0, 0(t0)
park:
    wfi
    j park
    .size _start, . - _start

    .globl trap_entry
    .type trap_entry, @function
    .balign 4
trap_entry:
    li t0, HOST_TRAP_CAUSE
    csrr t1, mcause
    sw t1, 0(t0)
    csrr t1, mepc
    sw t1, HOST_TRAP_PC - HOST_TRAP_CAUSE(t0)
    csrr t1, mtval
    sw t1, HOST_TRAP_VALUE - HOST_TRAP_CAUSE(t0)
    sw zero, HOST_TRAP_CODE - HOST_TRAP_CAUSE(t0)
1:  j 1b
    .size trap_entry, . - trap_entry
