"""The prefill of a language model as a movement graph: what moves between its devices.

`gpu0` computes attention and `gpu1` the feed-forward part, chunk by chunk and layer by layer; they
hand activations to each other. `dpu0` reads the keys and values of a chunk to send them on to where
they are decoded. Two switch islands join them and the memories: the GPUs are at `island0`, the DPU
at `island1`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fanweave.golden.dops.models import ModelCard
from fanweave.golden.errors import InputError
from fanweave.golden.fabric.check import check_graph
from fanweave.golden.fabric.graph import (
    Direction,
    Goal,
    Graph,
    Link,
    MovedObject,
    Movement,
    ObjectKind,
    Phase,
    Place,
    PlaceKind,
    Sharing,
)
from fanweave.golden.isa.cxl_messages import LINE_BYTES

__all__ = [
    "LEAST_BYTES",
    "MEMORIES",
    "OBJECTS",
    "LayerLines",
    "Prefill",
    "object_names",
    "prefill_graph",
]

#: Memories, and the island and port that they are behind.
MEMORIES: Mapping[str, tuple[str, int]] = {
    "near0": ("island0", 2),
    "far0": ("island0", 3),
    "near1": ("island1", 2),
    "far1": ("island1", 3),
}
#: Objects of all tenants; each tenant has a `kv_NAME` beside them.
OBJECTS = ("attention_weights", "ffn_weights", "ffn_weights_b", "hidden_in", "hidden_out")
_HOSTS = (
    ("gpu0", PlaceKind.GPU, "island0", 0),
    ("gpu1", PlaceKind.GPU, "island0", 1),
    ("dpu0", PlaceKind.DPU, "island1", 1),
)
_VALUE_BYTES = 2
#: Objects begin at multiples of their size, which is a power of two of at least this: then each is
#: one prefix, and no page that has a verdict has two objects.
LEAST_BYTES = 1 << 20
_FIRST = 1 << 32


@dataclass(frozen=True, kw_only=True)
class LayerLines:
    """Cache lines that a layer moves: weights once, the others for each chunk of tokens."""

    attention_weights: int
    ffn_weights: int
    ffn_weights_b: int
    kv: int
    hidden: int


@dataclass(frozen=True, kw_only=True)
class Prefill:
    """A prefill.

    Attributes
    ----------
    card : ModelCard
    layers : int
        Layers that are run.
    tokens : int
        Of each tenant's prompt.
    chunks : int
        Parts of a prompt, one after the other.
    tenants : tuple of str
    reuse : int
        Times that a chunk reads the keys and values before it.
    scale : int
        Each object is this many times smaller than the model's.
    share_b : float
        Share of the feed-forward weights that are `ffn_weights_b`.
    flops : mapping of str to int
        Floating-point operations a cycle of each GPU.
    homes : mapping of str to str
        Object -> memory.
    copies : mapping of str to str
        Weights -> a second memory that has them.
    """

    card: ModelCard
    layers: int
    tokens: int
    chunks: int
    tenants: tuple[str, ...]
    reuse: int
    scale: int
    share_b: float
    flops: Mapping[str, int]
    homes: Mapping[str, str] = field(default_factory=dict)
    copies: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, number, most in (
            ("layers", self.layers, self.card.layers),
            ("chunks", self.chunks, self.tokens),
        ):
            if not 1 <= number <= most:
                raise InputError(f"{name} = {number} must be from 1 to {most}")
        for name in self.objects:
            if self.homes.get(name) not in MEMORIES:
                raise InputError(
                    f"object {name!r} needs a home; choose one of {', '.join(MEMORIES)}"
                )
        for name, memory in self.copies.items():
            if name not in self.objects or _kind(name) is not ObjectKind.WEIGHTS:
                raise InputError(
                    f"copies: {name!r} is not one of the weights; only what nobody writes can have "
                    "a copy"
                )
            if memory not in MEMORIES or memory == self.homes[name]:
                raise InputError(
                    f"copies: {memory!r} of {name!r} must be one of {', '.join(MEMORIES)}, and not "
                    "its home"
                )

    @property
    def objects(self) -> tuple[str, ...]:
        """Names of all objects."""
        return object_names(self.tenants)

    @property
    def lines(self) -> LayerLines:
        """What a layer moves."""
        card, values = self.card, LINE_BYTES // _VALUE_BYTES * self.scale
        queries, pairs = card.heads * card.head_size, 2 * card.kv_heads * card.head_size
        attention = card.hidden * (2 * queries + pairs)
        feed = 3 * card.hidden * card.intermediate
        per_chunk = self.tokens / self.chunks
        return LayerLines(
            attention_weights=_lines(attention, values),
            ffn_weights=_lines(feed * (1 - self.share_b), values),
            ffn_weights_b=_lines(feed * self.share_b, values),
            kv=_lines(per_chunk * pairs, values),
            hidden=_lines(per_chunk * card.hidden, values),
        )

    def size(self, name: str) -> int:
        """Lines of an object."""
        lines = self.lines
        if name.startswith("kv_"):
            return lines.kv * self.chunks * self.layers
        if name.startswith("hidden"):
            return lines.hidden * self.chunks * len(self.tenants)
        return int(getattr(lines, name)) * self.layers

    def cycles(self, host: str) -> int:
        """Cycles that a chunk's arithmetic takes at a GPU, at least."""
        card, tokens = self.card, self.tokens / self.chunks
        if host == "gpu0":
            operations = 2 * tokens * card.hidden * 4 * card.heads * card.head_size
        else:
            operations = 2 * tokens * 3 * card.hidden * card.intermediate
        return round(operations / self.scale / self.flops[host])


