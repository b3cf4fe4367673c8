"""What the bench's hardware and its Python side must agree on."""

__all__ = [
    "ACTIVATION_DEPTH",
    "BEAT_DEPTH",
    "COMMAND_DEPTH",
    "RESET_CYCLES",
    "ROW_DEPTH",
    "STREAMS",
]

#: Depths of the bench's memories, in words of each.
COMMAND_DEPTH = 1 << 17
ACTIVATION_DEPTH = 1 << 18
ROW_DEPTH = 1 << 17
BEAT_DEPTH = 1 << 19

#: Clock edges under reset; a dump counts them, the bench's cycles do not.
RESET_CYCLES = 3

#: Streams of the unit, in the order of the bits of the ``violations`` port.
STREAMS = ("commands", "activations", "fetch", "rows", "weights", "indices", "results")
