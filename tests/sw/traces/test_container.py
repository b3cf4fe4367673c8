"""Traces survive the file, and damaged files do not get in."""

import json
import os

import numpy as np
import pytest
import safetensors.numpy

from fanweave.golden.errors import InputError
from fanweave.golden.isa.formats import ElementFormat
from fanweave.sw.traces import Layout, Trace
from fanweave.sw.traces.build import LayoutChoice
from fanweave.sw.traces.container import HEADER_KEY, write_atomically
from fanweave.sw.traces.synthesize import synthesize

CHOICES = [
    LayoutChoice(layout=Layout.DENSE),
    LayoutChoice(layout=Layout.BITMASK),
    LayoutChoice(layout=Layout.ABSOLUTE),
    LayoutChoice(layout=Layout.N_OF_M, n=2, m=4),
    LayoutChoice(layout=Layout.N_OF_M, n=3, m=7),
]


def _trace(choice=CHOICES[1], element_format=ElementFormat.FP16, projections=("k_proj",)) -> Trace:
    return synthesize(
        model="smollm2-135m",
        projections=projections,
        choice=choice,
        element_format=element_format,
        rows=19,
        columns=45,
        seed=4,
    )


def _assert_equal(left: Trace, right: Trace) -> None:
    assert dict(left.metadata) == dict(right.metadata)
    assert len(left.operands) == len(right.operands)
    for ours, theirs in zip(left.operands, right.operands, strict=True):
        for field in ("name", "element_format", "layout", "n", "m", "shape", "phases"):
            assert getattr(ours, field) == getattr(theirs, field)
        for field in ("indptr", "indices", "data", "activations"):
            np.testing.assert_array_equal(getattr(ours, field), getattr(theirs, field))


@pytest.mark.parametrize("choice", CHOICES, ids=lambda c: f"{c.layout.value}{c.n}{c.m}")
@pytest.mark.parametrize("element_format", list(ElementFormat), ids=lambda f: f.name)
def test_a_trace_comes_back_as_it_was(choice, element_format, tmp_path):
    trace = _trace(choice, element_format)
    trace.save(tmp_path / "t.safetensors")
    _assert_equal(Trace.load(tmp_path / "t.safetensors"), trace)


def test_several_operands_keep_their_order(tmp_path):
    trace = _trace(projections=("v_proj", "gate_proj", "k_proj"))
    trace.save(tmp_path / "t.safetensors")
    loaded = Trace.load(tmp_path / "t.safetensors")
    assert [o.name.split(".")[-1] for o in loaded.operands] == ["v_proj", "gate_proj", "k_proj"]


def test_stored_zeros_and_empty_rows_survive(tmp_path):
    trace = synthesize(model="smollm2-135m", projections=("k_proj",), weight_sparsity=1.0, rows=3)
    trace.save(tmp_path / "t.safetensors")
    assert Trace.load(tmp_path / "t.safetensors").operands[0].nnz == 0


def test_equal_traces_give_equal_bytes(tmp_path):
    for name in ("one", "two"):
        _trace(projections=("k_proj", "v_proj")).save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_mask_costs_a_bit_a_weight(tmp_path):
    trace = synthesize(model="smollm2-135m", projections=("q_proj",), prefill=1, decode=0)
    trace.save(tmp_path / "t")
    payload = 2 * trace.operands[0].nnz + 576 * 576 / 8 + 2 * 576
    assert payload < (tmp_path / "t").stat().st_size < payload + 2000


def test_damage_anywhere_never_gives_another_trace_or_a_crash(tmp_path):
    """Every cut, and every changed byte of the header: refused, or of no effect."""
    path = tmp_path / "t.safetensors"
    trace = _trace()
    trace.save(path)
    content = path.read_bytes()
    header = 8 + int.from_bytes(content[:8], "little")
    random = np.random.default_rng(8)
    cuts = [content[:size] for size in (0, 7, 8, 100, header, len(content) - 1)]
    cuts.append(content + b"more")
    flipped = []
    for position in random.choice(header, 150, replace=False):
        changed = bytearray(content)
        changed[position] ^= 1 << int(random.integers(8))
        flipped.append(bytes(changed))
    messages = []
    for damaged in cuts + flipped:
        path.write_bytes(damaged)
        try:
            Trace.load(path)
        except InputError as error:
            messages.append(str(error))
    assert all(message.startswith(str(path)) for message in messages)
    assert len(messages) >= len(cuts) + 50  # the others changed text that is only told


