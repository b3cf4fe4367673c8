"""What the bench's hardware and its Python side must agree on."""

__all__ = [
    "ACTIVATION_DEPTH",
    "BEAT_DEPTH",
    "COMMAND_DEPTH",
    "DUMP_OFFSET",
    "RESET_CYCLES",
    "ROW_DEPTH",
    "STREAMS",
]

#: Depths of the bench's memories, in words of each.
COMMAND_DEPTH = 1 << 17
ACTIVATION_DEPTH = 1 << 18
ROW_DEPTH = 1 << 17
BEAT_DEPTH = 1 << 19

#: Clock edges under reset.
RESET_CYCLES = 3

#: Cycle of a dump in which the bench's cycle 0 is seen: a dump counts the edges under reset, and
#: shows what follows an edge.
DUMP_OFFSET = RESET_CYCLES - 1

#: Streams of the unit, in the order of the bits of the ``violations`` port.
STREAMS = ("commands", "activations", "fetch", "rows", "weights", "indices", "results")
