"""What must hold of every schedule, checked in every run."""

from collections.abc import Sequence

import numpy as np

from fanweave.golden.dops.costs.tables import StepCosts
from fanweave.golden.dops.flat import FlatGraph
from fanweave.golden.dops.passlog import PURPOSES, PassLog
from fanweave.golden.dops.platforms import Platform
from fanweave.golden.errors import FaultError

__all__ = ["CHECKED", "WAIVED_IN_IMITATION", "Invariants"]

#: What is checked of every pass, by name.
CHECKED = (
    "operators run where they may",
    "operators take their time",
    "operators wait for what they need",
    "one thing at a time on a device",
    "one message at a time on a link",
    "bytes are conserved",
    "weights are loaded before they are used",
    "weights are loaded from where they are stored",
    "memory stays within its budget",
)

#: What the published rules do not keep, by name; `docs/dops/model.md` says why.
WAIVED_IN_IMITATION = (
    "decode follows prefill",
    "a token follows the one before",
    "keys and values are stored before they are read",
    "collectives use links",
    "activations take memory where they are read",
    "the host's memory has a bandwidth",
)
_STORE, _RELOAD, _MOVE, _HISTORY, _WEIGHTS, _SPILL, _REDUCE, _SCATTER, _RING = range(len(PURPOSES))


