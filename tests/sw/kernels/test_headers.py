"""Macros of Ventaglio's instructions assemble to the encodings of the tables."""

import re

from fanweave.golden.isa.cluster import HOST, peripheral_address
from fanweave.golden.isa.riscv import kind_of
from fanweave.golden.isa.riscv_ventaglio import VENTAGLIO_INSTRUCTIONS
from fanweave.golden.riscv.program import parse_program
from fanweave.sw.kernels.compiler import build_program
from fanweave.sw.kernels.headers import generated_files

MACRO = re.compile(r"#define (\w+)\(([^)]*)\) \\")


def test_every_macro_is_the_instruction_it_names(tmp_path):
    text = generated_files()["fanweave/ventaglio_isa.h"]
    macros = MACRO.findall(text)
    numbers = {"vd_": 11, "vs2_": 22, "vs1_": 29, "uimm_": 13, "part_": 2}
    calls = []
    for name, arguments in macros:
        names = [part.strip() for part in arguments.split(",") if part.strip()]
        given = (str(numbers.get(part, f"f{part}" if part[0] == "f" else part)) for part in names)
        calls.append(f"{name}({', '.join(given)});")
    source = tmp_path / "all.c"
    source.write_text(
        "#include <fanweave/ventaglio_isa.h>\n"
        "int main(void) { float ffs1_ = 1, ffd_; unsigned rs1_ = 4, rs2_ = 8;\n"
        + "\n".join(calls)
        + "\n(void)ffd_; return rs1_; }\n"
    )
    program = parse_program(build_program([source]), "all")
    words = (program.word(0x80000000 + 4 * i) for i in range(400))
    found = {}
    for word in words:
        kind = None if word is None else kind_of(word)
        if kind is not None and kind.extension.value in ("xventaglio", "xpulppostinc"):
            found[kind.name] = kind.decode(word)
    assert {row.name for row in VENTAGLIO_INSTRUCTIONS} <= set(found)
    assert len(found) == len(macros)
    for name, fields in found.items():
        for field, number in (("vd", 11), ("vs2", 22), ("vs1", 29), ("uimm", 13), ("vm", 1)):
            assert fields.get(field, number) == number, name


def test_addresses_are_those_of_the_tables():
    files = generated_files()
    address = peripheral_address(HOST, "tohost")
    assert f"#define HOST_TOHOST {address:#010x}" in files["fanweave/cluster_map.h"]
    assert f"tohost = {address:#x};" in files["cluster.ld"]