def _rewrite(path, change_header=None, change_tensors=None):
    with safetensors.safe_open(path, framework="np") as file:
        header = json.loads(file.metadata()[HEADER_KEY])
        tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    if change_header:
        change_header(header)
    if change_tensors:
        change_tensors(tensors)
    safetensors.numpy.save_file(tensors, path, metadata={HEADER_KEY: json.dumps(header)})


NAME = "layers.0.self_attn.k_proj"


def _extra_bit(tensors):
    tensors[f"{NAME}/mask"][0, -1] |= 0x80


def _nan(tensors):
    tensors[f"{NAME}/values"][0] = 0x7E00


@pytest.mark.parametrize(
    ("change_header", "change_tensors", "message"),
    [
        (lambda h: h.update(version=2), None, "trace version 2 is unknown, expected 1; use the"),
        (lambda h: h.pop("operands"), None, "damaged trace file ('operands' is missing)"),
        (lambda h: h["operands"][0].update(layout="csc"), None, "damaged trace file ('csc' is not"),
        (lambda h: h["operands"][0].update(element_format="FP4"), None, "('FP4' is missing)"),
        (lambda h: h["operands"][0].update(shape=[19]), None, "damaged trace file (not enough val"),
        (
            lambda h: h["operands"][0].update(shape=[19, 60]),
            None,
            "mask must be uint8 of shape [19",
        ),
        (lambda h: h["operands"][0].update(element_format="E4M3"), None, "damaged trace file ("),
        (lambda h: h["operands"][0].update(phases=["prefill"] * 4), None, "activations must be ui"),
        (lambda h: h["metadata"].update(origin="?"), None, "metadata 'origin' must be one of"),
        (None, lambda t: t.pop(f"{NAME}/values"), "damaged trace file ('values' is missing)"),
        (None, lambda t: t.pop(f"{NAME}/mask"), "damaged trace file ('mask' is missing)"),
        (None, _extra_bit, "damaged trace file (mask has bits beyond the 45 columns)"),
        (None, _nan, f"operand '{NAME}': data[0] is NaN"),
    ],
)
def test_what_is_wrong_is_named(change_header, change_tensors, message, tmp_path):
    path = tmp_path / "t.safetensors"
    _trace().save(path)
    _rewrite(path, change_header, change_tensors)
    with pytest.raises(InputError) as refused:
        Trace.load(path)
    assert str(refused.value).startswith(f"{path}: ")
    assert message in str(refused.value)


def test_a_dense_header_that_promises_too_much_is_refused_before_memory_is_taken(tmp_path):
    path = tmp_path / "t.safetensors"
    _trace(CHOICES[0]).save(path)
    _rewrite(path, lambda h: h["operands"][0].update(shape=[1 << 30, 1 << 30]))
    with pytest.raises(InputError, match="dense weights expected, got 855"):
        Trace.load(path)


def test_other_safetensors_are_pointed_to_import(tmp_path):
    safetensors.numpy.save_file({"w": np.zeros((2, 2))}, tmp_path / "w.safetensors")
    with pytest.raises(InputError, match=r"not a trace .* 'fanweave trace import'"):
        Trace.load(tmp_path / "w.safetensors")


def test_a_missing_file_and_a_missing_folder_are_named(tmp_path):
    with pytest.raises(InputError, match=r"none: no such trace file"):
        Trace.load(tmp_path / "none")
    with pytest.raises(InputError, match=r"cannot be written \(No such file or directory\)"):
        _trace().save(tmp_path / "folder" / "t")


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "t"
    path.write_bytes(b"old")

    def fail(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(InputError, match=r"cannot be written \(No space left on device\)"):
        write_atomically(path, b"new")
    assert [entry.name for entry in tmp_path.iterdir()] == ["t"]
    assert path.read_bytes() == b"old"
