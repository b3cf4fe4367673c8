# amaranth: UnusedElaboratable=no
import random

import pytest

from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.ventaglio import IndexMode
from fanweave.hw.ventaglio.decoder import Decoder
from fanweave.hw.ventaglio.payloads import Marker

FP32, FP16, INT8 = ElementFormat.FP32, ElementFormat.FP16, ElementFormat.INT8


class Stream:
    """Elements in the buffer of an aligner: those that have arrived can be seen."""

    def __init__(self, bits, beat_bits):
        self.value = sum(word << 32 * place for place, word in enumerate(bits))
        self.total = 32 * len(bits)
        self.beat_bits = beat_bits
        self.at = self.arrived = 0

    def fill(self, generator):
        if self.arrived - self.at <= self.beat_bits and generator.random() < 0.6:
            self.arrived = min(self.total, self.arrived + self.beat_bits)

    @property
    def level(self):
        return self.arrived - self.at

    @property
    def head(self):
        return self.value >> self.at & (1 << self.level) - 1


def words_of(value, bits):
    return [value >> at & 0xFFFFFFFF for at in range(0, bits + -bits % 32, 32)]


def random_operation(generator, mode, element_format, width):
    """Rows of (columns, weights), and both streams as words."""
    n, m = (2, 5) if mode is IndexMode.N_OF_M else (0, 0)
    rows, indices, weights = [], [], []
    total = weight_value = 0
    for _ in range(12):
        if mode is IndexMode.BITMASK:
            columns = [c for c in range(width) if generator.random() < 0.4] or [width - 1]
        elif mode is IndexMode.DENSE:
            columns = list(range(generator.randint(1, width)))
        elif mode is IndexMode.N_OF_M:
            count = generator.randint(1, 2 * (width // 5))
            columns = [e // 2 * 5 + generator.randrange(5) for e in range(count)]
        else:
            columns = [generator.randrange(width) for _ in range(generator.randint(1, 9))]
        values = [generator.getrandbits(element_format.bits) for _ in columns]
        rows.append((columns, values))
        if mode is IndexMode.BITMASK:
            indices += words_of(sum(1 << c for c in columns), width)
        elif mode is not IndexMode.DENSE:
            bits = {IndexMode.N_OF_M: 3, IndexMode.ABSOLUTE_8: 8, IndexMode.ABSOLUTE_16: 16}[mode]
            fields = [c % 5 if mode is IndexMode.N_OF_M else c for c in columns]
            packed = sum(field << bits * e for e, field in enumerate(fields))
            indices += words_of(packed, bits * len(fields))
        for value in values:
            weight_value |= value << total
            total += element_format.bits
    weights = words_of(weight_value, total)
    operation = {"element": element_format, "index_mode": mode, "n": n, "m": m, "width": width}
    return operation, rows, weights, indices, total


@pytest.mark.parametrize("mode", IndexMode)
@pytest.mark.parametrize("element_format", [FP32, FP16, INT8])
def test_groups_hold_every_element_once_and_in_order(simulate, small, mode, element_format):
    seed = 10 * int(mode) + int(element_format)
    print(f"seed {seed}")
    generator = random.Random(seed)
    config = small(formats=(FP32, FP16, INT8))
    dut = Decoder(config=config)
    spread = element_format.bits // config.element_bits

    async def one(ctx, width):
        operation, rows, weights, indices, total = random_operation(
            generator, mode, element_format, width
        )
        weight_stream = Stream(weights, config.beat_bits)
        weight_stream.total = total
        index_stream = Stream(indices, config.beat_bits)
        left = list(range(len(rows)))
        found = [[] for _ in rows]
        visible = 1
        ended = False
        ctx.set(dut.operation, operation)
        for _ in range(2000):
            for stream in (weight_stream, index_stream):
                stream.fill(generator)
            visible = 0 if ended else min(2, max(visible, generator.randint(0, 2)))
            shown = [*left, None][:visible]
            for port, valid, row in zip(
                (dut.first, dut.second),
                (dut.first_valid, dut.second_valid),
                [*shown, -1, -1],
                strict=False,
            ):
                ctx.set(valid, row != -1)
                if row is None or row == -1:
                    ctx.set(port, {"marker": Marker.END, "nnz": generator.randrange(9)})
                else:
                    ctx.set(
                        port, {"marker": Marker.ROW, "k": row, "mask": 1, "nnz": len(rows[row][0])}
                    )
            ctx.set(dut.weights_head, weight_stream.head & (1 << config.beat_bits) - 1)
            ctx.set(dut.weights_level, weight_stream.level)
            ctx.set(dut.indices_head, index_stream.head)
            ctx.set(dut.indices_level, index_stream.level)
            ready = generator.random() < 0.7
            ctx.set(dut.groups.ready, ready)
            assert not ctx.get(dut.length_error)
            pop, passed = ctx.get(dut.pop), ctx.get(dut.end_done)
            takes = ctx.get(dut.weights_take), ctx.get(dut.indices_take)
            group = ctx.get(dut.groups.payload)
            valid = ctx.get(dut.groups.valid)
            if ended and not ctx.get(dut.holds):
                break
            await ctx.tick()
            weight_stream.at += takes[0]
            index_stream.at += takes[1]
            assert weight_stream.level >= 0
            assert index_stream.level >= 0
            if valid and ready:
                assert group.element == len(found[group.k[0]])
                for lane in range(config.lanes):
                    if not group.valid >> lane & 1:
                        continue
                    assert lane % spread == 0
                    at = lane * config.element_bits
                    weight = group.weights >> at & (1 << element_format.bits) - 1
                    second = group.second >> lane & 1
                    assert group.k[second] == group.k[0] + second
                    found[group.k[second]].append((group.columns[lane], weight))
            visible -= pop
            if passed:
                assert pop == 1
                assert left == []
                ended = True
            del left[:pop]
        else:
            raise AssertionError("the operation did not end")
        assert found == [list(zip(*row, strict=True)) for row in rows]
        assert weight_stream.at == weight_stream.total
        assert index_stream.at == index_stream.total

    async def bench(ctx):
        for width in (5, 32, 50, 70):
            await one(ctx, width)

    simulate(dut, bench)


@pytest.mark.parametrize(
    ("masks", "counts", "where"),
    [
        ((0b0110, 0b1), (3, 1), (0, 2)),  # row 0 has an element without a one
        ((0b0111, 0b1), (2, 1), (0, 2)),  # a one without an element
        ((0b1, 0b11), (1, 1), (1, 1)),
        ((0b1, 0b11), (1, 3), (1, 2)),
        ((0xFF00F, 0b1), (4, 1), (0, 4)),  # found behind the row, as the first group is full
        ((0b1, 0xFF00F), (1, 4), (1, 4)),  # found when there are no rows any more
    ],
)
@pytest.mark.parametrize("held", [0, 8])
def test_contradictions_name_row_and_element(simulate, small, masks, counts, where, held):
    """Also when the lanes are busy for a while, and plans before the row wait for them."""
    config = small(formats=(FP16,))
    dut = Decoder(config=config)

    async def bench(ctx):
        memory, at, row, done = masks[0] | masks[1] << 32, 0, 0, False
        ctx.set(dut.operation, {"element": FP16, "index_mode": IndexMode.BITMASK, "width": 32})
        ctx.set(dut.weights_level, 64)
        for cycle in range(20):
            ctx.set(dut.groups.ready, cycle >= held)
            rows = [{"marker": Marker.ROW, "k": k, "nnz": counts[k], "mask": 1} for k in (0, 1)] + [
                {"marker": Marker.END}
            ] * 2
            ctx.set(dut.first, rows[row])
            ctx.set(dut.second, rows[row + 1])
            ctx.set(dut.first_valid, 1)
            ctx.set(dut.second_valid, 1)
            ctx.set(dut.indices_head, memory >> at)
            ctx.set(dut.indices_level, 64 - at)
            done = ctx.get(dut.length_error)
            if done:
                assert (ctx.get(dut.error_row), ctx.get(dut.error_element)) == where
                assert not ctx.get(dut.groups.valid)
                assert not ctx.get(dut.end_done)
                assert not ctx.get(dut.pop)
                break
            assert not ctx.get(dut.end_done)
            at += ctx.get(dut.indices_take)
            row += ctx.get(dut.pop)
            await ctx.tick()
        assert done

    simulate(dut, bench)
