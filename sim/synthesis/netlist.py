"""A mapped design as Yosys writes it, taken apart into gates and flip-flops of all instances."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fanweave.golden.errors import FaultError
from fanweave.sim.synthesis.library import CELLS, FLIP_FLOP, TIES

__all__ = ["MACRO", "FlatDesign", "Instance", "NetName", "flatten"]

#: Type of a memory that is left whole.
MACRO = "$mem_v2"
#: Constant inputs have no net.
_CONSTANT = -1


@dataclass(frozen=True, kw_only=True)
class NetName:
    """What a net is called in the source.

    Attributes
    ----------
    block : str
        Path of the block in its top, parts separated by dots; empty for the top itself.
    signal : str
        The signal, with a bit if it has several.
    source : str
        File and line of its declaration, or empty.
    """

    block: str
    signal: str
    source: str

    def __str__(self) -> str:
        path = f"{self.block}.{self.signal}" if self.block else self.signal
        return f"{path} ({self.source})" if self.source else path


class _Module:
    """A module once, with its nets numbered from zero."""

    def __init__(self, data: Mapping[str, Any], modules: Mapping[str, Any]) -> None:
        self._numbers: dict[int, int] = {}
        self.ports = {
            name: (port["direction"], self._nets(port["bits"]))
            for name, port in data["ports"].items()
        }
        self.gates: list[tuple[str, int, tuple[int, ...]]] = []
        self.flip_flops: list[tuple[int, int]] = []
        self.macros: list[tuple[list[int], list[int]]] = []
        self.instances: list[tuple[str, str, dict[str, list[int]]]] = []
        for name, cell in data["cells"].items():
            self._add(name, cell, modules)
        self._names = data["netnames"]
        self._named: dict[int, tuple[str, str]] | None = None

    def _add(self, name: str, cell: Mapping[str, Any], modules: Mapping[str, Any]) -> None:
        kind = cell["type"]
        nets = {pin: self._nets(bits) for pin, bits in cell["connections"].items()}
        if kind == FLIP_FLOP:
            self.flip_flops.append((nets["D"][0], nets["Q"][0]))
        elif kind in CELLS:
            known = CELLS[kind]
            inputs = tuple(nets[pin][0] for pin in known.inputs)
            self.gates.append((kind, nets[known.output][0], inputs))
        elif kind == MACRO:
            ends = [net for pin, bits in nets.items() if pin != "RD_DATA" for net in bits]
            self.macros.append((ends, nets["RD_DATA"]))
        elif kind in modules:
            self.instances.append((kind, name, nets))
        elif kind not in TIES:  # what nothing drives is constant
            raise FaultError(f"yosys uses a cell that the library does not have: {kind}")

    def _nets(self, bits: list[int | str]) -> list[int]:
        numbers = self._numbers
        return [
            _CONSTANT if isinstance(bit, str) else numbers.setdefault(bit, len(numbers))
            for bit in bits
        ]

    @property
    def nets(self) -> int:
        """How many there are."""
        return len(self._numbers)

    def name_of(self, net: int) -> tuple[str, str] | None:
        """Signal and source of a net, if the source has one for it; the best name wins."""
        if self._named is None:
            self._named = {}
            for name, entry in sorted(self._names.items(), key=_rank, reverse=True):
                if entry["hide_name"]:
                    continue
                bits, source = entry["bits"], entry["attributes"].get("src", "")
                for number, bit in enumerate(bits):
                    if bit in self._numbers:
                        signal = f"{name}[{number}]" if len(bits) > 1 else name
                        self._named[self._numbers[bit]] = signal, source
        return self._named.get(net)


def _rank(item: tuple[str, Mapping[str, Any]]) -> tuple[bool, bool, bool, int]:
    """The less, the better a name: of a project's own source, a register's, not numbered, short."""
    name, entry = item
    attributes = entry["attributes"]
    return (
        attributes.get("src", "amaranth/").startswith("amaranth/"),
        "init" not in attributes,
        "$" in name,
        len(name),
    )


@dataclass(frozen=True, kw_only=True)
class Instance:
    """A block of the design: its path, its module, and the number of its first net."""

    path: str
    module: _Module
    first_net: int


@dataclass(kw_only=True)
class FlatDesign:
    """All instances of a design; nets are numbers, the same net may have several.

    Attributes
    ----------
    instances : list of Instance
        The top first.
    gates : list of tuple
        Delay in ps, output, inputs and number of the instance of each gate.
    flip_flops : list of tuple
        Input, output and number of the instance of each flip-flop.
    macros : list of tuple
        Inputs, outputs and number of the instance of each memory that is whole.
    inputs, outputs : list of int
        Nets of the top's ports.
    """

    instances: list[Instance] = field(default_factory=list)
    gates: list[tuple[int, int, tuple[int, ...], int]] = field(default_factory=list)
    flip_flops: list[tuple[int, int, int]] = field(default_factory=list)
    macros: list[tuple[list[int], list[int], int]] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    _same: list[int] = field(default_factory=list)

    def net(self, number: int) -> int:
        """The number that stands for all numbers of a net."""
        same = self._same
        while same[number] != number:
            same[number] = number = same[same[number]]
        return number

    def name_of(self, net: int, instance: int) -> NetName | None:
        """What a net is called in the block that drives it."""
        where = self.instances[instance]
        found = where.module.name_of(net - where.first_net)
        return found and NetName(block=where.path, signal=found[0], source=found[1])

    def add(self, module: _Module, path: str) -> Iterator[tuple[str, str, dict[str, list[int]]]]:
        """Take an instance in; yields the instances that it holds with the nets of their pins."""
        first, number = len(self._same), len(self.instances)
        self._same.extend(range(first, first + module.nets))
        self.instances.append(Instance(path=path, module=module, first_net=first))
        for kind, output, inputs in module.gates:
            nets = tuple(first + net for net in inputs if net >= 0)
            self.gates.append((CELLS[kind].delay_ps, first + output, nets, number))
        for data, output in module.flip_flops:
            self.flip_flops.append((_moved(data, first), first + output, number))
        for ends, starts in module.macros:
            self.macros.append(
                (
                    [first + net for net in ends if net >= 0],
                    [first + net for net in starts if net >= 0],
                    number,
                )
            )
        for kind, name, pins in module.instances:
            moved = {pin: [_moved(net, first) for net in nets] for pin, nets in pins.items()}
            # A part that synthesis made has no place of its own in the source.
            within = path if name == kind else f"{path}.{name}" if path else name
            yield kind, within, moved

    def join(self, one: int, other: int) -> None:
        """Note that two numbers are the same net."""
        self._same[self.net(one)] = self.net(other)


def flatten(modules: Mapping[str, Any], top: str) -> FlatDesign:
    """Take all instances of a mapped design apart.

    Parameters
    ----------
    modules : mapping
        What ``write_json`` of Yosys has of them.
    top : str
        The top's name.

    Raises
    ------
    FaultError
        If there is a cell that the library does not have.
    """
    known: dict[str, _Module] = {}
    flat = FlatDesign()
    waiting: list[tuple[str, str, dict[str, list[int]] | None]] = [(top, "", None)]
    while waiting:
        kind, path, pins = waiting.pop()
        if kind not in known:
            known[kind] = _Module(modules[kind], modules)
        module = known[kind]
        first = len(flat._same)
        waiting += flat.add(module, path)
        for name, (direction, nets) in module.ports.items():
            if pins is None:
                ends = flat.inputs if direction == "input" else flat.outputs
                ends += [first + net for net in nets if net >= 0]
                continue
            for net, outer in zip(nets, pins.get(name, ()), strict=False):
                if net >= 0 and outer >= 0:
                    flat.join(first + net, outer)
    return flat


def _moved(net: int, first: int) -> int:
    return net if net < 0 else first + net
