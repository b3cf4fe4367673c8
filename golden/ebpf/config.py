"""Parameters of the eBPF engine: one object for RTL, driver and report."""

from dataclasses import dataclass

from fanweave.golden.errors import InputError

__all__ = ["LIMITS", "PRESETS", "EbpfConfig"]

#: Field -> least and largest value; all are powers of two.
LIMITS = {
    "threads": (2, 16),
    "slots": (16, 65_536),
    "context_bytes": (16, 4096),
    "maps": (2, 256),
    "key_bytes": (8, 128),
    "operand_bytes": (64, 4096),
    "value_bytes": (512, 524_288),
    "entries": (8, 32_768),
    "buckets": (8, 65_536),
    "prefixes": (4, 4096),
    "prefix_lanes": (1, 64),
    "images": (2, 64),
    "programs": (2, 256),
}


@dataclass(frozen=True, kw_only=True)
class EbpfConfig:
    """Parameters of the engine.

    Attributes
    ----------
    threads : int
        Events that an engine handles at the same time.
    slots : int
        Slots of 8 bytes of the program memory.
    context_bytes : int
        Largest context of an event.
    engines : int
        Cores that share the maps.
    maps : int
        Maps at most.
    key_bytes : int
        Longest key of a map.
    operand_bytes : int
        Longest value or record that a helper copies.
    value_bytes : int
        Memory for the values of all maps.
    entries : int
        Keys of all hash maps together.
    buckets : int
        Buckets of all hash maps together.
    prefixes : int
        Prefixes of all tries together.
    prefix_lanes : int
        Prefixes that are compared in a cycle.
    images, programs : int
        Programs in memory at a time, and numbers that name them.
    returns_context : bool
        What a program made of the context leaves with the verdict.

    Raises
    ------
    InputError
        If a parameter has an illegal value; the message names it.
    """

    threads: int = 8
    slots: int = 4096
    context_bytes: int = 256
    engines: int = 1
    maps: int = 16
    key_bytes: int = 16
    operand_bytes: int = 256
    value_bytes: int = 65_536
    entries: int = 1024
    buckets: int = 4096
    prefixes: int = 64
    prefix_lanes: int = 16
    images: int = 8
    programs: int = 16
    returns_context: bool = False

    def __post_init__(self) -> None:
        for name, (low, high) in LIMITS.items():
            value = getattr(self, name)
            if not isinstance(value, int) or not low <= value <= high or value & value - 1:
                raise InputError(
                    f"{name} = {value!r} is illegal; it must be a power of two from {low} to {high}"
                )
        if not isinstance(self.engines, int) or not 1 <= self.engines <= 8:
            raise InputError(f"engines = {self.engines!r} is illegal; it must be from 1 to 8")
        if not isinstance(self.returns_context, bool):
            raise InputError(
                f"returns_context = {self.returns_context!r} is illegal; it must be true or false"
            )
        if self.prefix_lanes > self.prefixes:
            raise InputError(
                f"prefix_lanes = {self.prefix_lanes} is illegal; it must not be more than "
                f"prefixes = {self.prefixes}"
            )


#: Named configurations.
PRESETS: dict[str, EbpfConfig] = {
    "default": EbpfConfig(),
    "dual": EbpfConfig(engines=2),
    "tiny": EbpfConfig(
        threads=4,
        slots=128,
        context_bytes=32,
        maps=8,
        operand_bytes=64,
        value_bytes=4096,
        entries=64,
        buckets=256,
        prefixes=16,
        prefix_lanes=4,
        images=4,
        programs=8,
    ),
}
