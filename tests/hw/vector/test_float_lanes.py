"""The floating-point lanes: every row, all widths and rounding modes, against golden's core."""

import pytest

from fanweave.golden.isa.riscv_vector import VECTOR_INSTRUCTIONS
from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.float_lanes import FloatLanes
from fanweave.hw.vector.float_operations import FLOAT_CONTROLS, float_operation
from fanweave.hw.vector.lanes_testing import BeatMaker, differences, run_beats

CONFIG = VectorConfig(vlen=256, lanes=2)
SMALL = VectorConfig(vlen=128, lanes=1)
ROWS = [row for row in VECTOR_INSTRUCTIONS if float_operation(row) is not None]
#: Beats of a row and a width; fewer if only the first operand's kind is another.
BEATS, BEATS_OF_SCALARS = 5, 1


def cases_of(config, seed):
    maker = BeatMaker(config, seed)
    cases = []
    for row in ROWS:
        operation = float_operation(row)
        for sew in (8, 16, 32):
            if (operation, sew // 16) in FLOAT_CONTROLS:
                count = BEATS_OF_SCALARS if "fs1" in row.fields else BEATS
                cases += [maker.make(row, operation, sew) for _ in range(count)]
    maker.random.shuffle(cases)
    return cases


@pytest.fixture(scope="module")
def found():
    """Differences by row."""
    cases = cases_of(CONFIG, 1)
    results, _ = run_beats(FloatLanes(CONFIG), CONFIG, cases)
    assert len(results) == len(cases)
    found = {row.name: [] for row in ROWS}
    for case, result in zip(cases, results, strict=True):
        found[case.row.name] += differences(case, result)
    return found


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_row(found, row):
    assert not found[row.name], "\n".join(found[row.name])


def test_a_beat_a_cycle():
    """Without pauses, and without divisions, beats follow each other in every cycle."""
    cases = [
        case
        for case in cases_of(SMALL, 2)
        if not case.row.name.startswith(("vfdiv", "vfrdiv", "vfsqrt"))
    ][:100]
    results, cycles = run_beats(FloatLanes(SMALL), SMALL, cases, pause=0)
    assert not [text for pair in zip(cases, results, strict=True) for text in differences(*pair)]
    assert cycles == len(cases) + 2
