"""The result of placing a workload: times, and where every operator ran."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fanweave.golden.dops.energy import EnergyReport
from fanweave.golden.dops.flat import FlatGraph
from fanweave.golden.dops.layouts import Layout
from fanweave.golden.dops.passlog import PURPOSES, PassLog
from fanweave.golden.dops.platforms import PICOSECONDS, Platform

__all__ = ["KeptPass", "Schedule"]


@dataclass(frozen=True, kw_only=True)
class KeptPass:
    """A pass of which every row is kept."""

    phase: str
    token: int
    log: PassLog


@dataclass(kw_only=True)
class Schedule:
    """A placed and timed workload; times in picoseconds.

    Attributes
    ----------
    flat, platform
    scheduler, mode, record : str
    prefill, total, lower_bound : int
    token_ends : list of int
    kept : list of KeptPass
        Prefill, the first and the last token.
    busy : int64[d]
        Time of each device that operators and reads take.
    sent : int64[purpose]
        Time of links by purpose.
    loads : int64[w, d]
        How often each weight was loaded onto each device.
    ran : int
        Tokens that were run; fewer than all of them in a sample.
    layouts : list of int
        `Layout` of each weight at the host.
    energy : EnergyReport or None
        None if no device's energy is known.
    homes : dict of str to str
        Where keys and values live, and where weights are stored: kinds of devices.
    checked, waived : tuple of str
        Rules that were checked of every pass, and those that the mode does not keep, by name.
    """

    flat: FlatGraph
    platform: Platform
    scheduler: str
    mode: str
    record: str
    prefill: int = 0
    total: int = 0
    lower_bound: int = 0
    token_ends: list[int] = field(default_factory=list)
    kept: list[KeptPass] = field(default_factory=list)
    busy: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    sent: np.ndarray = field(default_factory=lambda: np.zeros(len(PURPOSES), np.int64))
    loads: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    checked: tuple[str, ...] = ()
    waived: tuple[str, ...] = ()
    ran: int = 0
    homes: dict[str, str] = field(default_factory=dict)
    layouts: list[int] = field(default_factory=list)
    energy: EnergyReport | None = None

    def rows(self, kept: KeptPass) -> list[dict[str, Any]]:
        """Operator, device, start and finish in seconds, in order of their start."""
        log, operators = kept.log, self.flat.graph.operators
        order = np.lexsort((log.finish, log.start))
        return [
            {
                "operator": operators[index].name,
                "device": self.device(kept, index),
                "start_s": int(log.start[index]) / PICOSECONDS,
                "finish_s": int(log.finish[index]) / PICOSECONDS,
            }
            for index in order.tolist()
        ]

    def messages(self, kept: KeptPass) -> list[dict[str, Any]]:
        """Purpose, operator, source, target, start and finish of every message of a pass."""
        names = [device.name for device in self.platform.devices]
        return [
            {
                "purpose": PURPOSES[purpose],
                "operator": self.flat.graph.operators[operator].name,
                "source": names[source],
                "target": names[target],
                "start_s": start / PICOSECONDS,
                "finish_s": finish / PICOSECONDS,
            }
            for purpose, operator, source, target, start, finish in kept.log.messages.tolist()
        ]

    def device(self, kept: KeptPass, index: int) -> str:
        """Name of the device an operator ran on; of a collective, ``links``."""
        if self.flat.collective[index]:
            return "links"
        return self.platform.devices[int(kept.log.place[index])].name

    def document(self, *, rows: bool = False) -> dict[str, Any]:
        """The JSON document; `rows` adds the kept passes."""
        result: dict[str, Any] = {
            "model": self.flat.graph.model.name,
            "platform": self.platform.name,
            "scheduler": self.scheduler,
            "mode": self.mode,
            "record": self.record,
            "prefill_s": self.prefill / PICOSECONDS,
            "decode_s": (self.total - self.prefill) / PICOSECONDS,
            "total_s": self.total / PICOSECONDS,
            "lower_bound_s": self.lower_bound / PICOSECONDS,
            "devices": [
                {
                    "device": device.name,
                    "busy_s": int(self.busy[index]) / PICOSECONDS,
                    "weight_loads": int(self.loads[:, index].sum()),
                }
                for index, device in enumerate(self.platform.devices)
            ],
            "link_s": {
                purpose: int(time) / PICOSECONDS
                for purpose, time in zip(PURPOSES, self.sent.tolist(), strict=True)
            },
            "layouts": {
                Layout(layout).name.lower(): count
                for layout, count in sorted(Counter(self.layouts).items())
            },
            "homes": dict(self.homes),
            "decoded_tokens": len(self.token_ends),
            "tokens_run": self.ran,
            "checked_rules": list(self.checked),
            "waived_rules": list(self.waived),
        }
        if self.energy is not None:
            result["energy"] = self.energy.document()
        if rows:
            result["passes"] = [
                {
                    "phase": kept.phase,
                    "token": kept.token,
                    "operators": self.rows(kept),
                    "messages": self.messages(kept),
                }
                for kept in self.kept
            ]
        return result
