/* Dense product, in FP32 or (HALF) FP16 with FP16 accumulators. Four rows share each load. */
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

static void four_rows(scalar *c, const scalar *a, const scalar *w, size_t k, size_t p, size_t vl) {
  vector c0 = ZERO(vl), c1 = ZERO(vl), c2 = ZERO(vl), c3 = ZERO(vl);
  for (size_t i = 0; i < k; i++) {
    vector row = LOAD(w, vl);
    c0 = MACC(c0, a[0], row, vl);
    c1 = MACC(c1, a[k], row, vl);
    c2 = MACC(c2, a[2 * k], row, vl);
    c3 = MACC(c3, a[3 * k], row, vl);
    a++;
    w += p;
  }
  STORE(c, c0, vl);
  STORE(c + p, c1, vl);
  STORE(c + 2 * p, c2, vl);
  STORE(c + 3 * p, c3, vl);
}

static void one_row(scalar *c, const scalar *a, const scalar *w, size_t k, size_t p, size_t vl) {
  vector sum = ZERO(vl);
  for (size_t i = 0; i < k; i++) {
    sum = MACC(sum, a[i], LOAD(w, vl), vl);
    w += p;
  }
  STORE(c, sum, vl);
}

void kernel(const struct arguments *here) {
  scalar *c = here->c;
  const scalar *a = here->a, *w = here->w;
  size_t k = here->k, p = here->p;
  for (size_t column = 0; column < p;) {
    size_t vl = SETVL(p - column), m = 0;
    for (; m + 4 <= here->m; m += 4) four_rows(c + m * p + column, a + m * k, w + column, k, p, vl);
    for (; m < here->m; m++) one_row(c + m * p + column, a + m * k, w + column, k, p, vl);
    column += vl;
  }
}
