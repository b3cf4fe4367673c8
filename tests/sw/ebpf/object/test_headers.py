"""The headers say what the tables say, and the compiler agrees."""

import re

import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.isa.bpftime import DEVICE_HELPERS, DEVICE_MAPS
from fanweave.golden.isa.cxl_event import (
    CXL_ENUMS,
    EVENT_BYTES,
    EVENT_FIELDS,
    VERDICT_FIELDS,
    Verdict,
    VerdictAction,
)
from fanweave.golden.isa.dpu_event import TRANSFER_FIELDS
from fanweave.golden.isa.ebpf_helpers import HELPERS
from fanweave.golden.isa.ebpf_maps import Errno, MapFlag, MapType, RingFlag, RingQuery, UpdateFlag
from fanweave.sw.ebpf.object.compiler import compile_c
from fanweave.sw.ebpf.object.headers import header_files, write_headers


def test_each_number_of_the_tables_has_a_name_in_c():
    text = header_files()["fanweave/bpf_numbers.h"]
    numbers = [int(number) for number in re.findall(r"= (\d+),", text)]
    tables = (MapType, MapFlag, UpdateFlag, RingFlag, RingQuery)
    assert numbers == [int(member) for table in tables for member in table]
    errors = [int(number) for number in re.findall(r"#define E\w+ (\d+)", text)]
    assert errors == [int(member) for member in Errno]


def test_each_helper_is_declared_with_its_number_and_arguments():
    text = header_files()["fanweave/bpf_helpers.h"]
    found = re.findall(r"\(\*const bpf_(\w+)\)\(\s+(.*)\) = \(void \*\)(\d+);", text)
    assert len(found) == len(HELPERS)
    for name, arguments, number in found:
        helper = HELPERS[int(number)]
        assert name == helper.name
        count = 0 if arguments == "void" else arguments.count(",") + 1
        assert count == len(helper.arguments)


def test_the_event_has_all_fields_and_its_size(tmp_path):
    text = header_files()["fanweave/cxl.h"]
    for field in EVENT_FIELDS:
        assert f"offsetof(struct cxl_event, {field.name}) == {field.offset}," in text
    assert f"sizeof(struct cxl_event) == {EVENT_BYTES}," in text
    for kind in CXL_ENUMS.values():
        assert all(f"{member.name} = {member.value}," in text for member in kind)
    source = tmp_path / "all.c"
    source.write_text("#include <fanweave/cxl.h>\nint x = sizeof(struct cxl_event);\n")
    assert compile_c(source).warnings == ""


def test_headers_of_other_runtimes(tmp_path):
    files = header_files()
    for field in TRANSFER_FIELDS:
        assert (
            f"offsetof(struct dpu_transfer, {field.name}) == {field.offset},"
            in (files["fanweave/dpu.h"])
        )
    for row in DEVICE_MAPS:
        assert f"#define BPF_MAP_TYPE_{row.name} {row.number}\n" in files["fanweave/bpftime.h"]
    for helper in DEVICE_HELPERS:
        assert f"= (void *){helper.number};" in files["fanweave/bpftime.h"]
    source = tmp_path / "all.c"
    source.write_text(
        "#include <fanweave/dpu.h>\n#include <fanweave/bpftime.h>\n"
        '_Static_assert(sizeof(struct dpu_transfer) == 64, "");\n'
        'SEC("dpu") __u64 hold(void *c) { return dpu_hold(7) + bpf_get_lane_id(); }\n'
    )
    assert compile_c(source).warnings == ""


@pytest.mark.parametrize("action", list(VerdictAction))
def test_the_functions_for_verdicts_encode_as_golden_does(action, tmp_path):
    given = {"island": 0xA5, "tokens": 0xDEADBEEF}
    values = {
        field.name: given[field.name]
        for field in VERDICT_FIELDS
        if field.name in given and action in field.actions
    }
    expected = Verdict(action=action, **values).encode()
    call = f"cxl_{action.name.lower()}({', '.join(map(hex, values.values()))})"
    source = tmp_path / "verdict.c"
    source.write_text(
        "#include <fanweave/cxl.h>\n"
        f'_Static_assert(CXL_{action.name} == {int(action)}, "");\n'
        f"int f(void) {{ return {call} == {expected}ull ? 0x1234 : 0x4321; }}\n"
    )
    assert b"\xb7\x00\x00\x00\x34\x12\x00\x00" in compile_c(source, cpu="v1").data


def test_headers_are_written_where_they_are_wanted(tmp_path):
    written = write_headers(tmp_path / "include")
    assert {path.relative_to(tmp_path / "include").as_posix() for path in written} == set(
        header_files()
    )
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="headers cannot be written to"):
        write_headers(tmp_path / "file")
