"""Measured costs of one model on one device, as tables."""

import functools
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from fanweave.golden.dops.calibration.attention_table import AttentionTable
from fanweave.golden.dops.calibration.operator_table import OperatorTable
from fanweave.golden.dops.calibration.readers import read_measurements
from fanweave.golden.dops.calibration.samples import Sample
from fanweave.golden.dops.calibration.shapes import GEMM
from fanweave.golden.dops.calibration.skew import (
    DecodeSkew,
    MixedSkew,
    fit_mixed_skew,
    read_decode_skew,
    read_rows,
)
from fanweave.golden.dops.devices import card_energy
from fanweave.golden.dops.energy_cards import EnergyCard
from fanweave.golden.dops.models import ModelCard, load_model
from fanweave.golden.errors import InputError

__all__ = ["PROFILES", "DeviceProfile", "data_folder", "load_profile", "tables_of"]


@dataclass(frozen=True, kw_only=True)
class DeviceProfile:
    """Measured costs of one model on one device.

    Attributes
    ----------
    name : str
        Name of the profile.
    card : ModelCard
        The measured model.
    dense : dict of str to OperatorTable
        Layers by the tokens of a step.
    per_sequence : dict of str to OperatorTable
        Output head and sampler by the sequences that are sampled.
    attention : AttentionTable
        Attention of one layer.
    decode_skew, mixed_skew : DecodeSkew, MixedSkew
        What unequal lengths do to it, without prefill in the batch and with it.
    memory_bytes : int
        Memory of the device.
    processors : int
        Its streaming multiprocessors.
    source : str
        Where the measurements come from.
    energy : EnergyCard
        What the device takes.
    """

    name: str
    card: ModelCard
    dense: dict[str, OperatorTable]
    per_sequence: dict[str, OperatorTable]
    attention: AttentionTable
    decode_skew: DecodeSkew
    mixed_skew: MixedSkew
    memory_bytes: int
    processors: int
    source: str
    energy: EnergyCard


@dataclass(frozen=True, kw_only=True)
class _Files:
    """Where a shipped profile lies and what is known of its device."""

    prefix: str
    model: str
    memory_bytes: int
    processors: int
    device: str
    source: str


#: Shipped profiles.
PROFILES: dict[str, _Files] = {
    "rtxpro6000": _Files(
        prefix="rtxpro6000_llama31_8b_tp1",
        model="llama-3.1-8b",
        memory_bytes=96 * 10**9,
        processors=188,
        device="rtx-pro-6000",
        source="casys-kaist/LLMServingSim, NVIDIA RTX PRO 6000 Blackwell Server Edition",
    ),
}


def data_folder() -> Path:
    """Folder of the shipped measurements."""
    return Path(str(resources.files(__package__).joinpath("data")))


def tables_of(samples: list[Sample]) -> dict[str, OperatorTable]:
    """One table an operator, by M."""
    by_name: dict[str, list[Sample]] = {}
    for sample in samples:
        by_name.setdefault(sample.operator, []).append(sample)
    return {
        name: OperatorTable(
            [sample.m for sample in group],
            [sample.time_ps for sample in group],
            tiled=group[0].kind == GEMM,
        )
        for name, group in by_name.items()
    }


@functools.cache
def load_profile(name: str) -> DeviceProfile:
    """Load a shipped profile.

    Raises
    ------
    InputError
        If there is none of this name.
    """
    if name not in PROFILES:
        raise InputError(f"profile {name!r} is not known; choose one of {', '.join(PROFILES)}")
    files = PROFILES[name]
    card = load_model(files.model)
    folder = data_folder()

    def path(part: str) -> Path:
        return folder / f"{files.prefix}_{part}.csv"

    attention = AttentionTable(read_measurements(path("attention"), card).attention)
    return DeviceProfile(
        name=name,
        card=card,
        dense=tables_of(read_measurements(path("dense"), card).samples),
        per_sequence=tables_of(read_measurements(path("per_sequence"), card).samples),
        attention=attention,
        decode_skew=read_decode_skew(path("skew_decode")),
        mixed_skew=fit_mixed_skew(read_rows(path("skew_mixed")), attention),
        memory_bytes=files.memory_bytes,
        processors=files.processors,
        source=files.source,
        energy=card_energy(files.device),
    )
