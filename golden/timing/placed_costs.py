"""Times of steps on devices of several kinds, each step placed by a scheduler."""

from collections.abc import Callable, Sequence

from fanweave.golden.dops.energy import EnergyMeter
from fanweave.golden.dops.explain import Explanation, explain_pass
from fanweave.golden.dops.layouts import Layout
from fanweave.golden.dops.models import ModelCard
from fanweave.golden.dops.place import Problem, make_machine
from fanweave.golden.dops.platforms import Platform
from fanweave.golden.dops.records import DEFAULT_RECORD, load_record
from fanweave.golden.dops.schedulers.base import Pass, Scheduler, allowed_devices
from fanweave.golden.dops.simulate import Workload
from fanweave.golden.dops.sound import fair
from fanweave.golden.dops.sound_problem import sound_problems
from fanweave.golden.dops.work import Phase
from fanweave.golden.dops.work import Step as PassStep
from fanweave.golden.errors import InputError
from fanweave.golden.timing.step import Chunk, StepShape, StepTime

__all__ = ["PLACED_SPREAD", "PlacedCosts"]

#: Half-width of the interval of a placed step: its costs come from cards and not from
#: measurements.
PLACED_SPREAD = 0.2
#: Uses over which a scheduler spreads a load while it settles: a server runs on and on.
_USES = 1000
_FRESH: tuple[tuple[Phase, int], ...] = (("prefill", 0), ("decode", 0), ("decode", 1))


