import pytest

from fanweave.golden.dops.models import load_model
from fanweave.golden.dops.place import imitate, problem
from fanweave.golden.dops.platforms import load_platform
from fanweave.golden.dops.records import load_record
from fanweave.golden.dops.schedulers.bifocal import Bifocal
from fanweave.golden.dops.schedulers.static import Static
from fanweave.golden.dops.simulate import PassTimes, Workload, sample_tokens


def test_a_sample_has_whole_periods_from_the_first_to_the_last_token():
    for count in (0, 1, 7, 16, 40, 128, 1024, 1023):
        tokens = sample_tokens(count, 2)
        assert tokens == sorted(set(tokens))
        assert tokens[:16] == list(range(min(count, 16)))
        assert len(tokens) <= 32
        if count:
            assert tokens[-1] == count - 1
        assert all(token ^ 1 in tokens or token ^ 1 == count for token in tokens)


def test_what_grows_evenly_is_filled_in_exactly():
    steps = [10 + 3 * token + 100 * (token % 2) for token in range(20)]
    ends = [1000 + sum(steps[: token + 1]) for token in range(20)]
    ran = [0, 1, 10, 11, 18, 19]
    times = PassTimes(prefill=1000, tokens=[], ran=ran)
    clock = 1000
    for token in ran:
        clock += steps[token]
        times.tokens.append(clock)
    times.interpolate(20, 2)
    assert times.tokens == ends


@pytest.mark.parametrize(
    ("model", "batch", "record", "most"),
    [
        ("qwen-1.8b", 16, "log", 1e-4),
        ("qwen-1.8b", 16, "trace", 3e-3),
        ("qwen-7b", 1, "log", 1e-4),
        ("qwen-7b", 1, "trace", 3e-3),
    ],
)
def test_a_sample_gives_the_times_of_all_tokens(model, batch, record, most):
    chosen = load_record(record)
    work = Workload(batch=batch, prefill=512, decode=200)
    case = problem(load_model(model), load_platform("hp32"), work, chosen)
    for scheduler in (Static("PD"), Bifocal(chosen.bifocal)):
        whole, part = imitate(case, scheduler), imitate(case, scheduler, sampled=True)
        assert (whole.ran, part.ran) == (200, 32)
        assert len(part.token_ends) == 200
        assert part.prefill == whole.prefill
        assert part.total == pytest.approx(whole.total, rel=most)
