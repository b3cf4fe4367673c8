/* Ventaglio: two output rows share each row of weights; 2:4 with LMUL 4, 1:4 with LMUL 2. */
#include "kernels.h"
#include <fanweave/ventaglio_isa.h>

#define ROW0 16
#define ROW1 20
#define WEIGHTS 8
#define INDICES 24
#define TILE 128 /* accumulators of a row */

#define WRITE_CSR(number, value) \
  __asm__ volatile("csrw %0, %1" : : "i"(number), "r"(value) : "memory")

static void configure(const struct arguments *here, uint32_t mapped) {
  WRITE_CSR(CSR_VTLREG, mapped);
  WRITE_CSR(CSR_VTLIDXW, 1); /* 2 bits */
  WRITE_CSR(CSR_VTLBLKS, 2); /* blocks of 4 */
  WRITE_CSR(CSR_VTLRATIO, here->n_sparse == 2 ? 1 : 2);
}

static size_t set_length(const struct arguments *here, size_t elements) {
  size_t vl;
  if (here->n_sparse == 2)
    __asm__ volatile("vsetvli %0, %1, e32, m4, ta, ma" : "=r"(vl) : "r"(elements) : "memory");
  else
    __asm__ volatile("vsetvli %0, %1, e32, m2, ta, ma" : "=r"(vl) : "r"(elements) : "memory");
  return vl;
}

static inline void store_row(float *c, unsigned row) {
  if (row == 0)
    __asm__ volatile("vse32.v v16, (%0)" : : "r"(c) : "memory");
  else
    __asm__ volatile("vse32.v v20, (%0)" : : "r"(c) : "memory");
}

void kernel(const struct arguments *here) {
  size_t packed = here->p / here->m_sparse * here->n_sparse;
  size_t per_tile = TILE / here->m_sparse * here->n_sparse;
  uint32_t index_bytes = here->index_words * 4, weight_bytes = packed * 4;
  configure(here, 1u << ROW0 | 1u << ROW1);
  for (size_t first = 0; first < packed; first += per_tile) {
    size_t left = packed - first;
    set_length(here, left < per_tile ? left : per_tile);
    for (size_t m = 0; m < here->m; m += 2) {
      const float *a = (const float *)here->a + m * here->k;
      /* A last odd row is computed twice, and stored once. */
      const float *b = m + 1 < here->m ? a + here->k : a;
      const float *w = (const float *)here->w + first;
      const uint32_t *indices = here->indices + first / 16;
      VVENTCLR();
      for (size_t k = 0; k < here->k; k++) {
        float s0 = a[k], s1 = b[k];
        P_VLX32_V_RRPOST(INDICES, indices, index_bytes);
        P_VLE32_V_RRPOST(WEIGHTS, w, weight_bytes);
        VFXMACC_VRF(ROW0, WEIGHTS, INDICES, s0);
        VFXMACC_VRF(ROW1, WEIGHTS, INDICES, s1);
      }
      float *c = (float *)here->c + m * here->p + first / here->n_sparse * here->m_sparse;
      store_row(c, 0);
      if (m + 1 < here->m) store_row(c + here->p, 1);
    }
  }
}
