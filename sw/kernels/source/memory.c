/* What the compiler calls by itself. */
#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t count) {
  unsigned char *target = to;
  const unsigned char *source = from;
  while (count--) *target++ = *source++;
  return to;
}

void *memset(void *to, int value, size_t count) {
  unsigned char *target = to;
  while (count--) *target++ = (unsigned char)value;
  return to;
}
