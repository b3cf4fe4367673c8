"""The operators of a model and what they wait for, in tensor-parallel pieces.

The same graph serves prefill and decode; only the work of an operator differs
(`fanweave.golden.dops.work`). The numbers are those of each piece.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from fanweave.golden.dops.models import ModelCard
from fanweave.golden.errors import InputError

__all__ = [
    "COLLECTIVES",
    "KV_READERS",
    "KV_WRITERS",
    "Graph",
    "Kind",
    "Operator",
    "OperatorClass",
    "Sharding",
    "build_graph",
    "default_sharding",
]


class Kind(StrEnum):
    """What an operator does."""

    LN = "LN"
    Q = "Q"
    K = "K"
    V = "V"
    K_WRITE = "K_write"
    V_WRITE = "V_write"
    QK = "QK"
    SOFTMAX = "Softmax"
    SV = "SV"
    O = "O"  # noqa: E741 - the field's name of the output projection
    ADD = "Add"
    W1 = "FFN_W1"
    W3 = "FFN_W3"
    SWIGLU = "SwiGLU"
    W2 = "FFN_W2"
    ROUTER = "Router"
    ALLREDUCE = "AllReduce"
    REDUCE = "Reduce"
    SCATTER = "Scatter"
    EMBEDDING = "Embedding"
    HEAD = "Head"


#: Operators that move data between devices and compute nothing.
COLLECTIVES = frozenset({Kind.ALLREDUCE, Kind.REDUCE, Kind.SCATTER})
#: Operators whose weights are pruned, and their inputs.
_LINEAR = frozenset({Kind.Q, Kind.K, Kind.V, Kind.O, Kind.W1, Kind.W3, Kind.W2})
#: Operators that store new keys or values where they live.
KV_WRITERS = frozenset({Kind.K_WRITE, Kind.V_WRITE})
#: Operators that read stored keys or values in decode.
KV_READERS = frozenset({Kind.QK, Kind.SV})


@dataclass(frozen=True, kw_only=True)
class OperatorClass:
    """All operators that do the same work: kind and sizes of the piece.

    Attributes
    ----------
    kind : Kind
    heads, kv_heads, head_size, hidden, intermediate : int
        Sizes of the piece; `hidden` is never cut.
    experts, experts_per_token : int
        Of the layer; 0 without experts.
    weights : int
        Elements of its weight matrix, 0 if it has none.
    group : int
        Experts that the matrix holds; each token uses one of them.
    weight_density, activation_density : float
        Shares of the matrix and of its input that are not zero.
    stored_at : int
        Device that stores the matrix; -1 for the host.
    """

    kind: Kind
    heads: int
    kv_heads: int
    head_size: int
    hidden: int
    intermediate: int
    experts: int
    experts_per_token: int
    weights: int
    group: int = 1
    weight_density: float = 1.0
    activation_density: float = 1.0
    stored_at: int = -1

    def store(self, host: int) -> int:
        """The device that stores the matrix, of a platform with this host."""
        return host if self.stored_at < 0 else self.stored_at


@dataclass(frozen=True)
class Operator:
    """One operator of the graph; `weight` is -1 if it has none, `shard` -1 if it is whole."""

    name: str
    kind: Kind
    class_index: int
    layer: int
    shard: int
    weight: int


@dataclass(frozen=True, kw_only=True)
class Sharding:
    """In how many tensor-parallel pieces attention and feed-forward part are cut."""

    attention: int = 1
    feed_forward: int = 1

    def check(self, model: ModelCard) -> None:
        """Refuse pieces that do not divide the model.

        Raises
        ------
        InputError
            The message names the size that does not fit.
        """
        for name, parts in (("attention", self.attention), ("feed-forward", self.feed_forward)):
            if parts < 1:
                raise InputError(f"{name} pieces = {parts} must be at least 1")
        for size in ("heads", "kv_heads"):
            if getattr(model, size) % self.attention:
                raise InputError(
                    f"model {model.name}: {size} = {getattr(model, size)} cannot be cut into "
                    f"{self.attention} pieces; use a divisor of {model.kv_heads}"
                )
        parts = self.feed_forward
        if model.experts and parts > model.experts_per_token:
            if parts % model.experts_per_token:
                raise InputError(
                    f"model {model.name}: {parts} pieces must be a multiple of "
                    f"experts_per_token = {model.experts_per_token}"
                )
            parts //= model.experts_per_token
        elif model.experts:
            parts = 1
        if model.intermediate % parts:
            raise InputError(
                f"model {model.name}: intermediate = {model.intermediate} cannot be cut into "
                f"{parts} pieces"
            )


def default_sharding(model: ModelCard, pieces: int) -> Sharding:
    """As many pieces as wanted, or as many fewer as the model can be cut into.

    Parameters
    ----------
    model : ModelCard
    pieces : int
        How many are wanted; the published study has one a PIM.
    """
    for count in range(max(1, pieces), 1, -1):
        sharding = Sharding(attention=count, feed_forward=count)
        try:
            sharding.check(model)
        except InputError:
            continue
        return sharding
    return Sharding()


@dataclass(kw_only=True)
class Graph:
    """Operators in order of insertion, with their edges.

    Attributes
    ----------
    model, sharding
        What it was built from.
    classes : list of OperatorClass
    operators : list of Operator
    predecessors, successors : list of list of int
        Indices of operators, in the order in which the edges were added.
    weights : list of str
        Names of the weight matrices; `weight_class[i]` is the class that holds its size.
    order : list of int
        A topological order: first come, first served.
    """

    model: ModelCard
    sharding: Sharding
    classes: list[OperatorClass] = field(default_factory=list)
    operators: list[Operator] = field(default_factory=list)
    predecessors: list[list[int]] = field(default_factory=list)
    successors: list[list[int]] = field(default_factory=list)
    weights: list[str] = field(default_factory=list)
    weight_class: list[int] = field(default_factory=list)
    order: list[int] = field(default_factory=list)
    _class_index: dict[OperatorClass, int] = field(default_factory=dict)

    def add(
        self, name: str, kind: Kind, sizes: OperatorClass, *, layer: int, shard: int = -1
    ) -> int:
        """Add an operator and return its index; a weight is added if its class has one."""
        index = self._class_index.setdefault(sizes, len(self.classes))
        if index == len(self.classes):
            self.classes.append(sizes)
        weight = -1
        if sizes.weights:
            weight = len(self.weights)
            self.weights.append(name)
            self.weight_class.append(index)
        self.operators.append(Operator(name, kind, index, layer, shard, weight))
        self.predecessors.append([])
        self.successors.append([])
        return len(self.operators) - 1

    def connect(self, producer: int, consumer: int) -> None:
        """Let `consumer` wait for `producer`."""
        self.successors[producer].append(consumer)
        self.predecessors[consumer].append(producer)

    def sort(self) -> None:
        """Fill `order`."""
        waiting = [len(p) for p in self.predecessors]
        order = [i for i, count in enumerate(waiting) if not count]
        for index in order:  # grows while it is walked
            for successor in self.successors[index]:
                waiting[successor] -= 1
                if not waiting[successor]:
                    order.append(successor)
        if len(order) != len(self.operators):
            raise ValueError("the operator graph has a cycle")
        self.order = order


class _Builder:
    """Adds one layer after the other."""

    def __init__(
        self, model: ModelCard, sharding: Sharding, topology: str, all_experts: bool
    ) -> None:
        self.model, self.sharding, self.topology = model, sharding, topology
        grouped = all_experts and model.experts
        self.group = model.experts // model.experts_per_token if grouped else 1
        self.graph = Graph(model=model, sharding=sharding)

    def node(
        self,
        name: str,
        kind: Kind,
        layer: int,
        *,
        shard: int = -1,
        attention: int = 1,
        feed_forward: int = 1,
        weights: int = 0,
        group: int = 1,
    ) -> int:
        model, linear = self.model, kind in _LINEAR
        sizes = OperatorClass(
            kind=kind,
            heads=model.heads // attention,
            kv_heads=model.kv_heads // attention,
            head_size=model.head_size,
            hidden=model.hidden,
            intermediate=model.intermediate // feed_forward,
            experts=model.experts,
            experts_per_token=model.experts_per_token,
            weights=weights,
            group=group,
            weight_density=model.weight_density if linear else 1.0,
            activation_density=model.activation_density if linear else 1.0,
        )
        return self.graph.add(f"L{layer}_{name}", kind, sizes, layer=layer, shard=shard)

    def chain(self, *nodes: int) -> None:
        for producer, consumer in itertools.pairwise(nodes):
            self.graph.connect(producer, consumer)

    def collective(self, tag: str, layer: int, inputs: Sequence[int]) -> int:
        """Sum the pieces: a ring between peers, or up to the host and down again."""
        if self.topology == "fc":
            whole = self.node(f"AllReduce_{tag}", Kind.ALLREDUCE, layer)
            for piece in inputs:
                self.chain(piece, whole)
            return whole
        up = self.node(f"Reduce_{tag}", Kind.REDUCE, layer)
        down = self.node(f"Scatter_{tag}", Kind.SCATTER, layer)
        for piece in inputs:
            self.chain(piece, up)
        self.chain(up, down)
        return down

    def attention_piece(self, layer: int, norm: int, shard: int, tail: str) -> int:
        model, parts = self.model, self.sharding.attention
        queries = model.hidden * (model.heads // parts) * model.head_size
        keys = model.hidden * (model.kv_heads // parts) * model.head_size

        def node(kind: Kind, weights: int = 0) -> int:
            return self.node(
                kind.value + tail, kind, layer, shard=shard, attention=parts, weights=weights
            )

        q, k, v = node(Kind.Q, queries), node(Kind.K, keys), node(Kind.V, keys)
        for projection in (q, k, v):
            self.chain(norm, projection)
        k_write, v_write = node(Kind.K_WRITE), node(Kind.V_WRITE)
        self.chain(k, k_write)
        self.chain(v, v_write)
        qk, softmax, sv = node(Kind.QK), node(Kind.SOFTMAX), node(Kind.SV)
        o = node(Kind.O, queries)
        self.chain(q, qk)
        self.chain(k, qk, softmax, sv)
        self.chain(v, sv, o)
        return o

    def feed_forward_piece(self, layer: int, norm: int, shard: int, parts: int, tail: str) -> int:
        group = self.group
        size = self.model.hidden * (self.model.intermediate // parts) * group

        def node(kind: Kind, weights: int = 0) -> int:
            return self.node(
                kind.value + tail,
                kind,
                layer,
                shard=shard,
                feed_forward=parts,
                weights=weights,
                group=group if weights else 1,
            )

        gate, up = node(Kind.W1, size), node(Kind.W3, size)
        activation, down = node(Kind.SWIGLU), node(Kind.W2, size)
        self.chain(norm, gate)
        self.chain(norm, up)
        self.chain(gate, activation)
        self.chain(up, activation, down)
        return down

    def attention(self, layer: int, norm: int, residual: int | None, add: int) -> None:
        parts = self.sharding.attention
        outputs = [
            self.attention_piece(layer, norm, shard, f"_s{shard}" if parts > 1 else "")
            for shard in range(parts)
        ]
        result = self.collective("O", layer, outputs) if parts > 1 else outputs[0]
        if residual is not None:
            self.chain(residual, add)
        self.chain(result, add)

    def attention_half(self, layer: int, residual: int | None, name: str) -> tuple[int, int]:
        """A layer up to its second norm; returns that, and the sum before it."""
        norm = self.node(name, Kind.LN, layer)
        if residual is not None:
            self.chain(residual, norm)
        add = self.node("Add1", Kind.ADD, layer)
        self.attention(layer, norm, residual, add)
        norm = self.node("LN2", Kind.LN, layer)
        self.chain(add, norm)
        return norm, add

    def head(self, residual: int) -> None:
        """The last norm and the product with the vocabulary, after all layers."""
        model = self.model
        norm = self.node("LN", Kind.LN, model.layers)
        size = model.hidden * model.vocabulary
        head = self.node(Kind.HEAD.value, Kind.HEAD, model.layers, weights=size)
        self.chain(residual, norm, head)

    def dense_layer(self, layer: int, residual: int | None) -> int:
        norm, add = self.attention_half(layer, residual, "LN")
        out = self.node("Add2", Kind.ADD, layer)
        parts = self.sharding.feed_forward
        pieces = [
            self.feed_forward_piece(layer, norm, shard, parts, f"_s{shard}" if parts > 1 else "")
            for shard in range(parts)
        ]
        result = self.collective("FFN", layer, pieces) if parts > 1 else pieces[0]
        self.chain(result, out)
        self.chain(add, out)
        return out

    def expert_layer(self, layer: int, residual: int | None) -> int:
        """Every token takes the first experts; the others do not exist, as in the published
        model (`experts_per_token` of them, so the work is that of a real token). With all
        experts, each of these stands for a group of which every token takes one."""
        model = self.model
        norm, add = self.attention_half(layer, residual, "LN1")
        parts = max(1, self.sharding.feed_forward // model.experts_per_token)
        outputs = []
        for expert in range(model.experts_per_token):
            pieces = [
                self.feed_forward_piece(
                    layer, norm, shard, parts, f"_E{expert}" + (f"_s{shard}" if parts > 1 else "")
                )
                for shard in range(parts)
            ]
            tag = f"MoE_E{expert}"
            outputs.append(self.collective(tag, layer, pieces) if parts > 1 else pieces[0])
        router = self.node("Router", Kind.ROUTER, layer, weights=model.hidden * model.experts)
        self.chain(norm, router)
        for result in outputs:
            self.chain(result, router)
        out = self.node("Add2", Kind.ADD, layer)
        self.chain(add, out)
        self.chain(router, out)
        return out


def build_graph(
    model: ModelCard,
    sharding: Sharding,
    *,
    topology: str = "fc",
    ends: bool = False,
    all_experts: bool = False,
) -> Graph:
    """Build the graph of all layers, from the first norm to the last residual sum.

    Parameters
    ----------
    model : ModelCard
    sharding : Sharding
    topology : str
        ``fc``: pieces are summed around a ring of peers; ``star``: at the host.
    ends : bool
        With embedding, last norm and language head; the published model has none of them.
    all_experts : bool
        Whether experts that a token does not use have weights; not so in the published model.

    Raises
    ------
    InputError
        If the model cannot be cut so.
    """
    sharding.check(model)
    builder = _Builder(model, sharding, topology, all_experts)
    residual = builder.node(Kind.EMBEDDING.value, Kind.EMBEDDING, 0) if ends else None
    layer_of = builder.expert_layer if model.experts else builder.dense_layer
    for layer in range(model.layers):
        residual = layer_of(layer, residual)
    if ends and residual is not None:
        builder.head(residual)
    builder.graph.sort()
    return builder.graph
