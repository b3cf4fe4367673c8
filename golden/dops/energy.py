"""Energy of a run: what operators and messages take, pass by pass, and what devices take idle."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fanweave.golden.dops.costs.physical import memory_bytes, operations
from fanweave.golden.dops.energy_cards import EnergyCard
from fanweave.golden.dops.flat import FlatGraph
from fanweave.golden.dops.passlog import PassLog
from fanweave.golden.dops.platforms import PICOSECONDS, Platform
from fanweave.golden.dops.work import Step
from fanweave.golden.origins import Origin, published

__all__ = ["DeviceEnergy", "EnergyMeter", "EnergyReport", "PassEnergy"]

_PJ = 1e-12


@dataclass(frozen=True, kw_only=True)
class DeviceEnergy:
    """Energy of a device, or of all links, in joules.

    Attributes
    ----------
    name : str
    operations, memory, idle : float
        Of arithmetic; of bytes read and written, or sent; of the time of the run.
    origin : str
        That of the numbers of its card.
    """

    name: str
    operations: float
    memory: float
    idle: float
    origin: Origin

    @property
    def total(self) -> float:
        """All together."""
        return self.operations + self.memory + self.idle


@dataclass(frozen=True, kw_only=True)
class EnergyReport:
    """Energy of a run.

    Attributes
    ----------
    parts : tuple of DeviceEnergy
        Those whose energy is known, the links last.
    unknown : tuple of str
        Devices, or links, of which nothing is known; the total is then without them.
    output_tokens : int
    """

    parts: tuple[DeviceEnergy, ...]
    unknown: tuple[str, ...]
    output_tokens: int

    @property
    def total(self) -> float:
        """Joules of all whose energy is known."""
        return sum(part.total for part in self.parts)

    @property
    def per_token(self) -> float:
        """Joules for each generated token, prefill included; 0 if there is none."""
        return self.total / self.output_tokens if self.output_tokens else 0.0

    @property
    def origin(self) -> Origin:
        """That of the sum: published only if all of it is."""
        return published(part.origin for part in self.parts)

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "total_j": self.total,
            "per_output_token_j": self.per_token,
            "origin": self.origin,
            "unknown": list(self.unknown),
            "parts": [
                {
                    "name": part.name,
                    "operations_j": part.operations,
                    "memory_j": part.memory,
                    "idle_j": part.idle,
                    "origin": part.origin,
                }
                for part in self.parts
            ],
        }


@dataclass(frozen=True, kw_only=True)
class PassEnergy:
    """Joules of one pass: of arithmetic and of memory on each device, and of the links."""

    operations: np.ndarray
    memory: np.ndarray
    links: float

    @property
    def total(self) -> float:
        """All together."""
        return float(self.operations.sum() + self.memory.sum()) + self.links


class EnergyMeter:
    """Adds up the energy of passes.

    An operator takes what its operations and all bytes that it reads and writes take on its
    device; a message what its bytes take on the link, and once more where they are read and
    where they are written. Collectives take what their messages take.

    Parameters
    ----------
    flat, platform
    bits : int
        Bits of an element.
    """

    def __init__(self, flat: FlatGraph, platform: Platform, bits: int) -> None:
        self.flat, self.platform, self._bits = flat, platform, bits
        cards = [device.energy for device in platform.devices]
        self._flop, self._byte = (
            np.array([getattr(card, key) if card else 0.0 for card in cards])
            for key in ("pj_per_flop", "pj_per_byte")
        )
        self._rows: list[tuple[int, PassEnergy]] = []

    @property
    def knows(self) -> bool:
        """Whether the energy of any device is known."""
        return any(device.energy for device in self.platform.devices)

    def measure(self, step: Step, log: PassLog) -> PassEnergy:
        """Energy of one pass."""
        flat, devices = self.flat, self.platform.devices
        plain = ~flat.collective
        shape = len(flat.graph.classes), len(devices)
        counts = np.zeros(shape, np.int64)
        np.add.at(counts, (flat.class_of[plain], log.place[plain]), 1)
        flops, sizes = np.zeros(shape), np.zeros(shape)
        for kind, place in zip(*np.nonzero(counts), strict=True):
            work = flat.graph.classes[kind]
            flops[kind, place] = operations(devices[place], work, step)
            sizes[kind, place] = memory_bytes(devices[place], work, step, self._bits)
        moved, sent = self._messages(log)
        return PassEnergy(
            operations=(counts * flops).sum(axis=0) * self._flop * _PJ,
            memory=((counts * sizes).sum(axis=0) + moved) * self._byte * _PJ,
            links=sent,
        )

    def _messages(self, log: PassLog) -> tuple[np.ndarray, float]:
        """Bytes that messages read and write on each device, and joules on links."""
        moved, joules = np.zeros(len(self.platform.devices)), 0.0
        times: dict[tuple[int, int], list[int]] = {}
        for _, _, source, target, start, finish in log.messages.tolist():
            times.setdefault((source, target), []).append(finish - start)
        for (source, target), each in times.items():
            link = self.platform.link(source, target)
            if link is None:
                continue
            payload, wire = np.array([link.sent(time) for time in each]).sum(axis=0).tolist()
            moved[[source, target]] += payload
            if link.energy is not None:
                joules += wire * link.energy.pj_per_byte * _PJ
        return moved, joules

    def add(self, step: Step, log: PassLog, token: int) -> None:
        """Take down a pass; `token` is -1 for prefill."""
        self._rows.append((token, self.measure(step, log)))

    def report(self, total_ps: int, *, tokens: int, output_tokens: int) -> EnergyReport | None:
        """Energy of a run; of tokens that were not run, on lines between those that were.

        Parameters
        ----------
        total_ps : int
            How long the run took.
        tokens : int
            Decoded passes.
        output_tokens : int
            Generated tokens of all sequences.
        """
        if not self.knows:
            return None
        cards = [(device.name, device.energy) for device in self.platform.devices]
        operations_, memory, links = (
            self._whole([getattr(row, key) for _, row in self._rows], tokens)
            for key in ("operations", "memory", "links")
        )
        seconds = total_ps / PICOSECONDS
        parts = [
            _part(name, card, operations_[index], memory[index], seconds)
            for index, (name, card) in enumerate(cards)
            if card is not None
        ]
        unknown = [name for name, card in cards if card is None]
        card = self.platform.default_link.energy
        if card is None:
            unknown.append("links")
        else:
            ports = len(cards)
            parts.append(_part("links", card, 0.0, float(links), seconds * ports))
        return EnergyReport(parts=tuple(parts), unknown=tuple(unknown), output_tokens=output_tokens)

    def _whole(self, values: Sequence[Any], tokens: int) -> np.ndarray:
        """Sum over prefill and all tokens of values of the passes that ran."""
        rows = np.array(values, float)
        ran = np.array([token for token, _ in self._rows])
        decode = ran >= 0
        total: np.ndarray = rows[~decode].sum(axis=0)
        if not decode.any():
            return total
        flat = rows[decode].reshape(int(decode.sum()), -1)
        every = np.arange(tokens)
        sums = [np.interp(every, ran[decode], column).sum() for column in flat.T]
        return total + np.array(sums).reshape(total.shape)


def _part(
    name: str, card: EnergyCard, operations_: float, memory: float, seconds: float
) -> DeviceEnergy:
    return DeviceEnergy(
        name=name,
        operations=float(operations_),
        memory=float(memory),
        idle=card.idle_w * seconds,
        origin=card.origin,
    )
