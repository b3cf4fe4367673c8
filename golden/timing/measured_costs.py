"""Times of steps from the measured operators of one model on one device."""

from fanweave.golden.dops.calibration.operator_table import OperatorTable
from fanweave.golden.dops.calibration.profile import DeviceProfile
from fanweave.golden.timing.deployment import Deployment
from fanweave.golden.timing.energy import StepEnergy
from fanweave.golden.timing.scaling import OperatorScaling
from fanweave.golden.timing.step import Chunk, StepShape, StepTime

__all__ = ["CALIBRATED_SPREAD", "EXTRAPOLATED_SPREAD", "MeasuredCosts"]

#: Half-width of the interval of a step whose operators were all measured: the 95th percentile of
#: the errors on held-out token counts, weighted by the share of dense layers and attention in a
#: step, rounded up (`fanweave calibrate` prints them).
CALIBRATED_SPREAD = 0.05
#: The same for a step outside the measured sizes or device splits: the 95th percentile of the
#: errors of the fit on shapes that it never saw.
EXTRAPOLATED_SPREAD = 0.2
#: Longest chunk that attention is asked for at once; longer ones are cut.
_LONGEST_CHUNK = 2048
#: Operators that a layer has twice.
_TWICE = ("layernorm",)


class MeasuredCosts:
    """Step costs of a profile under a deployment.

    A step is the embedding, its layers, the last norm, and head and sampler for the sequences
    that get a token. Dense layers go by the tokens of the step, attention by its chunks and its
    decode batch, head and sampler by sequences.

    Chunks of several requests in one step are attended to independently: their times beyond the
    start of a kernel add up. What decode adds to a step with prefill is measured with one chunk
    of as many tokens after their mean context.

    Parameters
    ----------
    profile : DeviceProfile
        Measured operators.
    deployment : Deployment
        Devices, precision, launches.

    Raises
    ------
    InputError
        If the deployment does not divide the model.
    """

    def __init__(self, profile: DeviceProfile, deployment: Deployment | None = None) -> None:
        self.profile = profile
        self.deployment = deployment or Deployment()
        self.deployment.check(profile.card)
        self._layers = self.deployment.stage_layers(profile.card)
        self._scaling = OperatorScaling(profile, self.deployment)
        self._energy = StepEnergy(profile.energy, profile.card, self.deployment)
        self._dense: dict[int, tuple[int, int, int]] = {}
        self._heads: dict[int, int] = {}
        self._largest_tokens = min(table.largest for table in profile.dense.values())
        self._largest_sampled = min(table.largest for table in profile.per_sequence.values())
        # Splits and precisions other than the measured ones are scaled, not measured.
        self._as_measured = self.deployment.tensor == 1 and self.deployment.kv_bits == 16

    @property
    def stages(self) -> int:
        """Pipeline stages."""
        return self.deployment.pipeline

    def step(self, shape: StepShape) -> StepTime:
        """Time of a step."""
        launch = self.deployment.launch
        tokens = launch.padded(shape.tokens)
        sampled = len(shape.chunks) + shape.decodes
        layer, first, last = self._dense_ps(tokens)
        layer += self._attention_ps(shape)
        times = [layers * layer for layers in self._layers]
        times[0] += first
        times[-1] += last + self._head_ps(sampled)
        stages = tuple(
            launch.total(tokens, layers, time)
            for layers, time in zip(self._layers, times, strict=True)
        )
        calibrated = (
            self._as_measured
            and tokens <= self._largest_tokens
            and sampled <= self._largest_sampled
            and self._attention_covers(shape)
        )
        return StepTime(
            stages=stages,
            transfer=self._scaling.transfer_ps(tokens),
            host=launch.host(tokens),
            spread=CALIBRATED_SPREAD if calibrated else EXTRAPOLATED_SPREAD,
            calibrated=calibrated,
            energy_pj=self._energy.step_pj(shape),
        )

    def _dense_ps(self, tokens: int) -> tuple[int, int, int]:
        """Dense operators of one layer, those before the layers, and those behind them."""
        found = self._dense.get(tokens)
        if found is None:
            layer, outside = 0, {"embedding": 0, "final_layernorm": 0}
            for name, table in self.profile.dense.items():
                time = self._operator_ps(name, table, tokens)
                if name in outside:
                    outside[name] = time
                else:
                    layer += time * (2 if name in _TWICE else 1)
            if not self.deployment.launch.has_graph(tokens):
                layer = round(layer * self.deployment.sustained)
            layer += self._scaling.all_reduce_ps(tokens)
            found = layer, outside["embedding"], outside["final_layernorm"]
            self._dense[tokens] = found
        return found

    def _head_ps(self, sampled: int) -> int:
        found = self._heads.get(sampled)
        if found is None:
            tables = self.profile.per_sequence.items()
            found = sum(self._operator_ps(name, table, sampled) for name, table in tables)
            self._heads[sampled] = found
        return found

    def _operator_ps(self, name: str, table: OperatorTable, size: int) -> int:
        return self._scaling.operator_ps(name, table, size)

    def _attention_ps(self, shape: StepShape) -> int:
        """Attention of one layer."""
        table, scaling = self.profile.attention, self._scaling
        if not shape.chunks:
            return scaling.decode_attention_ps(self._decode_ps(shape))
        pieces = [piece for chunk in shape.chunks for piece in _pieces(chunk)]
        start = table.floor_ps
        prefill = start + sum(
            table.prefill_ps(piece.tokens, piece.context) - start for piece in pieces
        )
        prefill_ps = scaling.prefill_attention_ps(prefill)
        if not shape.decodes:
            return prefill_ps
        added = self.deployment.beside * self._added_ps(shape, pieces)
        return prefill_ps + scaling.decode_attention_ps(added, floor=0.0)

    def beside_ps(self, shape: StepShape) -> float:
        """What decode adds to the attention of all layers of a step with prompts, unscaled."""
        if not shape.chunks or not shape.decodes:
            return 0.0
        pieces = [piece for chunk in shape.chunks for piece in _pieces(chunk)]
        return sum(self._layers) * self._added_ps(shape, pieces)

    def _decode_ps(self, shape: StepShape) -> float:
        table, mean = self.profile.attention, shape.context_sum / shape.decodes
        cut = self.profile.decode_skew.time_ps(table, shape.decodes, mean, shape.context_max)
        if self.deployment.launch.cuts(shape.decodes):
            return cut
        return max(cut, table.uncut_ps(shape.decodes, mean))

    def _added_ps(self, shape: StepShape, pieces: list[Chunk]) -> float:
        """What decode adds to attention of a step with prefill."""
        table = self.profile.attention
        total = sum(piece.tokens for piece in pieces)
        context = sum(piece.tokens * piece.context for piece in pieces) / total
        chunk = min(total, _LONGEST_CHUNK)
        together = self.profile.mixed_skew.time_ps(
            table,
            chunk,
            context,
            shape.decodes,
            shape.context_sum / shape.decodes,
            shape.context_max,
        )
        return max(0.0, together - table.prefill_ps(chunk, context))

    def _attention_covers(self, shape: StepShape) -> bool:
        table = self.profile.attention
        chunk = context = 0
        if shape.chunks:
            chunk = max(each.tokens for each in shape.chunks)
            context = max(each.context for each in shape.chunks)
        return table.covers(chunk, context, shape.decodes, shape.context_max)


def _pieces(chunk: Chunk) -> list[Chunk]:
    """A chunk cut into pieces that were measured, each after those before it."""
    if chunk.tokens <= _LONGEST_CHUNK:
        return [chunk]
    return [
        Chunk(min(_LONGEST_CHUNK, chunk.tokens - at), chunk.context + at)
        for at in range(0, chunk.tokens, _LONGEST_CHUNK)
    ]
