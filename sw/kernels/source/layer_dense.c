/* Dense blocks: [k][width] weights, [m][k] activations, all FP32. Four rows share each load. */
#include "layer.h"
#include <riscv_vector.h>

typedef vfloat32m4_t vector;

/* The block of activations begins with k and three words that fill up. */
#define HEAD 16

void prepare(const struct layer *here) { (void)here; }

static void four_rows(float *c, const float *a, const float *w, size_t k, size_t p, size_t vl,
                      int first) {
  vector c0, c1, c2, c3;
  if (first) {
    c0 = c1 = c2 = c3 = __riscv_vfmv_v_f_f32m4(0.0f, vl);
  } else {
    c0 = __riscv_vle32_v_f32m4(c, vl);
    c1 = __riscv_vle32_v_f32m4(c + p, vl);
    c2 = __riscv_vle32_v_f32m4(c + 2 * p, vl);
    c3 = __riscv_vle32_v_f32m4(c + 3 * p, vl);
  }
  for (size_t i = 0; i < k; i++) {
    vector row = __riscv_vle32_v_f32m4(w, vl);
    c0 = __riscv_vfmacc_vf_f32m4(c0, a[0], row, vl);
    c1 = __riscv_vfmacc_vf_f32m4(c1, a[k], row, vl);
    c2 = __riscv_vfmacc_vf_f32m4(c2, a[2 * k], row, vl);
    c3 = __riscv_vfmacc_vf_f32m4(c3, a[3 * k], row, vl);
    a++;
    w += p;
  }
  __riscv_vse32_v_f32m4(c, c0, vl);
  __riscv_vse32_v_f32m4(c + p, c1, vl);
  __riscv_vse32_v_f32m4(c + 2 * p, c2, vl);
  __riscv_vse32_v_f32m4(c + 3 * p, c3, vl);
}

static void one_row(float *c, const float *a, const float *w, size_t k, size_t p, size_t vl,
                    int first) {
  vfloat32m8_t sum =
      first ? __riscv_vfmv_v_f_f32m8(0.0f, vl) : __riscv_vle32_v_f32m8(c, vl);
  for (size_t i = 0; i < k; i++) {
    sum = __riscv_vfmacc_vf_f32m8(sum, a[i], __riscv_vle32_v_f32m8(w, vl), vl);
    w += p;
  }
  __riscv_vse32_v_f32m8(c, sum, vl);
}

void add_block(const struct layer *here, float *tile, const uint8_t *weights,
               const uint8_t *activations, int first) {
  size_t k = *(const uint32_t *)activations, p = here->width, m = 0;
  const float *a = (const float *)(activations + HEAD), *w = (const float *)weights;
  for (; m + 4 <= here->m; m += 4)
    for (size_t column = 0, vl; column < p; column += vl) {
      vl = __riscv_vsetvl_e32m4(p - column);
      four_rows(tile + m * p + column, a + m * k, w + column, k, p, vl, first);
    }
  for (; m < here->m; m++)
    for (size_t column = 0, vl; column < p; column += vl) {
      vl = __riscv_vsetvl_e32m8(p - column);
      one_row(tile + m * p + column, a + m * k, w + column, k, p, vl, first);
    }
}
