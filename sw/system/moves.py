"""Pages that islands moved in a run, by the names of the graph."""

from collections.abc import Iterator
from dataclasses import dataclass

from fanweave.golden.cxl.timed.system import TimedSystem
from fanweave.golden.isa.cxl_switch import PAGE_BYTES, MoveStep
from fanweave.sw.system.setups import Prepared

__all__ = ["PageMove", "page_moves"]


@dataclass(frozen=True, kw_only=True)
class PageMove:
    """A page that an island moved.

    Attributes
    ----------
    island, host, object : str
        Whose page it was, and of what; a host behind a link is the port that it comes in by.
    address : int
        In bytes.
    memory : str
        Where it went; a link is the island behind it.
    begin, cycles : int
        Cycle of the run in which it began, and how many it took; -1 if it did not end.
    whole : bool
        All of it went.
    """

    island: str
    host: str
    object: str
    address: int
    memory: str
    begin: int
    cycles: int
    whole: bool


def page_moves(prepared: Prepared, system: TimedSystem, first: int) -> Iterator[PageMove]:
    """Moves that the system keeps, in the order of their beginnings.

    Parameters
    ----------
    prepared : Prepared
    system : TimedSystem
        Run to its end.
    first : int
        Cycle of the first request.
    """
    graph, state = prepared.graph, system.state
    behind = {(link.island, link.port): link.place for link in graph.links}
    behind |= {(link.place, link.place_port): link.island for link in graph.links}
    for row in state.history[: min(int(state.clock[6]), len(state.history))]:
        number, host, page, port, begin, end, step = map(int, row)
        island, address = prepared.islands[number], page * PAGE_BYTES
        items = [x.name for x in graph.objects.values() if x.first <= address < x.end]
        yield PageMove(
            island=island,
            host=behind[island, host],
            object=items[0] if items else "",
            address=address,
            memory=behind[island, port],
            begin=begin - first,
            cycles=end + 1 - begin if end >= 0 else -1,
            whole=step in (MoveStep.END, MoveStep.HOME),
        )
