"""Finds the longest path of a mapped design and names it in terms of its source."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fanweave.golden.errors import FaultError
from fanweave.sim.synthesis.library import CELLS, FLIP_FLOP, SETUP_PS
from fanweave.sim.synthesis.netlist import FlatDesign, NetName, flatten

__all__ = ["LongestPath", "Step", "longest_path"]


@dataclass(frozen=True, kw_only=True)
class Step:
    """A signal on a path, and when it is there, in ps after the clock edge."""

    at_ps: int
    name: NetName


@dataclass(frozen=True, kw_only=True)
class LongestPath:
    """The path that takes longest from a register or port to a register or port.

    Attributes
    ----------
    delay_ps : int
        From the clock edge through the path to the set-up before the next one.
    gates : int
        Gates on it.
    steps : tuple of Step
        Signals of the source on it, in their order. Synthesis keeps registers and the ports of
        blocks; what lies between them has no name any more. The last one is what the path goes to.
    """

    delay_ps: int
    gates: int
    steps: tuple[Step, ...]

    def as_data(self) -> dict[str, Any]:
        """What JSON has of it."""
        return {
            "delay_ps": self.delay_ps,
            "gates": self.gates,
            "steps": [
                {
                    "at_ps": step.at_ps,
                    "block": step.name.block,
                    "signal": step.name.signal,
                    "source": step.name.source,
                }
                for step in self.steps
            ],
        }


def longest_path(modules: Mapping[str, Any], top: str) -> LongestPath:
    """Time a mapped design: constant delays, every path taken to be real.

    Parameters
    ----------
    modules : mapping
        What ``write_json`` of Yosys has of them; memories may be whole, and count as a flip-flop
        on each bit of their ports.
    top : str
        The top's name.

    Raises
    ------
    FaultError
        If gates form a loop.
    """
    return _Timing(flatten(modules, top)).longest()


class _Timing:
    """Arrival times of all nets that lead somewhere."""

    def __init__(self, design: FlatDesign) -> None:
        self._design = design
        self._driver = {
            design.net(output): number for number, (_, output, _, _) in enumerate(design.gates)
        }
        clocked = CELLS[FLIP_FLOP].delay_ps
        self._arrival: dict[int, int] = {design.net(net): 0 for net in design.inputs}
        self._origin: dict[int, tuple[int, int]] = {}
        starts = [(output, where) for _, output, where in design.flip_flops]
        starts += [(net, where) for _, nets, where in design.macros for net in nets]
        for net, where in starts:
            self._arrival[design.net(net)] = clocked
            self._origin[design.net(net)] = net, where

    def longest(self) -> LongestPath:
        design = self._design
        ends = [(data, SETUP_PS, (out, where)) for data, out, where in design.flip_flops]
        ends += [(net, SETUP_PS, (net, where)) for nets, _, where in design.macros for net in nets]
        ends += [(net, 0, (net, 0)) for net in design.outputs]
        delay, last, target = 0, -1, (-1, 0)
        for net, setup, named in ends:
            if net < 0:
                continue
            root = design.net(net)
            at = self._time(root) + setup
            if at > delay:
                delay, last, target = at, root, named
        return self._path(delay, last, target)

    def _time(self, net: int) -> int:
        """Arrival of a net; works without recursion, for paths are long."""
        arrival, gates, find = self._arrival, self._design.gates, self._design.net
        open_: set[int] = set()
        waiting = [net]
        while waiting:
            now = waiting[-1]
            if now in arrival:
                waiting.pop()
                continue
            number = self._driver.get(now)
            if number is None:  # nothing drives it: a constant
                arrival[now] = 0
                continue
            delay, _, inputs, where = gates[number]
            roots = [find(each) for each in inputs]
            unknown = [root for root in roots if root not in arrival]
            if not unknown:
                arrival[now] = delay + max((arrival[root] for root in roots), default=0)
                open_.discard(now)
                continue
            if now in open_:
                block = self._design.instances[where].path or "the top"
                raise FaultError(f"gates form a loop in {block}")
            open_.add(now)
            waiting += unknown
        return arrival[net]

    def _path(self, delay: int, last: int, target: tuple[int, int]) -> LongestPath:
        """Walk back from the end, always to the latest input."""
        design, count = self._design, 0
        steps: list[Step] = []
        named = design.name_of(*target)
        if named is not None:
            steps.append(Step(at_ps=delay, name=named))
        net = last
        while net in self._driver:
            _, output, inputs, where = design.gates[self._driver[net]]
            self._note(steps, net, (output, where))
            count += 1
            roots = [design.net(each) for each in inputs]
            if not roots:
                break
            net = max(roots, key=lambda root: self._arrival[root])
        self._note(steps, net, self._origin.get(net, (net, 0)))
        return LongestPath(delay_ps=delay, gates=count, steps=tuple(reversed(steps)))

    def _note(self, steps: list[Step], net: int, place: tuple[int, int]) -> None:
        """Keep a net that the source has a name for, and a signal once."""
        instance = self._design.instances[place[1]]
        inside = 0 <= place[0] - instance.first_net < instance.module.nets
        name = self._design.name_of(*place) if inside else None
        if name is None:
            return
        if steps and (steps[-1].name.block, steps[-1].name.signal) == (name.block, name.signal):
            steps.pop()
        steps.append(Step(at_ps=self._arrival[net], name=name))
