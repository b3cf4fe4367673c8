/* A product too large for the L1: tiles of columns, cut into chunks of k, come by DMA. */
#ifndef FANWEAVE_LAYER_H
#define FANWEAVE_LAYER_H

#include <fanweave/runtime.h>

/* What the host hands over, and what it reads afterwards. */
struct layer {
  uint32_t m, width; /* output rows, columns of a tile */
  uint32_t tiles, chunks;
  const uint32_t *weights;     /* in L1, for each tile and chunk: address and bytes of a block */
  const uint32_t *activations; /* in L1, for each chunk: the same */
  uint32_t c, c_stride;        /* result in outer memory, bytes between its rows */
  uint8_t *weight_buffers[2], *activation_buffers[2];
  float *tile_buffers[2]; /* rows of a tile */
  uint32_t cycles;        /* written by the program */
};

extern volatile struct layer layer;

/* Adds what a block of weights gives to a tile; `first` if the tile has nothing in it yet. */
void add_block(const struct layer *here, float *tile, const uint8_t *weights,
               const uint8_t *activations, int first);

/* Before any block. */
void prepare(const struct layer *here);

#endif
