/* What programs of the cluster share: counters, printing, the barrier and the DMA. */
#ifndef FANWEAVE_RUNTIME_H
#define FANWEAVE_RUNTIME_H

#include <fanweave/cluster_map.h>
#include <stddef.h>
#include <stdint.h>

#define FANWEAVE_REGISTER(address) (*(volatile uint32_t *)(address))
#define FANWEAVE_OUTER __attribute__((section(".outer")))

static inline uint32_t cycles(void) {
  uint32_t value;
  __asm__ volatile("csrr %0, mcycle" : "=r"(value) : : "memory");
  return value;
}

static inline uint32_t hart_number(void) {
  uint32_t value;
  __asm__("csrr %0, mhartid" : "=r"(value));
  return value;
}

static inline void barrier(void) {
  __asm__ volatile("fence" : : : "memory");
  (void)FANWEAVE_REGISTER(BARRIER_WAIT);
}

static inline void print(const char *text) {
  while (*text) FANWEAVE_REGISTER(HOST_PUTCHAR) = (uint8_t)*text++;
}

static inline void print_number(uint32_t value) {
  char digits[11];
  char *next = digits + sizeof(digits) - 1;
  *next = 0;
  do {
    *--next = (char)('0' + value % 10);
    value /= 10;
  } while (value);
  print(next);
}

/* Start a copy of rows; strides in bytes. */
static inline void dma_start(uint32_t destination, uint32_t source, uint32_t bytes, uint32_t rows,
                             uint32_t destination_stride, uint32_t source_stride) {
  FANWEAVE_REGISTER(DMA_SOURCE) = source;
  FANWEAVE_REGISTER(DMA_DESTINATION) = destination;
  FANWEAVE_REGISTER(DMA_BYTES) = bytes;
  FANWEAVE_REGISTER(DMA_ROWS) = rows;
  FANWEAVE_REGISTER(DMA_SOURCE_STRIDE) = source_stride;
  FANWEAVE_REGISTER(DMA_DESTINATION_STRIDE) = destination_stride;
  __asm__ volatile("fence" : : : "memory");
  FANWEAVE_REGISTER(DMA_START) = 1;
}

static inline void dma_wait(void) {
  while (FANWEAVE_REGISTER(DMA_PENDING)) {
  }
  __asm__ volatile("fence" : : : "memory");
}

#endif
