# amaranth: UnusedElaboratable=no
"""Nothing unchecked can run, whatever the host sends in whatever order, for ever.

The store stands among arbitrary inputs. The solver picks one slot to follow, and a runner: at a
cycle of the solver's choice it looks a program up, as an event or as a tail call, and from the
next cycle on its image is in use. Proved is that the program was found sound by the checker as
one whole, that the checker saw the followed slot's word in both of its walks, and that the runner
reads this word and no other until it ends; that images never overlap; and that each commit has
one result in time.

The assertions of `Watched` are the statement; those of `Inductive` say why it holds, so that it
is proved for ever, and are left out where a broken store must be found.
"""

import itertools

import pytest
from amaranth.hdl import Assert, Assume, Const, Mux, Signal, Value

from fanweave.golden.ebpf.build import leave
from fanweave.golden.errors import FaultError
from fanweave.hw.ebpf.program_payloads import LENGTH_BITS, LoadCause
from fanweave.hw.ebpf.program_store import COMMIT_CYCLES, ProgramStore
from fanweave.sim.formal import prove

pytestmark = pytest.mark.long("the proofs take more than four minutes")


class Watched(ProgramStore):
    """A store with assertions about what its ports show."""

    def __init__(self, *, slots=4, images=2, programs=2):
        super().__init__(slots=slots, images=images, programs=programs, maps=1)
        self.followed = Signal(range(slots))
        self.starts, self.stops, self.by_call = Signal(), Signal(), Signal()

    def ports(self):
        members = [Value.cast(member) for _, _, member in self.signature.flatten(self)]
        return [*members, self.followed, self.starts, self.stops, self.by_call]

    def elaborate(self, platform):
        m = super().elaborate(platform)
        before, started = Signal.like(self.followed), Signal()
        m.d.sync += [before.eq(self.followed), started.eq(1)]
        m.d.comb += Assume(~started | (self.followed == before))
        self._watch_checker(m)
        self._watch_runner(m)
        self._watch_results(m)
        self._watch_images(m)
        return m

    def _within(self, base, limit):
        return (self.followed >= base) & (self.followed < limit)

    def _watch_checker(self, m):
        """Note the word that the checker sees, and for which range it is part of a program."""
        checker = self._checker
        reads = Signal()
        within = self._within(checker.base, checker.base + checker.length)
        m.d.sync += reads.eq(checker.busy & within & (checker.read_slot == self.followed))
        self.saw, self.seen = Signal(), Signal(64)
        self.sound, self.sound_word = Signal(), Signal(64)
        self.sound_base, self.sound_limit = Signal(16), Signal(17)
        with m.If(checker.start):
            m.d.sync += self.saw.eq(0)
        with m.If(reads & checker.busy):
            m.d.sync += [self.saw.eq(1), self.seen.eq(checker.read_word)]
            with m.If(self.saw):
                m.d.comb += Assert(checker.read_word == self.seen)
        ends = checker.done & (checker.fault == LoadCause.NONE)
        with m.If(ends & within):
            m.d.comb += Assert(self.saw)
            m.d.sync += [
                self.sound.eq(1),
                self.sound_word.eq(self.seen),
                self.sound_base.eq(checker.base),
                self.sound_limit.eq(checker.base + checker.length),
            ]

    def _watch_runner(self, m):
        """Look-ups give sound programs, and what they gave stays so while it is in use."""
        self.runs, self.run_image = Signal(), Signal(range(self.images))
        self.run_base, self.run_limit = Signal(16), Signal(17)
        self.run_word = Signal(64)
        self.reads = Signal()
        for valid, image, base in (
            (self.event_valid, self.event_image, self.event_base),
            (self.call_valid, self.call_image, self.call_base),
        ):
            limit = self._limit[image]
            with m.If(valid):
                m.d.comb += [Assert(base < limit), Assert(limit <= self.slots)]
                with m.If(self._within(base, limit)):
                    m.d.comb += [
                        Assert(self.sound),
                        Assert(self.sound_base == base),
                        Assert(self.sound_limit == limit),
                    ]
        valid = Mux(self.by_call, self.call_valid, self.event_valid)
        image = Mux(self.by_call, self.call_image, self.event_image)
        base = Mux(self.by_call, self.call_base, self.event_base)
        with m.If(~self.runs & self.starts & valid):
            m.d.sync += [
                self.runs.eq(1),
                self.run_image.eq(image),
                self.run_base.eq(base),
                self.run_limit.eq(self._limit[image]),
                self.run_word.eq(self.sound_word),
            ]
        with m.If(self.runs):
            m.d.comb += Assume(self.in_use.bit_select(self.run_image, 1))
            with m.If(self.stops):
                m.d.sync += self.runs.eq(0)
        run_within = self._within(self.run_base, self.run_limit)
        # What is asked for in the runner's last cycle still arrives.
        m.d.sync += self.reads.eq(self.runs & run_within & (self.fetch_slot == self.followed))
        with m.If(self.reads):
            m.d.comb += Assert(self.fetch_word == self.run_word)

    def _watch_results(self, m):
        """Each commit has one result, of its image, in time."""
        self.pending, self.waited = Signal(), Signal(LENGTH_BITS + 2)
        self.length = Signal(LENGTH_BITS)
        commit, committed = self.commit, self.committed
        image = Signal(8)
        m.d.comb += Assert(commit.ready == ~self.pending)
        with m.If(commit.valid & commit.ready):
            m.d.sync += [
                self.pending.eq(1),
                self.waited.eq(1),
                self.length.eq(commit.payload.length),
                image.eq(commit.payload.image),
            ]
        with m.Elif(committed.valid):
            m.d.comb += [Assert(self.pending), Assert(committed.payload.image == image)]
            with m.If(committed.ready):
                m.d.sync += self.pending.eq(0)
        with m.Elif(self.pending):
            m.d.sync += self.waited.eq(self.waited + 1)
        with m.If(self.pending):
            m.d.comb += Assert(self.waited <= 2 * self.length + COMMIT_CYCLES)
        shown, held = Signal.like(Value.cast(committed.payload)), Signal()
        m.d.sync += [
            shown.eq(Value.cast(committed.payload)),
            held.eq(committed.valid & ~committed.ready),
        ]
        with m.If(held):
            m.d.comb += [Assert(committed.valid), Assert(Value.cast(committed.payload) == shown)]
        self._image = image

    def _watch_images(self, m):
        """No slot belongs to two images."""
        owners = Signal(self.images)
        for image in range(self.images):
            owns = self._loaded[image] & self._within(self._base[image], self._limit[image])
            m.d.comb += owners[image].eq(owns)
        m.d.comb += Assert((owners & (owners - 1)) == 0)


