"""Parameters of the eBPF core: one object for RTL, driver and report."""

from dataclasses import dataclass

from fanweave.golden.errors import InputError

__all__ = ["PRESETS", "EbpfConfig"]


@dataclass(frozen=True, kw_only=True)
class EbpfConfig:
    """Parameters of the core.

    Attributes
    ----------
    threads : int
        Events that are handled at the same time.
    slots : int
        Slots of 8 bytes of the program memory.
    context_bytes : int
        Largest context of an event.

    Raises
    ------
    InputError
        If a parameter has an illegal value; the message names it.
    """

    threads: int = 8
    slots: int = 4096
    context_bytes: int = 256

    def __post_init__(self) -> None:
        for name, low, high in (
            ("threads", 2, 16),
            ("slots", 16, 65_536),
            ("context_bytes", 16, 4096),
        ):
            value = getattr(self, name)
            if not isinstance(value, int) or not low <= value <= high or value & value - 1:
                raise InputError(
                    f"{name} = {value!r} is illegal; it must be a power of two from {low} to {high}"
                )


#: Named configurations.
PRESETS: dict[str, EbpfConfig] = {
    "default": EbpfConfig(),
    "tiny": EbpfConfig(threads=4, slots=128, context_bytes=32),
}