class PlacedCosts:
    """Step costs of mode `sound`: a scheduler places every step anew.

    A step is a pass of prefill for each chunk, then one of decode for all sequences at their mean
    context. Weights are where a pass of prefill and two of decode of `max_sequences` have left
    them, so a step's time hangs on its shape alone; and since they go back there, a scheduler
    counts a load in full, and loads only what pays within the step. A chunk behind stored tokens
    takes what the whole prompt up to its end takes longer than the prompt up to its begin.

    Parameters
    ----------
    model, platform
        What runs, and where.
    scheduler : callable
        Makes the scheduler.
    max_sequences, max_tokens : int
        Memory for keys and values of so many sequences of so many tokens is set aside.
    elements : str
        Element format of weights, activations, keys and values.
    home : str
        Where keys and values are: ``pim``, ``npu``, ``memory`` or ``host``. If not given, they and
        the weights are where a full batch of `typical` requests is served first.
    typical : (int, int), optional
        Tokens of a request in and out, by which homes are compared; half of `max_tokens` each if
        not given.

    Attributes
    ----------
    planned : int
        Passes that were placed since the home was chosen.

    Raises
    ------
    InputError
        If something does not fit.
    """

    stages = 1

    def __init__(
        self,
        model: ModelCard,
        platform: Platform,
        scheduler: Callable[[], Scheduler],
        *,
        max_sequences: int,
        max_tokens: int,
        elements: str = "fp16",
        home: str = "",
        typical: tuple[int, int] | None = None,
    ) -> None:
        work = Workload(batch=max_sequences, prefill=max_tokens, decode=0)
        record = load_record(DEFAULT_RECORD)
        cases = sound_problems(model, platform, work, record, elements=elements)
        fitting = [case for case in cases if home in ("", case.home.place)]
        if not fitting:
            known = ", ".join(dict.fromkeys(case.home.place for case in cases))
            raise InputError(
                f"keys and values of {max_sequences} sequences of {max_tokens} tokens have no room "
                f"at home {home!r}; choose one of {known}"
            )
        self._make, self._max_sequences, self._max_tokens = scheduler, max_sequences, max_tokens
        half = max(1, max_tokens // 2)
        best = fitting[0]
        if len(fitting) > 1:
            best = self._quickest(fitting, typical or (half, half))
        self._settle(best)

    def _quickest(self, cases: Sequence[Problem], typical: tuple[int, int]) -> Problem:
        """The home at which a full batch is served first, of equal ones the first."""
        tokens_in, tokens_out = typical
        prompt = StepShape((Chunk(tokens_in, 0),), 0, 0, 0)
        batch, context = self._max_sequences, tokens_in + tokens_out // 2
        token = StepShape((), batch, batch * context, context)
        times: list[tuple[int, int]] = []
        failed: ValueError | None = None
        for index, case in enumerate(cases):
            try:
                self._settle(case)
                (first,), (each,) = self.step(prompt).stages, self.step(token).stages
            except ValueError as error:  # an operator that finds no room beside this home
                failed = error
                continue
            times.append((batch * first + tokens_out * each, index))
        if not times:
            raise InputError(f"nothing fits: {failed}; give the devices more memory") from failed
        return cases[min(times)[1]]

    def _settle(self, case: Problem) -> None:
        """Let the weights come to where a server has them, with all homes as in a problem."""
        flat, platform = case.flat, case.platform
        self._case = case
        compiled = platform.topology != "star"
        self._scheduler, quick = fair(self._make(), compiled=compiled)
        self._plain, _ = fair(self._make(), compiled=False)
        layouts = [int(Layout.LINEAR)] * len(flat.graph.weights)
        self._machine = make_machine(case, layouts, compiled=quick)
        self._scheduler.start(flat, platform)
        self._devices = {
            phase: allowed_devices(flat, platform, self._types(phase))
            for phase in ("prefill", "decode")
        }
        self._meter = EnergyMeter(flat, platform, case.bits)
        self.planned = 0
        self._end = 0
        self._energy = 0.0
        self._uses = _USES
        for phase, token in _FRESH:
            batch = 1 if phase == "prefill" else self._max_sequences
            self._pass(PassStep(phase, batch, max(1, self._max_tokens // 2) + token))
        self._warm = self._machine.snapshot(), self._end
        self._uses = 1

    @property
    def homes(self) -> dict[str, str]:
        """Where keys and values are, and weights."""
        return self._case.homes

    def _types(self, phase: Phase) -> Callable[..., tuple[str, ...]]:
        return lambda kind: self._scheduler.types(kind, phase)

    def step(self, shape: StepShape) -> StepTime:
        """Time of a step."""
        state, self._end = self._warm
        begin, self._energy = self._end, 0.0
        self._machine.restore(state)
        for chunk in shape.chunks:
            self._chunk(chunk)
        if shape.decodes:
            mean = max(1, round(shape.context_sum / shape.decodes))
            self._pass(PassStep("decode", shape.decodes, mean))
        return StepTime(
            stages=(self._end - begin,),
            transfer=0,
            host=0,
            spread=PLACED_SPREAD,
            calibrated=False,
            energy_pj=round(self._energy * 1e12),
        )

    def explain(self, operator: str, step: PassStep) -> Explanation:
        """Why an operator of a pass is where it is, with weights where the server has them.

        Parameters
        ----------
        operator : str
            Its name, such as ``L3_QK_s0``.
        step : Step
            The pass: its phase, sequences and context.

        Raises
        ------
        InputError
            If there is no such operator.
        """
        state, self._end = self._warm
        self._machine.restore(state)
        work = self._begin(step)
        try:
            return explain_pass(self._scheduler, self._plain, work, operator)
        finally:
            self._machine.restore(state)

    def _chunk(self, chunk: Chunk) -> None:
        begin, energy = self._end, self._energy
        self._pass(PassStep("prefill", 1, chunk.context + chunk.tokens))
        if not chunk.context:
            return
        whole, all_energy = self._end - begin, self._energy
        state, self._end = self._warm
        start = self._end
        self._machine.restore(state)
        self._pass(PassStep("prefill", 1, chunk.context))
        self._end = begin + max(1, whole - (self._end - start))
        self._energy = max(energy, all_energy - (self._energy - all_energy))
        self._machine.restore(state)
        self._machine.wait(self._end)

    def _pass(self, step: PassStep) -> None:
        """Place one pass behind the last one."""
        machine = self._machine
        self._scheduler.place(self._begin(step))
        self._end = max(self._end, machine.makespan())
        if self._meter.knows:
            self._energy += self._meter.measure(step, machine.log()).total
        self.planned += 1

    def _begin(self, step: PassStep) -> Pass:
        """Begin a pass behind the last one."""
        machine = self._machine
        costs = self._case.tables.step(step)
        machine.wait(self._end)
        machine.begin(costs)
        return Pass(
            timing=machine,
            costs=costs,
            phase=step.phase,
            token=0,
            tokens=self._uses,
            devices=self._devices[step.phase],
        )
