/* Goes through tiles and chunks; while one block is multiplied, the next one comes. */
#include "layer.h"

volatile struct layer layer;

/* Both blocks of a step, into the buffers that the step before does not use. */
static void fetch(const struct layer *here, uint32_t step, uint32_t chunk) {
  const uint32_t *weights = here->weights + 2 * step;
  const uint32_t *activations = here->activations + 2 * chunk;
  uint32_t side = step & 1;
  dma_start((uint32_t)here->weight_buffers[side], weights[0], weights[1], 1, 0, 0);
  dma_start((uint32_t)here->activation_buffers[side], activations[0], activations[1], 1, 0, 0);
}

static void run(const struct layer *here) {
  uint32_t step = 0, width_bytes = here->width * 4;
  prepare(here);
  fetch(here, 0, 0);
  dma_wait();
  for (uint32_t tile = 0; tile < here->tiles; tile++) {
    float *result = here->tile_buffers[tile & 1];
    for (uint32_t chunk = 0; chunk < here->chunks; chunk++, step++) {
      uint32_t side = step & 1, last = chunk + 1 == here->chunks;
      if (!last)
        fetch(here, step + 1, chunk + 1);
      else if (tile + 1 < here->tiles)
        fetch(here, step + 1, 0);
      add_block(here, result, here->weight_buffers[side], here->activation_buffers[side],
                chunk == 0);
      if (last)
        dma_start(here->c + tile * width_bytes, (uint32_t)result, width_bytes, here->m,
                  here->c_stride, width_bytes);
      else
        dma_wait();
    }
    /* The next tile writes the other buffer, but its first block must be there. */
    dma_wait();
  }
}

int main(void) {
  struct layer here = layer;
  uint32_t start = cycles();
  run(&here);
  layer.cycles = cycles() - start;
  return FANWEAVE_REGISTER(DMA_ERROR) != 0;
}
