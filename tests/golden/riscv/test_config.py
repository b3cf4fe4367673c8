"""Parameters of a core are checked when it is built."""

import re

import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.riscv.config import CoreConfig


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"vlen": 500}, "vlen is 500; expected a power of two from 64 to 4096"),
        ({"vlen": 32}, "vlen is 32; expected a power of two from 64 to 4096"),
        ({"elen": 16}, "elen is 16; expected 32 or 64"),
        ({"segments": 9}, "segments is 9; expected 1 to 8"),
        ({"accumulators": 100}, "accumulators is 100; expected a power of two from 32"),
    ],
)
def test_wrong_parameters(wrong, message):
    with pytest.raises(InputError, match=re.escape(message)):
        CoreConfig(**wrong)
