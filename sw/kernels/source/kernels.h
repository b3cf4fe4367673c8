/* What the host hands to a kernel: it fills `arguments` before the run and reads it afterwards. */
#ifndef FANWEAVE_KERNELS_H
#define FANWEAVE_KERNELS_H

#include <fanweave/runtime.h>
#include <riscv_vector.h>

/* C[m, p] = A[m, k] W[k, p]; W is dense, or N:M along p with packed indices. All row-major. */
struct arguments {
  uint32_t m, k, p; /* shapes; p counts columns of C */
  uint32_t n_sparse, m_sparse;
  void *c;
  const void *a, *w;
  const uint32_t *indices; /* one row of words for each k */
  uint32_t index_words;    /* words of such a row */
  void *scratch;
  uint32_t cycles; /* written by the kernel: mcycle around it */
};

extern volatile struct arguments arguments;

#endif
