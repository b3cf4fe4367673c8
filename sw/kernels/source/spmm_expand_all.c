/* Plain RVV: expand a tile of all weights into memory once, then a dense product in registers. */
#include "dense.h"
#include "spmm_unpack.h"

#define TILE 128 /* columns; the scratch has so many numbers for each k */

static void expand(const struct arguments *here, float *dense, size_t column, size_t width) {
  size_t n = here->n_sparse, packed = here->p / 4 * n, elements = width / 4 * n;
  const float *w = (const float *)here->w + column / 4 * n;
  const uint32_t *indices = here->indices;
  vuint16m2_t blocks = BLOCK_OFFSETS(n, __riscv_vsetvlmax_e16m2(), m2);
  clear(dense, here->k * width);
  for (size_t k = 0; k < here->k; k++) {
    for (size_t first = 0; first < elements;) {
      size_t vl = __riscv_vsetvl_e32m4(elements - first);
      vuint16m2_t offsets = unpack_m4(indices, column / 4 * n + first, blocks, vl);
      vfloat32m4_t weights = __riscv_vle32_v_f32m4(w + first, vl);
      __riscv_vsuxei16_v_f32m4(dense + first / n * 4, offsets, weights, vl);
      first += vl;
    }
    w += packed;
    indices += here->index_words;
    dense += width;
  }
}

void kernel(const struct arguments *here) {
  for (size_t column = 0; column < here->p; column += TILE) {
    size_t width = here->p - column < TILE ? here->p - column : TILE;
    expand(here, here->scratch, column, width);
    dense_tile(here, here->scratch, width, column, width);
  }
}
