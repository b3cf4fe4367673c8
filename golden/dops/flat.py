"""The operator graph as arrays, with where keys and values live."""

from dataclasses import dataclass

import numpy as np

from fanweave.golden.dops.graph import COLLECTIVES, KV_READERS, KV_WRITERS, Graph, Kind
from fanweave.golden.dops.kv import KvHome
from fanweave.golden.dops.platforms import Platform

__all__ = ["FlatGraph", "flatten"]


@dataclass(kw_only=True)
class FlatGraph:
    """Arrays over the operators ``o``, all int32 unless said otherwise.

    Attributes
    ----------
    graph : Graph
    class_of, weight_of : int32[o]
        Operator class; weight or -1.
    pred_start, pred : int32[o + 1], int32[edges]
        Producers of operator ``i`` are ``pred[pred_start[i]:pred_start[i + 1]]``.
    succ_start, succ, succ_edge : int32[o + 1], int32[edges], int32[edges]
        The same of consumers, with the edge class.
    edges : list of (int, int)
        Pairs of operator classes of each edge class.
    position : int32[o]
        Place in the topological order.
    collective, writer, reader : bool[o]
        Kinds of operators.
    reduce, scatter : bool[o]
        The two halves of a star's collective.
    store : int32[w]
        Device that stores each weight.
    home : int32[o]
        For operators of one attention piece the device that keeps its keys and values, else -1.
    legal : bool[o, d]
        Where an operator may run before any scheduler's own rules.
    """

    graph: Graph
    class_of: np.ndarray
    weight_of: np.ndarray
    pred_start: np.ndarray
    pred: np.ndarray
    succ_start: np.ndarray
    succ: np.ndarray
    succ_edge: np.ndarray
    edges: list[tuple[int, int]]
    position: np.ndarray
    collective: np.ndarray
    reduce: np.ndarray
    scatter: np.ndarray
    writer: np.ndarray
    reader: np.ndarray
    store: np.ndarray
    home: np.ndarray
    legal: np.ndarray


#: Kinds that a PIM may only run if it keeps the piece's own keys and values.
_AT_HOME = frozenset({Kind.K, Kind.V, Kind.QK, Kind.SOFTMAX, Kind.SV})


def flatten(
    graph: Graph, platform: Platform, home: KvHome, *, attention_anywhere: bool = False
) -> FlatGraph:
    """Lay a graph out as arrays for a platform.

    Parameters
    ----------
    graph, platform, home
    attention_anywhere : bool
        Whether a PIM may run attention over keys and values of another device, too.
    """
    operators = graph.operators
    edge_index: dict[tuple[int, int], int] = {}
    succ_edge = [
        edge_index.setdefault(
            (operator.class_index, operators[consumer].class_index), len(edge_index)
        )
        for index, operator in enumerate(operators)
        for consumer in graph.successors[index]
    ]
    position = np.empty(len(operators), np.int32)
    position[graph.order] = np.arange(len(operators), dtype=np.int32)
    kinds = [operator.kind for operator in operators]

    def flags(chosen: frozenset[Kind]) -> np.ndarray:
        return np.array([kind in chosen for kind in kinds], np.bool_)

    stores = [graph.classes[kind].store(platform.host) for kind in graph.weight_class]
    homes = np.array([home.device(operator) for operator in operators], np.int32)
    return FlatGraph(
        graph=graph,
        class_of=np.array([operator.class_index for operator in operators], np.int32),
        weight_of=np.array([operator.weight for operator in operators], np.int32),
        pred_start=_starts(graph.predecessors),
        pred=_flat(graph.predecessors),
        succ_start=_starts(graph.successors),
        succ=_flat(graph.successors),
        succ_edge=np.array(succ_edge, np.int32),
        edges=list(edge_index),
        position=position,
        collective=flags(COLLECTIVES),
        reduce=flags(frozenset({Kind.REDUCE})),
        scatter=flags(frozenset({Kind.SCATTER})),
        writer=flags(KV_WRITERS),
        reader=flags(KV_READERS),
        store=np.array(stores, np.int32),
        home=homes,
        legal=_legal(kinds, homes, platform, frozenset() if attention_anywhere else _AT_HOME),
    )


def _starts(lists: list[list[int]]) -> np.ndarray:
    return np.cumsum([0, *(len(items) for items in lists)], dtype=np.int32)


def _flat(lists: list[list[int]]) -> np.ndarray:
    return np.array([item for items in lists for item in items], np.int32)


def _legal(
    kinds: list[Kind], homes: np.ndarray, platform: Platform, at_home: frozenset[Kind]
) -> np.ndarray:
    legal = np.zeros((len(kinds), len(platform.devices)), np.bool_)
    for index, kind in enumerate(kinds):
        home = int(homes[index])
        for place, device in enumerate(platform.devices):
            if kind in COLLECTIVES or kind is Kind.EMBEDDING:
                good = place == platform.host
            elif kind in KV_WRITERS:
                good = place == home
            elif not device.computes:
                good = False
            elif device.type == "cpu":
                good = not platform.indices("npu")
            elif device.type == "pim" and kind in at_home and home != platform.host:
                good = place == home
            else:
                good = True
            legal[index, place] = good
    return legal
