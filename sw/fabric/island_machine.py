"""An island in the golden model: its switch, its event filter and its policy engine."""

from collections.abc import Callable
from dataclasses import dataclass, field

from fanweave.golden.cxl.config import PRESETS
from fanweave.golden.cxl.messages import Message, message
from fanweave.golden.cxl.switch import Delivery, SwitchModel
from fanweave.golden.errors import FaultError
from fanweave.golden.isa.cxl_event import (
    Channel,
    DevLoad,
    DrsOpcode,
    NdrOpcode,
    Verdict,
    encode_event,
)
from fanweave.golden.isa.cxl_messages import LINE_BYTES
from fanweave.golden.isa.cxl_switch import PAGE_BYTES
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.sw.fabric.build import Built
from fanweave.sw.fabric.registers import switch_writes

__all__ = ["IslandMachine", "Seen"]


@dataclass(frozen=True, kw_only=True)
class Seen:
    """An event that a program decided.

    Attributes
    ----------
    island, program : str
    verdict : Verdict
    instructions : int
    """

    island: str
    program: str
    verdict: Verdict
    instructions: int


@dataclass(eq=False)
class IslandMachine:
    """One island.

    Parameters
    ----------
    built : Built
        Its object.
    beyond : callable
        Called with a port and a request that leaves for it: load of the device, and nanoseconds
        that it took there.

    Attributes
    ----------
    seen : list of Seen
        Verdicts in their order.
    """

    built: Built
    beyond: Callable[[int, Message], tuple[DevLoad, int]]
    seen: list[Seen] = field(default_factory=list)

    def __post_init__(self) -> None:
        attach = self.built.unit.attach
        config = PRESETS[attach["switch"]]
        self.model = SwitchModel(config)
        self.machine = self.built.machine()
        self._rules = attach["rules"]
        self._rounds = 0
        for address, word in switch_writes(attach):
            self.model.tables.write(address, word)

    def request(self, port: int, request: Message, time_ns: int) -> int:
        """A host's request, until it is answered; nanoseconds that its devices took.

        Raises
        ------
        FaultError
            If a program ends with a fault, or r0 says nothing.
        """
        target = self.model.tables.decode(port, request["address"])
        exit_port = target.port if target is not None else port
        verdict = self._event(request, port=port, island=exit_port, time_ns=time_ns)
        took = 0
        for delivery in self.model.request(port, request, verdict):
            if delivery.request is None:
                continue  # the switch's own answer
            took = max(took, self._device(port, request, delivery, time_ns))
        return took

    def _device(self, host: int, request: Message, delivery: Delivery, time_ns: int) -> int:
        load, took = self.beyond(delivery.port, delivery.message.changed(tag=request["tag"]))
        self._rounds = (self._rounds + 1) % (1 << 16)
        came = self.model.arrives(delivery.port, delivery.message.changed(tag=self._rounds))
        is_read = request.channel is Channel.M2S_REQ
        channel = Channel.S2M_DRS if is_read else Channel.S2M_NDR
        opcode = DrsOpcode.MEM_DATA if is_read else NdrOpcode.CMP
        answer = message(
            channel, opcode=opcode, tag=self._rounds, ld_id=came.message["ld_id"], dev_load=load
        )
        for back in self.model.answer(delivery.port, answer):
            self._event(
                back.message,
                port=delivery.port,
                island=host,
                time_ns=time_ns + took,
                address=request["address"],
                latency_ns=took,
            )
        return took

    def _event(
        self,
        came: Message,
        *,
        port: int,
        island: int,
        time_ns: int,
        address: int | None = None,
        latency_ns: int = 0,
    ) -> Verdict | None:
        """The first rule that fits, and its program."""
        line = came["address"] if address is None else address
        page = line * LINE_BYTES // PAGE_BYTES
        for rule in self._rules:
            fits = rule["ports"] >> port & 1 and rule["channels"] >> came.channel & 1
            if fits and rule["first_page"] <= page <= rule["last_page"]:
                break
        else:
            return None
        fields = {name: came.fields.get(name, 0) for name in ("tag", "ld_id", "dev_load", "poison")}
        context = encode_event(
            address=line * LINE_BYTES,
            channel=came.channel,
            direction=came.channel.direction,
            opcode=came["opcode"],
            port=port,
            island=island,
            latency_ns=latency_ns,
            **fields,
        )
        return self._decide(rule["program"], context, time_ns)

    def _decide(self, name: str, context: bytes, time_ns: int) -> Verdict:
        program = self.built.loaded.find_program(name)
        outcome = self.machine.run(program.program, context, time_ns=time_ns)
        where = f"island {self.built.unit.place.name!r}, program {name!r}"
        if outcome.fault is not FaultCause.NONE:
            raise FaultError(f"{where} ended with {outcome.fault.name}")
        verdict = Verdict.decode(outcome.r0)
        if verdict is None:
            raise FaultError(f"{where} returned {outcome.r0:#x}, which is no verdict")
        self.seen.append(
            Seen(
                island=self.built.unit.place.name,
                program=name,
                verdict=verdict,
                instructions=outcome.instructions,
            )
        )
        return verdict
