/* Products of many rows in one instruction, where rows of weights lie one behind the other. */
#ifndef FANWEAVE_VENTAGLIO_ROWS_H
#define FANWEAVE_VENTAGLIO_ROWS_H

#include "ventaglio.h"

#define BLOCK 256 /* weights, in sixteen registers; their indices fill one */
#define SCALARS 0
#define BLOCK_SCALARS 16 /* that one register has */
#define BLOCK_INDICES 4
#define BLOCK_WEIGHTS 8
#define SUMS0 24
#define SUMS1 28
#define LOAD_REGISTERS(count, first, pointer) \
  __asm__ volatile("vl%0re32.v v%1, (%2)" : : "i"(count), "i"(first), "r"(pointer) : "memory")
#define LOAD_SCALARS(pointer) LOAD_REGISTERS(1, SCALARS, pointer)

/* One product of `rows` rows, whose scalars are that part of those that were loaded. */
#define MULTIPLY_BLOCK(sums, rows, part) \
  VFXMACC_ROWS(sums, rows, BLOCK_WEIGHTS, part, BLOCK_INDICES)

/* A block follows the one before it into the same registers, word by word. */
static inline void load_block(const float **w, const uint32_t **indices) {
  LOAD_REGISTERS(1, BLOCK_INDICES, *indices);
  LOAD_REGISTERS(8, BLOCK_WEIGHTS, *w);
  LOAD_REGISTERS(8, BLOCK_WEIGHTS + 8, *w + BLOCK / 2);
  *w += BLOCK;
  *indices += BLOCK / 16;
}

/* The first scalars and the first block, if there are as many; they come while it is found out which
 * rows they are, and while Ventaglio is configured. */
static inline int load_first(const struct arguments *here) {
  const float *w = here->w;
  const uint32_t *indices = here->indices;
  if (here->k * row_weights(here) < BLOCK)
    return 0;
  LOAD_SCALARS(here->a);
  load_block(&w, &indices);
  return 1;
}

/* Whether blocks of so many rows hold all rows of weights: these have a whole number of words of
 * indices then. Without a division, which takes as long as a block. */
static inline int cut_by(size_t rows, const struct arguments *here) {
  return row_weights(here) == BLOCK / rows && !(here->k & (rows - 1));
}

#endif
