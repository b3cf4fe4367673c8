import pytest

from fanweave.golden.dops.calibration.readers import read_measurements
from fanweave.golden.dops.models import load_model
from fanweave.golden.errors import InputError

CARD = load_model("llama-3.1-8b")


def read(tmp_path, text, name="measured.csv"):
    file = tmp_path / name
    file.write_text(text)
    return read_measurements(file, CARD)


def sizes(measurements):
    return [(s.operator, s.kind, *s.sizes, s.time_ps) for s in measurements.samples]


def test_own_form(tmp_path):
    text = "operator,m,n,k,time_us\nproj,4,64,32,1.5\nnorm,8,64,0,2\n"
    assert sizes(read(tmp_path, text)) == [
        ("norm", "rowwise", 8, 64, 0, 2_000_000),
        ("proj", "gemm", 4, 64, 32, 1_500_000),
    ]


def test_layers_by_tokens(tmp_path):
    measurements = read(tmp_path, "layer,tokens,time_us\nqkv_proj,2,35.5\nlayernorm,2,1\n")
    assert sizes(measurements) == [
        ("layernorm", "rowwise", 2, 4096, 0, 1_000_000),
        ("qkv_proj", "gemm", 2, 6144, 4096, 35_500_000),
    ]
    assert measurements.sized_by == "tokens"
    assert read(tmp_path, "layer,sequences,time_us\nlm_head,2,1\n").sized_by == "sequences"


def test_attention(tmp_path):
    text = "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n16,0,2,64,7.5\n"
    assert read(tmp_path, text).attention == [(16, 0, 2, 64, 7_500_000.0)]


def test_columns_in_milliseconds_with_repeated_sizes(tmp_path):
    text = "num_tokens,emb,mlp_up_proj\n8,0.001,0.5\n8,0.003,0.7\n8,0.002,0.6\n"
    measurements = read(tmp_path, text)
    assert measurements.repeated == 4
    assert sizes(measurements) == [
        ("emb", "rowwise", 8, 4096, 0, 2_000_000),
        ("mlp_up_proj", "gemm", 8, 28672, 4096, 600_000_000),
    ]


def test_products_with_units(tmp_path):
    text = "64, 128, 256, 0.1900ms, 101.7124Tflops\n"
    assert sizes(read(tmp_path, text)) == [("matmul", "gemm", 64, 128, 256, 190_000_000)]


def test_rates_are_turned_into_times(tmp_path):
    # 4096 x 32 elements at 10e9 elements/s take 13.1072 us.
    assert sizes(read(tmp_path, "4096, 32, 10\n", "llmcompass_softmax_A100.csv")) == [
        ("softmax", "rowwise", 4096, 32, 0, 13_107_200)
    ]
    assert sizes(read(tmp_path, "1000, 0.5\n", "gelu.csv")) == [
        ("gelu", "rowwise", 1000, 1, 0, 2_000_000)
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("a,b\n1,2\n", "no known form"),
        ("operator,m,n,k,time_us\n", "no rows"),
        ("operator,m,n,k,time_us\nx,1,2\n", "line 1: 3 fields; expected 5"),
        ("operator,m,n,k,time_us\nx,1,b,3,4\n", "line 2: size 'b' must be a whole number"),
        ("operator,m,n,k,time_us\nx,1,2,3,nan\n", "line 2: time_us 'nan' must be a finite"),
        ("operator,m,n,k,time_us\nx,1,2,3,-4\n", "'-4' must be a finite number over 0"),
        ("layer,tokens,time_us\nnope,1,2\n", "layer 'nope' is not known"),
        ("num_tokens,nope\n1,2\n", "column 'nope' is not known"),
        ("prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n0,0,0,0,1\n", "without tokens"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read(tmp_path, text)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_measurements(tmp_path / "none.csv", CARD)
