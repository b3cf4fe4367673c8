"""Instruction memory for several programs, which only sound ones can become part of."""

from amaranth import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fanweave.hw.ebpf.payloads import PROGRAM_BITS
from fanweave.hw.ebpf.program_checker import CHECK_CYCLES, ProgramChecker
from fanweave.hw.ebpf.program_payloads import (
    IMAGE_BITS,
    LENGTH_BITS,
    SLOT_BITS,
    Bind,
    Commit,
    CommitResult,
    LoadCause,
    ProgramWrite,
    Release,
)

__all__ = ["COMMIT_CYCLES", "ProgramStore"]

#: The result of a commit of n slots shows at most 2 n + `COMMIT_CYCLES` cycles after its transfer,
#: exactly so many if it is good.
COMMIT_CYCLES = CHECK_CYCLES + 2


class ProgramStore(wiring.Component):
    """Holds images of programs; checks each before anything can run it.

    An *image* is a range of slots. The host writes words into slots that belong to no image, and
    commits the range: the hardware checks it (`ProgramChecker`) and, if it is a sound program,
    makes it an image. From then on its slots cannot be written. The host binds a *program*, the
    number that events and tail calls name, to an image; from the next cycle on look-ups give the
    new image, while whoever was given the old one goes on in it. The host releases an image that
    no program is bound to and nobody uses, and its slots can be written again.

    Depth and recursion of local calls are not checked here; the core bounds both.

    Why nothing unchecked can run: a bound image is committed, because binding asks for it and
    releasing for the opposite; a committed range was checked whole, and its slots have not been
    written since the check began, because writes into committed ranges and into the one under
    check are dropped; and committed ranges do not overlap, so no other commit or release concerns
    them.

    Parameters
    ----------
    slots : int
        Slots of the instruction memory; a power of two from 4 to 65536.
    images, programs : int
        Powers of two from 2 to 256.
    maps : int
        Maps that programs may name, 0 to 256.

    Members
    -------
    write : stream in of `ProgramWrite`; refused : Out(1)
        Always ready. Drops a word for a slot outside of the memory, of a committed image or of
        the one under check; `refused` is high in the next cycle.
    commit : stream in of `Commit`; committed : stream out of `CommitResult`
        One commit after the other; each has one result, at most twice its length and
        `COMMIT_CYCLES` later. The image can be bound from the cycle on in which the result shows.
        A result that is not taken holds back the next commit and nothing else.
    release : stream in of `Release`; released, release_refused : Out(1)
        Always ready; one of the two is high in the next cycle. Refused if the image is not
        committed, a program is bound to it or being bound in the same cycle, or it is in use.
    in_use : In(images)
        Images that somebody runs: the bit is set in the cycle after the look-up at the latest,
        and for as long as slots are read.
    bind : stream in of `Bind`; bound, bind_refused : Out(1)
        Always ready; one of the two is high in the next cycle. Refused if there is no such
        program, or the image that it shall stand for is not committed.
    fetch_slot : In(16); fetch_word, fetch_next_high : Out(64), Out(32)
        A cycle later the word of the slot and the upper half of the word after it. Slots are
        addresses in the memory, not in an image. Checks and writes do not disturb it.
    image_number : In; image_base, image_limit : Out(16), Out(17)
        A cycle later the image's first slot and the one behind its last.
    event_program, call_program : In(8)
        Numbers to look up.
    event_valid, event_image, event_base, call_valid, call_image, call_base : Out
        In the same cycle, from registers: whether the number is bound, to which image, and its
        first slot.

    Raises
    ------
    ValueError
        If a parameter is not as described.
    """

    def __init__(self, *, slots: int, images: int = 8, programs: int = 16, maps: int) -> None:
        for name, value, low, high in (
            ("slots", slots, 4, 1 << SLOT_BITS),
            ("images", images, 2, 1 << IMAGE_BITS),
            ("programs", programs, 2, 1 << PROGRAM_BITS),
        ):
            if not low <= value <= high or value & value - 1:
                raise ValueError(f"{name} = {value} must be a power of two from {low} to {high}")
        self.slots = slots
        self.images = images
        self.programs = programs
        self.maps = maps
        self._image_shape = image = range(images)
        self._image_bits = images.bit_length() - 1
        self._program_bits = programs.bit_length() - 1
        look_ups = {
            f"{port}_{name}": member
            for port in ("event", "call")
            for name, member in (
                ("program", In(PROGRAM_BITS)),
                ("valid", Out(1)),
                ("image", Out(image)),
                ("base", Out(SLOT_BITS)),
            )
        }
        super().__init__(
            {
                "write": In(stream.Signature(ProgramWrite)),
                "refused": Out(1),
                "commit": In(stream.Signature(Commit)),
                "committed": Out(stream.Signature(CommitResult)),
                "release": In(stream.Signature(Release)),
                "released": Out(1),
                "release_refused": Out(1),
                "in_use": In(images),
                "bind": In(stream.Signature(Bind)),
                "bound": Out(1),
                "bind_refused": Out(1),
                "fetch_slot": In(SLOT_BITS),
                "fetch_word": Out(64),
                "fetch_next_high": Out(32),
                "image_number": In(image),
                "image_base": Out(SLOT_BITS),
                "image_limit": Out(LENGTH_BITS),
                **look_ups,
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._tables()
        m.submodules.checker = self._checker = ProgramChecker(slots=self.slots, maps=self.maps)
        self._commits(m)
        self._memory(m)
        self._releases(m)
        self._binds(m)
        self._look_ups(m)
        return m

    def _tables(self) -> None:
        """What is known of images and programs."""
        images, programs = range(self.images), range(self.programs)
        self._loaded = Signal(self.images)
        self._base = Array(Signal(SLOT_BITS, name=f"base_{i}") for i in images)
        self._limit = Array(Signal(LENGTH_BITS, name=f"limit_{i}") for i in images)
        self._bound = Signal(self.programs)
        self._image_of = Array(Signal(self._image_shape, name=f"image_of_{p}") for p in programs)

    def _is_loaded(self, image: Value) -> Value:
        """Whether an image is committed; its number may be too large."""
        return (image < self.images) & self._loaded.bit_select(image[: self._image_bits], 1)

    # Writing and reading

    def _protected(self, slot: Value) -> Value:
        """Whether a slot is none, or belongs to a committed image or to the one under check."""
        request = self._request
        within = [
            self._loaded[image] & (slot >= self._base[image]) & (slot < self._limit[image])
            for image in range(self.images)
        ]
        checked = self._checking & (slot >= request.base) & (slot < self._end)
        return Cat(within, checked, slot >= self.slots).any()

    def _memory(self, m: Module) -> None:
        """Two banks, so that two slots can be read at once; a read port for each reader."""
        write, checker = self.write.payload, self._checker
        drops = Signal()
        rows = self.slots // 2
        self._banks, fetched, read = [], [], []
        m.d.comb += [
            self.write.ready.eq(1),
            drops.eq(self._protected(write.slot)),
        ]
        m.d.sync += self.refused.eq(self.write.valid & drops)
        for odd in (0, 1):
            bank = Memory(shape=64, depth=rows, init=[])
            m.submodules[("even", "odd")[odd]] = bank
            self._banks.append(bank)
            enter, fetch, check = bank.write_port(), bank.read_port(), bank.read_port()
            slot = self.fetch_slot
            m.d.comb += [
                enter.en.eq(self.write.valid & ~drops & (write.slot[0] == odd)),
                enter.addr.eq(write.slot >> 1),
                enter.data.eq(write.word),
                fetch.en.eq(1),
                fetch.addr.eq((slot if odd else slot + 1) >> 1),
                check.en.eq(1),
                check.addr.eq(checker.read_slot >> 1),
            ]
            fetched.append(fetch.data)
            read.append(check.data)
        fetch_odd, check_odd = Signal(), Signal()
        m.d.sync += [fetch_odd.eq(self.fetch_slot[0]), check_odd.eq(checker.read_slot[0])]
        m.d.comb += [
            self.fetch_word.eq(Mux(fetch_odd, fetched[1], fetched[0])),
            self.fetch_next_high.eq(Mux(fetch_odd, fetched[0], fetched[1])[32:]),
            checker.read_word.eq(Mux(check_odd, read[1], read[0])),
        ]

    # Committing

    def _extent_fault(self) -> Value:
        """What is wrong with the place of the image to commit."""
        request, end = self._request, self._end
        overlaps = [
            self._loaded[image] & (request.base < self._limit[image]) & (self._base[image] < end)
            for image in range(self.images)
        ]
        fault: Value = Value.cast(LoadCause.NONE)
        # From the least urgent on.
        for cause, wrong in (
            (LoadCause.OVERLAP, Cat(overlaps).any()),
            (LoadCause.OUTSIDE, end > self.slots),
            (LoadCause.EMPTY, request.length == 0),
            (LoadCause.COMMITTED, self._is_loaded(request.image)),
            (LoadCause.NO_IMAGE, request.image >= self.images),
        ):
            fault = Mux(wrong, cause, fault)
        return fault

    def _commits(self, m: Module) -> None:
        checker = self._checker
        self._request = request = Signal(Commit)
        self._end = Signal(LENGTH_BITS + 1)
        self._checking = Signal()
        self._result = result = Signal(data.StructLayout({"fault": LoadCause, "slot": SLOT_BITS}))
        place = Signal(LoadCause)
        m.d.comb += [
            self._end.eq(request.base + request.length),
            place.eq(self._extent_fault()),
            checker.base.eq(request.base),
            checker.length.eq(request.length),
            self.committed.payload.image.eq(request.image),
            self.committed.payload.fault.eq(result.fault),
            self.committed.payload.slot.eq(result.slot),
        ]
        with m.FSM(name="loader") as self._loader:
            with m.State("IDLE"):
                m.d.comb += self.commit.ready.eq(1)
                with m.If(self.commit.valid):
                    m.d.sync += request.eq(self.commit.payload)
                    m.next = "PLACE"
            with m.State("PLACE"):
                m.d.comb += self._checking.eq(1)
                m.d.sync += [result.fault.eq(place), result.slot.eq(0)]
                with m.If(place == LoadCause.NONE):
                    m.d.comb += checker.start.eq(1)
                    m.next = "CHECK"
                with m.Else():
                    m.next = "REPORT"
            with m.State("CHECK"):
                m.d.comb += self._checking.eq(1)
                with m.If(checker.done):
                    m.d.sync += [result.fault.eq(checker.fault), result.slot.eq(checker.slot)]
                    m.next = "REPORT"
                    with m.If(checker.fault == LoadCause.NONE):
                        self._load(m)
            with m.State("REPORT"):
                m.d.comb += self.committed.valid.eq(1)
                with m.If(self.committed.ready):
                    m.next = "IDLE"

    def _load(self, m: Module) -> None:
        """Make the range that was checked an image."""
        image = self._request.image[: self._image_bits]
        m.d.sync += [
            self._loaded.bit_select(image, 1).eq(1),
            self._base[image].eq(self._request.base),
            self._limit[image].eq(self._end),
        ]

    # Releasing and binding

    def _is_bound(self, image: Value) -> Value:
        """Whether a program stands for an image."""
        return Cat(
            self._bound[program] & (self._image_of[program] == image)
            for program in range(self.programs)
        ).any()

    def _is_being_bound(self, image: Value) -> Value:
        """Whether a program will stand for an image from the next cycle on."""
        bind = self.bind.payload
        return self.bind.valid & bind.valid & (bind.image == image)

    def _is_used(self, image: Value) -> Value:
        """Whether somebody runs an image."""
        return self.in_use.bit_select(image[: self._image_bits], 1)

    def _releases(self, m: Module) -> None:
        image = self.release.payload.image
        may = Signal()
        m.d.comb += [
            self.release.ready.eq(1),
            may.eq(
                self._is_loaded(image)
                & ~self._is_bound(image)
                & ~self._is_being_bound(image)
                & ~self._is_used(image)
            ),
        ]
        m.d.sync += [
            self.released.eq(self.release.valid & may),
            self.release_refused.eq(self.release.valid & ~may),
        ]
        with m.If(self.release.valid & may):
            # A commit of the same image can only be refused in this cycle.
            m.d.sync += self._loaded.bit_select(image[: self._image_bits], 1).eq(0)

    def _may_bind(self) -> Value:
        bind = self.bind.payload
        return (bind.program < self.programs) & (~bind.valid | self._is_loaded(bind.image))

    def _binds(self, m: Module) -> None:
        bind = self.bind.payload
        may = Signal()
        m.d.comb += [self.bind.ready.eq(1), may.eq(self._may_bind())]
        m.d.sync += [
            self.bound.eq(self.bind.valid & may),
            self.bind_refused.eq(self.bind.valid & ~may),
        ]
        program = bind.program[: self._program_bits]
        with m.If(self.bind.valid & may):
            m.d.sync += [
                self._bound.bit_select(program, 1).eq(bind.valid),
                self._image_of[program].eq(bind.image),
            ]

    def _look_ups(self, m: Module) -> None:
        m.d.sync += [
            self.image_base.eq(self._base[self.image_number]),
            self.image_limit.eq(self._limit[self.image_number]),
        ]
        for number, valid, image, base in (
            (self.event_program, self.event_valid, self.event_image, self.event_base),
            (self.call_program, self.call_valid, self.call_image, self.call_base),
        ):
            program = number[: self._program_bits]
            m.d.comb += [
                valid.eq((number < self.programs) & self._bound.bit_select(program, 1)),
                image.eq(self._image_of[program]),
                base.eq(self._base[image]),
            ]
