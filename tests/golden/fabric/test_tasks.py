"""Tasks of a prefill: all lines once, in an order that its data allow."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from fanweave.golden.fabric.graph import Direction
from fanweave.golden.fabric.prefill import prefill_graph
from fanweave.golden.fabric.scenario import load_scenario
from fanweave.golden.fabric.tasks import HOSTS, prefill_tasks
from fanweave.golden.isa.cxl_messages import LINE_BYTES

MADE = replace(load_scenario("two_tenants").prefill, layers=2, chunks=4)
GRAPH = prefill_graph(MADE, name="x")
PLAN = prefill_tasks(MADE, GRAPH)
PARTS = MADE.layers * len(MADE.tenants) * MADE.chunks


def lines_of(movement):
    """Each line that a movement's flows name, and how often."""
    found = Counter()
    for row, name in zip(PLAN.flows, PLAN.movements, strict=True):
        if name == movement:
            found.update(range(row[0], row[0] + row[1]))
    return found


def test_a_task_a_host_layer_tenant_and_chunk():
    assert list(PLAN.spans) == list(HOSTS)
    assert [PLAN.spans[host] for host in HOSTS] == [
        (number * PARTS, (number + 1) * PARTS) for number in range(3)
    ]
    first = 0
    for row in PLAN.tasks:
        assert row[3] == first
        first += row[4]
    assert first == len(PLAN.flows)


@pytest.mark.parametrize("name", ["attention_weights", "ffn_weights", "ffn_weights_b"])
def test_weights_are_read_once(name):
    host = "gpu0" if name == "attention_weights" else "gpu1"
    found = lines_of(f"{host}_reads_{name}")
    begin = GRAPH.objects[name].first // LINE_BYTES
    assert found == Counter(range(begin, begin + MADE.size(name)))


def test_keys_and_values_are_written_once_and_read_by_all_chunks_behind():
    written = lines_of("gpu0_writes_kv_b")
    begin = GRAPH.objects["kv_b"].first // LINE_BYTES
    assert written == Counter(range(begin, begin + MADE.size("kv_b")))
    assert lines_of("dpu0_reads_kv_b") == written
    read = lines_of("gpu0_reads_kv_b")
    kv = MADE.lines.kv
    for line, times in read.items():
        chunk = (line - begin) // kv % MADE.chunks
        assert times == MADE.reuse * (MADE.chunks - 1 - chunk)
    assert set(Counter(read.values())) == {2, 4, 6}


def test_flows_have_their_movements_direction_and_stay_in_their_objects():
    for row, name in zip(PLAN.flows, PLAN.movements, strict=True):
        movement = GRAPH.movements[name]
        item = GRAPH.objects[movement.object]
        assert row[3] == (movement.direction is Direction.WRITE)
        assert item.first <= row[0] * LINE_BYTES
        assert (row[0] + row[1]) * LINE_BYTES <= item.end


def test_nobody_reads_what_is_not_there_yet():
    """By the tasks' own order and what each waits for."""
    spans = PLAN.spans
    ends: dict[int, set[int]] = {}

    def before(task):
        if task in ends:
            return ends[task]
        host = next(name for name in HOSTS if spans[name][0] <= task < spans[name][1])
        others = [other for other in PLAN.tasks[task][:2] if other >= 0]
        if task > spans[host][0]:
            others.append(task - 1)
        found = set(others)
        for other in others:
            found |= before(other)
        ends[task] = found
        return found

    writer: dict[int, list[int]] = {}
    reads = []
    for task, row in enumerate(PLAN.tasks):
        for flow, name in list(zip(PLAN.flows, PLAN.movements, strict=True))[row[3] :][: row[4]]:
            item = GRAPH.movements[name].object
            if "weights" in item:
                continue
            if flow[3]:
                writer.setdefault(flow[0], []).append(task)
            else:
                reads.append((task, name, flow[0]))
    for task, name, line in reads:
        if line in writer:
            assert any(other in before(task) for other in writer[line]), (task, name)
    assert len(reads) > 20


def test_a_window_has_place_for_its_messages_alone():
    ports = [(0, 0, 8), (0, 1, 9), (1, 1, 10)]
    traffic = PLAN.traffic(ports, most=100, told=7)
    assert len(traffic.line) == 100
    assert traffic.told.shape == (7, 6)
    assert traffic.hosts[:, 3].tolist() == [8, 9, 10]
    assert np.array_equal(traffic.tasks[:, 2], [row[2] for row in PLAN.tasks])
    assert len(PLAN.traffic(ports).line) == PLAN.messages == sum(row[1] for row in PLAN.flows)
    assert len(PLAN.traffic(ports, most=10**9).line) == PLAN.messages
