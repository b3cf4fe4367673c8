/* Ventaglio with one output row on the whole bank; 2:4 with LMUL 8, 1:4 with LMUL 4. */
#include "kernels.h"
#include "ventaglio.h"

#define TILE 256 /* accumulators of the row */

void kernel(const struct arguments *here) {
  size_t n = here->n_sparse, packed = here->p / 4 * n, tile = TILE / 4 * n;
  uint32_t index_bytes = here->index_words * 4, weight_bytes = packed * 4, next = 4;
  configure(n, 1u << ROW0);
  for (size_t first = 0; first < packed; first += tile) {
    size_t elements = smaller(packed - first, tile);
    if (n == 2)
      SET_LENGTH(elements, "m8");
    else
      SET_LENGTH(elements, "m4");
    for (size_t m = 0; m < here->m; m++) {
      const float *a = (const float *)here->a + m * here->k;
      const float *w = (const float *)here->w + first;
      const uint32_t *indices = here->indices + first / 16;
      VVENTCLR();
      for (size_t left = here->k; left; left--) {
        float scalar;
        P_VLX32_V_RRPOST(INDICES, indices, index_bytes);
        P_VLE32_V_RRPOST(WEIGHTS, w, weight_bytes);
        P_FLW_RRPOST(scalar, a, next);
        VFXMACC_VRF(ROW0, WEIGHTS, INDICES, scalar);
      }
      STORE_ROW((float *)here->c + m * here->p + first / n * 4, ROW0);
    }
  }
}
