"""Instructions and map operations as text in a dump of the engine."""

from fanweave.golden.ebpf.build import helper, leave, mov, wide
from fanweave.golden.ebpf.program import Program
from fanweave.golden.isa.ebpf_engine import MapCommand
from fanweave.sim.benches.ebpf.engine_texts import show_texts
from fanweave.sw.ebpf.object.model import ObjectFile

SPACE = "\N{NO-BREAK SPACE}"
DUMP = """\
$timescale 1ns $end
$scope module TOP $end
$scope module policy_engine $end
$var wire 1 ! clk $end
$scope module engine_0 $end
$scope module core $end
$var wire 17 # executing [16:0] $end
$upscope $end
$upscope $end
$scope module maps $end
$var wire 5 $ working [4:0] $end
$upscope $end
$upscope $end
$upscope $end
$enddefinitions $end
#0
"""


class Programs:
    def extent(self, number):
        assert number == 0
        return 8, 5


class Driver:
    programs = Programs()


def show(tmp_path, changes):
    program = Program.of([mov(6, 3), wide(1, 7), helper(7), leave()], "some/where/count")
    dump = tmp_path / "waves.vcd"
    dump.write_text(DUMP + "\n".join(changes) + "\n")
    missing = show_texts(dump, Driver(), ObjectFile.of_code(program))
    lines = dump.read_text().splitlines()
    return missing, [line for line in lines if line.startswith("s")], tmp_path / "waves.gtkw"


def test_slots_are_instructions(tmp_path):
    changes = [f"b{1 << 16 | slot:b} #" for slot in (8, 9, 11, 12)] + ["b0 #"]
    _, texts, save = show(tmp_path, changes)
    assert [text.replace(SPACE, " ").removesuffix(" text0") for text in texts] == [
        "scount+0: r6 = 3",
        "scount+1: r1 = 0x7 ll",
        "scount+3: call get_prandom_u32",
        "scount+4: exit",
        "s",
    ]
    assert "text.program_0" in save.read_text()


def test_the_map_unit_says_what_it_does(tmp_path):
    _, texts, _ = show(tmp_path, [f"b{16 | MapCommand.UPDATE:b} $", f"b{MapCommand.UPDATE:b} $"])
    assert texts == ["sUPDATE text1", "s text1"]


def test_streams_that_the_simulator_left_out_are_named(tmp_path):
    missing, _, _ = show(tmp_path, [])
    assert "*.core.calls__valid" in missing
