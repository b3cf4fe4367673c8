"""The policies build without a warning, are verified, and have the maps that they say."""

from dataclasses import replace

import pytest

from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.golden.ebpf.layout import lay_out
from fanweave.golden.ebpf.linux import why_unavailable
from fanweave.golden.errors import InputError
from fanweave.golden.isa.cxl_event import EVENT_BYTES
from fanweave.sw.ebpf.object.compiler import CPUS, compile_c
from fanweave.sw.ebpf.verifier.kernel import linux_verifier
from fanweave.sw.policies import library
from fanweave.sw.policies.library import POLICIES, SETTINGS, build_policy, find_policy

every_policy = pytest.mark.parametrize("name", POLICIES)


@every_policy
def test_there_are_no_warnings(name):
    assert compile_c(find_policy(name).source).warnings == ""


def test_every_source_is_a_policy():
    folder = find_policy("steering").source.parent
    assert {path.stem for path in folder.glob("*.c")} == set(POLICIES)


@every_policy
def test_all_maps_are_told(name):
    built = build_policy(name)
    told = {*built.policy.host, *built.policy.found}
    assert told == {made.name for made in built.loaded.maps}
    assert not set(built.policy.host) & set(built.policy.found)
    # A reader of the source finds what the host sets there, too.
    comment = built.policy.source.read_text().partition("*/")[0]
    for made in told:
        assert f"`{made}`" in comment


@every_policy
def test_the_budget_is_kept_and_close(name):
    built = build_policy(name)
    assert built.report.worst_case_instructions <= built.policy.budget
    assert built.policy.budget <= 1.5 * built.report.worst_case_instructions
    assert built.loaded.license == "Dual BSD/GPL"
    assert built.program.section == "cxl"


def test_a_budget_that_is_too_small_is_refused(monkeypatch):
    tight = {**POLICIES, "steering": replace(POLICIES["steering"], budget=30)}
    monkeypatch.setattr(library, "POLICIES", tight)
    with pytest.raises(InputError, match="rule BUDGET"):
        build_policy.__wrapped__("steering")


@every_policy
def test_versions_of_the_instruction_set(name):
    # Fetching atomics came with v3.
    for cpu in CPUS[CPUS.index("v3") :]:
        assert build_policy(name, cpu).report.worst_case_instructions


@pytest.mark.skipif(bool(why_unavailable()), reason=f"no eBPF from Linux: {why_unavailable()}")
@every_policy
def test_linux_accepts_them(name):
    built = build_policy(name)
    with linux_verifier([made.spec for made in built.loaded.maps]) as linux:
        assert linux.refusal(built.program.program, EVENT_BYTES) is None


def test_a_policy_is_built_once():
    assert build_policy("steering") is build_policy("steering")


def test_contents_and_values_are_the_reverse_of_each_other():
    built = build_policy("hot_pages")
    maps = {
        SETTINGS: {0: {"threshold": 9, "epoch": 2, "page_shift": 21, "target": 3}},
        "pages": {5: {"epoch": 2, "count": 1}, 1 << 60: {"epoch": 1, "count": 7}},
    }
    assert built.values(built.contents(maps)) == maps


def test_settings_that_are_left_out_are_those_of_the_source():
    built = build_policy("hot_pages")
    contents = built.contents({SETTINGS: {0: {"threshold": 9}}})
    assert built.values(contents)[SETTINGS] == {
        0: {"threshold": 9, "epoch": 0, "page_shift": 12, "target": 0}
    }


@pytest.mark.parametrize(
    ("maps", "message"),
    [
        ({"page": {}}, "has no map 'page'; it has pages, .rodata.settings"),
        ({SETTINGS: {0: {"treshold": 1}}}, "no member 'treshold'; it has threshold, epoch,"),
        ({"pages": {-1: {}}}, r"pages\[-1\] = -1; it must be from 0 to 18446744073709551615"),
        ({"pages": {0: 3}}, r"pages\[0\]: 3; expected struct use"),
        ({"pages": {0: {"count": 1 << 32}}}, r"pages\[0\].count = 4294967296; it must be from 0"),
        ({"pages": {b"12": {}}}, r"pages\[3132\]: 2 bytes; it has 8"),
    ],
)
def test_what_does_not_fit_is_refused(maps, message):
    with pytest.raises(InputError, match=message):
        build_policy("hot_pages").contents(maps)


def test_unknown_policies_are_refused():
    with pytest.raises(InputError, match="'hot' is not known; choose one of hot_pages, hot_pag"):
        find_policy("hot")


@every_policy
def test_maps_fit_the_engine_as_it_is_made(name):
    built = build_policy(name)
    places = lay_out([made.spec for made in built.loaded.maps], EbpfConfig())
    assert all(place.descriptor for place in places)
    assert len(built.program.program.slots) <= EbpfConfig().slots
