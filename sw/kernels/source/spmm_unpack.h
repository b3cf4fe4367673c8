/* Packed N:M indices of 2 bits for plain RVV: without divisions or gathers, once for all output
 * rows. */
#ifndef FANWEAVE_SPMM_UNPACK_H
#define FANWEAVE_SPMM_UNPACK_H

#include "kernels.h"

/* Indices of 2 bits to bytes: each byte of them becomes a word of four. */
#define UNPACK_BYTES(bytes, vl, M, QUARTER)                                                  \
  ({                                                                                         \
    size_t words_ = (vl + 3) / 4;                                                            \
    vuint32##M##_t x_ =                                                                      \
        __riscv_vzext_vf4_u32##M(__riscv_vle8_v_u8##QUARTER(bytes, words_), words_);         \
    x_ = __riscv_vor_vv_u32##M(x_, __riscv_vsll_vx_u32##M(x_, 12, words_), words_);          \
    x_ = __riscv_vand_vx_u32##M(x_, 0x000f000f, words_);                                     \
    x_ = __riscv_vor_vv_u32##M(x_, __riscv_vsll_vx_u32##M(x_, 6, words_), words_);           \
    __riscv_vand_vx_u32##M(x_, 0x03030303, words_);                                          \
  })

/* Bytes from the block of element 0 to the one of each; n is 1 or 2, a block has four columns. */
#define BLOCK_OFFSETS(n, vl, M)                                                              \
  __riscv_vsll_vx_u16##M(                                                                    \
      __riscv_vsrl_vx_u16##M(__riscv_vid_v_u16##M(vl), (n) - 1, vl), 4, vl)

/* Bytes from the first column of that block to the column of each element. */
static inline vuint16m2_t unpack_m4(const uint32_t *indices, size_t first, vuint16m2_t blocks,
                                    size_t vl) {
  vuint32m1_t words = UNPACK_BYTES((const uint8_t *)indices + first / 4, vl, m1, mf4);
  vuint8m1_t columns = __riscv_vreinterpret_v_u32m1_u8m1(words);
  return __riscv_vadd_vv_u16m2(__riscv_vwmulu_vx_u16m2(columns, 4, vl), blocks, vl);
}

static inline vuint16m4_t unpack_m8(const uint32_t *indices, size_t first, vuint16m4_t blocks,
                                    size_t vl) {
  vuint32m2_t words = UNPACK_BYTES((const uint8_t *)indices + first / 4, vl, m2, mf2);
  vuint8m2_t columns = __riscv_vreinterpret_v_u32m2_u8m2(words);
  return __riscv_vadd_vv_u16m4(__riscv_vwmulu_vx_u16m4(columns, 4, vl), blocks, vl);
}

static inline void clear(float *c, size_t count) {
  while (count) {
    size_t vl = __riscv_vsetvl_e32m8(count);
    __riscv_vse32_v_f32m8(c, __riscv_vfmv_v_f_f32m8(0.0f, vl), vl);
    c += vl;
    count -= vl;
  }
}

#endif
