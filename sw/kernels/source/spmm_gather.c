/* Plain RVV: gather accumulators from memory, multiply-accumulate, scatter them back.
 *
 * Four rows of the product gather before they scatter, so loads and stores take turns rarely. What
 * the next step needs is made before the scatter: activations, as the scalar core waits for vector
 * stores, and offsets, as a gather waits for all of its own. */
#include "spmm_unpack.h"

#define GATHER(pointer) __riscv_vluxei16_v_f32m4(pointer, offsets, vl)
#define SCATTER(pointer, sum) __riscv_vsuxei16_v_f32m4(pointer, offsets, sum, vl)
#define MACC(sum, factor) __riscv_vfmacc_vf_f32m4(sum, factor, weights, vl)

static void four_rows(const struct arguments *here, float *c, const float *a) {
  size_t n = here->n_sparse, packed = here->p / 4 * n, k = here->k, p = here->p;
  const float *w = here->w;
  const uint32_t *indices = here->indices;
  size_t first = 0, vl = __riscv_vsetvl_e32m4(packed);
  vuint16m2_t blocks = BLOCK_OFFSETS(n, __riscv_vsetvlmax_e16m2(), m2);
  vuint16m2_t offsets = unpack_m4(indices, first, blocks, vl);
  float a0 = a[0], a1 = a[k], a2 = a[2 * k], a3 = a[3 * k];
  for (size_t left = k; left;) {
    vfloat32m4_t weights = __riscv_vle32_v_f32m4(w + first, vl);
    float *row = c + first / n * 4;
    vfloat32m4_t s0 = GATHER(row), s1 = GATHER(row + p);
    vfloat32m4_t s2 = GATHER(row + 2 * p), s3 = GATHER(row + 3 * p);
    s0 = MACC(s0, a0);
    s1 = MACC(s1, a1);
    s2 = MACC(s2, a2);
    s3 = MACC(s3, a3);
    size_t following = first + vl;
    if (following == packed) {
      following = 0;
      w += packed;
      indices += --left ? here->index_words : 0; /* behind the last row the last one again */
      a += left ? 1 : 0;
      a0 = a[0], a1 = a[k], a2 = a[2 * k], a3 = a[3 * k];
    }
    size_t next_vl = __riscv_vsetvl_e32m4(packed - following);
    vuint16m2_t next = unpack_m4(indices, following, blocks, next_vl);
    SCATTER(row, s0);
    SCATTER(row + p, s1);
    SCATTER(row + 2 * p, s2);
    SCATTER(row + 3 * p, s3);
    offsets = next;
    first = following;
    vl = next_vl;
  }
}

/* One row of the product, with register groups twice as long. */
static void one_row(const struct arguments *here, float *c, const float *a) {
  size_t n = here->n_sparse, packed = here->p / 4 * n;
  const float *w = here->w;
  const uint32_t *indices = here->indices;
  size_t first = 0, vl = __riscv_vsetvl_e32m8(packed);
  vuint16m4_t blocks = BLOCK_OFFSETS(n, __riscv_vsetvlmax_e16m4(), m4);
  vuint16m4_t offsets = unpack_m8(indices, first, blocks, vl);
  float factor = a[0];
  for (size_t left = here->k; left;) {
    vfloat32m8_t weights = __riscv_vle32_v_f32m8(w + first, vl);
    float *row = c + first / n * 4;
    vfloat32m8_t sum = __riscv_vluxei16_v_f32m8(row, offsets, vl);
    sum = __riscv_vfmacc_vf_f32m8(sum, factor, weights, vl);
    size_t following = first + vl;
    if (following == packed) {
      following = 0;
      w += packed;
      indices += --left ? here->index_words : 0;
      a += left ? 1 : 0;
      factor = a[0];
    }
    size_t next_vl = __riscv_vsetvl_e32m8(packed - following);
    vuint16m4_t next = unpack_m8(indices, following, blocks, next_vl);
    __riscv_vsuxei16_v_f32m8(row, offsets, sum, vl);
    offsets = next;
    first = following;
    vl = next_vl;
  }
}

void kernel(const struct arguments *here) {
  float *c = here->c;
  const float *a = here->a;
  size_t m = 0;
  clear(c, here->m * here->p);
  for (; m + 4 <= here->m; m += 4) four_rows(here, c + m * here->p, a + m * here->k);
  for (; m < here->m; m++) one_row(here, c + m * here->p, a + m * here->k);
}
