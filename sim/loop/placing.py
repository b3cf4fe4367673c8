"""One placement of the loop: where operators run, its movement graph, and scores of a choice."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from fanweave.golden.dops.explain import Explanation
from fanweave.golden.dops.graph import Sharding
from fanweave.golden.dops.registry import EXPLAINERS, Request
from fanweave.golden.dops.registry import place as place_request
from fanweave.golden.dops.schedule import Schedule
from fanweave.golden.fabric.graph import Graph
from fanweave.golden.fabric.placement import graph_of_placement
from fanweave.golden.loop.changes import Places
from fanweave.golden.loop.costs import Costs, priced
from fanweave.sim.placement.report import pass_name, place_document

__all__ = ["Placement", "offers", "place"]

_MODE = "sound"


@dataclass(frozen=True, kw_only=True, eq=False)
class Placement:
    """A placement.

    Attributes
    ----------
    request : Request
        With the costs of its round.
    schedule : Schedule
    places : Places
        Device of each operator in prefill, the first and the last token.
    kinds : mapping of str to str
        Kind of each operator.
    """

    request: Request
    schedule: Schedule = field(repr=False)
    places: Places = field(repr=False)
    kinds: Mapping[str, str] = field(repr=False)

    @property
    def sharding(self) -> Sharding:
        """In how many pieces the model is cut."""
        return self.schedule.flat.graph.sharding

    def graph(self) -> Graph | None:
        """What moves in prefill; None if nothing does.

        Raises
        ------
        InputError
            If there are more devices than switches have ports for.
        """
        document = place_document(self.request, self.schedule, operators=True)
        prefill = next(each for each in document["passes"] if each["phase"] == "prefill")
        if not prefill["messages"]:
            return None
        return graph_of_placement(document, "the placement", self.request.model)


def place(request: Request, costs: Costs) -> Placement:
    """Place with costs, in mode sound.

    Raises
    ------
    InputError
        If the model does not fit.
    FaultError
        If the schedule breaks a rule of the mode.
    """
    request = replace(request, platform=priced(request.platform, costs))
    schedule = place_request(request, _MODE)
    operators = schedule.flat.graph.operators
    return Placement(
        request=request,
        schedule=schedule,
        places={
            pass_name(kept): {
                operator.name: schedule.device(kept, index)
                for index, operator in enumerate(operators)
            }
            for kept in schedule.kept
        },
        kinds={operator.name: str(operator.kind) for operator in operators},
    )


def offers(placement: Placement, when: str, operator: str) -> dict[str, int]:
    """When each device that could would have finished an operator, after the first of them, ps.

    Parameters
    ----------
    placement : Placement
    when : str
        A pass of `places`.
    operator : str
    """
    token = None if when == "prefill" else int(when.split()[-1])
    found: Explanation = EXPLAINERS[_MODE](placement.request, operator, token)
    ends = {each.device: each.finish for each in found.alternatives if each.finish is not None}
    first = min(ends.values(), default=0)
    return {device: finish - first for device, finish in ends.items()}