class Invariants:
    """Checks one pass after the other.

    Parameters
    ----------
    flat : FlatGraph
    platform : Platform
    limits : sequence of int
        Bytes that may be in use on each device.
    layouts : sequence of int
        `Layout` of each weight.
    """

    def __init__(
        self, flat: FlatGraph, platform: Platform, limits: Sequence[int], layouts: Sequence[int]
    ) -> None:
        self.flat, self.platform = flat, platform
        self.limits, self.layouts = np.array(limits), np.array(layouts)
        devices = len(platform.devices)
        self._free = np.zeros(devices, np.int64)
        self._link_free = np.zeros(devices * devices, np.int64)
        self._loaded = np.zeros((len(flat.graph.weights), devices), np.bool_)
        self._loaded[np.arange(len(flat.store)), flat.store] = True
        counts = np.diff(flat.succ_start)
        self._producer = np.repeat(np.arange(len(counts)), counts)
        self._consumer = flat.succ
        self._devices: Sequence[Sequence[int]] = ()
        self._allowed = np.zeros((0, devices), np.bool_)
        self.passes = 0

    def check(self, log: PassLog, costs: StepCosts, devices: Sequence[Sequence[int]]) -> None:
        """Check a pass.

        Raises
        ------
        FaultError
            Names the rule, and the operator, device or link that breaks it.
        """
        self._check_places(log, devices)
        self._check_durations(log, costs)
        self._check_devices(log)
        self._check_messages(log, costs)
        self._check_precedence(log)
        self._check_weights(log)
        for index in np.flatnonzero(log.used > self.limits)[:1]:
            self._fail(
                "memory stays within its budget",
                f"{self.platform.devices[index].name} holds {log.used[index]} bytes of "
                f"{self.limits[index]}",
            )
        self.passes += 1

    def _fail(self, rule: str, what: str) -> None:
        raise FaultError(f"schedule, pass {self.passes}: rule '{rule}' is broken: {what}")

    def _name(self, operator: int) -> str:
        return self.flat.graph.operators[operator].name

    def _check_places(self, log: PassLog, devices: Sequence[Sequence[int]]) -> None:
        if devices is not self._devices:
            # A phase has one list for all its passes.
            self._devices = devices
            self._allowed = np.zeros((len(devices), len(self.platform.devices)), np.bool_)
            for operator, places in enumerate(devices):
                self._allowed[operator, places] = True
        wrong = ~self._allowed[np.arange(len(log.place)), log.place] & ~self.flat.collective
        for operator in np.flatnonzero(wrong)[:1]:
            what = f"{self._name(operator)} on {log.place[operator]}"
            self._fail("operators run where they may", what)

    def _check_durations(self, log: PassLog, costs: StepCosts) -> None:
        flat = self.flat
        layouts = np.where(flat.weight_of >= 0, self.layouts[flat.weight_of], 0)
        least = costs.compute[layouts, flat.class_of, log.place]
        short = (log.finish - log.start < least) & ~flat.collective
        for operator in np.flatnonzero(short)[:1]:
            self._fail("operators take their time", f"{self._name(operator)} is too short")

    def _check_devices(self, log: PassLog) -> None:
        """Nothing overlaps on a device, within the pass and with the passes before."""
        plain = ~self.flat.collective
        rows = [np.stack([log.place, log.start, log.finish], axis=1)[plain]]
        if len(log.reads):
            rows.append(log.reads[:, 1:])
        for device in range(len(self.platform.devices)):
            shared = (log.copies >> device & 1).astype(np.bool_)
            # A star's collectives go on while their devices wait; a ring's devices all wait.
            shared &= ~(self.flat.reduce | self.flat.scatter)
            own = np.stack([log.start, log.finish], axis=1)[shared]
            rows.append(np.column_stack([np.full(len(own), device), own]))
        self._check_timeline("one thing at a time on a device", np.concatenate(rows), self._free)

    def _check_timeline(self, rule: str, rows: np.ndarray, free: np.ndarray) -> None:
        rows = rows[np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0]))]
        if not len(rows):
            return
        before = np.concatenate([[0], rows[:-1, 2]])
        first = np.concatenate([[True], rows[1:, 0] != rows[:-1, 0]])
        before[first] = free[rows[first, 0]]
        for index in np.flatnonzero(rows[:, 1] < before)[:1]:
            self._fail(rule, f"number {rows[index, 0]} at {rows[index, 1]} ps")
        last = np.concatenate([rows[1:, 0] != rows[:-1, 0], [True]])
        free[rows[last, 0]] = rows[last, 2]

    def _check_messages(self, log: PassLog, costs: StepCosts) -> None:
        """Links carry one message at a time, each for as long as its bytes take."""
        messages = log.messages
        if not len(messages):
            return
        purpose, operator, source, target = messages[:, :4].T
        links = source * len(self.platform.devices) + target
        rows = np.stack([links, messages[:, 4], messages[:, 5]], axis=1)
        self._check_timeline("one message at a time on a link", rows, self._link_free)
        kind = self.flat.class_of[operator]
        weights = self.flat.weight_of[operator]
        layouts = np.where(weights >= 0, self.layouts[weights], 0)
        expected = np.select(
            [purpose == _WEIGHTS, purpose == _HISTORY, purpose == _SPILL, purpose == _RING],
            [
                costs.link[layouts, kind, target],
                costs.kv_move[kind, source, target],
                costs.spill[kind, source],
                (log.finish - log.start)[operator],
            ],
            costs.move[kind, source, target],
        )
        for index in np.flatnonzero(messages[:, 5] - messages[:, 4] != expected)[:1]:
            self._fail("bytes are conserved", f"message of {self._name(operator[index])}")
        wrong = (purpose == _WEIGHTS) & (source != np.append(self.flat.store, -1)[weights])
        for index in np.flatnonzero(wrong)[:1]:
            self._fail("weights are loaded from where they are stored", self._name(operator[index]))

    def _check_precedence(self, log: PassLog) -> None:
        """Operators begin after what they need is there, and each output that travels is sent."""
        producer, consumer = self._producer, self._consumer
        late = log.start[consumer] < log.finish[producer]
        for edge in np.flatnonzero(late)[:1]:
            self._fail(
                "operators wait for what they need",
                f"{self._name(consumer[edge])} begins before {self._name(producer[edge])} ends",
            )
        devices = len(self.platform.devices)
        to = log.place[consumer]
        here = (log.copies[producer] >> to & 1).astype(np.bool_) | (log.place[producer] == to)
        collective = self.flat.collective[consumer]
        at_host = log.messages[np.isin(log.messages[:, 0], (_STORE, _SPILL))]
        stored = np.full(len(log.place), np.iinfo(np.int64).max)
        np.minimum.at(stored, at_host[:, 1], at_host[:, 5])
        # What was sent to the host for want of room need not be sent there again.
        there = ~here & (to == self.platform.host) & (stored[producer] <= log.start[consumer])
        travels = ~here & ~there & ~collective
        wanted = np.zeros((len(log.place), devices), np.int64)
        np.add.at(wanted, (producer[travels], to[travels]), 1)
        arrival = np.full(wanted.shape, np.iinfo(np.int64).max)
        sent = np.zeros_like(wanted)
        carried = log.messages[np.isin(log.messages[:, 0], (_RELOAD, _MOVE))]
        np.add.at(sent, (carried[:, 1], carried[:, 3]), 1)
        np.minimum.at(arrival, (carried[:, 1], carried[:, 3]), carried[:, 5])
        for operator, device in np.argwhere((wanted > 0) & (sent != wanted))[:1]:
            self._fail(
                "bytes are conserved",
                f"{self._name(operator)} is sent {sent[operator, device]} times to device "
                f"{device}, which needs it {wanted[operator, device]} times",
            )
        early = log.start[consumer] < arrival[producer, to]
        for edge in np.flatnonzero(early & travels)[:1]:
            self._fail(
                "operators wait for what they need",
                f"{self._name(consumer[edge])} begins before {self._name(producer[edge])} arrives",
            )

    def _check_weights(self, log: PassLog) -> None:
        loads = log.messages[log.messages[:, 0] == _WEIGHTS]
        self._loaded[self.flat.weight_of[loads[:, 1]], loads[:, 3]] = True
        weighted = np.flatnonzero(self.flat.weight_of >= 0)
        there = self._loaded[self.flat.weight_of[weighted], log.place[weighted]]
        for operator in weighted[~there][:1]:
            self._fail("weights are loaded before they are used", self._name(operator))
