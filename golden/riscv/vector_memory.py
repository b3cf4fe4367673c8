"""Vector loads and stores."""

import numpy as np

from fanweave.golden.isa.riscv_csr import Cause
from fanweave.golden.isa.riscv_encoding import Access, MemoryShape
from fanweave.golden.riscv.trap import TrapError, illegal
from fanweave.golden.riscv.vector_legality import Group, check_group, check_mask, overlap
from fanweave.golden.riscv.vector_step import Step
from fanweave.golden.riscv.ventaglio_unit import bank_row, packed_length

__all__ = ["run_memory"]

_M = 0xFFFFFFFF
_INDEXED = (Access.INDEXED_ORDERED, Access.INDEXED_UNORDERED)


def run_memory(step: Step) -> None:
    """Execute a vector load or store.

    Raises
    ------
    TrapError
        If it is illegal, or an element cannot be reached; then ``vstart`` names that element and
        those before it are done.
    """
    shape = step.kind.memory
    assert shape is not None
    if shape.eew > step.vector.config.elen:
        raise illegal()
    register = step.fields["vs3" if shape.store else "vd"]
    base = step.hart.x[step.fields["rs1"]]
    row = bank_row(step, register)
    if row is not None:
        _move_bank(step, shape, row, base)
    else:
        eew, length, group = _plan(step, shape, register)
        if shape.access in _INDEXED:
            eew = step.sew
        offsets = _offsets(step, shape, length, eew)
        if length > step.vector.vstart:
            _move(step, shape, group, eew, base + offsets)
    if shape.post_increment:
        rs1 = step.fields["rs1"]
        step.hart.x[rs1 or 32] = step.hart.x[rs1] + step.hart.x[step.fields["rs2"]] & _M


def _plan(step: Step, shape: MemoryShape, register: int) -> tuple[int, int, Group]:
    """Width of an element in the instruction, elements, and the registers."""
    vector = step.vector
    if shape.access is Access.WHOLE:
        if register % shape.fields:
            raise illegal()
        length = shape.fields * vector.config.vlen // shape.eew
        return shape.eew, length, Group(register, shape.fields, shape.eew, 8 * shape.fields)
    if vector.illegal:
        raise illegal()
    if shape.fields > vector.config.segments:
        raise illegal()
    emul8 = shape.eew * vector.lmul8 // vector.sew
    if shape.access is Access.MASK:
        return 8, (step.vl + 7) // 8, Group(register, 1, 8, 8)
    if shape.access is Access.PACKED_INDEX:
        if step.vm == 0 or vector.vstart:
            raise illegal()
        length = packed_length(step, shape.eew)
        return shape.eew, length, _packed_group(step, register, shape.eew, length)
    if shape.access in _INDEXED:
        group = check_group(vector, register, vector.sew, vector.lmul8, shape.fields)
        _check_index(step, shape, group, emul8)
    else:
        group = check_group(vector, register, shape.eew, emul8, shape.fields)
    if not shape.store:
        check_mask(step.fields, group)
    return shape.eew, step.vl, group


