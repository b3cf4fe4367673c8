"""All times of one pass as tables: what schedulers, timing and bounds read.

Index ``l`` is the `Layout` of a weight, ``c`` an operator class, ``e`` an edge class (a pair of
operator classes), ``d`` a device; times are picoseconds, sizes bytes.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from fanweave.golden.dops.costs.device import DeviceCosts, join
from fanweave.golden.dops.flat import FlatGraph
from fanweave.golden.dops.graph import COLLECTIVES, Kind
from fanweave.golden.dops.layouts import LAYOUTS, storage_bytes
from fanweave.golden.dops.platforms import Link, Platform
from fanweave.golden.dops.work import Step, byte_count, kv_elements, traffic
from fanweave.golden.errors import InputError

__all__ = ["FOREVER", "LONGEST", "CostTables", "StepCosts"]

#: A time that no schedule reaches: the thing cannot be done.
FOREVER = 1 << 60
#: A run ends before, in picoseconds: 20 hours, of which 64 times as much fits into 64 bits. What
#: takes longer on a device counts as this.
LONGEST = 1 << 56
#: Least payload of an estimated transfer, bytes.
_LEAST_PAYLOAD = 16 * 1024
#: Operators whose work grows with the context in decode.
_GROWING = frozenset({Kind.QK, Kind.SOFTMAX, Kind.SV})


class StepCosts(NamedTuple):
    """Tables of one pass, int64 all of them; a named tuple, which compiled code can read.

    Attributes
    ----------
    compute : [l, c, d]
        Time with the weights resident.
    link : [l, c, d]
        Transfer of the weights from where they are stored.
    cold : [l, c, d]
        Transfer, placing and computing together, once the link is free.
    weight, output, held : [c]
        Bytes of the weights, of the output, and of the larger of input and output, which a
        device keeps until the last consumer has it.
    read : [c, d]
        To read the output out of a device's memory.
    move : [c, d, d]
        To send the output over a link.
    spill_read, spill : [c, d], [c, d]
        To read and to send what a device cannot keep to the host: `held` bytes.
    kv_bytes, kv_read, kv_move : [c], [c, d], [c, d, d]
        The same of the stored keys or values.
    ring : [c, p, d, d]
        One hop of a ring of ``p`` participants.
    edge_bytes, edge_send, edge_move : [e], [e, d, d], [e, d, d]
        Estimated payload of an edge, and its time without contention: over the link alone, and
        with reading it at its source.
    hint_move : [c, d, d]
        Estimated time of an operator's activations without contention.
    """

    compute: np.ndarray
    link: np.ndarray
    cold: np.ndarray
    weight: np.ndarray
    output: np.ndarray
    held: np.ndarray
    read: np.ndarray
    move: np.ndarray
    spill_read: np.ndarray
    spill: np.ndarray
    kv_bytes: np.ndarray
    kv_read: np.ndarray
    kv_move: np.ndarray
    ring: np.ndarray
    edge_bytes: np.ndarray
    edge_send: np.ndarray
    edge_move: np.ndarray
    hint_move: np.ndarray


class CostTables:
    """Makes the tables of each pass of a workload.

    Parameters
    ----------
    flat : FlatGraph
    platform : Platform
    models : sequence of DeviceCosts
        One a device, in the platform's order; equal devices share one.
    bits : int
        Bits of an element.
    load_compute, load_place : float
        Share of the shorter one that is hidden when weights are loaded while the operator
        computes, and when they are sent while those before are placed.
    """

    def __init__(
        self,
        flat: FlatGraph,
        platform: Platform,
        models: Sequence[DeviceCosts],
        *,
        bits: int,
        load_compute: float,
        load_place: float,
    ) -> None:
        self.flat, self.platform, self.models, self.bits = flat, platform, models, bits
        self.load_compute, self.load_place = load_compute, load_place
        self.local_history = np.array([model.reads_history for model in models], np.bool_)
        self._classes = flat.graph.classes
        self._growing = [i for i, work in enumerate(self._classes) if work.kind in _GROWING]
        self._growing_edges = [
            i
            for i, pair in enumerate(flat.edges)
            if any(self._classes[c].kind in _GROWING for c in pair)
        ]
        self._links, self._link_of = _distinct_links(platform)
        self._distinct_models = list(dict.fromkeys(models))
        self._model_of = np.array([self._distinct_models.index(model) for model in models])
        self._decode: StepCosts | None = None
        self._batch = 0  # of the last decode pass

    def step(self, step: Step) -> StepCosts:
        """Tables of a pass; in decode they are valid until the next of as many sequences.

        Raises
        ------
        InputError
            If an operator has more bytes than can be counted.
        """
        try:
            return self._step(step)
        except OverflowError as error:
            raise InputError(
                f"an operator of {step.batch} sequences of {step.context} tokens has more bytes "
                "than 64 bits can count; ask for fewer"
            ) from error

    def _step(self, step: Step) -> StepCosts:
        if step.phase == "decode" and self._decode is not None and step.batch == self._batch:
            self._fill(self._decode, step, self._growing, self._growing_edges)
            return self._decode
        costs = self._empty()
        self._fill(costs, step, range(len(self._classes)), range(len(self.flat.edges)))
        if step.phase == "decode":
            self._decode, self._batch = costs, step.batch
        return costs

    def _empty(self) -> StepCosts:
        c, d, e = len(self._classes), len(self.models), len(self.flat.edges)

        def table(*shape: int) -> np.ndarray:
            return np.zeros(shape, np.int64)

        layouts = len(LAYOUTS)
        return StepCosts(
            compute=table(layouts, c, d),
            link=table(layouts, c, d),
            cold=table(layouts, c, d),
            weight=table(c),
            output=table(c),
            held=table(c),
            read=table(c, d),
            move=table(c, d, d),
            spill_read=table(c, d),
            spill=table(c, d),
            kv_bytes=table(c),
            kv_read=table(c, d),
            kv_move=table(c, d, d),
            ring=table(c, d + 1, d, d),
            edge_bytes=table(e),
            edge_send=table(e, d, d),
            edge_move=table(e, d, d),
            hint_move=table(c, d, d),
        )

    def _fill(
        self, costs: StepCosts, step: Step, classes: Sequence[int], edges: Sequence[int]
    ) -> None:
        for index in classes:
            self._fill_class(costs, step, index)
        for index in edges:
            producer, consumer = self.flat.edges[index]
            read, _ = self._bytes(consumer, step)
            payload = max(int(costs.output[producer]), read, _LEAST_PAYLOAD)
            costs.edge_bytes[index] = payload
            costs.edge_send[index] = self._shortest(payload)
            costs.edge_move[index] = self._estimate(payload)

    def _bytes(self, index: int, step: Step) -> tuple[int, int]:
        read, write = traffic(self._classes[index], step)
        return byte_count(read, self.bits), byte_count(write, self.bits)

    def _fill_class(self, costs: StepCosts, step: Step, index: int) -> None:
        work = self._classes[index]
        read, write = self._bytes(index, step)
        costs.output[index], costs.held[index] = write, max(read, write)
        costs.move[index] = self._send(write)
        costs.read[index] = self._each(lambda model: model.read(write))
        held = max(read, write)
        costs.spill[index] = self._send(held)[:, self.platform.host]
        costs.spill_read[index] = self._each(lambda model: model.read(held))
        costs.hint_move[index] = self._estimate(max(read, write, _LEAST_PAYLOAD))
        size = byte_count(work.weights, self.bits)
        costs.weight[index] = size
        if work.kind in COLLECTIVES:
            for ring in range(2, len(self.models) + 1):
                costs.ring[index, ring] = self._send(-(-write // ring))
        history = byte_count(kv_elements(work, step), self.bits)
        costs.kv_bytes[index] = history
        if history:
            costs.kv_read[index] = self._each(lambda model: model.read(history))
            costs.kv_move[index] = self._send(history)
        for layout in LAYOUTS if size else LAYOUTS[:1]:
            compute = self._each(lambda model: model.compute(work, step, layout))  # noqa: B023
            costs.compute[layout, index] = compute
            if size:
                self._fill_load(costs, index, layout, size)

    def _fill_load(self, costs: StepCosts, index: int, layout: int, size: int) -> None:
        store = self._classes[index].store(self.platform.host)
        sent = self._send(storage_bytes(size, layout))[store]
        place = self._each(lambda model: model.load_local(size, layout))
        costs.link[layout, index] = sent
        for device in range(len(self.models)):
            load = join(int(sent[device]), int(place[device]), self.load_place)
            compute = int(costs.compute[layout, index, device])
            costs.cold[layout, index, device] = join(load, compute, self.load_compute)

    def _each(self, ask: Callable[[DeviceCosts], int]) -> np.ndarray:
        answers = [min(ask(model), LONGEST) for model in self._distinct_models]
        return np.array(answers, np.int64)[self._model_of]

    def _send(self, size: int) -> np.ndarray:
        """Time of `size` bytes between any two devices; FOREVER where there is no link."""
        times = [FOREVER if link is None else min(link.time(size), LONGEST) for link in self._links]
        matrix = np.array(times, np.int64)[self._link_of]
        np.fill_diagonal(matrix, 0)
        return matrix

    def _shortest(self, size: int) -> np.ndarray:
        """Time of a transfer without contention, through the host where that is shorter."""
        direct = self._send(size)
        host = self.platform.host
        if self.platform.topology == "star":
            direct = np.minimum(direct, direct[:, [host]] + direct[[host], :])
        return direct

    def _estimate(self, size: int) -> np.ndarray:
        """The same with reading at its source."""
        direct = self._shortest(size) + self._each(lambda model: model.read(size))[:, None]
        np.fill_diagonal(direct, 0)
        return direct


def _distinct_links(platform: Platform) -> tuple[list[Link | None], np.ndarray]:
    links: list[Link | None] = []
    count = len(platform.devices)
    of = np.zeros((count, count), np.int64)
    for source in range(count):
        for target in range(count):
            link = platform.link(source, target)
            if link not in links:
                links.append(link)
            of[source, target] = links.index(link)
    return links, of
