/* Dual sparse: weights without structure with bitmasks, and the nonzero activations alone.
 *
 * A block of weights begins with a record for each k: the row's place in the block in its low
 * half, its weights in the high one. A row is the mask of its columns, and then its weights.
 * A block of activations begins with such a record for each output row: values, and behind
 * them 4 k of each in 16 bits, and a zero. Only rows of weights that an activation asks for are read. */
#include "layer.h"
#include "ventaglio.h"

void prepare(const struct layer *here) {
  WRITE_CSR(CSR_VTLREG, 1u << ROW0);
  WRITE_CSR(CSR_VTLFMT, VTLFMT_EXTENDED(1) | VTLFMT_ELEMENT(ELEMENT_FP32) | VTLFMT_INDEX_MODE(INDEX_BITMASK));
  WRITE_CSR(CSR_VTLWIDTH, here->width);
}

/* One output row: twelve instructions for each activation. What the next one needs is loaded
 * while the vector unit has something to do; a place behind the last one makes that safe. */
static void one_row(float *c, const uint8_t *weights, const float *values, uint32_t count,
                    uint32_t mask_bytes, int first) {
  const uint16_t *places = (const uint16_t *)(values + count);
  const float *end = values + count;
  const uint16_t *record = (const uint16_t *)(weights + *places);
  const uint8_t *row = weights + record[0];
  uint32_t length = record[1], next = 4;
  SET_LENGTH(1, "m8");
  if (first)
    VVENTCLR();
  else
    LOAD_ROW(c, ROW0);
  while (values != end) {
    float scalar;
    P_FLW_RRPOST(scalar, values, next);
    SET_LENGTH(length, "m8");
    P_VLX32_V_RRPOST(INDICES, row, mask_bytes);
    P_VLE32_V_RRPOST(WEIGHTS, row, next);
    record = (const uint16_t *)(weights + *++places);
    row = weights + record[0];
    length = record[1];
    VFXMACC_VRF(ROW0, WEIGHTS, INDICES, scalar);
  }
  SET_LENGTH(1, "m8");
  STORE_ROW(c, ROW0);
}

void add_block(const struct layer *here, float *tile, const uint8_t *weights,
               const uint8_t *activations, int first) {
  const uint16_t *record = (const uint16_t *)activations;
  for (uint32_t m = 0; m < here->m; m++, record += 2) {
    const float *values = (const float *)(activations + record[0]);
    one_row(tile + m * here->width, weights, values, record[1], here->width / 8, first);
  }
}
