"""Message traces of a prefill: tasks of its hosts, and the lines that each of them moves."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fanweave.golden.cxl.timed.traffic import Traffic
from fanweave.golden.fabric.graph import Direction, Graph
from fanweave.golden.fabric.prefill import Prefill
from fanweave.golden.isa.cxl_messages import LINE_BYTES

__all__ = ["HOSTS", "TaskPlan", "prefill_tasks"]

#: Hosts in the order of their numbers.
HOSTS = ("gpu0", "gpu1", "dpu0")


@dataclass(kw_only=True)
class _Task:
    host: str
    after: list[int]
    cycles: int
    flows: list[tuple[str, int, int]]  # movement, first line, lines
    number: int = -1


@dataclass(kw_only=True)
class TaskPlan:
    """Tasks and flows as rows of `Traffic`.

    Attributes
    ----------
    tasks, flows : list of list of int
    movements : list of str
        By flow.
    spans : dict of str to (int, int)
        First task of a host, and the one behind its last.
    """

    tasks: list[list[int]] = field(default_factory=list)
    flows: list[list[int]] = field(default_factory=list)
    movements: list[str] = field(default_factory=list)
    spans: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def messages(self) -> int:
        """Lines that all tasks move."""
        return sum(row[1] for row in self.flows)

    def traffic(
        self, ports: list[tuple[int, int, int]], *, most: int = 0, told: int = 0
    ) -> Traffic:
        """Arrays of a run.

        Parameters
        ----------
        ports : list of (int, int, int)
            Island, port and most open requests of each host of `spans`, in its order.
        most : int
            Messages that are sent; 0 for all.
        told : int
            Verdicts that are kept.
        """
        hosts = [
            [island, port, 0, limit, -1, *self.spans[name], 0, 0, 0]
            for name, (island, port, limit) in zip(self.spans, ports, strict=True)
        ]
        number = min(most or self.messages, self.messages)

        def log(kind: Any) -> np.ndarray:
            return np.zeros(number, dtype=kind)

        return Traffic(
            hosts=np.array(hosts, dtype=np.int64),
            tasks=np.array(self.tasks, dtype=np.int64),
            flows=np.array(self.flows, dtype=np.int64),
            line=log(np.int64),
            flow=log(np.int32),
            host=log(np.int8),
            tag=log(np.int16),
            sent=log(np.int32),
            done=log(np.int32),
            told=np.zeros((told, 6), dtype=np.int64),
        )


def prefill_tasks(prefill: Prefill, graph: Graph) -> TaskPlan:
    """All tasks of a prefill, by host: layer by layer, in a layer tenant by tenant, chunk by chunk.

    Attention of a chunk needs the activations of the layer before, the feed-forward part those of
    attention, and the DPU the keys and values that attention has written. Weights of the
    feed-forward part stream through all chunks of a layer, those of attention come with the first.
    """
    by_host: dict[str, list[_Task]] = {host: [] for host in HOSTS}
    order = [
        (layer, number, tenant, chunk)
        for layer in range(prefill.layers)
        for number, tenant in enumerate(prefill.tenants)
        for chunk in range(prefill.chunks)
    ]
    for layer, number, tenant, chunk in order:
        for host, flows in (
            ("gpu0", _attention(prefill, layer, number, tenant, chunk)),
            ("gpu1", _feed_forward(prefill, layer, number, chunk)),
            ("dpu0", [(f"dpu0_reads_kv_{tenant}", _kv(prefill, layer, chunk), prefill.lines.kv)]),
        ):
            cycles = prefill.cycles(host) if host in prefill.flops else 0
            by_host[host].append(_Task(host=host, after=[], cycles=cycles, flows=flows))
    per_layer = len(prefill.tenants) * prefill.chunks
    base = {host: sum(len(by_host[h]) for h in HOSTS[:n]) for n, host in enumerate(HOSTS)}
    for place in range(len(order)):
        if place >= per_layer:
            by_host["gpu0"][place].after = [base["gpu1"] + place - per_layer]
        by_host["gpu1"][place].after = by_host["dpu0"][place].after = [base["gpu0"] + place]
    return _rows(graph, by_host, base)


def _kv(prefill: Prefill, layer: int, chunk: int) -> int:
    return (layer * prefill.chunks + chunk) * prefill.lines.kv


def _hidden(prefill: Prefill, number: int, chunk: int) -> int:
    return (number * prefill.chunks + chunk) * prefill.lines.hidden


def _attention(
    prefill: Prefill, layer: int, number: int, tenant: str, chunk: int
) -> list[tuple[str, int, int]]:
    lines, here = prefill.lines, _hidden(prefill, number, chunk)
    flows = [
        (f"gpu0_writes_kv_{tenant}", _kv(prefill, layer, chunk), lines.kv),
        ("gpu0_writes_hidden_in", here, lines.hidden),
    ]
    if chunk:
        before = (f"gpu0_reads_kv_{tenant}", _kv(prefill, layer, 0), chunk * lines.kv)
        flows += [before] * prefill.reuse
    if layer:
        flows.append(("gpu0_reads_hidden_out", here, lines.hidden))
    if not chunk and not number:
        weights = lines.attention_weights
        flows.append(("gpu0_reads_attention_weights", layer * weights, weights))
    return flows


def _feed_forward(
    prefill: Prefill, layer: int, number: int, chunk: int
) -> list[tuple[str, int, int]]:
    lines, here = prefill.lines, _hidden(prefill, number, chunk)
    flows = [
        ("gpu1_reads_hidden_in", here, lines.hidden),
        ("gpu1_writes_hidden_out", here, lines.hidden),
    ]
    parts = len(prefill.tenants) * prefill.chunks
    part = number * prefill.chunks + chunk
    for name in ("ffn_weights", "ffn_weights_b"):
        weights = getattr(lines, name)
        first, end = part * weights // parts, (part + 1) * weights // parts
        if prefill.size(name) and end > first:
            flows.append((f"gpu1_reads_{name}", layer * weights + first, end - first))
    return flows


def _rows(graph: Graph, by_host: dict[str, list[_Task]], base: dict[str, int]) -> TaskPlan:
    plan = TaskPlan()
    for host in HOSTS:
        plan.spans[host] = (base[host], base[host] + len(by_host[host]))
        for task in by_host[host]:
            after = [*task.after, -1, -1][:2]
            plan.tasks.append([*after, task.cycles, len(plan.flows), len(task.flows), 0, -1])
            for name, first, lines in task.flows:
                movement = graph.movements[name]
                begin = graph.objects[movement.object].first // LINE_BYTES + first
                kind = int(movement.direction is Direction.WRITE)
                plan.flows.append([begin, lines, 1, kind, 0, 0])
                plan.movements.append(name)
    return plan
