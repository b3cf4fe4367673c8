"""What a policy is proved on: events, and the verdicts and maps that must come of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fanweave.golden.isa.cxl_event import Channel, Verdict, VerdictAction, encode_event
from fanweave.sw.policies.library import MapEntries

__all__ = ["PASS", "Scenario", "Step", "message"]

PASS = Verdict(action=VerdictAction.PASS)


@dataclass(frozen=True, kw_only=True)
class Step:
    """An event.

    Attributes
    ----------
    context : bytes
        What the program gets.
    verdict : Verdict
        What it must return.
    before : mapping of str to MapEntries
        What the host puts into maps before the event.
    """

    context: bytes
    verdict: Verdict = PASS
    before: Mapping[str, MapEntries] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """Events in a row, one after the other. Nothing in it is computed by a machine.

    Attributes
    ----------
    policy, name : str
        What it is about.
    maps : mapping of str to MapEntries
        What the host puts into maps first.
    steps : tuple of Step
        The events.
    after : mapping of str to MapEntries
        All that is in maps in the end; values of arrays that are zero are left out. Maps that are
        not named hold what the host put there. Records of rings are those of the whole scenario.
    """

    policy: str
    name: str
    maps: Mapping[str, MapEntries] = field(default_factory=dict)
    steps: tuple[Step, ...]
    after: Mapping[str, MapEntries]

    def __str__(self) -> str:
        return f"{self.policy}: {self.name}"


def message(
    channel: Channel,
    opcode: int,
    address: int,
    *,
    verdict: Verdict = PASS,
    before: Mapping[str, MapEntries] | None = None,
    **fields: int,
) -> Step:
    """An event, and what must come of it.

    Parameters
    ----------
    channel : Channel
        Its kind.
    opcode : int
        As the channel codes it.
    address : int
        Bytes.
    verdict : Verdict
        What must come of it.
    before : mapping, optional
        See `Step`.
    **fields : int
        Other fields of the event; see `EVENT_FIELDS`.
    """
    context = encode_event(
        address=address,
        channel=channel,
        direction=channel.direction,
        opcode=opcode,
        **fields,
    )
    return Step(context=context, verdict=verdict, before=before or {})
