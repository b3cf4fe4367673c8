"""Models come back from GGUF files as they were; damaged files are refused."""

import gguf
import numpy as np
import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.llama.evaluate import generate
from fanweave.golden.llama.fetch import find_model
from fanweave.golden.llama.load import load_gguf


def test_a_model_comes_back_from_its_file(tiny_llama, tiny_gguf):
    loaded, tokenizer = load_gguf(tiny_gguf)
    assert loaded.config.rope_base == pytest.approx(tiny_llama.config.rope_base)
    assert loaded.config.vocabulary == 260
    for name, weight in tiny_llama.weights.items():
        np.testing.assert_array_equal(loaded.weights[name], weight, err_msg=name)
    np.testing.assert_array_equal(loaded.output, tiny_llama.output)
    assert tokenizer.decode(tokenizer.encode("the the<|end|>")) == "the the<|end|>"
    assert len(tokenizer.encode("the the<|end|>")) == 3


def test_a_missing_file_says_how_to_get_one(tmp_path):
    with pytest.raises(InputError, match=r"no such model file; 'fanweave model fetch' brings one"):
        load_gguf(tmp_path / "none.gguf")


@pytest.mark.parametrize("keep", [0, 3, 100, 3000])
def test_a_cut_file_is_refused(tiny_gguf, tmp_path, keep):
    path = tmp_path / "cut.gguf"
    path.write_bytes(tiny_gguf.read_bytes()[:keep])
    with pytest.raises(InputError, match=r"cut\.gguf: not a GGUF file, or damaged"):
        load_gguf(path)


def test_another_architecture_is_refused(tmp_path):
    writer = gguf.GGUFWriter(tmp_path / "other.gguf", "mamba")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(InputError, match="model architecture must be 'llama', got 'mamba'"):
        load_gguf(tmp_path / "other.gguf")


def test_a_missing_field_is_named(tmp_path):
    writer = gguf.GGUFWriter(tmp_path / "bare.gguf", "llama")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(
        InputError, match=r"bare\.gguf: GGUF field 'llama\.embedding_length' is mis"
    ):
        load_gguf(tmp_path / "bare.gguf")


def test_the_real_model_speaks_english():
    path = find_model()
    if path is None:
        pytest.skip("the model is not here; 'make model' fetches it (92 MB)")
    model, tokenizer = load_gguf(path)
    tokens = generate(model, tokenizer.encode("The capital of France is"), 6)
    assert tokenizer.decode(tokens).startswith(" Paris")
