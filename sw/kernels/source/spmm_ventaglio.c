/* Ventaglio: two output rows share each row of weights; 2:4 with LMUL 4, 1:4 with LMUL 2.
 *
 * With ROWS, one instruction multiplies as many rows of weights as fill sixteen registers, where
 * rows are short and lie one behind the other. */
#include "kernels.h"
#include "ventaglio_rows.h"

#define TILE 128 /* accumulators of a row */

/* Both rows: every pointer is advanced by a load, so a step takes six instructions, and
 * UNROLLED of them a counter. */
#define UNROLLED 4
static void two_rows(float *c, const float *a, const float *w, const uint32_t *indices,
                     const struct arguments *here, uint32_t weight_bytes) {
  uint32_t index_bytes = here->index_words * 4;
  uint32_t down = here->k * 4, up = 4 - down; /* a[m][k] to a[m + 1][k] to a[m][k + 1] */
#define STEP                                        \
  {                                                 \
    float s0, s1;                                   \
    P_VLX32_V_RRPOST(INDICES, indices, index_bytes); \
    P_VLE32_V_RRPOST(WEIGHTS, w, weight_bytes);     \
    P_FLW_RRPOST(s0, a, down);                      \
    P_FLW_RRPOST(s1, a, up);                        \
    VFXMACC_VRF(ROW0, WEIGHTS, INDICES, s0);        \
    VFXMACC_VRF(ROW1, WEIGHTS, INDICES, s1);        \
  }
  VVENTCLR();
  size_t left = here->k;
  for (; left >= UNROLLED; left -= UNROLLED) {
    STEP STEP STEP STEP
  }
  for (; left; left--)
    STEP
  STORE_ROW(c, ROW0);
  STORE_ROW(c + here->p, ROW1);
}

/* A last odd row. */
static void one_row(float *c, const float *a, const float *w, const uint32_t *indices,
                    const struct arguments *here, uint32_t weight_bytes) {
  uint32_t index_bytes = here->index_words * 4, next = 4;
  VVENTCLR();
  for (size_t left = here->k; left; left--) {
    float scalar;
    P_VLX32_V_RRPOST(INDICES, indices, index_bytes);
    P_VLE32_V_RRPOST(WEIGHTS, w, weight_bytes);
    P_FLW_RRPOST(scalar, a, next);
    VFXMACC_VRF(ROW0, WEIGHTS, INDICES, scalar);
  }
  STORE_ROW(c, ROW0);
}

static __attribute__((noinline)) void row_by_row(const struct arguments *here) {
  uint32_t n = here->n_sparse;
  size_t packed = row_weights(here), tile = TILE / 4 * n;
  configure(n, 1u << ROW0 | 1u << ROW1);
  for (size_t first = 0; first < packed; first += tile) {
    size_t elements = smaller(packed - first, tile);
    if (n == 2)
      SET_LENGTH(elements, "m4");
    else
      SET_LENGTH(elements, "m2");
    for (size_t m = 0; m < here->m; m += 2) {
      float *c = (float *)here->c + m * here->p + columns_of(first, n);
      const float *a = (const float *)here->a + m * here->k;
      const float *w = (const float *)here->w + first;
      const uint32_t *indices = here->indices + first / 16;
      if (m + 1 < here->m)
        two_rows(c, a, w, indices, here, packed * 4);
      else
        one_row(c, a, w, indices, here, packed * 4);
    }
  }
}

#ifdef ROWS
/* Two rows after two rows; for each block, one instruction for each of both. The next scalars are
 * loaded before the next weights, as the former are the first that may be written again; and what
 * begins the next two rows before the sums of these are stored, while the last products go on. */
#define ALL_ROWS_BY(rows)                                                                 \
  static __attribute__((noinline)) void all_rows_by_##rows(const struct arguments *here) {\
    const float *a = here->a, *w = here->w;                                               \
    const uint32_t *indices = here->indices;                                              \
    uint32_t k = here->k;                                                                 \
    w += BLOCK, indices += BLOCK / 16; /* that is on its way */                           \
    configure(here->n_sparse, 1u << SUMS0 | 1u << SUMS1);                                 \
    SET_LENGTH(BLOCK / rows, "m4");                                                       \
    float *c = here->c;                                                                   \
    for (uint32_t left = here->m; left; left -= 2) {                                      \
      const float *end = a + k;                                                           \
      VVENTCLR();                                                                         \
      for (;;) {                                                                          \
        MULTIPLY_BLOCK(SUMS0, rows, 0);                                                   \
        LOAD_SCALARS(a + k);                                                              \
        MULTIPLY_BLOCK(SUMS1, rows, 0);                                                   \
        a += rows;                                                                        \
        if (a == end)                                                                     \
          break;                                                                          \
        LOAD_SCALARS(a);                                                                  \
        load_block(&w, &indices);                                                         \
      }                                                                                   \
      if (left != 2) {                                                                    \
        a += k;                                                                           \
        w = here->w;                                                                      \
        indices = here->indices;                                                          \
        LOAD_SCALARS(a);                                                                  \
        load_block(&w, &indices);                                                         \
      }                                                                                   \
      STORE_ROW(c, SUMS0);                                                                \
      STORE_ROW(c + here->p, SUMS1);                                                      \
      c += 2 * here->p;                                                                   \
    }                                                                                     \
  }

ALL_ROWS_BY(16)
ALL_ROWS_BY(8)
ALL_ROWS_BY(4)
#endif

void kernel(const struct arguments *here) {
#ifdef ROWS
  if (here->p <= TILE && !(here->m & 1) && load_first(here)) {
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
