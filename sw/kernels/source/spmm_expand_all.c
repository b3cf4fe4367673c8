/* Plain RVV: expand a tile of all weights into memory once, then a dense product in registers. */
#include "dense.h"
#include "spmm_unpack.h"

#define TILE 128 /* columns; the scratch has so many numbers for each k */

static void expand(const struct arguments *here, float *dense, size_t column, size_t width) {
  size_t n = here->n_sparse, packed = here->p / 4 * n, elements = width / 4 * n;
  const float *w = (const float *)here->w + column / 4 * n;
  const uint32_t *indices = here->indices;
  size_t base = column / 4 * n, first = 0, vl = __riscv_vsetvl_e32m4(elements);
  vuint16m2_t blocks = BLOCK_OFFSETS(n, __riscv_vsetvlmax_e16m2(), m2);
  vuint16m2_t offsets = unpack_m4(indices, base, blocks, vl);
  clear(dense, here->k * width);
  for (size_t left = here->k; left;) {
    vfloat32m4_t weights = __riscv_vle32_v_f32m4(w + first, vl);
    float *target = dense + first / n * 4;
    size_t following = first + vl;
    if (following == elements) {
      following = 0;
      w += packed;
      dense += width;
      indices += --left ? here->index_words : 0; /* behind the last row the last one again */
    }
    /* A scatter waits for all of its offsets: those of the next one are made before it. */
    size_t next_vl = __riscv_vsetvl_e32m4(elements - following);
    vuint16m2_t next = unpack_m4(indices, base + following, blocks, next_vl);
    __riscv_vsuxei16_v_f32m4(target, offsets, weights, vl);
    offsets = next;
    first = following;
    vl = next_vl;
  }
}

void kernel(const struct arguments *here) {
  for (size_t column = 0; column < here->p; column += TILE) {
    size_t width = here->p - column < TILE ? here->p - column : TILE;
    expand(here, here->scratch, column, width);
    dense_tile(here, here->scratch, width, column, width);
  }
}