def _packed_group(step: Step, register: int, eew: int, length: int) -> Group:
    """As many registers as the indices take, rounded up to a power of two."""
    needed = max(-(-length * eew // step.vector.config.vlen), 1)
    return check_group(step.vector, register, eew, 8 * (1 << (needed - 1).bit_length()))


def _check_index(step: Step, shape: MemoryShape, group: Group, emul8: int) -> None:
    index = check_group(step.vector, step.fields["vs2"], shape.eew, emul8)
    if step.vm == 0 and index.first == 0:
        raise illegal()
    if shape.store or not overlap(group, index):
        return
    if shape.fields > 1:
        raise illegal()
    if group.eew < index.eew:
        allowed = group.first == index.first
    elif group.eew > index.eew:
        end = group.first + group.count
        allowed = index.emul8 >= 8 and index.first + index.count == end
    else:
        allowed = True
    if not allowed:
        raise illegal()


def _offsets(step: Step, shape: MemoryShape, length: int, eew: int) -> np.ndarray:
    """Bytes from the base to each element; int64 [length]."""
    if shape.access in _INDEXED:
        index = step.vector.group(step.fields["vs2"], shape.eew, length)
        return index.astype(np.int64)
    if shape.access is Access.STRIDED:
        stride = (step.hart.x[step.fields["rs2"]] ^ 1 << 31) - (1 << 31)
        return np.arange(length, dtype=np.int64) * stride
    # A whole register is no segment: its registers follow one another.
    fields = 1 if shape.access is Access.WHOLE else shape.fields
    return np.arange(length, dtype=np.int64) * (fields * eew // 8)


def _move(step: Step, shape: MemoryShape, group: Group, eew: int, addresses: np.ndarray) -> None:
    """Move elements from vstart on, up to the first that faults."""
    vector = step.vector
    length = addresses.shape[0]
    fields = 1 if shape.access is Access.WHOLE else shape.fields
    active = vector.active(step.vm, length)
    addresses &= _M
    size = eew // 8
    if fields == 1 and shape.access in (Access.UNIT, Access.WHOLE, Access.PACKED_INDEX):
        span = step.hart.memory.span(int(addresses[0]), length * size)
        if span is not None and addresses[0] % size == 0 and active.all():
            registers = vector.bytes[group.first * vector.config.register_bytes :][: length * size]
            if shape.store:
                span[:] = registers
            else:
                registers[:] = span
                _finish_load(step, shape, group, eew, active)
            return
    done, fault = _reach(step, addresses, active, size, fields)
    part = np.flatnonzero(active[:done])
    step_registers = group.count // fields
    columns = [
        vector.group(group.first + field * step_registers, eew, length) for field in range(fields)
    ]
    _transfer(step, columns, part, addresses[part], shape.store)
    if fault is None:
        if not shape.store:
            _finish_load(step, shape, group, eew, active)
        return
    if shape.access is Access.FAULT_FIRST and done > 0:
        vector.vl = done
        return
    vector.vstart = done
    causes = (Cause.STORE_MISALIGNED, Cause.STORE_FAULT) if shape.store else (
        Cause.LOAD_MISALIGNED, Cause.LOAD_FAULT)  # fmt: skip
    raise TrapError(causes[fault % size == 0], fault)


def _finish_load(
    step: Step, shape: MemoryShape, group: Group, eew: int, active: np.ndarray
) -> None:
    """Apply the policies for what was not loaded."""
    vector = step.vector
    if shape.access is Access.WHOLE or not (vector.tail_ones or vector.mask_ones):
        return
    fields = shape.fields
    for field in range(fields):
        first = group.first + field * (group.count // fields)
        elements = vector.group(first, eew, active.shape[0])
        vector.write(first, eew, elements.copy(), active)


def _reach(
    step: Step, addresses: np.ndarray, active: np.ndarray, size: int, fields: int
) -> tuple[int, int | None]:
    """Elements before the first that faults, and its faulting address."""
    memory = step.hart.memory
    misaligned = addresses % size != 0
    for index in np.flatnonzero(active).tolist():
        address = int(addresses[index])
        for field in range(fields):
            at = address + field * size & _M
            if misaligned[index] or memory.span(at, size) is None:
                return index, at
    return addresses.shape[0], None


def _transfer(
    step: Step, columns: list[np.ndarray], part: np.ndarray, addresses: np.ndarray, store: bool
) -> None:
    """Move segments that can be reached, one after the other, so the last of two stores stays.

    Parameters
    ----------
    step : Step
        The instruction.
    columns : list of ndarray
        Elements of each field.
    part, addresses : ndarray
        Numbers of the segments, and where each begins.
    store : bool
        The direction.
    """
    memory = step.hart.memory
    dtype = columns[0].dtype
    for index, address in zip(part.tolist(), addresses.tolist(), strict=True):
        for field, elements in enumerate(columns):
            span = memory.span(address + field * dtype.itemsize & _M, dtype.itemsize)
            assert span is not None
            if store:
                span.view(dtype)[0] = elements[index]
            else:
                elements[index] = span.view(dtype)[0]


def _move_bank(step: Step, shape: MemoryShape, row: np.ndarray, base: int) -> None:
    """Load or store a row of Ventaglio's bank: 32 bits an accumulator, all at once."""
    if shape.access is not Access.UNIT or shape.eew != 32 or shape.fields != 1 or step.vm == 0:
        raise illegal()
    if step.vector.vstart:
        raise illegal()
    if row.shape[0] == 0:
        return
    span = step.hart.memory.span(base, 4 * row.shape[0])
    misaligned, missing = (
        (Cause.STORE_MISALIGNED, Cause.STORE_FAULT)
        if shape.store
        else (Cause.LOAD_MISALIGNED, Cause.LOAD_FAULT)
    )
    if base & 3:
        raise TrapError(misaligned, base)
    if span is None:
        raise TrapError(missing, base)
    words = span.view(np.uint32)
    if shape.store:
        words[:] = row
    else:
        row[:] = words
