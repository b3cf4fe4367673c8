/* Dense products of output rows with a tile of weights, in FP32 or (HALF) FP16 with FP16
 * accumulators. Four rows share each load. */
#ifndef FANWEAVE_DENSE_H
#define FANWEAVE_DENSE_H

#include "kernels.h"

#ifdef HALF
typedef _Float16 scalar;
typedef vfloat16m4_t vector;
#define SETVL __riscv_vsetvl_e16m4
#define LOAD __riscv_vle16_v_f16m4
#define STORE __riscv_vse16_v_f16m4
#define ZERO(vl) __riscv_vfmv_v_f_f16m4((scalar)0, vl)
#define MACC __riscv_vfmacc_vf_f16m4
#else
typedef float scalar;
typedef vfloat32m4_t vector;
#define SETVL __riscv_vsetvl_e32m4
#define LOAD __riscv_vle32_v_f32m4
#define STORE __riscv_vse32_v_f32m4
#define ZERO(vl) __riscv_vfmv_v_f_f32m4(0.0f, vl)
#define MACC __riscv_vfmacc_vf_f32m4
#endif

/* Rows of c are p numbers apart, those of w `stride`. */
static void four_rows(scalar *c, const scalar *a, const scalar *w, size_t k, size_t p,
                      size_t stride, size_t vl) {
  vector c0 = ZERO(vl), c1 = ZERO(vl), c2 = ZERO(vl), c3 = ZERO(vl);
  for (size_t i = 0; i < k; i++) {
    vector row = LOAD(w, vl);
    c0 = MACC(c0, a[0], row, vl);
    c1 = MACC(c1, a[k], row, vl);
    c2 = MACC(c2, a[2 * k], row, vl);
    c3 = MACC(c3, a[3 * k], row, vl);
    a++;
    w += stride;
  }
  STORE(c, c0, vl);
  STORE(c + p, c1, vl);
  STORE(c + 2 * p, c2, vl);
  STORE(c + 3 * p, c3, vl);
}

static void one_row(scalar *c, const scalar *a, const scalar *w, size_t k, size_t stride,
                    size_t vl) {
  vector sum = ZERO(vl);
  for (size_t i = 0; i < k; i++) {
    sum = MACC(sum, a[i], LOAD(w, vl), vl);
    w += stride;
  }
  STORE(c, sum, vl);
}

/* Columns `column` to `column + width - 1` of c; w points to the first of them. */
static void dense_tile(const struct arguments *here, const scalar *w, size_t stride,
                       size_t column, size_t width) {
  const scalar *a = here->a;
  size_t k = here->k, p = here->p;
  for (size_t done = 0; done < width;) {
    scalar *c = (scalar *)here->c + column + done;
    size_t vl = SETVL(width - done), m = 0;
    for (; m + 4 <= here->m; m += 4)
      four_rows(c + m * p, a + m * k, w + done, k, p, stride, vl);
    for (; m < here->m; m++) one_row(c + m * p, a + m * k, w + done, k, stride, vl);
    done += vl;
  }
}

#endif
