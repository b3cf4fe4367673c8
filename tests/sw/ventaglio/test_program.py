import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.ventaglio import IndexMode, Opcode, register
from fanweave.sw.ventaglio import Clear, Drain, Multiply, MultiplyAccumulate, assemble


def named(writes):
    """Register names and data."""
    names = {
        register(name).address: name
        for name in (
            "command", "format", "sparsity", "length", "tile", "accumulators", "first_row",
            "drain", "scale",
        )
    }  # fmt: skip
    return [(names[int(address)], int(data)) for address, data in writes]


MULTIPLY = {
    "element_format": ElementFormat.FP16,
    "index_mode": IndexMode.N_OF_M,
    "n": 2,
    "m": 4,
    "length": 576,
    "width": 128,
    "outputs": 2,
    "stride": 128,
}


def test_every_needed_register_is_written_first():
    writes = named(assemble([MultiplyAccumulate(**MULTIPLY, base=8, first_row=9)]))
    assert writes == [
        ("format", 1 | 1 << 4 | 1 << 8),
        ("length", 576),
        ("tile", 128 | 2 << 16),
        ("accumulators", 8 | 128 << 16),
        ("first_row", 9),
        ("sparsity", 2 | 4 << 8),
        ("command", Opcode.MULTIPLY_ACCUMULATE),
    ]


def test_only_what_changed_is_written_again():
    drain = Drain(element_format=ElementFormat.FP16, count=256, clear=True)
    writes = named(
        assemble(
            [
                Clear(),
                MultiplyAccumulate(**MULTIPLY),
                drain,
                Multiply(**MULTIPLY, first_row=576),
                drain,
            ]
        )
    )
    assert writes[0] == ("command", Opcode.CLEAR)
    assert writes[8:] == [
        ("drain", 256 | 1 << 19 | 1 << 20),
        ("command", Opcode.DRAIN),
        ("first_row", 576),
        ("command", Opcode.MULTIPLY),
        ("command", Opcode.DRAIN),
    ]


def test_a_converting_drain_brings_its_scale():
    writes = named(
        assemble(
            [
                Drain(
                    element_format=ElementFormat.INT8,
                    count=3,
                    target=ElementFormat.BF16,
                    scale=0x3F000000,
                )
            ]
        )
    )
    assert ("scale", 0x3F000000) in writes
    assert ("drain", 3 | 2 << 16) in writes


def test_a_value_that_does_not_fit_is_refused():
    operation = MultiplyAccumulate(**{**MULTIPLY, "width": 1 << 16})
    with pytest.raises(
        InputError,
        match=r"operation 1 \(MultiplyAccumulate\), register tile: width = 65536 does not fit in "
        r"16 bits",
    ):
        assemble([Clear(), operation])


def test_nothing_gives_no_writes():
    assert assemble([]).shape == (0, 2)
