"""What hosts send: tasks one after the other, each with flows of lines."""

from typing import NamedTuple

import numpy as np

from fanweave.golden.cxl.timed.compile import compiled
from fanweave.golden.cxl.timed.messages import place_of
from fanweave.golden.cxl.timed.state import Islands

__all__ = ["TAGS", "Traffic", "issue"]

#: Tags of a host, one after the other.
TAGS = 4096


class Traffic(NamedTuple):
    """Arrays of tasks and flows, and what became of each message.

    A task begins when its host has ended the one before and its two others have ended, and ends
    when all its lines are answered and its time is over.
    """

    # Island, port, open, most open, current task, first task, behind the last, sent; turns.
    hosts: np.ndarray  # h, 10
    # Other tasks (or -1), cycles at least, first flow, flows, begin, end (or -1).
    tasks: np.ndarray  # t, 7
    # First line, lines, step, kind (0 read, 1 write), sent, answered.
    flows: np.ndarray  # f, 6
    line: np.ndarray  # m
    flow: np.ndarray
    host: np.ndarray
    tag: np.ndarray
    sent: np.ndarray
    done: np.ndarray
    # What switches were told, as long as there is place: island, cycle, legal, action, island,
    # tokens.
    told: np.ndarray  # n, 6


@compiled
def _begin(traffic: Traffic, h, now):
    """The task of a host, if it has one that may run."""
    host = traffic.hosts[h]
    if host[4] < 0:
        following = host[5]
        if following == host[6]:
            return -1
        for n in range(2):
            other = traffic.tasks[following, n]
            if other >= 0 and traffic.tasks[other, 6] < 0:
                return -1
        host[4] = following
        host[5] += 1
        traffic.tasks[following, 5] = now
    return host[4]


@compiled
def _end(traffic: Traffic, h, t, now):
    """Whether a task is over."""
    task = traffic.tasks[t]
    if now < task[5] + task[2]:
        return False
    for f in range(task[3], task[3] + task[4]):
        if traffic.flows[f, 5] < traffic.flows[f, 1]:
            return False
    task[6] = now
    traffic.hosts[h, 4] = -1
    return True


@compiled
def _send(state: Islands, traffic: Traffic, h, c, f, now):
    host, flow = traffic.hosts[h], traffic.flows[f]
    m = state.clock[1]
    state.clock[1] += 1
    traffic.line[m] = flow[0] + flow[2] * flow[4]
    flow[4] += 1
    traffic.flow[m], traffic.host[m], traffic.sent[m] = f, h, now
    traffic.tag[m] = host[7] % TAGS
    host[7] += 1
    host[2] += 1
    island, port = host[0], host[1]
    leg = state.leg[island, place_of(m)]
    leg[0], leg[1], leg[2] = port, 0, traffic.tag[m]
    state.credit[island, port, c, 0] -= 1
    state.arrived[island, port, c] = m


@compiled
def issue(state: Islands, traffic: Traffic, now):
    """Each host sends one request a channel, of its task's flows in turn.

    Gives whether all tasks have ended.
    """
    over = True
    for h in range(len(traffic.hosts)):
        host = traffic.hosts[h]
        t = _begin(traffic, h, now)
        if t < 0:
            over = over and host[5] == host[6]
            continue
        if _end(traffic, h, t, now):
            over = False
            continue
        over = False
        task = traffic.tasks[t]
        for c in range(2):
            if state.clock[1] >= state.clock[2] or host[2] >= host[3]:
                continue
            if state.credit[host[0], host[1], c, 0] == 0:
                continue
            for after in range(task[4]):
                n = (host[8 + c] + after) % task[4]
                flow = traffic.flows[task[3] + n]
                if flow[3] == c and flow[4] < flow[1]:
                    host[8 + c] = n + 1
                    _send(state, traffic, h, c, task[3] + n, now)
                    break
    return over
