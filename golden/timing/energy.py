"""Energy of serving: what a step of measured operators takes, and what a run has taken."""

from dataclasses import dataclass
from typing import Any

from fanweave.golden.dops.devices import Device
from fanweave.golden.dops.energy_cards import EnergyCard
from fanweave.golden.dops.models import ModelCard
from fanweave.golden.dops.platforms import Platform
from fanweave.golden.origins import Origin, published
from fanweave.golden.timing.deployment import Deployment
from fanweave.golden.timing.step import StepShape

__all__ = ["Power", "ServingEnergy", "StepEnergy"]


@dataclass(frozen=True, kw_only=True)
class Power:
    """What is known of a replica's energy beside that of its steps.

    Attributes
    ----------
    idle_w : float
        What its devices and links take all the time.
    origin : str
        That of all its numbers together.
    unknown : tuple of str
        Devices, or links, whose energy is not known and not counted.
    """

    idle_w: float
    origin: Origin
    unknown: tuple[str, ...] = ()

    @classmethod
    def of_devices(cls, card: EnergyCard, devices: int) -> "Power":
        """So many equal devices; nothing is known of the links between them."""
        unknown = ("links",) if devices > 1 else ()
        return cls(idle_w=card.idle_w * devices, origin=card.origin, unknown=unknown)

    @classmethod
    def of_platform(cls, platform: Platform) -> "Power | None":
        """All devices of a platform; None if the energy of none is known."""
        known: list[Device] = [device for device in platform.devices if device.energy]
        if not known:
            return None
        cards = [device.energy for device in known if device.energy]
        unknown = [device.name for device in platform.devices if not device.energy]
        idle = sum(card.idle_w for card in cards)
        link = platform.default_link.energy
        if link is None:
            unknown.append("links")
        else:
            cards.append(link)
            idle += link.idle_w * len(platform.devices)
        return cls(
            idle_w=idle,
            origin=published(card.origin for card in cards),
            unknown=tuple(unknown),
        )


@dataclass(frozen=True, kw_only=True)
class ServingEnergy:
    """Energy of a run.

    Attributes
    ----------
    steps_j, idle_j : float
        Of operations and bytes of all steps; of all devices over the makespan.
    output_tokens : int
    origin : str
    unknown : tuple of str
        See `Power`.
    """

    steps_j: float
    idle_j: float
    output_tokens: int
    origin: Origin
    unknown: tuple[str, ...]

    @property
    def total_j(self) -> float:
        """Both together."""
        return self.steps_j + self.idle_j

    @property
    def per_output_token_j(self) -> float:
        """For each generated token, prompts included."""
        return self.total_j / self.output_tokens

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "energy_j": self.total_j,
            "energy_of_steps_j": self.steps_j,
            "energy_idle_j": self.idle_j,
            "energy_per_output_token_j": self.per_output_token_j,
            "energy_origin": self.origin,
            "energy_unknown": list(self.unknown),
        }


class StepEnergy:
    """Energy of a step of one model: its operations, weights, keys and values.

    Products of all tokens with the weights of the layers, of the sampled sequences with the head,
    and attention over all stored tokens. All weights are read once, stored keys and values once
    for each chunk or sequence, and new ones written. Activations stay in caches and cost nothing.

    Parameters
    ----------
    energy : EnergyCard
    card : ModelCard
    deployment : Deployment
        Copies of keys and values on several devices, and their bits.
    """

    def __init__(self, energy: EnergyCard, card: ModelCard, deployment: Deployment) -> None:
        head = card.vocabulary * card.hidden
        heads = card.layers * card.heads * card.head_size
        flop, byte = energy.pj_per_flop, energy.pj_per_byte
        token_bytes = deployment.kv_bytes_per_token(card)
        self._token = 2 * card.linear_elements * flop + token_bytes * byte
        self._sampled = 2 * head * flop
        self._pair = 4 * heads * flop
        self._stored = token_bytes * byte
        self._weights = (card.linear_elements + head) * card.weight_bits / 8 * byte

    def step_pj(self, shape: StepShape) -> int:
        """Picojoules of a step."""
        pairs = shape.context_sum + shape.decodes
        stored = shape.context_sum
        for tokens, context in shape.chunks:
            pairs += tokens * context + tokens * (tokens + 1) // 2
            stored += context
        sampled = len(shape.chunks) + shape.decodes
        return round(
            self._weights
            + self._token * shape.tokens
            + self._sampled * sampled
            + self._pair * pairs
            + self._stored * stored
        )
