/* Packed N:M indices of 2 bits to columns, for plain RVV: one row at a time, without divisions. */
#ifndef FANWEAVE_SPMM_UNPACK_H
#define FANWEAVE_SPMM_UNPACK_H

#include "kernels.h"

/* Columns of elements first .. first + vl - 1 of a row; n is 1 or 2, blocks have 4 columns. */
static inline vuint32m4_t unpack_columns(const uint32_t *indices, size_t first, uint32_t n,
                                         size_t vl) {
  vuint32m4_t place = __riscv_vadd_vx_u32m4(__riscv_vid_v_u32m4(vl), first, vl);
  vuint32m4_t offset = __riscv_vsll_vx_u32m4(__riscv_vsrl_vx_u32m4(place, 4, vl), 2, vl);
  vuint32m4_t words = __riscv_vluxei32_v_u32m4(indices, offset, vl);
  vuint32m4_t shift = __riscv_vsll_vx_u32m4(__riscv_vand_vx_u32m4(place, 15, vl), 1, vl);
  vuint32m4_t index = __riscv_vand_vx_u32m4(__riscv_vsrl_vv_u32m4(words, shift, vl), 3, vl);
  vuint32m4_t block = n == 2 ? __riscv_vsrl_vx_u32m4(place, 1, vl) : place;
  return __riscv_vadd_vv_u32m4(__riscv_vsll_vx_u32m4(block, 2, vl), index, vl);
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
