/* Plain RVV: scatter each row of weights into a dense row of zeros once, then multiply densely. */
#include "spmm_unpack.h"

static void expand(float *dense, const float *w, const uint32_t *indices, size_t packed,
                   uint32_t n) {
  vuint16m2_t blocks = BLOCK_OFFSETS(n, __riscv_vsetvlmax_e16m2(), m2);
  for (size_t first = 0; first < packed;) {
    size_t vl = __riscv_vsetvl_e32m4(packed - first);
    vuint16m2_t offsets = unpack_m4(indices, first, blocks, vl);
    __riscv_vsuxei16_v_f32m4(dense + first / n * 4, offsets, __riscv_vle32_v_f32m4(w + first, vl),
                             vl);
    first += vl;
  }
}

void kernel(const struct arguments *here) {
  const float *w = here->w;
  const uint32_t *indices = here->indices;
  float *dense = here->scratch; /* p numbers */
  size_t p = here->p, packed = p / here->m_sparse * here->n_sparse;
  clear(here->c, here->m * p);
  for (size_t k = 0; k < here->k; k++) {
    clear(dense, p);
    expand(dense, w, indices, packed, here->n_sparse);
    for (size_t column = 0; column < p;) {
      size_t vl = __riscv_vsetvl_e32m8(p - column);
      vfloat32m8_t row = __riscv_vle32_v_f32m8(dense + column, vl);
      for (size_t m = 0; m < here->m; m++) {
        float *c = (float *)here->c + m * p + column;
        vfloat32m8_t sum = __riscv_vle32_v_f32m8(c, vl);
        sum = __riscv_vfmacc_vf_f32m8(sum, ((const float *)here->a)[m * here->k + k], row, vl);
        __riscv_vse32_v_f32m8(c, sum, vl);
      }
      column += vl;
    }
    w += packed;
    indices += here->index_words;
  }
}
