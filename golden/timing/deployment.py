"""How a model is laid over devices: parallelism, precision of the cache, links, memory."""

from dataclasses import dataclass, field

from fanweave.golden.dops.models import ModelCard
from fanweave.golden.dops.tables import number
from fanweave.golden.errors import InputError
from fanweave.golden.timing.launch import LaunchModel

__all__ = ["Deployment"]


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """One replica of a model on one or more equal devices.

    Attributes
    ----------
    tensor, pipeline : int
        Devices that share each layer, and groups of them that share the layers.
    kv_bits : int
        Bits of a stored key or value: 16, 8 or 4.
    link_bytes_per_s : float
        Bandwidth between devices, each way.
    link_latency_ps : int
        Latency between devices.
    memory_share : float
        Share of a device's memory for weights, activations and cache.
    activation_bytes : int
        Memory of a device for everything that is neither weight nor cache.
    sustained : float
        Factor on the time of dense layers in steps without a graph: how much slower than in a
        short measurement a device computes under a lasting load.
    beside : float
        Factor on the time that decode adds to the attention of a step with prompts.
    launch : LaunchModel
        Launch overhead.
    """

    tensor: int = 1
    pipeline: int = 1
    kv_bits: int = 16
    link_bytes_per_s: float = 64e9
    link_latency_ps: int = 5_000_000
    memory_share: float = 0.9
    activation_bytes: int = 2 * 10**9
    sustained: float = 1.0
    beside: float = 1.0
    launch: LaunchModel = field(default_factory=LaunchModel)

    def __post_init__(self) -> None:
        for name in ("tensor", "pipeline"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} = {getattr(self, name)} must be at least 1")
        if self.kv_bits not in (4, 8, 16):
            raise InputError(f"kv_bits = {self.kv_bits} must be 4, 8 or 16")
        number("server", "link_bytes_per_s", self.link_bytes_per_s, least=1)
        if self.link_latency_ps < 0:
            raise InputError(f"link_latency_ps = {self.link_latency_ps} must not be negative")
        if not 0 < self.memory_share <= 1:
            raise InputError(f"memory_share = {self.memory_share} must be over 0 and at most 1")
        if not 0 <= self.beside < float("inf"):
            raise InputError(f"beside = {self.beside} must be finite and not negative")
        number("server", "sustained", self.sustained, most=1000, strict=True)
        if self.activation_bytes < 0:
            raise InputError(f"activation_bytes = {self.activation_bytes} must not be negative")

    @property
    def devices(self) -> int:
        """Devices of the replica."""
        return self.tensor * self.pipeline

    def check(self, card: ModelCard) -> None:
        """Refuse a split that does not divide the model.

        Raises
        ------
        InputError
            If `tensor` does not divide the heads, or there are more stages than layers.
        """
        if card.heads % self.tensor or card.intermediate % self.tensor:
            raise InputError(
                f"tensor = {self.tensor} must divide the {card.heads} heads and the "
                f"{card.intermediate} intermediate columns of {card.name}"
            )
        if self.pipeline > card.layers:
            raise InputError(
                f"pipeline = {self.pipeline} stages are more than the {card.layers} layers of "
                f"{card.name}"
            )

    def stage_layers(self, card: ModelCard) -> list[int]:
        """Layers of each pipeline stage; the first stages take what is left over."""
        each, left = divmod(card.layers, self.pipeline)
        return [each + (stage < left) for stage in range(self.pipeline)]

    def kv_bytes_per_token(self, card: ModelCard) -> int:
        """Bytes of one token's keys and values, all layers and all devices together.

        With more devices than KV heads each device keeps a copy of one head.
        """
        copies = max(1, self.tensor // card.kv_heads)
        return card.kv_elements * copies * self.kv_bits // 8

    def weight_bytes(self, card: ModelCard) -> int:
        """Bytes of all weights, embedding and output head included."""
        tables = card.vocabulary * card.hidden * (1 if card.tied else 2)
        return round((card.linear_elements + tables) * card.weight_bits / 8)

    def kv_capacity_bytes(self, card: ModelCard, device_memory: int) -> int:
        """Bytes that are left for keys and values on all devices together.

        Raises
        ------
        InputError
            If the weights do not fit; says how much is missing.
        """
        usable = round(device_memory * self.memory_share) - self.activation_bytes
        left = self.devices * usable - self.weight_bytes(card)
        if left <= 0:
            raise InputError(
                f"{card.name} does not fit on {self.devices} devices of {device_memory / 1e9:g} GB:"
                f" {-left / 1e9:.1f} GB are missing; use more devices, fewer weight bits or a "
                "larger memory_share"
            )
        return left
