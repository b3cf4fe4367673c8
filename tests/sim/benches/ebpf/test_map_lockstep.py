"""Random programs that use every helper on every type of map: engine and golden agree."""

import pytest

from fanweave.golden.ebpf.maps import ArrayMap
from fanweave.golden.errors import FaultError, InputError
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.sim.benches.ebpf.map_lockstep import MapLockstep, play, play_seeds


def test_programs_agree():
    tally = play_seeds(range(400))
    assert tally.programs == 400
    assert tally.instructions > 30_000
    assert tally.causes.keys() >= {
        FaultCause.NONE,
        FaultCause.BAD_MAP,
        FaultCause.OUT_OF_BOUNDS,
        FaultCause.OPERAND_SIZE,
    }


def test_a_different_result_is_found(monkeypatch):
    update = ArrayMap.update
    monkeypatch.setattr(
        ArrayMap,
        "update",
        lambda self, key, value, flags=0, engine=0: update(self, key, value[::-1], flags, engine),
    )
    with pytest.raises(FaultError, match=r"seeds 0 to \d+: "):
        play_seeds(range(60))


def test_a_different_map_is_found_and_named():
    with MapLockstep() as pair:
        pair.golden.maps[0].update(bytes(4), b"\1" * 16)
        with pytest.raises(FaultError, match=r"map 'array_4_16' has 00000000: 0000.*golden has"):
            pair.compare_maps()


def test_another_configuration_is_refused():
    with pytest.raises(InputError, match="knows configuration 'server' and not 'tiny'"):
        play(0, "tiny")
