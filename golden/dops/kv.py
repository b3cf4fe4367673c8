"""Where keys and values live."""

from dataclasses import dataclass

from fanweave.golden.dops.graph import KV_READERS, KV_WRITERS, Kind, Operator, Sharding
from fanweave.golden.dops.models import ModelCard
from fanweave.golden.dops.platforms import Platform
from fanweave.golden.dops.work import byte_count

__all__ = ["KvHome", "home_by_capacity"]

_PIECE = KV_READERS | KV_WRITERS | {Kind.K, Kind.V, Kind.SOFTMAX}


@dataclass(frozen=True, kw_only=True)
class KvHome:
    """Devices of the attention pieces' keys and values.

    Attributes
    ----------
    place : str
        ``pim``, ``npu``, ``memory`` or ``host``.
    devices : tuple of int
        Device of each attention piece.
    reserved : tuple of int
        Bytes kept free for them on every device of the platform.
    """

    place: str
    devices: tuple[int, ...]
    reserved: tuple[int, ...]

    def device(self, operator: Operator) -> int:
        """Device of an operator's keys and values, -1 if it has nothing to do with them."""
        if operator.kind not in _PIECE:
            return -1
        return self.devices[max(0, operator.shard)]


def home_by_capacity(
    platform: Platform, model: ModelCard, sharding: Sharding, *, batch: int, tokens: int, bits: int
) -> KvHome:
    """Choose the PIMs if all keys and values ever written fit into them, else the host.

    The published rule: pieces are dealt to PIMs in order, as many to each as evenly possible,
    and the memory for `tokens` tokens of every sequence is set aside from the start.
    """
    pims = platform.indices("pim")
    pieces = sharding.attention
    nothing = [0] * len(platform.devices)
    at_host = KvHome(place="host", devices=(platform.host,) * pieces, reserved=tuple(nothing))
    if not pims:
        return at_host
    each, more = divmod(pieces, len(pims))
    devices: list[int] = []
    for index, pim in enumerate(pims):
        devices += [pim] * (each + (index < more))
    reserved = list(nothing)
    a_piece = model.kv_elements // pieces * batch * tokens
    for pim in devices:
        reserved[pim] += a_piece
    reserved = [byte_count(elements, bits) for elements in reserved]
    capacities = [platform.devices[pim].capacity_bytes for pim in pims]
    total = byte_count(model.kv_elements * batch * tokens, bits)
    fits = all(reserved[pim] <= room for pim, room in zip(pims, capacities, strict=True))
    if total > sum(capacities) or not fits:
        return at_host
    return KvHome(place="pim", devices=tuple(devices), reserved=tuple(reserved))
