"""The AXI top under cocotb: everything goes through its buses."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.golden.ventaglio.workload import MatrixImage, Workload
from fanweave.sim.runner.cocotb_run import run
from fanweave.sim.runner.design import Design, design_from_component

__all__ = ["AxiOutcome", "axi_design", "row_table", "simulate_axi"]


@dataclass(frozen=True, kw_only=True)
class AxiOutcome:
    """What the buses gave.

    Attributes
    ----------
    drains : list of bytes
        Valid bytes of each packet of the results stream.
    registers : dict of int to int
        Every readable register, by word address, in the end.
    write_responses : list of int
        BRESP of each command.
    probes : dict of str to int
        Responses to transfers that are refused.
    """

    drains: list[bytes]
    registers: dict[int, int]
    write_responses: list[int]
    probes: dict[str, int]


def axi_design(config: VentaglioConfig) -> Design:
    """The AXI top as a design to be Verilated."""
    from fanweave.hw.ventaglio.axi import VentaglioAxi

    return design_from_component(VentaglioAxi(config=config), name="ventaglio_axi", clock="aclk")


def simulate_axi(
    workload: Workload,
    config: VentaglioConfig,
    *,
    folder: Path,
    pause: float = 0.0,
    seed: int = 1,
    reset_after: int = 0,
) -> AxiOutcome:
    """Run a workload on the AXI top.

    Parameters
    ----------
    workload : Workload
        Commands, activations and memory image.
    config : VentaglioConfig
        The unit.
    folder : Path
        Where the files of the run go.
    pause : float
        Chance of each stream and channel to be held back in a cycle.
    seed : int
        Seed of these pauses.
    reset_after : int
        Begin once, reset everything after so many cycles, and begin again; 0 for not.

    Raises
    ------
    FaultError
        If the simulation fails.
    """
    folder.mkdir(parents=True, exist_ok=True)
    settings = {
        "commands": workload.commands.tolist(),
        "activations": workload.activations.tolist(),
        "weights": [beat.tobytes().hex() for beat in workload.image.weights],
        "indices": [beat.tobytes().hex() for beat in workload.image.indices],
        "rows": row_table(workload.image).tolist(),
        "pause": pause,
        "reset_after": reset_after,
    }
    (folder / "workload.json").write_text(json.dumps(settings))
    run(
        axi_design(config),
        test_module="fanweave.sim.benches.ventaglio.play_axi",
        results_dir=folder,
        env={
            "FANWEAVE_WORKLOAD": str(folder / "workload.json"),
            "FANWEAVE_OUTCOME": str(folder / "outcome.json"),
        },
        seed=seed,
    ).check()
    outcome = json.loads((folder / "outcome.json").read_text())
    return AxiOutcome(
        drains=[bytes.fromhex(text) for text in outcome["drains"]],
        registers={int(address): word for address, word in outcome["registers"].items()},
        write_responses=outcome["write_responses"],
        probes=outcome["probes"],
    )


def row_table(image: MatrixImage) -> np.ndarray:
    """Where each row stands.

    Returns
    -------
    ndarray, int64 [rows, 7]
        Elements; lane of the first in its beat; word of the first index in its beat; first and
        last beat of the weights; first and last beat of the indices (the last before the first
        if there are none).
    """
    lanes = image.beat_bits // np.maximum(image.element_bits, 1)
    words = image.beat_bits // 32
    last_element = image.element_start + np.maximum(image.nnz, 1) - 1
    last_word = image.index_start + image.index_words - 1
    first_index = image.index_start // words
    return np.stack(
        [
            image.nnz,
            image.element_start % lanes,
            image.index_start % words,
            image.element_start // lanes,
            np.where(image.nnz > 0, last_element // lanes, image.element_start // lanes - 1),
            first_index,
            np.where(image.index_words > 0, last_word // words, first_index - 1),
        ],
        axis=1,
    )
