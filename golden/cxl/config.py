"""Parameters of the CXL switch: one object for RTL, model, driver and report."""

from dataclasses import dataclass

from fanweave.golden.errors import InputError
from fanweave.golden.isa.cxl_switch import switch_registers
from fanweave.golden.isa.registers import Register

__all__ = ["PRESETS", "SwitchConfig"]

#: Field -> least and largest value, and whether it must be a power of two.
_LIMITS = {
    "upstream": (1, 4, False),
    "downstream": (1, 8, False),
    "credits": (32, 64, True),
    "slots": (4, 256, True),
    "bi_slots": (4, 64, True),
    "queue": (2, 32, False),
    "decoders": (1, 8, False),
    "bindings": (1, 16, False),
    "rules": (1, 8, False),
    "pending": (16, 256, True),
    "moves": (1, 8, False),
    "move_lines": (1, 16, True),
    "clock_ns": (1, 16, False),
}


@dataclass(frozen=True, kw_only=True)
class SwitchConfig:
    """Parameters of a switch.

    Attributes
    ----------
    upstream, downstream : int
        Ports to hosts and to devices; their numbers count through, hosts first.
    credits : int
        Messages of a channel that a receiver has place for. All of a request channel may wait
        for verdicts, so there are more than the longest wait has cycles.
    slots : int
        Requests with an answer, and as many writes, on their way to each device.
    bi_slots : int
        Back-invalidations on their way from each device.
    queue : int
        Messages that wait between each entry and each exit.
    decoders, bindings : int
        Ranges and virtual ports of a host.
    rules : int
        Rules of the event filter.
    pending : int
        Events whose verdict can still come.
    moves : int
        Pages of a host that may be elsewhere than its ranges say.
    move_lines : int
        Lines of a moving page that are held and copied together.
    clock_ns : int
        Nanoseconds of a cycle, for the latency that events name.

    Raises
    ------
    InputError
        If a parameter has an illegal value; the message names it.
    """

    upstream: int = 2
    downstream: int = 4
    credits: int = 32
    slots: int = 64
    bi_slots: int = 16
    queue: int = 8
    decoders: int = 4
    bindings: int = 8
    rules: int = 4
    pending: int = 64
    moves: int = 4
    move_lines: int = 8
    clock_ns: int = 1

    def __post_init__(self) -> None:
        for name, (low, high, power) in _LIMITS.items():
            value = getattr(self, name)
            legal = isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
            if not legal or (power and value & value - 1):
                kind = "a power of two" if power else "an integer"
                raise InputError(
                    f"{name} = {value!r} is illegal; it must be {kind} from {low} to {high}"
                )

    @property
    def ports(self) -> int:
        """All ports."""
        return self.upstream + self.downstream

    @property
    def registers(self) -> tuple[Register, ...]:
        """Its registers."""
        return switch_registers(
            upstream=self.upstream,
            downstream=self.downstream,
            decoders=self.decoders,
            bindings=self.bindings,
            rules=self.rules,
            moves=self.moves,
        )


#: Named configurations.
PRESETS: dict[str, SwitchConfig] = {
    "default": SwitchConfig(),
    "tiny": SwitchConfig(
        downstream=2,
        slots=16,
        bi_slots=4,
        queue=4,
        decoders=2,
        bindings=4,
        rules=2,
        pending=16,
        moves=2,
    ),
    "wide": SwitchConfig(upstream=4, downstream=8, queue=16),
}
