"""Faults in a small block: what they are, and that none acts unless it is selected."""

import re

import pytest
from amaranth import unsigned

from fanweave.golden.errors import FaultError, InputError
from fanweave.hw.generate.convert import to_rtlil
from fanweave.hw.stream.queue import Queue
from fanweave.sim.mutation.mutants import MutationRequest, mutate
from fanweave.sim.synthesis.yosys import run_yosys

COUNT = 6
REQUEST = MutationRequest(
    sources=("hw/stream",), count=COUNT, seed=3, selected="/a/file", listing="/another"
)


@pytest.fixture(scope="module")
def rtlil():
    return to_rtlil(Queue(shape=unsigned(3), depth=2), name="queue", sources=True)


@pytest.fixture(scope="module")
def mutated(rtlil):
    return mutate(rtlil, "queue", REQUEST)


def test_faults_are_described(mutated):
    text, mutants = mutated
    assert [mutant.number for mutant in mutants] == list(range(1, COUNT + 1))
    for mutant in mutants:
        assert re.fullmatch(r"hw/stream/\w+\.py:\d+", mutant.place)
        assert mutant.mode in ("inv", "const0", "const1", "cnot0", "cnot1")
    assert '$readmemh("/a/file", mutant_file)' in text
    assert "fanweave/hw" not in text


def test_the_seed_decides(rtlil, mutated):
    assert mutate(rtlil, "queue", REQUEST) == mutated
    other = MutationRequest(**{**vars(REQUEST), "seed": 4})
    assert mutate(rtlil, "queue", other)[1] != mutated[1]


def test_too_many_are_refused(rtlil):
    request = MutationRequest(**{**vars(REQUEST), "sources": ("hw/cxl",)})
    with pytest.raises(InputError, match="only 0 of 6 mutants were found in hw/cxl of queue"):
        mutate(rtlil, "queue", request)


def flat(text, read, name):
    script = (read, "hierarchy -top queue", "proc", "flatten", f"rename queue {name}")
    return run_yosys((*script, "write_rtlil out"), text, subject=name)["out"]


def differs(rtlil, text, number):
    """Whether the design with a fault selected can be told from the one without any."""
    fixed = text.replace("= mutant_file[0]", f"= 16'd{number}")
    fixed = "\n".join(line for line in fixed.splitlines() if "mutant_file" not in line)
    both = flat(rtlil, "read_rtlil design", "right") + flat(fixed, "read_verilog design", "faulty")
    script = (
        *("read_rtlil design", "memory", "opt_clean"),
        "miter -equiv -flatten -make_outputs right faulty both",
        "sat -verify -prove trigger 0 -set-init-zero -prove-skip 1 -seq 6 both",
    )
    try:
        run_yosys(script, both, subject="both")
    except FaultError as error:
        failed = str(error)
    else:
        return False
    assert "proof did fail" in failed
    return True


def test_a_fault_acts_only_when_it_is_selected(rtlil, mutated):
    text, mutants = mutated
    assert not differs(rtlil, text, 0)
    found = [differs(rtlil, text, mutant.number) for mutant in mutants]
    assert sum(found) >= COUNT // 2
