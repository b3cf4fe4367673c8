/* What Ventaglio's kernels share. Their vector registers are fixed; no intrinsics beside them. */
#ifndef FANWEAVE_VENTAGLIO_H
#define FANWEAVE_VENTAGLIO_H

#include <fanweave/ventaglio_isa.h>

#include "kernels.h"

#define ROW0 16
#define ROW1 20
#define WEIGHTS 8
#define INDICES 24

#define WRITE_CSR(number, value) \
  __asm__ volatile("csrw %0, %1" : : "i"(number), "r"(value) : "memory")
#define SET_LENGTH(elements, lmul) \
  __asm__ volatile("vsetvli zero, %0, e32, " lmul ", ta, ma" : : "r"(elements) : "memory")
#define LOAD_ROW(pointer, row) \
  __asm__ volatile("vle32.v v%1, (%0)" : : "r"(pointer), "i"(row) : "memory")
#define STORE_ROW(pointer, row) \
  __asm__ volatile("vse32.v v%1, (%0)" : : "r"(pointer), "i"(row) : "memory")

/* Blocks of 4 with 1 or 2 weights, indices of 2 bits. */
static inline void configure(uint32_t n_sparse, uint32_t mapped) {
  WRITE_CSR(CSR_VTLREG, mapped);
  WRITE_CSR(CSR_VTLIDXW, 1);
  WRITE_CSR(CSR_VTLBLKS, 2);
  WRITE_CSR(CSR_VTLRATIO, n_sparse == 2 ? 1 : 2);
}

/* Weights of a row, all of its tiles. */
static inline size_t row_weights(const struct arguments *here) {
  return here->p >> (3 - here->n_sparse);
}

/* Columns that so many weights belong to. */
static inline size_t columns_of(size_t weights, uint32_t n_sparse) {
  return weights << (3 - n_sparse);
}

static inline size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

#endif
