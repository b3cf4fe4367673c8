# amaranth: UnusedElaboratable=no
import random

import pytest

from fanweave.golden.isa.formats import ElementFormat
from fanweave.hw.ventaglio.scatter import Scatter


class Model:
    """The window as theory.md has it: oldest group first, then by lane."""

    def __init__(self, window):
        self.window = window
        self.slots = []

    def offers(self, banks):
        """The oldest product for each bank, as (slot, lane, product)."""
        best = [None] * banks
        for age, slot in enumerate(self.slots):
            for lane in sorted(slot):
                bank, number, _ = slot[lane]
                if best[bank] is None:
                    best[bank] = (age, lane, number)
        return best

    def waiting(self, ready):
        seen, count = set(), 0
        for slot in self.slots:
            for lane in sorted(slot):
                bank = slot[lane][0]
                count += bank in seen and ready[bank]
                seen.add(bank)
        return count

    def step(self, taken, group):
        for age, lane, _ in taken:
            del self.slots[age][lane]
        frees = bool(self.slots) and not self.slots[0]
        ready = frees or len(self.slots) < self.window
        if frees:
            self.slots.pop(0)
        if group is not None and ready:
            self.slots.append(group)
        return ready


@pytest.mark.parametrize("window", [1, 2, 4])
@pytest.mark.parametrize("spread", [1, 2, 4])
def test_each_bank_takes_its_oldest_product(simulate, small, window, spread):
    """Every product once, in the window's order; `spread` banks are asked for most."""
    seed = 10 * window + spread
    print(f"seed {seed}")
    generator = random.Random(seed)
    config = small(formats=(ElementFormat.FP16,), window=window, banks=4)
    dut = Scatter(config=config)
    model = Model(window)
    numbers = iter(range(1, 1 << 30))
    sent, delivered = [], []

    def new_group():
        group = {}
        for lane in range(config.lanes):
            if generator.random() < 0.8:
                group[lane] = (generator.randrange(spread), next(numbers), generator.getrandbits(2))
        return group

    async def bench(ctx):
        showing = None
        for cycle in range(500):
            if showing is None and generator.random() < 0.9 and cycle < 400:
                showing = new_group()
                kind = generator.getrandbits(2)
                ctx.set(
                    dut.products.payload,
                    {
                        "lanes": [
                            {"product": {"significand": showing[lane][1]}, "entry": lane}
                            if lane in showing
                            else {"entry": 0}
                            for lane in range(config.lanes)
                        ],
                        "banks": [
                            showing[lane][0] if lane in showing else generator.randrange(4)
                            for lane in range(config.lanes)
                        ],
                        "valid": sum(1 << lane for lane in showing),
                        "multiply": kind & 1,
                        "integer": kind >> 1,
                    },
                )
                for lane in showing:
                    showing[lane] = (*showing[lane][:2], kind)
            ctx.set(dut.products.valid, showing is not None)
            ready = [generator.random() < 0.7 for _ in range(config.banks)]
            ctx.set(dut.bank_ready, sum(bit << bank for bank, bit in enumerate(ready)))
            best = model.offers(config.banks)
            valid = ctx.get(dut.bank_valid)
            assert valid == sum((offer is not None) << bank for bank, offer in enumerate(best))
            assert ctx.get(dut.waiting) == model.waiting(ready)
            assert ctx.get(dut.empty) == (not any(model.slots))
            taken = []
            for bank, offer in enumerate(best):
                if offer is None:
                    continue
                age, lane, number = offer
                got = ctx.get(dut.bank_products[bank])
                assert (got.product.significand, got.entry) == (number, lane)
                multiply = ctx.get(dut.bank_multiply) >> bank & 1
                integer = ctx.get(dut.bank_integer) >> bank & 1
                assert multiply | integer << 1 == model.slots[age][lane][2]
                if ready[bank]:
                    taken.append(offer)
                    delivered.append(number)
            accepts = ctx.get(dut.products.ready)
            await ctx.tick()
            assert model.step(taken, showing) == accepts
            if showing is not None and accepts:
                sent.extend(product[1] for product in showing.values())
                showing = None
        assert sorted(delivered) == sent
        assert len(sent) > 200

    simulate(dut, bench)
