/* Plain RVV: gather accumulators from memory, multiply-accumulate, scatter them back. */
#include "spmm_unpack.h"

void kernel(const struct arguments *here) {
  const float *w = here->w;
  const uint32_t *indices = here->indices;
  size_t packed = here->p / here->m_sparse * here->n_sparse;
  clear(here->c, here->m * here->p);
  for (size_t k = 0; k < here->k; k++) {
    for (size_t first = 0; first < packed;) {
      size_t vl = __riscv_vsetvl_e32m4(packed - first);
      vuint32m4_t columns = unpack_columns(indices, first, here->n_sparse, vl);
      vuint32m4_t offsets = __riscv_vsll_vx_u32m4(columns, 2, vl);
      vfloat32m4_t weights = __riscv_vle32_v_f32m4(w + first, vl);
      for (size_t m = 0; m < here->m; m++) {
        float *row = (float *)here->c + m * here->p;
        vfloat32m4_t sum = __riscv_vluxei32_v_f32m4(row, offsets, vl);
        sum = __riscv_vfmacc_vf_f32m4(sum, ((const float *)here->a)[m * here->k + k], weights, vl);
        __riscv_vsuxei32_v_f32m4(row, offsets, sum, vl);
      }
      first += vl;
    }
    w += packed;
    indices += here->index_words;
  }
}
