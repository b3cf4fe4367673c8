import json

import pytest

from fanweave.golden.dops.platforms import PICOSECONDS
from fanweave.golden.errors import InputError
from fanweave.golden.timing.request_files import read_requests


def read(tmp_path, text):
    file = tmp_path / "trace"
    file.write_text(text)
    return read_requests(str(file))


def rows(trace):
    return [(r.arrival, r.input_tokens, r.output_tokens) for r in trace.requests]


def test_plain(tmp_path):
    trace = read(tmp_path, "arrival_s,input_tokens,output_tokens\n1.5,10,2\n1.500000000001,3,4\n")
    assert rows(trace) == [(0, 10, 2), (1, 3, 4)]
    assert trace.requests[1].name == "line 3"


def test_azure(tmp_path):
    text = (
        "TIMESTAMP,ContextTokens,GeneratedTokens\n"
        "2023-11-16 23:59:59.9799600,4808,10\n"
        "2023-11-17 00:00:00.0319601,3180,8\n"
    )
    assert rows(read(tmp_path, text)) == [(0, 4808, 10), (52_000_100_000, 3180, 8)]


def test_burst(tmp_path):
    text = (
        "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
        "5,ChatGPT,472,18,490,Conversation log\n"
        "6,ChatGPT,472,0,472,Conversation log\n"
        "45,ChatGPT,1087,230,1317,Conversation log\n"
    )
    assert rows(read(tmp_path, text)) == [(0, 472, 18), (40 * PICOSECONDS, 1087, 230)]


def test_mooncake(tmp_path):
    lines = [
        {"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [0, 1]},
        {"timestamp": 3001, "input_length": 10, "output_length": 6, "hash_ids": [7]},
    ]
    trace = read(tmp_path, "\n".join(json.dumps(line) for line in lines))
    assert rows(trace) == [(0, 600, 5), (3_001_000_000_000, 10, 6)]
    assert trace.prefix_block == 512
    assert [request.prefix for request in trace.requests] == [(0, 1), (7,)]


MEASURED = {
    "request_id": "a",
    "input_toks": 7,
    "output_toks": 3,
    "arrival_time": 1.0,
    "queued_ts": 100.25,
    "scheduled_ts": 100.5,
    "first_token_ts": 101.0,
    "last_token_ts": 102.000000000001,
}


def test_measured(tmp_path):
    (request,) = read(tmp_path, json.dumps(MEASURED)).requests
    assert (request.name, request.arrival) == ("a", 0)
    times = request.measured
    assert (times.queued, times.scheduled) == (0, PICOSECONDS // 4)
    assert (times.first_token, times.last_token) == (3 * PICOSECONDS // 4, 1_750_000_000_001)


def test_result_of_a_vllm_benchmark(tmp_path):
    result = {"input_lens": [5, 6, 7], "output_lens": [2, 0, 3], "request_rate": "inf"}
    assert rows(read(tmp_path, json.dumps(result, indent=1))) == [(0, 5, 2), (0, 7, 3)]
    result["request_rate"] = 4.0
    assert rows(read(tmp_path, json.dumps(result))) == [(0, 5, 2), (PICOSECONDS // 2, 7, 3)]
    result["start_times"] = [9.5, 3.0, 9.0]
    assert rows(read(tmp_path, json.dumps(result))) == [(0, 7, 3), (PICOSECONDS // 2, 5, 2)]


PLAIN = "arrival_s,input_tokens,output_tokens\n"
AZURE = "TIMESTAMP,ContextTokens,GeneratedTokens\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("a,b,c\n", "no known form"),
        ('{"a": 1}', "keys a are no known form"),
        ("{oh", "not JSON"),
        (PLAIN, "no requests"),
        (PLAIN + "0,1\n", "line 2: 2 fields; expected 3"),
        (PLAIN + "nan,1,1\n", "line 2: arrival_s 'nan' must be a finite number"),
        (PLAIN + "-1,1,1\n", "arrival_s '-1'"),
        (PLAIN + "0,1.5,1\n", "input_tokens '1.5' must be a whole number"),
        (PLAIN + "0,1,-2\n", "output_tokens '-2'"),
        (PLAIN + "0,1,0\n", "output_tokens = 0 must be at least 1"),
        (PLAIN + "5,1,1\n4,1,1\n", "sort the trace by arrival"),
        (AZURE + "yesterday,1,1\n", "TIMESTAMP 'yesterday' must be like"),
        ('{"timestamp": 0, "input_length": 1, "output_length": 1, "hash_ids": [1.5]}', "hash_ids"),
        ('{"timestamp": 0, "input_length": 1}', "output_length None"),
        (json.dumps(MEASURED | {"scheduled_ts": 99}), "must not decrease"),
        (
            json.dumps({"input_lens": [1], "output_lens": []}),
            "output_lens must be a list with the 1 entries",
        ),
        (
            json.dumps({"input_lens": [1], "output_lens": [1], "request_rate": "fast"}),
            "request_rate 'fast'",
        ),
        (
            json.dumps({"input_lens": [1], "output_lens": [1], "start_times": []}),
            "start_times must be a list with the 1 entries",
        ),
        (
            json.dumps({"input_lens": [1], "output_lens": [1], "start_times": 5}),
            "start_times must be a list",
        ),
        (json.dumps({"input_lens": 5, "output_lens": [1]}), "input_lens must be a list"),
        ('{"a":' * 100_000, "not JSON"),
        (PLAIN + "0,1,1\n1e400,1,1\n", "line 3: arrival_s '1e400' must be .* from 0 to"),
        (PLAIN + "0,1,1\n1e999999,1,1\n", "line 3: arrival_s '1e999999' must be"),
        (PLAIN + "0,1,1\n1e9,1,1\n", r"arrives 1e\+09 s after the first"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read(tmp_path, text)


def test_shipped_traces():
    assert len(read_requests("azure-conversation").requests) == 19366
    measured = read_requests("measured-server")
    assert len(measured.requests) == 300
    assert all(request.measured for request in measured.requests)
    with pytest.raises(InputError, match="did you mean 'measured-server'"):
        read_requests("measured-serve")


def test_measured_requests_arrive_before_they_are_taken_in(tmp_path):
    rows_ = [
        MEASURED | {"request_id": str(index), "arrival_time": arrival, "queued_ts": queued}
        for index, (arrival, queued) in enumerate([(5.0, 100.0), (5.125, 100.25), (5.25, 100.25)])
    ]
    requests = read(tmp_path, "\n".join(json.dumps(row) for row in rows_)).requests
    # The clocks differ by 95 s, as the first and the last are taken in at once.
    assert [each.arrival for each in requests] == [0, PICOSECONDS // 8, PICOSECONDS // 4]
    assert [each.measured.queued for each in requests] == [0, PICOSECONDS // 4, PICOSECONDS // 4]
    # Where one has no such time, all arrive when they are taken in.
    del rows_[1]["arrival_time"]
    requests = read(tmp_path, "\n".join(json.dumps(row) for row in rows_)).requests
    assert [each.arrival for each in requests] == [0, PICOSECONDS // 4, PICOSECONDS // 4]
    rows_[1]["arrival_time"] = "soon"
    with pytest.raises(InputError, match="arrival_time 'soon' must be a finite number"):
        read(tmp_path, "\n".join(json.dumps(row) for row in rows_))
