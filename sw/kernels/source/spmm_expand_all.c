/* Plain RVV: expand a tile of all weights into memory once, then a dense product in registers. */
#include "spmm_unpack.h"

static void tile(const struct arguments *here, size_t column, size_t width) {
  size_t n = here->n_sparse, packed = here->p / 4 * n, first = column / 4 * n;
  float *dense = here->scratch; /* k * width numbers */
  clear(dense, here->k * width);
  for (size_t k = 0; k < here->k; k++) {
    size_t vl = __riscv_vsetvl_e32m4(width / 4 * n);
    vuint32m4_t columns =
        unpack_columns(here->indices + k * here->index_words, first, n, vl);
    columns = __riscv_vsub_vx_u32m4(columns, column, vl);
    vfloat32m4_t weights = __riscv_vle32_v_f32m4((const float *)here->w + k * packed + first, vl);
    __riscv_vsuxei32_v_f32m4(dense + k * width, __riscv_vsll_vx_u32m4(columns, 2, vl), weights, vl);
  }
  for (size_t m = 0; m < here->m; m++) {
    size_t vl = __riscv_vsetvl_e32m4(width);
    const float *a = (const float *)here->a + m * here->k;
    vfloat32m4_t sum = __riscv_vfmv_v_f_f32m4(0.0f, vl);
    for (size_t k = 0; k < here->k; k++)
      sum = __riscv_vfmacc_vf_f32m4(sum, a[k], __riscv_vle32_v_f32m4(dense + k * width, vl), vl);
    __riscv_vse32_v_f32m4((float *)here->c + m * here->p + column, sum, vl);
  }
}

void kernel(const struct arguments *here) {
  for (size_t column = 0; column < here->p;) {
    size_t width = __riscv_vsetvl_e32m4(here->p - column);
    tile(here, column, width);
    column += width;
  }
}
