"""Every operator of a placement on the rooflines of its devices."""

from dataclasses import dataclass

from fanweave.golden.dops.costs.physical import operations, weight_bytes
from fanweave.golden.dops.graph import COLLECTIVES
from fanweave.golden.dops.platforms import GIB, PICOSECONDS, Device
from fanweave.golden.dops.registry import Request
from fanweave.golden.dops.schedule import KeptPass, Schedule
from fanweave.golden.dops.work import Step, byte_count, element_bits, kv_elements, traffic

__all__ = ["RooflinePoint", "roof", "roofline_points"]


@dataclass(frozen=True, kw_only=True)
class RooflinePoint:
    """Equal operators of one pass on one device.

    Attributes
    ----------
    kind, device : str
    device_index : int
    phase : str
    token : int
    count : int
        How many there are.
    intensity : float
        Operations a byte of weights, activations and history.
    rate : float
        Operations a second.
    share : float
        Rate over what the device's roofline allows at that intensity.
    """

    kind: str
    device: str
    device_index: int
    phase: str
    token: int
    count: int
    intensity: float
    rate: float
    share: float

    @property
    def over(self) -> bool:
        """Whether it is above the roofline by more than what rounding to picoseconds does."""
        return self.share > 1.001


def roof(device: Device, intensity: float) -> float:
    """Operations a second that a device's peak and bandwidth allow."""
    return min(device.peak_tflops * 1e12, device.bandwidth_gib * GIB * intensity)


def roofline_points(request: Request, result: Schedule) -> list[RooflinePoint]:
    """All operators of the kept passes that compute something; equal ones as one point."""
    return [point for kept in result.kept for point in _points(request, result, kept)]


def _points(request: Request, result: Schedule, kept: KeptPass) -> list[RooflinePoint]:
    work, graph = request.workload, result.flat.graph
    bits = element_bits(request.elements)
    phase = "prefill" if kept.phase == "prefill" else "decode"
    step = Step(phase, work.batch, work.prefill + kept.token)  # type: ignore[arg-type]
    counts: dict[tuple[int, int, int], int] = {}
    for index, operator in enumerate(graph.operators):
        duration = int(kept.log.finish[index] - kept.log.start[index])
        if operator.kind not in COLLECTIVES and duration > 0:
            key = operator.class_index, int(kept.log.place[index]), duration
            counts[key] = counts.get(key, 0) + 1
    points = []
    for (class_index, place, duration), count in counts.items():
        sizes = graph.classes[class_index]
        device = result.platform.devices[place]
        done = operations(device, sizes, step)
        if not done:
            continue
        others = sum(traffic(sizes, step)) + kv_elements(sizes, step)
        size = weight_bytes(device, sizes, step, bits) + byte_count(others, bits)
        intensity, rate = done / size, done / (duration / PICOSECONDS)
        points.append(
            RooflinePoint(
                kind=sizes.kind.value,
                device=device.name,
                device_index=place,
                phase=phase,
                token=kept.token,
                count=count,
                intensity=intensity,
                rate=rate,
                share=rate / roof(device, intensity),
            )
        )
    return points
