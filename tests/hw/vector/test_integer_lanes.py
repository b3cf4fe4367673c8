"""The integer lanes: every row, all widths and roundings, against golden's core."""

import pytest

from fanweave.golden.isa.riscv_vector import VECTOR_INSTRUCTIONS
from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.integer_lanes import IntegerLanes
from fanweave.hw.vector.integer_operations import INTEGER_CONTROLS, integer_operation
from fanweave.hw.vector.lanes_testing import BeatMaker, differences, run_beats

CONFIG = VectorConfig(vlen=128, lanes=1)
ROWS = [row for row in VECTOR_INSTRUCTIONS if integer_operation(row) is not None]
#: Beats of a row and a width; fewer if only the first operand's kind is another.
BEATS, BEATS_OF_SCALARS = 4, 1


def cases_of(config, seed):
    maker = BeatMaker(config, seed)
    cases = []
    for row in ROWS:
        operation = integer_operation(row)
        for sew in (8, 16, 32):
            if (operation, sew // 16) in INTEGER_CONTROLS:
                count = BEATS_OF_SCALARS if "vs1" not in row.fields else BEATS
                cases += [maker.make(row, operation, sew) for _ in range(count)]
    maker.random.shuffle(cases)
    return cases


@pytest.fixture(scope="module")
def found():
    """Differences by row."""
    cases = cases_of(CONFIG, 1)
    results, _ = run_beats(IntegerLanes(CONFIG), CONFIG, cases)
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
        case for case in cases_of(CONFIG, 2) if not case.row.name.startswith(("vdiv", "vrem"))
    ][:300]
    results, cycles = run_beats(IntegerLanes(CONFIG), CONFIG, cases, pause=0)
    assert not [text for pair in zip(cases, results, strict=True) for text in differences(*pair)]
    assert cycles == len(cases) + 1
