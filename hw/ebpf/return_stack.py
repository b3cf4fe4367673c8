"""Where functions return to, for each frame of each thread."""

from amaranth import Cat, Module
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.ebpf_machine import CALL_FRAMES
from fanweave.hw.ebpf.program_payloads import SLOT_BITS

__all__ = ["ReturnStack"]


class ReturnStack(wiring.Component):
    """Slots and images, one for each frame that a function runs in.

    Parameters
    ----------
    threads, images : int
        Powers of two, 2 or more.

    Members
    -------
    read_thread, read_frame : In; slot, image : Out
        Where the function in that frame returns to, a cycle later.
    write_enable, write_thread, write_frame, write_slot, write_image : In
        A function is called, which runs in that frame.
    """

    def __init__(self, *, threads: int, images: int) -> None:
        self.threads = threads
        self._place = data.StructLayout({"slot": SLOT_BITS, "image": range(images)})
        thread, frame = range(threads), range(CALL_FRAMES)
        super().__init__(
            {
                "read_thread": In(thread),
                "read_frame": In(frame),
                "slot": Out(SLOT_BITS),
                "image": Out(range(images)),
                "write_enable": In(1),
                "write_thread": In(thread),
                "write_frame": In(frame),
                "write_slot": In(SLOT_BITS),
                "write_image": In(range(images)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.places = places = Memory(
            shape=self._place, depth=self.threads * CALL_FRAMES, init=[]
        )
        write, read = places.write_port(), places.read_port()
        m.d.comb += [
            read.en.eq(1),
            read.addr.eq(Cat(self.read_frame, self.read_thread)),
            self.slot.eq(read.data.slot),
            self.image.eq(read.data.image),
            write.en.eq(self.write_enable),
            write.addr.eq(Cat(self.write_frame, self.write_thread)),
            write.data.slot.eq(self.write_slot),
            write.data.image.eq(self.write_image),
        ]
        return m
