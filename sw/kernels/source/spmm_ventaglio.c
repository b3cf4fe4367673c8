/* Ventaglio: two output rows share each row of weights; 2:4 with LMUL 4, 1:4 with LMUL 2.
 *
 * With ROWS, one instruction multiplies as many rows of weights as fill sixteen registers, where
 * rows are short and lie one behind the other. */
#include "kernels.h"
#include "ventaglio.h"

#define TILE 128 /* accumulators of a row */

/* Both rows: every pointer is advanced by a load, so a step takes eight instructions. */
static void two_rows(float *c, const float *a, const float *w, const uint32_t *indices,
                     const struct arguments *here, uint32_t weight_bytes) {
  uint32_t index_bytes = here->index_words * 4;
  uint32_t down = here->k * 4, up = 4 - down; /* a[m][k] to a[m + 1][k] to a[m][k + 1] */
  VVENTCLR();
  for (size_t left = here->k; left; left--) {
    float s0, s1;
    P_VLX32_V_RRPOST(INDICES, indices, index_bytes);
    P_VLE32_V_RRPOST(WEIGHTS, w, weight_bytes);
    P_FLW_RRPOST(s0, a, down);
    P_FLW_RRPOST(s1, a, up);
    VFXMACC_VRF(ROW0, WEIGHTS, INDICES, s0);
    VFXMACC_VRF(ROW1, WEIGHTS, INDICES, s1);
  }
  STORE_ROW(c, ROW0);
  STORE_ROW(c + here->p, ROW1);
}

#ifdef ROWS
#define BLOCK 256 /* weights; their indices fill a register */
#define SCALARS 0
#define BLOCK_INDICES 4
#define SUMS0 24
#define SUMS1 28
#define LOAD_REGISTERS(count, first, pointer) \
  __asm__ volatile("vl%0re32.v v%1, (%2)" : : "i"(count), "i"(first), "r"(pointer) : "memory")

/* Both rows; for each block, one instruction for each of them. */
#define TWO_ROWS_BY(rows)                                                                    \
  static void two_rows_by_##rows(float *c, const float *a, const struct arguments *here) {   \
    const float *w = here->w;                                                                \
    const uint32_t *indices = here->indices;                                                 \
    VVENTCLR();                                                                              \
    for (size_t left = here->k; left; left -= rows) {                                        \
      LOAD_REGISTERS(1, BLOCK_INDICES, indices);                                             \
      LOAD_REGISTERS(8, WEIGHTS, w);                                                         \
      LOAD_REGISTERS(8, WEIGHTS + 8, w + BLOCK / 2);                                         \
      LOAD_REGISTERS(1, SCALARS, a);                                                         \
      VFXMACC_ROWS(SUMS0, rows, WEIGHTS, BLOCK_INDICES);                                     \
      LOAD_REGISTERS(1, SCALARS, a + here->k);                                               \
      VFXMACC_ROWS(SUMS1, rows, WEIGHTS, BLOCK_INDICES);                                     \
      w += BLOCK;                                                                            \
      indices += BLOCK / 16;                                                                 \
      a += rows;                                                                             \
    }                                                                                        \
    STORE_ROW(c, SUMS0);                                                                     \
    STORE_ROW(c + here->p, SUMS1);                                                           \
  }

TWO_ROWS_BY(16)
TWO_ROWS_BY(8)
TWO_ROWS_BY(4)

/* All rows, if blocks cut them well; returns whether they do. */
static int by_blocks(const struct arguments *here, size_t packed) {
  size_t rows = BLOCK / packed;
  if (here->p > TILE || here->m & 1 || packed & 15 || rows * packed != BLOCK || here->k % rows)
    return 0;
  configure(here->n_sparse, 1u << SUMS0 | 1u << SUMS1);
  SET_LENGTH(packed, "m4");
  for (size_t m = 0; m < here->m; m += 2) {
    float *c = (float *)here->c + m * here->p;
    const float *a = (const float *)here->a + m * here->k;
    if (rows == 16)
      two_rows_by_16(c, a, here);
    else if (rows == 8)
      two_rows_by_8(c, a, here);
    else
      two_rows_by_4(c, a, here);
  }
  return 1;
}
#endif

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

void kernel(const struct arguments *here) {
  size_t n = here->n_sparse, packed = here->p / 4 * n, tile = TILE / 4 * n;
#ifdef ROWS
  if (by_blocks(here, packed))
    return;
#endif
  configure(n, 1u << ROW0 | 1u << ROW1);
  for (size_t first = 0; first < packed; first += tile) {
    size_t elements = smaller(packed - first, tile);
    if (n == 2)
      SET_LENGTH(elements, "m4");
    else
      SET_LENGTH(elements, "m2");
    for (size_t m = 0; m < here->m; m += 2) {
      float *c = (float *)here->c + m * here->p + first / n * 4;
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