def _lines(values: float, of_line: int) -> int:
    return max(1, -(-round(values) // of_line))


def object_names(tenants: Sequence[str]) -> tuple[str, ...]:
    """Names of all objects, those of tenants first."""
    return (*(f"kv_{tenant}" for tenant in tenants), *OBJECTS)


def prefill_graph(prefill: Prefill, *, name: str, goals: tuple[Goal, ...] = ()) -> Graph:
    """The movement graph of a prefill.

    Raises
    ------
    InputError
        If it cannot be, see `check_graph`.
    """
    graph = Graph.of(
        name=name,
        places=(
            *(Place(name=host, kind=kind) for host, kind, _, _ in _HOSTS),
            Place(name="island0", kind=PlaceKind.ISLAND),
            Place(name="island1", kind=PlaceKind.ISLAND),
            *(Place(name=memory, kind=PlaceKind.MEMORY) for memory in MEMORIES),
        ),
        links=(
            *(Link(island=island, port=port, place=host) for host, _, island, port in _HOSTS),
            *(
                Link(island=island, port=port, place=memory)
                for memory, (island, port) in MEMORIES.items()
            ),
            Link(island="island0", port=4, place="island1", place_port=0),
        ),
        objects=tuple(_objects(prefill)),
        movements=tuple(_movements(prefill)),
        goals=goals,
    )
    check_graph(graph)
    return graph


def _objects(prefill: Prefill) -> list[MovedObject]:
    """Objects one behind the other, those of one home together."""
    made: list[MovedObject] = []
    at = _FIRST
    homes = sorted(prefill.objects, key=lambda name: list(MEMORIES).index(prefill.homes[name]))
    for name in homes:
        size = LEAST_BYTES
        while size < prefill.size(name) * LINE_BYTES:
            size *= 2
        at = -(-at // size) * size
        made.append(
            MovedObject(
                name=name,
                kind=_kind(name),
                home=prefill.homes[name],
                first=at,
                size=size,
                tenant=name.removeprefix("kv_") if name.startswith("kv_") else "",
                copies=(prefill.copies[name],) if name in prefill.copies else (),
            )
        )
        at += size
    return made


def _kind(name: str) -> ObjectKind:
    if name.startswith("kv_"):
        return ObjectKind.KV
    return ObjectKind.ACTIVATIONS if name.startswith("hidden") else ObjectKind.WEIGHTS


def _movements(prefill: Prefill) -> list[Movement]:
    lines = prefill.lines
    attention, ffn = Phase.ATTENTION, Phase.FFN

    def moved(name: str, item: str, host: str, size: int, phase: Phase, **more: object) -> Movement:
        reads = name.split("_")[1] == "reads"
        home = prefill.homes[item]
        return Movement(
            name=name,
            object=item,
            producer=home if reads else host,
            consumer=host if reads else home,
            direction=Direction.READ if reads else Direction.WRITE,
            size=size * LINE_BYTES,
            phase=phase,
            **more,  # type: ignore[arg-type]
        )

    def handed(*after: str) -> dict[str, object]:
        return {"sharing": Sharing.HANDOVER, "after": after}

    made: list[Movement] = []
    for tenant in prefill.tenants:
        kv, before = f"kv_{tenant}", f"gpu0_writes_kv_{tenant}"
        reads = f"gpu0_reads_kv_{tenant}"
        made += [
            moved(before, kv, "gpu0", lines.kv, attention, **handed()),
            moved(reads, kv, "gpu0", lines.kv, attention, reuse=prefill.reuse, **handed(before)),
            moved(f"dpu0_reads_kv_{tenant}", kv, "dpu0", lines.kv, Phase.OTHER, **handed(reads)),
        ]
    for name, host, phase in (
        ("attention_weights", "gpu0", attention),
        ("ffn_weights", "gpu1", ffn),
        ("ffn_weights_b", "gpu1", ffn),
    ):
        made.append(moved(f"{host}_reads_{name}", name, host, getattr(lines, name), phase))
    for name, writer, reader in (("hidden_in", "gpu0", "gpu1"), ("hidden_out", "gpu1", "gpu0")):
        first = f"{writer}_writes_{name}"
        made += [
            moved(first, name, writer, lines.hidden, ffn, **handed()),
            moved(f"{reader}_reads_{name}", name, reader, lines.hidden, ffn, **handed(first)),
        ]
    return made
