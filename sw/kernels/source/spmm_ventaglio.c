/* Ventaglio: two output rows share each row of weights; 2:4 with LMUL 4, 1:4 with LMUL 2. */
#include "ventaglio.h"

#define TILE 128 /* accumulators of a row */

/* Two rows, or a last odd one. */
static void rows(float *c, const float *a, const float *w, const uint32_t *indices,
                 const struct arguments *here, uint32_t weight_bytes, int both) {
  uint32_t index_bytes = here->index_words * 4;
  VVENTCLR();
  for (size_t k = 0; k < here->k; k++) {
    P_VLX32_V_RRPOST(INDICES, indices, index_bytes);
    P_VLE32_V_RRPOST(WEIGHTS, w, weight_bytes);
    VFXMACC_VRF(ROW0, WEIGHTS, INDICES, a[k]);
    if (both) VFXMACC_VRF(ROW1, WEIGHTS, INDICES, a[here->k + k]);
  }
  STORE_ROW(c, ROW0);
  if (both) STORE_ROW(c + here->p, ROW1);
}

void kernel(const struct arguments *here) {
  size_t n = here->n_sparse, packed = here->p / 4 * n, tile = TILE / 4 * n;
  configure(n, 1u << ROW0 | 1u << ROW1);
  for (size_t first = 0; first < packed; first += tile) {
    size_t elements = smaller(packed - first, tile);
    if (n == 2)
      SET_LENGTH(elements, "m4");
    else
      SET_LENGTH(elements, "m2");
    for (size_t m = 0; m < here->m; m += 2)
      rows((float *)here->c + m * here->p + first / n * 4, (const float *)here->a + m * here->k,
           (const float *)here->w + first, here->indices + first / 16, here, packed * 4,
           m + 1 < here->m);
  }
}
