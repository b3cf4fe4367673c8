"""Coverage points of the switch: messages at ports, and what became of requests."""

from fanweave.golden.isa.cxl_event import Channel, VerdictAction
from fanweave.golden.isa.cxl_messages import OPCODES
from fanweave.sim.coverage.cross import Cross

__all__ = ["CROSSES", "NO_VERDICT", "REFUSED", "message_name"]

#: A request that went on without an answer of the engine.
NO_VERDICT = "none"
#: One whose verdict sends it, or a copy, to a port that its host does not have.
REFUSED = "refused"
_REQUESTS = (Channel.M2S_REQ, Channel.M2S_RWD)


def message_name(channel: Channel, opcode: int) -> str:
    """Channel and opcode, as an axis has them."""
    return f"{channel.name} {OPCODES[channel](opcode).name}"


def _names(channels: tuple[Channel, ...]) -> tuple[str, ...]:
    return tuple(
        message_name(channel, opcode) for channel in channels for opcode in OPCODES[channel]
    )


CROSSES = (
    Cross(
        name="messages", axes={"message": _names(tuple(Channel)), "at a port": ("taken", "given")}
    ),
    Cross(
        name="verdicts",
        axes={
            "request": _names(_REQUESTS),
            "verdict": (NO_VERDICT, *(action.name for action in VerdictAction), REFUSED),
        },
    ),
)