class Inductive(Watched):
    """Why: what holds in every state between the ports."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        checker, request = self._checker, self._request
        words = []
        for bank in self._banks:
            port = bank.read_port(domain="comb")
            m.d.comb += port.addr.eq(self.followed >> 1)
            words.append(port.data)
        word = Mux(self.followed[0], words[1], words[0])
        end = request.base + request.length
        checked = self._within(request.base, end)
        idle, place, check = (self._loader.ongoing(state) for state in ("IDLE", "PLACE", "CHECK"))
        first, second = checker.walking
        fetched, at = checker.fetched, checker.at

        # Bound is committed, and committed is sound.
        for program in range(self.programs):
            with m.If(self._bound[program]):
                m.d.comb += Assert(self._loaded.bit_select(self._image_of[program], 1))
        for image in range(self.images):
            base, limit = self._base[image], self._limit[image]
            with m.If(self._loaded[image]):
                m.d.comb += [Assert(base < limit), Assert(limit <= self.slots)]
                with m.If(self._within(base, limit)):
                    m.d.comb += [
                        Assert(self.sound),
                        Assert(self.sound_base == base),
                        Assert(self.sound_limit == limit),
                        Assert(self.sound_word == word),
                    ]
                with m.If(check):
                    m.d.comb += [
                        Assert((limit <= request.base) | (end <= base)),
                        Assert(request.image != image),
                    ]
        for one, other in itertools.combinations(range(self.images), 2):
            apart = (self._limit[one] <= self._base[other]) | (
                self._limit[other] <= self._base[one]
            )
            m.d.comb += Assert(~self._loaded[one] | ~self._loaded[other] | apart)

        # The check: where it is, and what it has seen.
        m.d.comb += [
            Assert(check == checker.busy),
            Assert(~(first & second)),
            Assert(place | check | ~self._checking),
            Assert(~fetched.valid | (checker.busy & (fetched.slot + 1 == at))),
        ]
        with m.If(check):
            m.d.comb += [
                Assert(request.image < self.images),
                Assert(request.length > 0),
                Assert(end <= self.slots),
                Assert(at <= request.length + 1 + second),
                Assert(self.saw == (checked & (second | (at >= self.followed - request.base + 2)))),
            ]
            with m.If(checked & fetched.valid & (fetched.slot + request.base == self.followed)):
                m.d.comb += Assert(checker.read_word == word)
            with m.If(checked & self.saw):
                m.d.comb += Assert(self.seen == word)

        # Time.
        m.d.comb += Assert(idle == ~self.pending)
        with m.If(~idle):
            m.d.comb += [
                Assert(self.length == request.length),
                Assert(self._image == request.image),
            ]
        with m.If(place):
            m.d.comb += Assert(self.waited == 1)
        with m.If(check):
            m.d.comb += Assert(self.waited == at + Mux(second, request.length + 4, 2))

        # The runner holds its image.
        with m.If(self.runs):
            m.d.comb += [
                Assert(self._loaded.bit_select(self.run_image, 1)),
                Assert(self._base[self.run_image] == self.run_base),
                Assert(self._limit[self.run_image] == self.run_limit),
            ]
            with m.If(self._within(self.run_base, self.run_limit)):
                m.d.comb += Assert(self.run_word == word)
        return m


def prove_store(store, name, **options):
    return prove(store, name=f"program-store-{name}", ports=store.ports(), **options)


@pytest.mark.parametrize(("slots", "images", "programs"), [(4, 2, 2), (16, 4, 4)])
def test_nothing_unchecked_can_run(slots, images, programs):
    store = Inductive(slots=slots, images=images, programs=programs)
    prove_store(store, f"{slots}-{images}", depth=2, timeout=120)


class Unguarded(Watched):
    """Takes every word."""

    def _protected(self, slot):
        return Const(0)


class UnguardedCheck(Watched):
    """Takes words for the range under check."""

    def _protected(self, slot):
        return super()._protected(slot) & ~self._checking


class Wrapping(Watched):
    """Takes words for slots that it does not have, and puts them elsewhere."""

    def _protected(self, slot):
        return super()._protected(slot) & (slot < self.slots)


class Overlapping(Watched):
    """Commits ranges over those of other images."""

    ignored = LoadCause.OVERLAP

    def _extent_fault(self):
        fault = super()._extent_fault()
        return Mux(fault == self.ignored, LoadCause.NONE, fault)


class Outside(Overlapping):
    """Commits ranges that end outside of the memory."""

    ignored = LoadCause.OUTSIDE


class Moving(Overlapping):
    """Commits an image a second time."""

    ignored = LoadCause.COMMITTED


class Aliasing(Overlapping):
    """Commits images that it does not have, as others."""

    ignored = LoadCause.NO_IMAGE


class Hasty(Watched):
    """Makes the range an image before it is checked."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        with m.If(self._loader.ongoing("PLACE")):
            self._load(m)
        return m


