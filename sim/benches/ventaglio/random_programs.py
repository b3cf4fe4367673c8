"""Random programs for the Ventaglio unit, each the same for the same seed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.ventaglio import IndexMode, Opcode, register
from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.golden.ventaglio.workload import Workload
from fanweave.sw.ventaglio import (
    Clear,
    Drain,
    Multiply,
    MultiplyAccumulate,
    SparseMatrix,
    assemble,
    build_image,
)
from fanweave.sw.ventaglio.program import ONE, Operation, Settings

__all__ = ["Batch", "Program", "Undefined", "random_batch", "random_program"]

_ROWS = (0, 1, 2, 3, 5, 8, 13, 30)
_ROW_ODDS = (1, 2, 2, 3, 4, 4, 3, 1)
_PLAIN_VALUES = (0.5, -1.0, 1.0, 1.5, -2.0, 3.0, 0.125)


@dataclass(frozen=True)
class Undefined:
    """A write to ``command`` that names no operation."""

    opcode: int

    def settings(self) -> Settings:
        """No configuration."""
        return {}


@dataclass(frozen=True, kw_only=True, eq=False)
class Program:
    """Operations that begin with a clear, and what they work on.

    Attributes
    ----------
    seed : sequence of int
        What it was made from.
    operations : tuple of Operation
        With row numbers that count from the first row of the first matrix.
    activations : ndarray, uint32 [beats, max_outputs]
        What the operations take, in order.
    matrices : tuple of SparseMatrix
        What rows come from.
    """

    seed: tuple[int, ...]
    operations: tuple[Operation | Undefined, ...]
    activations: np.ndarray
    matrices: tuple[SparseMatrix, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Batch:
    """Programs that run one behind the other, with nothing in between.

    Attributes
    ----------
    programs : tuple of Program
        The programs.
    workload : Workload
        What the unit is given; its ``drains`` are empty.
    origins : ndarray, int64 [writes, 2]
        Program and operation that each register write belongs to.
    """

    programs: tuple[Program, ...]
    workload: Workload
    origins: np.ndarray


def random_batch(config: VentaglioConfig, *, seed: int, programs: int) -> Batch:
    """Make programs and concatenate them.

    Parameters
    ----------
    config : VentaglioConfig
        The unit.
    seed : int
        Seed of the batch.
    programs : int
        How many; the first ones of a longer batch are those of a shorter one.
    """
    return concatenate(
        [random_program(config, seed=(seed, number)) for number in range(programs)], config
    )


def concatenate(programs: Sequence[Program], config: VentaglioConfig) -> Batch:
    """Put programs into one workload."""
    matrices = [matrix for program in programs for matrix in program.matrices]
    image, first_rows = build_image(matrices, beat_bits=config.beat_bits)
    clear_counters = np.array([[register("clear_counters").address, 0]], dtype=np.uint32)
    writes = [clear_counters]
    origins = [np.zeros((1, 2), dtype=np.int64)]
    command = register("command").address
    matrix = 0
    for number, program in enumerate(programs):
        offset = first_rows[matrix] if program.matrices else 0
        matrix += len(program.matrices)
        moved = [
            replace(operation, first_row=operation.first_row + offset)
            if isinstance(operation, MultiplyAccumulate)
            else operation
            for operation in program.operations
        ]
        part = assemble(moved)
        starts = part[:, 0] == command
        writes.append(part)
        origins.append(np.stack([np.full(len(part), number), np.cumsum(starts) - starts], axis=1))
    workload = Workload(
        commands=np.concatenate(writes),
        activations=np.concatenate(
            [
                np.zeros((0, config.max_outputs), np.uint32),
                *(program.activations for program in programs),
            ]
        ),
        image=image,
        drains=(),
        shape=(0, 0),
        result_format=None,
    )
    return Batch(programs=tuple(programs), workload=workload, origins=np.concatenate(origins))


def random_program(config: VentaglioConfig, *, seed: Sequence[int]) -> Program:
    """Make one program; it never halts the unit, but may have operations that are refused."""
    return _Generator(config, seed).program()


class _Generator:
    def __init__(self, config: VentaglioConfig, seed: Sequence[int]) -> None:
        self.config = config
        self.seed = tuple(seed)
        self.rng = np.random.default_rng(self.seed)
        self.matrices: list[SparseMatrix] = []
        self.activations: list[np.ndarray] = []
        self.rows = 0
        # Over a whole program, so that some are all of one kind.
        self.zero_share = float(self.rng.choice([0.0, 0.3, 0.8, 1.0], p=[0.3, 0.4, 0.25, 0.05]))
        self.any_bits = self.chance(0.3)
        # The first error is the first in time, and a refusal does not wait for the operations
        # before it: a batch has either refusals or columns out of range.
        self.has_columns_beyond = self.seed[0] % 2 == 1

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def below(self, stop: int) -> int:
        return int(self.rng.integers(stop))

    def program(self) -> Program:
        operations: list[Operation | Undefined] = [Clear()]
        for _ in range(1 + self.below(8)):
            kind = self.rng.choice(
                ["multiply", "drain", "clear", "wrong"], p=[0.6, 0.3, 0.05, 0.05]
            )
            if kind == "wrong" and self.has_columns_beyond:
                kind = "clear"
            if kind == "multiply":
                operations.append(self.multiply())
            elif kind == "drain":
                operations.append(self.drain())
            elif kind == "clear":
                operations.append(Clear())
            else:
                operations.append(self.refused())
        # Whatever happened before is seen in the end.
        whole = Drain(element_format=self.element_format(), count=self.config.accumulators)
        operations.append(whole)
        return Program(
            seed=self.seed,
            operations=tuple(operations),
            activations=np.concatenate(
                [np.zeros((0, self.config.max_outputs), np.uint32), *self.activations]
            ),
            matrices=tuple(self.matrices),
        )

    def element_format(self) -> ElementFormat:
        formats = self.config.formats
        return formats[self.below(len(formats))]

    def size(self, largest: int) -> int:
        """From 1 to the largest, often at the ends."""
        match self.below(4):
            case 0:
                return 1 + self.below(min(4, largest))
            case 1:
                return largest - self.below(min(3, largest))
            case _:
                return 1 + self.below(largest)

    def base(self, reach: int) -> int:
        """A legal first accumulator for something that needs `reach`."""
        step = self.config.drain_lanes
        return step * self.below((self.config.accumulators - reach) // step + 1)

    def multiply(self) -> MultiplyAccumulate:
        accumulators = self.config.accumulators
        outputs = 1 + self.below(self.config.max_outputs)
        element_format = self.element_format()
        kind = Multiply if self.chance(0.25) else MultiplyAccumulate
        width = self.size(accumulators // outputs)
        stride = 0 if outputs == 1 and self.chance(0.5) else width
        if outputs > 1:
            stride += self.below((accumulators - width * outputs) // (outputs - 1) + 1)
            # Sums of integers do not depend on their order, so outputs may share accumulators.
            if element_format.is_integer and kind is MultiplyAccumulate and self.chance(0.3):
                stride = self.below(width)
        beyond = 1 + self.below(8) if self.has_columns_beyond and self.chance(0.04) else 0
        matrix, first_row = self.matrix(element_format, width, beyond)
        rows = matrix.shape[0]
        start = self.below(rows + 1)
        length = rows - start - self.below(min(2, rows - start) + 1)
        skip_zeros = self.chance(0.7)
        self.activations.append(self.activation_beats(length, element_format))
        return kind(
            element_format=element_format,
            index_mode=matrix.index_mode,
            n=matrix.n,
            m=matrix.m,
            skip_zeros=skip_zeros,
            length=length,
            width=width,
            outputs=outputs,
            base=self.base((outputs - 1) * stride + width),
            stride=stride,
            first_row=first_row + start,
        )

    def activation_beats(self, length: int, element_format: ElementFormat) -> np.ndarray:
        """Beats with zeros of either sign, and with anything above the elements."""
        shape = (length, self.config.max_outputs)
        bits = element_format.bits
        values = self.elements(length * self.config.max_outputs, element_format).reshape(shape)
        zero = self.rng.random(shape) < self.zero_share
        zero |= (self.rng.random(length) < self.zero_share / 2)[:, None]
        minus = 0 if element_format.is_integer else 1 << bits - 1
        values = np.where(zero, np.where(self.rng.random(shape) < 0.5, minus, 0), values)
        above = self.rng.integers(1 << 32, size=shape, dtype=np.uint64) >> bits << bits
        return (values.astype(np.uint64) | above & 0xFFFFFFFF).astype(np.uint32)

    def elements(self, count: int, element_format: ElementFormat) -> np.ndarray:
        """Raw elements; uint32."""
        bits = element_format.bits
        anything = self.rng.integers(1 << bits, size=count, dtype=np.uint64).astype(np.uint32)
        if self.any_bits or element_format.is_integer:
            return anything
        layout = element_format.layout
        # Exponents near that of 1.0, so that sums neither overflow nor swallow their summands.
        exponent = layout.bias - 3 + self.rng.integers(6, size=count)
        mask = (1 << layout.fraction_bits) - 1 | 1 << bits - 1
        return (anything & mask | exponent << layout.fraction_bits).astype(np.uint32)

    def matrix(
        self, element_format: ElementFormat, width: int, beyond: int
    ) -> tuple[SparseMatrix, int]:
        """A new matrix, and the number of its first row; some columns are an error if `beyond`."""
        modes = list(IndexMode)
        mode = modes[self.below(len(modes))]
        if mode is not IndexMode.BITMASK:  # a mask ends with the operation's width
            width += beyond
        n = m = 0
        if mode is IndexMode.N_OF_M:
            m = self.size(32)
            n = self.size(m)
        rows = int(self.rng.choice(_ROWS, p=np.array(_ROW_ODDS) / sum(_ROW_ODDS)))
        density = float(self.rng.choice([0.1, 0.5, 0.9, 1.0]))
        columns = []
        for _ in range(rows):
            empty = self.chance(0.1)
            columns.append(
                np.zeros(0, np.int64) if empty else self.columns(mode, width, n, m, density)
            )
        counts = [len(row) for row in columns]
        first_row = self.rows
        self.rows += rows
        self.matrices.append(
            SparseMatrix(
                shape=(rows, width),
                indptr=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
                indices=np.concatenate([np.zeros(0, np.int64), *columns]),
                data=self.elements(sum(counts), element_format),
                element_format=element_format,
                index_mode=mode,
                n=n,
                m=m,
            )
        )
        return self.matrices[-1], first_row

    def columns(self, mode: IndexMode, width: int, n: int, m: int, density: float) -> np.ndarray:
        """Columns of one row."""
        if mode is IndexMode.DENSE:
            return np.arange(width if density == 1.0 else self.below(width + 1))
        if mode is IndexMode.BITMASK:
            return np.flatnonzero(self.rng.random(width) < density)
        if mode is IndexMode.N_OF_M:
            row = []
            for block in range(0, width, m):
                left = min(m, width - block)
                row.append(block + np.sort(self.rng.permutation(left)[: min(n, left)]))
            whole = np.concatenate(row)
            return whole if density > 0.1 else whole[: self.below(len(whole) + 1)]
        reach = min(width, 256 if mode is IndexMode.ABSOLUTE_8 else 1 << 16)
        # In any order, and some of them again and again.
        return self.rng.integers(reach, size=self.below(int(width * density) + 2))

    def drain(self) -> Drain:
        accumulators = self.config.accumulators
        count = self.below(2) if self.chance(0.15) else self.size(accumulators)
        targets = [None, *ElementFormat]
        scale = ONE
        if self.chance(0.5):
            scale = int(np.float32(_PLAIN_VALUES[self.below(len(_PLAIN_VALUES))]).view(np.uint32))
        elif self.chance(0.2):
            scale = self.below(1 << 32)
        return Drain(
            element_format=self.element_format(),
            base=self.base(count),
            count=count,
            target=targets[self.below(len(targets))],
            scale=scale,
            clear=self.chance(0.4),
        )

    def refused(self) -> Operation | Undefined:
        """An operation that is not begun; it takes nothing from any stream."""
        config = self.config
        good = MultiplyAccumulate(
            element_format=self.element_format(),
            index_mode=IndexMode.DENSE,
            length=1 + self.below(3),
            width=1,
        )
        unbuilt = [code for code in range(8) if code not in config.formats]
        choices: list[Operation | Undefined] = [
            Undefined(int(self.rng.choice([0, *range(max(Opcode) + 1, 8)]))),
            replace(good, width=0),
            replace(good, width=config.accumulators + 1),
            replace(good, outputs=0),
            replace(good, outputs=config.max_outputs + 1),
            replace(good, outputs=2, stride=0xFFFF) if config.max_outputs > 1 else Undefined(0),
            replace(good, base=config.accumulators),
            replace(good, base=1 + self.below(config.drain_lanes - 1)),
            replace(good, index_mode=5 + self.below(3)),  # type: ignore[arg-type]
            replace(good, element_format=unbuilt[self.below(len(unbuilt))]),  # type: ignore[arg-type]
            replace(good, index_mode=IndexMode.N_OF_M, n=0, m=4),
            replace(good, index_mode=IndexMode.N_OF_M, n=5, m=4),
            replace(good, index_mode=IndexMode.N_OF_M, n=1, m=33),
            Drain(element_format=good.element_format, count=config.accumulators + 1),
            Drain(element_format=good.element_format, base=config.accumulators, count=1),
            Drain(element_format=unbuilt[0], count=1),  # type: ignore[arg-type]
            Drain(element_format=good.element_format, count=1, target=7),  # type: ignore[arg-type]
        ]
        return choices[self.below(len(choices))]
