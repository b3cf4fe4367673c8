/* Runs one kernel on the host's arguments and notes its cycles. */
#include "kernels.h"

volatile struct arguments arguments;

void kernel(const struct arguments *arguments);

int main(void) {
  struct arguments here = arguments;
  uint32_t start = cycles();
  kernel(&here);
  __asm__ volatile("fence" : : : "memory");
  arguments.cycles = cycles() - start;
  return 0;
}