class ReleasingBound(Watched):
    """Releases an image that a program stands for."""

    def _is_bound(self, image):
        return Const(0)


class ReleasingBinding(Watched):
    """Releases an image and binds it in one cycle."""

    def _is_being_bound(self, image):
        return Const(0)


class ReleasingUsed(Watched):
    """Releases an image that somebody runs."""

    def _is_used(self, image):
        return Const(0)


class Binding(Watched):
    """Binds images that are not committed."""

    def _may_bind(self):
        return Const(1)


class Mute(Watched):
    """Loses a result if a word is written when it shows."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        with m.If(self.write.valid):
            m.d.comb += self.committed.valid.eq(0)
        return m


class Walking(Watched):
    """Is sound; to see that the followed slot is read by a runner at all, and results come late."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.comb += Assert(~self.reads | ~self.run_word[0])
        return m


class Late(Watched):
    """Is sound; to see that the bound is met exactly."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.comb += Assert(self.waited < 2 * self.length + COMMIT_CYCLES)
        return m


def narrowed(broken):
    """A broken store whose host only does a part of what hosts can, so that it is found soon."""
    exit_word = int.from_bytes(leave().encode(), "little")

    class Narrowed(broken):
        def elaborate(self, platform):
            m = super().elaborate(platform)
            for bank in self._banks:
                bank.data.init = [exit_word] * (self.slots // 2)
            commit, write = self.commit.payload, self.write.payload
            m.d.comb += [
                Assume((write.word == 0) | (write.word == exit_word)),
                Assume((commit.length == 1) & (commit.base <= self.slots)),
                Assume(commit.image <= self.images),
                Assume(write.slot < 2 * self.slots),
                Assume(self.committed.ready),
            ]
            return m

    return Narrowed()


@pytest.mark.parametrize(
    ("broken", "depth"),
    [
        (Unguarded, 16),
        (UnguardedCheck, 14),
        (Wrapping, 16),
        (Outside, 16),
        (Hasty, 16),
        (ReleasingBound, 16),
        (ReleasingBinding, 16),
        (ReleasingUsed, 20),
        (Binding, 8),
        (Mute, 14),
        (Walking, 16),
        (Late, 14),
    ],
)
def test_a_broken_store_is_found(broken, depth):
    with pytest.raises(FaultError, match=r"the assertion at \S*test_program_store_formal"):
        prove_store(narrowed(broken), broken.__name__, mode="bmc", depth=depth, timeout=150)


@pytest.mark.parametrize("broken", [Overlapping, Moving, Aliasing])
def test_a_store_whose_fault_shows_late_is_found(broken):
    """A run from reset that needs two commits is long; the step that breaks the proof is not."""

    class Both(broken, Inductive):
        pass

    with pytest.raises(
        FaultError, match=r"over 2 cycles does not close for the assertion at \S*test_p"
    ):
        prove_store(Both(), broken.__name__, depth=2, timeout=120)
