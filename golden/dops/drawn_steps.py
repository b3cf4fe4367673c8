"""Steps of a server whose traffic changes, drawn from a seed."""

from random import Random

from fanweave.golden.dops.work import Step

__all__ = ["draw_steps"]

#: Kinds of traffic: longest prompt and longest answer, as shares of the longest sequence.
_TRAFFIC = ((0.1, 0.1), (0.1, 0.9), (0.9, 0.05), (0.5, 0.4))
#: Steps after which the kind of traffic changes, in the mean.
_CHANGE = 40


def draw_steps(count: int, seed: int, *, sequences: int, longest: int) -> list[Step]:
    """Draw the steps of a server: prompts as they come, else a token of every open sequence.

    Kinds of traffic take turns at random: short and long prompts, with short and long answers.

    Parameters
    ----------
    count, seed : int
    sequences : int
        Most that are open at once.
    longest : int
        Most tokens of one, prompt and answer.
    """
    random = Random(seed)
    steps: list[Step] = []
    # Tokens that a sequence has, and how many it will have.
    running: list[tuple[int, int]] = []
    prompts, answers = random.choice(_TRAFFIC)
    while len(steps) < count:
        if random.random() < 1 / _CHANGE:
            prompts, answers = random.choice(_TRAFFIC)
        room = sequences - len(running)
        if not running or (room and random.random() < 0.15):
            prompt = random.randint(1, max(1, int(prompts * longest)))
            last = min(longest, prompt + random.randint(1, max(1, int(answers * longest))))
            joining = random.randint(1, room)
            running += [(prompt, last)] * joining
            steps.append(Step("prefill", joining, prompt))
        else:
            mean = sum(tokens for tokens, _ in running) // len(running)
            steps.append(Step("decode", len(running), mean))
            running = [(tokens + 1, last) for tokens, last in running if tokens + 1 < last]
    return steps
