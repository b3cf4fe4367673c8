"""What the switch does to links: costs of what was measured of the movements that use them."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from fanweave.golden.dops.platforms import Platform
from fanweave.golden.loop.costs import Cost, Costs, bandwidth_of
from fanweave.golden.origins import Origin

__all__ = ["LOADED", "LinkFigure", "with_links"]

#: How sources of costs begin that were measured while movements used the link.
LOADED = "under load"
_IDLE = "idle switch"


@dataclass(frozen=True, kw_only=True)
class LinkFigure:
    """What was measured of a movement.

    Attributes
    ----------
    movement, source, target : str
        Its name, and the devices that its lines go from and to.
    messages : int
    latency_ns : float
        Mean time of a request and its answer in the switch, without that of the memory.
    bandwidth_gib : float
        Of its lines, GiB/s.
    """

    movement: str
    source: str
    target: str
    messages: int
    latency_ns: float
    bandwidth_gib: float


def with_links(
    costs: Costs,
    platform: Platform,
    figures: Iterable[LinkFigure],
    *,
    idle_ns: float,
    origin: Origin,
) -> dict[str, Cost]:
    """Costs with those of links renewed.

    A link of several movements has the mean of their requests and the rate of all their lines one
    after the other. A link carries no more than the platform says. One without a movement keeps
    what was measured of it under load in an earlier round, as costs that jump back would never
    settle; if nothing was, the switch takes what it takes a request alone.

    Parameters
    ----------
    costs : Costs
    platform : Platform
        As it is without these costs.
    figures : iterable of LinkFigure
    idle_ns : float
        What the switch takes a request alone.
    origin : str
        Of the figures.
    """
    found = dict(costs)
    by_link: dict[tuple[str, str], list[LinkFigure]] = {}
    for figure in figures:
        by_link.setdefault((figure.source, figure.target), []).append(figure)
    for name in costs:
        family, *parts = name.split("/")
        if family == "lanes_busy":
            continue
        own = by_link.get((parts[0], parts[1]), [])
        if family == "switch_latency":
            found[name] = _latency(costs[name], own, idle_ns, origin)
        else:
            found[name] = _bandwidth(costs[name], own, _limit(platform, *parts), origin)
    return found


def _limit(platform: Platform, source: str, target: str) -> Cost:
    """What the platform says of a link."""
    names = [device.name for device in platform.devices]
    link = platform.link(names.index(source), names.index(target))
    assert link is not None  # it has a cost
    return bandwidth_of(platform, link)


def _latency(cost: Cost, own: list[LinkFigure], idle_ns: float, origin: Origin) -> Cost:
    if own:
        messages = sum(figure.messages for figure in own)
        mean = sum(figure.latency_ns * figure.messages for figure in own) / messages
        return Cost(
            value=round(mean, 2),
            unit="ns",
            origin=origin,
            source=f"{LOADED}, {messages} requests",
        )
    if cost.source.startswith(LOADED):
        return cost
    return Cost(value=round(idle_ns, 2), unit="ns", origin=origin, source=_IDLE)


def _bandwidth(cost: Cost, own: list[LinkFigure], limit: Cost, origin: Origin) -> Cost:
    if own:
        messages = sum(figure.messages for figure in own)
        rate = messages / sum(figure.messages / figure.bandwidth_gib for figure in own)
        if rate < limit.value:
            return Cost(
                value=round(rate, 3),
                unit="GiB/s",
                origin=origin,
                source=f"{LOADED}, {messages} requests",
            )
        return replace(limit, source=f"{LOADED} the switch carries more; {limit.source}")
    return cost if cost.source.startswith(LOADED) else limit
