"""What the text of options means, and the messages for what means nothing."""

import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.llama.pruning import Method, Pruning
from fanweave.golden.llama.tokenizer import Tokenizer, byte_alphabet
from fanweave.sw.traces import Layout
from fanweave.sw.traces.build import LayoutChoice
from fanweave.sw.traces.options import (
    load_model,
    parse_format,
    parse_layout,
    parse_pruning,
    read_calibration,
    read_text,
)


def test_names_are_understood():
    assert parse_format("BF16") is ElementFormat.BF16
    assert parse_layout("auto") is None
    assert parse_layout("absolute") == LayoutChoice(layout=Layout.ABSOLUTE)
    assert parse_layout("3:7") == LayoutChoice(layout=Layout.N_OF_M, n=3, m=7)
    assert parse_pruning("wanda", "2:4", "0.5") == Pruning(
        method=Method.WANDA, n=2, m=4, activation_sparsity=0.5
    )
    assert parse_pruning("none", "0", "0") == Pruning()


@pytest.mark.parametrize(
    ("parse", "message"),
    [
        (
            lambda: parse_format("fp4"),
            "format 'fp4' is unknown, expected one of fp32, fp16, bf16, e4m3, e5m2, int8",
        ),
        (
            lambda: parse_layout("csr"),
            "layout 'csr' is unknown, expected auto, dense, bitmask, absolute, or N:M such as 2:4",
        ),
        (
            lambda: parse_layout("4:2"),
            "'4:2' is no N:M sparsity, expected 1 <= N <= M <= 32, such as 2:4",
        ),
        (
            lambda: parse_pruning("lottery", "0.5", "0.5"),
            "pruning method 'lottery' is unknown, expected none, magnitude, wanda, duogpt",
        ),
        (
            lambda: parse_pruning("wanda", "half", "0.5"),
            "weight sparsity 'half' is no number, expected a share such as 0.5",
        ),
        (
            lambda: parse_pruning("wanda", "0.5", "half"),
            "activation sparsity 'half' is no number, expected a share such as 0.5",
        ),
    ],
)
def test_what_means_nothing_is_refused(parse, message):
    with pytest.raises(InputError) as refused:
        parse()
    assert str(refused.value) == message


def test_a_model_that_was_not_fetched_is_asked_for(monkeypatch, tmp_path):
    monkeypatch.setenv("FANWEAVE_CACHE", str(tmp_path))
    with pytest.raises(InputError) as refused:
        load_model(None)
    assert str(refused.value) == (
        "the model has not been fetched; run 'fanweave model fetch', "
        "or name a GGUF file with --model"
    )


def test_texts_are_read_or_refused(tmp_path):
    tokenizer = Tokenizer(byte_alphabet(), [])
    (tmp_path / "text").write_text("hello")
    assert len(read_calibration(tokenizer, tmp_path / "text", 3)) == 3
    (tmp_path / "text").write_text("")
    with pytest.raises(InputError, match="text: holds no text to calibrate with"):
        read_calibration(tokenizer, tmp_path / "text", 3)
    (tmp_path / "text").write_bytes(b"\xff\xfe")
    for name in ("text", "none"):
        with pytest.raises(InputError, match=f"{name}: cannot be read as UTF-8 text"):
            read_text(tmp_path / name)
