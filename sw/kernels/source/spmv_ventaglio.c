/* Ventaglio with one output row on the whole bank; 2:4 with LMUL 8, 1:4 with LMUL 4.
 *
 * With ROWS, one instruction multiplies as many rows of weights as fill sixteen registers, where
 * rows lie one behind the other; a load of scalars serves up to four of them. */
#include "kernels.h"
#include "ventaglio_rows.h"

#define TILE 256 /* accumulators of the row */

/* A row of a tile: a step takes four instructions, and UNROLLED of them a counter. */
#define UNROLLED 4
static void one_row(float *c, const float *a, const float *w, const uint32_t *indices,
                    const struct arguments *here, uint32_t weight_bytes) {
  uint32_t index_bytes = here->index_words * 4, next = 4;
#define STEP                                         \
  {                                                  \
    float scalar;                                    \
    P_VLX32_V_RRPOST(INDICES, indices, index_bytes); \
    P_VLE32_V_RRPOST(WEIGHTS, w, weight_bytes);      \
    P_FLW_RRPOST(scalar, a, next);                   \
    VFXMACC_VRF(ROW0, WEIGHTS, INDICES, scalar);     \
  }
  VVENTCLR();
  size_t left = here->k;
  for (; left >= UNROLLED; left -= UNROLLED) {
    STEP STEP STEP STEP
  }
  for (; left; left--)
    STEP
  STORE_ROW(c, ROW0);
}

static __attribute__((noinline)) void row_by_row(const struct arguments *here) {
  uint32_t n = here->n_sparse;
  size_t packed = row_weights(here), tile = TILE / 4 * n;
  configure(n, 1u << ROW0);
  for (size_t first = 0; first < packed; first += tile) {
    size_t elements = smaller(packed - first, tile);
    if (n == 2)
      SET_LENGTH(elements, "m8");
    else
      SET_LENGTH(elements, "m4");
    for (size_t m = 0; m < here->m; m++)
      one_row((float *)here->c + m * here->p + columns_of(first, n),
              (const float *)here->a + m * here->k, (const float *)here->w + first,
              here->indices + first / 16, here, packed * 4);
  }
}

#ifdef ROWS
#define NEXT_BLOCK(rows, part) \
  load_block(&w, &indices);    \
  MULTIPLY_BLOCK(SUMS0, rows, part);
#define OTHERS_1(rows)
#define OTHERS_2(rows) NEXT_BLOCK(rows, 1)
#define OTHERS_4(rows) OTHERS_2(rows) NEXT_BLOCK(rows, 2) NEXT_BLOCK(rows, 3)

/* All output rows from blocks of `rows` rows; `parts` blocks share a register of scalars. The first
 * block is on its way; that of the next output row comes before the sums of this one are stored. */
#define ALL_ROWS_BY(rows, parts)                                                           \
  static __attribute__((noinline)) void all_rows_by_##rows(const struct arguments *here) { \
    configure(here->n_sparse, 1u << SUMS0);                                                \
    SET_LENGTH(BLOCK / rows, "m8");                                                        \
    const float *a = here->a, *w = (const float *)here->w + BLOCK;                         \
    const uint32_t *indices = here->indices + BLOCK / 16;                                  \
    float *c = here->c;                                                                    \
    uint32_t left = here->m;                                                               \
    do {                                                                                   \
      const float *end = a + here->k;                                                      \
      VVENTCLR();                                                                          \
      for (;;) {                                                                           \
        MULTIPLY_BLOCK(SUMS0, rows, 0);                                                    \
        a += rows;                                                                         \
        if (a + rows * (parts - 1) <= end) {                                               \
          OTHERS_##parts(rows) a += rows * (parts - 1);                                    \
        }                                                                                  \
        if (a == end)                                                                      \
          break;                                                                           \
        LOAD_SCALARS(a);                                                                   \
        load_block(&w, &indices);                                                          \
      }                                                                                    \
      if (left != 1) {                                                                     \
        w = here->w;                                                                       \
        indices = here->indices;                                                           \
        LOAD_SCALARS(a);                                                                   \
        load_block(&w, &indices);                                                          \
      }                                                                                    \
      STORE_ROW(c, SUMS0);                                                                 \
      c += here->p;                                                                        \
    } while (--left);                                                                      \
  }

ALL_ROWS_BY(16, 1)
ALL_ROWS_BY(8, 2)
ALL_ROWS_BY(4, 4)
ALL_ROWS_BY(2, 4)
#endif

void kernel(const struct arguments *here) {
#ifdef ROWS
  if (here->p <= TILE && load_first(here)) {
    if (cut_by(2, here))
      return all_rows_by_2(here);
    if (cut_by(4, here))
      return all_rows_by_4(here);
    if (cut_by(8, here))
      return all_rows_by_8(here);
    if (cut_by(16, here))
      return all_rows_by_16(here);
  }
#endif
  row_by_row(here);
}
