"""The Ventaglio unit cycle by cycle, compiled: which element is where, without its value.

Each function is a block of the unit (`docs/ventaglio/theory.md`). Within a cycle blocks go from
the banks up to the commands, as ready does; a queue's room is what it had when the cycle began.
"""

from typing import NamedTuple

import numba
import numpy as np

from fanweave.golden.isa.ventaglio import COUNTERS
from fanweave.golden.ventaglio.schedule import DRAIN, END, Operations, Rows

__all__ = ["COUNTER_NUMBERS", "Unit", "simulate"]

#: Arrays come from outside and live longer than a run, so nothing has to count references to
#: them: that makes calls between blocks cheap.
JIT = numba.njit(cache=True, error_model="numpy", _nrt=False)

#: Number of each counter in what `simulate` fills in.
COUNTER_NUMBERS = {name: number for number, (name, _) in enumerate(COUNTERS)}

(
    C_CYCLES,
    C_ISSUE,
    C_CONFLICT,
    C_HAZARD,
    C_ORDER,
    C_DRAIN,
    C_ACTIVATIONS,
    C_ROWS,
    C_WEIGHTS,
    C_INDICES,
    C_OTHER,
    C_PRODUCTS,
    C_SKIPPED_ROWS,
    C_SKIPPED_PRODUCTS,
    C_CONFLICTS,
    C_HAZARDS,
    C_WEIGHT_BEATS,
    C_INDEX_BEATS,
    C_ACTIVATION_BEATS,
    C_RESULT_BEATS,
) = range(len(COUNTERS))

# Depths of the unit's queues.
OPERATION_QUEUE = 4
FETCH_QUEUE = 2
ROW_BUFFER = 4
EXTENT_QUEUE = 4
RESULT_QUEUE = 8
DRAIN_STAGES = 4  # cycles from the read of an accumulator to the queue of results
SKID_BUFFER = 2  # in front of each aligner, behind the planner, and behind the multipliers

# Depths of the memory's queues: requests, descriptions of rows, runs of beats, beats.
REQUEST_QUEUE = 16
DESCRIPTION_QUEUE = 4
JOB_QUEUE = 8
BEAT_QUEUE = 8

#: Cycles in which nothing moves, after which the model gives up: a fault of the model.
STUCK = 1_000_000

RING = 64  # places of every ring, a power of two and at least the longest queue

# Scalars of the state. A queue has a head, and a level behind it.
(
    CYCLE,
    COMMAND,  # next register write
    OPERATION_LEVEL,
    SEQUENCER_STATE,
    SEQUENCER_OPERATION,
    SEQUENCER_BEAT,
    CONFIG_LEVEL,
    DECODER_OPERATION,
    OUTSTANDING,
    PENDING,
    PENDING_LEVEL,
    FETCH,
    FETCH_LEVEL,
    DESCRIBER_WAITS,
    BUFFER,
    BUFFER_LEVEL,
    DONE,  # elements of the first row that were taken
    PHASE,
    MASK_COLUMN,
    HOLDS,  # of the group register
    GROUP_OPERATION,
    GROUP_COUNT,
    GROUP_FIRST,
    GROUP_MASK_FIRST,
    GROUP_MASK_SECOND,
    OUTPUTS_LEFT,
    SLOTS,  # of the window in use, oldest first
    HELD,
    LAST_START,
    DRAIN_FROM,
    DRAIN_TO,
    DRAIN_PER_BEAT,
    DRAIN_PLACE,
    RESULTS_LEVEL,
    MISSING_WEIGHTS,
    MISSING_INDICES,
    MISSING_ROWS,
    TAKE_WEIGHTS,
    TAKE_INDICES,
    END_DONE,
    REQUESTS,  # of the memory
    REQUESTS_LEVEL,
    DESCRIPTIONS,
    DESCRIPTIONS_LEVEL,
    WEIGHT_JOBS,
    WEIGHT_JOBS_LEVEL,
    WEIGHTS_SENT,
    INDEX_JOBS,
    INDEX_JOBS_LEVEL,
    INDICES_SENT,
    ROOM_REQUESTS,
    ROOM_JOBS,
    ROOM_WEIGHT_BEATS,
    ROOM_INDEX_BEATS,
    ROOM_PENDING,
    ROOM_FETCH,
    ROOM_BUFFER,
    ROOM_EXTENTS,
    ROOM_CONFIG,
    ROOM_OPERATION,
    STAGED,  # groups of products on their way to the window
    STAGED_LEVEL,
    PLANS,
    PLANS_LEVEL,
    ROOM_PLANS,
    ROOM_WEIGHT_SKID,
    ROOM_INDEX_SKID,
    WEIGHTS,  # the two aligners, each of the fields below
    INDICES,
) = (*range(68), 77)
STATE_SIZE = 86

# Fields of an aligner; SKID are the beats in its buffer, BEATS those that memory has for it.
(REMAINING, POSITION, EXTENT_END, USES_HELD, LEVEL, EXTENT, EXTENT_LEVEL, SKID, BEATS) = range(9)

# Fields of a planned group: its first row, or a marker; the second; elements of the first that
# were taken before; elements of both in the group; the operation.
(PLAN_FIRST, PLAN_SECOND, PLAN_DONE, PLAN_FIRST_COUNT, PLAN_SECOND_COUNT, PLAN_OPERATION) = range(6)

# What the group register holds.
NOTHING, GROUP, MARKER = range(3)
# States of the sequencer.
IDLE, TAKING, ENDING = range(3)


class Unit(NamedTuple):
    """Parameters of the unit and of the memory behind it.

    Attributes
    ----------
    beat_bits, banks, window, latency, mask_columns, row_queue, drain_lanes
        As in `VentaglioConfig`.
    memory_latency
        Cycles from a fetch to the first beat and the description of its row.
    shared_port
        Whether weights and indices come through one port, a beat a cycle; otherwise each has
        its own.
    """

    beat_bits: int
    banks: int
    window: int
    latency: int
    mask_columns: int
    row_queue: int
    drain_lanes: int
    memory_latency: int
    shared_port: int


class State(NamedTuple):
    """Arrays that change; `scalars` is indexed by the names above."""

    scalars: np.ndarray
    pending: np.ndarray
    fetch: np.ndarray
    buffer: np.ndarray
    plans: np.ndarray  # planned groups, by field
    weight_extents: np.ndarray
    index_extents: np.ndarray
    columns: np.ndarray  # of the group register
    staged: np.ndarray  # accumulators of the products on their way to the window
    staged_levels: np.ndarray  # products in each group of them
    slots: np.ndarray  # accumulators of the products in the window
    levels: np.ndarray  # products in each slot
    wanted: np.ndarray  # by bank: last cycle in which it had a product, times 2; 1 if granted
    held: np.ndarray  # accumulators of the products in the banks' input registers
    started: np.ndarray  # by accumulator: cycle of the last start
    reads: np.ndarray  # of a drain, by stage: 1, or 2 if it is the last
    banks: np.ndarray  # by accumulator: see `VentaglioConfig.bank_of`
    requests: np.ndarray
    times: np.ndarray  # when each request can be answered
    descriptions: np.ndarray
    weight_jobs: np.ndarray  # beats of each
    index_jobs: np.ndarray


@JIT
def _push(ring, s, queue, value):
    ring[(s[queue] + s[queue + 1]) & (RING - 1)] = value
    s[queue + 1] += 1


@JIT
def _pop(s, queue):
    s[queue] = (s[queue] + 1) & (RING - 1)
    s[queue + 1] -= 1


@JIT
def _note_room(s, unit):
    s[ROOM_PENDING] = s[PENDING_LEVEL] < unit.row_queue
    s[ROOM_FETCH] = s[FETCH_LEVEL] < FETCH_QUEUE
    s[ROOM_BUFFER] = s[BUFFER_LEVEL] < ROW_BUFFER
    s[ROOM_EXTENTS] = (
        s[WEIGHTS + EXTENT_LEVEL] < EXTENT_QUEUE and s[INDICES + EXTENT_LEVEL] < EXTENT_QUEUE
    )
    s[ROOM_REQUESTS] = s[REQUESTS_LEVEL] < REQUEST_QUEUE
    s[ROOM_JOBS] = (
        s[DESCRIPTIONS_LEVEL] < DESCRIPTION_QUEUE
        and s[WEIGHT_JOBS_LEVEL] < JOB_QUEUE
        and s[INDEX_JOBS_LEVEL] < JOB_QUEUE
    )
    s[ROOM_WEIGHT_BEATS] = s[WEIGHTS + BEATS] < BEAT_QUEUE
    s[ROOM_INDEX_BEATS] = s[INDICES + BEATS] < BEAT_QUEUE
    s[ROOM_PLANS] = s[PLANS_LEVEL] < SKID_BUFFER
    s[ROOM_WEIGHT_SKID] = s[WEIGHTS + SKID] < SKID_BUFFER
    s[ROOM_INDEX_SKID] = s[INDICES + SKID] < SKID_BUFFER
    s[ROOM_CONFIG] = s[CONFIG_LEVEL] < OPERATION_QUEUE
    s[ROOM_OPERATION] = s[OPERATION_LEVEL] < OPERATION_QUEUE


@JIT
def _banks(state, unit, counts):
    """Start what can start; what still waits blocks its bank in this cycle."""
    s = state.scalars
    now = s[CYCLE]
    kept = 0
    for i in range(s[HELD]):
        accumulator = state.held[i]
        if now - state.started[accumulator] >= unit.latency:
            state.started[accumulator] = now
        else:
            state.wanted[state.banks[accumulator]] = now << 1
            state.held[kept] = accumulator
            kept += 1
    if kept != s[HELD]:
        s[LAST_START] = now
    s[HELD] = kept
    counts[C_HAZARDS] += kept
    return kept


@JIT
def _scatter(state, unit, counts):
    """Give each bank its oldest product; returns the slot for a new group, or -1."""
    s = state.scalars
    now = s[CYCLE]
    held = s[HELD]
    for i in range(s[SLOTS]):
        kept = 0
        for j in range(state.levels[i]):
            accumulator = state.slots[i, j]
            bank = state.banks[accumulator]
            if state.wanted[bank] >> 1 == now:
                counts[C_CONFLICTS] += state.wanted[bank] & 1
                state.slots[i, kept] = accumulator
                kept += 1
            else:
                state.wanted[bank] = now << 1 | 1
                state.held[held] = accumulator
                held += 1
        state.levels[i] = kept
    s[HELD] = held
    if s[SLOTS] and state.levels[0] == 0:
        # The oldest group has left; the others move up.
        s[SLOTS] -= 1
        for i in range(s[SLOTS]):
            state.levels[i] = state.levels[i + 1]
            for j in range(state.levels[i]):
                state.slots[i, j] = state.slots[i + 1, j]
    return s[SLOTS] if s[SLOTS] < unit.window else -1


@JIT
def _enter(state, slot, counts):
    """Put the oldest products behind the multipliers into a slot of the window."""
    s = state.scalars
    staged = s[STAGED]
    level = state.staged_levels[staged]
    for i in range(level):
        state.slots[slot, i] = state.staged[staged, i]
    state.levels[slot] = level
    s[SLOTS] += 1
    s[STAGED] = (staged + 1) % SKID_BUFFER
    s[STAGED_LEVEL] -= 1
    counts[C_PRODUCTS] += level


@JIT
def _multiply(state, operations):
    """Multiply the group with one output's activations."""
    s = state.scalars
    o = s[GROUP_OPERATION]
    left = s[OUTPUTS_LEFT]
    chosen = left & -left
    output = 0
    while chosen >> output != 1:
        output += 1
    first = operations.base[o] + output * operations.stride[o]
    width = operations.width[o]
    staged = (s[STAGED] + s[STAGED_LEVEL]) % SKID_BUFFER
    level = 0
    for i in range(s[GROUP_COUNT]):
        mask = s[GROUP_MASK_FIRST] if i < s[GROUP_FIRST] else s[GROUP_MASK_SECOND]
        if mask & chosen and state.columns[i] < width:
            state.staged[staged, level] = first + state.columns[i]
            level += 1
    state.staged_levels[staged] = level
    s[STAGED_LEVEL] += 1
    s[OUTPUTS_LEFT] = left & ~chosen


@JIT
def _field_group(s, unit, operations, rows, first, second):
    """Elements of the first and the second row in a group, and the index bits they need.

    The second row's fields must end within a beat's worth of bits, padding included: the
    buffer is sure to have no more than that.
    """
    o = s[DECODER_OPERATION]
    lanes = operations.lanes[o]
    bits = operations.index_bits[o]
    left = rows.nnz[first] - s[DONE]
    first_count = min(left, lanes)
    second_count = np.int64(0)
    needed = first_count * bits
    if first_count == left:
        needed += -(s[PHASE] + needed) & 31
        if second >= 0:
            second_count = min(rows.nnz[second], lanes - first_count)
            if bits:
                second_count = min(second_count, max(unit.beat_bits - needed, 0) // bits)
            needed += second_count * bits
            if second_count == rows.nnz[second]:
                needed += -(s[PHASE] + needed) & 31
    return first_count, second_count, needed, needed


@JIT
def _count_below(columns, start, count, limit):
    """How many of `count` ascending columns are below a limit."""
    if count == 0 or columns[start + count - 1] < limit:  # most often all
        return count
    count -= 1
    while count and columns[start + count - 1] >= limit:
        count -= 1
    return count


@JIT
def _mask_group(s, unit, operations, rows, first, second):
    """The same with bitmasks; the index bits seen, and those that are dropped with the group."""
    o = s[DECODER_OPERATION]
    lanes = operations.lanes[o]
    pitch = (operations.width[o] + 31) // 32 * 32
    first_bits = pitch - s[MASK_COLUMN]
    seen = min(first_bits + (pitch if second >= 0 else 0), unit.mask_columns)
    at = rows.first[first] + s[DONE]
    left = rows.nnz[first] - s[DONE]
    first_count = _count_below(rows.columns, at, min(left, lanes + 1), s[MASK_COLUMN] + seen)
    if first_count > lanes:
        return lanes, 0, seen, rows.columns[at + lanes - 1] - s[MASK_COLUMN] + 1
    second_count = np.int64(0)
    if second >= 0:
        at = rows.first[second]
        room = lanes - first_count
        second_count = _count_below(
            rows.columns, at, min(rows.nnz[second], room + 1), seen - first_bits
        )
        if second_count > room:
            if room:
                last = rows.columns[at + room - 1] + first_bits
            else:
                last = rows.columns[rows.first[first] + s[DONE] + lanes - 1] - s[MASK_COLUMN]
            return first_count, room, seen, last + 1
    return first_count, second_count, seen, seen


@JIT
def _expand(state, operations, rows, ready, counts):
    """Give the oldest plan to the group register, if that takes it and the weights are there."""
    s = state.scalars
    s[TAKE_WEIGHTS] = s[MISSING_WEIGHTS] = 0
    if s[PLANS_LEVEL] == 0:
        return
    plan = state.plans[s[PLANS]]
    o = plan[PLAN_OPERATION]
    if plan[PLAN_FIRST] < 0:
        if ready:
            s[HOLDS] = MARKER
            s[GROUP_OPERATION] = o
            _pop(s, PLANS)
        return
    weight_bits = (plan[PLAN_FIRST_COUNT] + plan[PLAN_SECOND_COUNT]) * operations.element_bits[o]
    s[MISSING_WEIGHTS] = s[WEIGHTS + LEVEL] < weight_bits
    if ready and not s[MISSING_WEIGHTS]:
        _load(state, operations, rows, plan, counts)
        s[TAKE_WEIGHTS] = weight_bits
        _pop(s, PLANS)


@JIT
def _push_plan(state, first, second, done, first_count, second_count):
    s = state.scalars
    plan = state.plans[(s[PLANS] + s[PLANS_LEVEL]) & (RING - 1)]
    plan[PLAN_FIRST] = first
    plan[PLAN_SECOND] = second
    plan[PLAN_DONE] = done
    plan[PLAN_FIRST_COUNT] = first_count
    plan[PLAN_SECOND_COUNT] = second_count
    plan[PLAN_OPERATION] = s[DECODER_OPERATION]
    s[PLANS_LEVEL] += 1


@JIT
def _plan(state, unit, operations, rows):
    """Plan a group from the head of the row buffer."""
    s = state.scalars
    s[TAKE_INDICES] = s[END_DONE] = s[MISSING_INDICES] = 0
    if s[BUFFER_LEVEL] == 0:
        return
    o = s[DECODER_OPERATION]
    first = state.buffer[s[BUFFER]]
    if first < 0:
        # What is left of the last mask is dropped before the next operation.
        s[TAKE_INDICES] = s[INDICES + LEVEL]
        if s[INDICES + REMAINING] or s[INDICES + EXTENT_LEVEL]:
            return
        if first == END or s[ROOM_PLANS]:
            _pop(s, BUFFER)
            if first != END:
                _push_plan(state, first, 0, 0, 0, 0)
            s[END_DONE] = 1
            s[PHASE] = s[MASK_COLUMN] = 0
            s[DECODER_OPERATION] += 1
            s[CONFIG_LEVEL] -= 1
            s[OUTSTANDING] -= 1
        return
    second = np.int64(-1)
    if s[BUFFER_LEVEL] > 1:
        second = max(state.buffer[(s[BUFFER] + 1) & (RING - 1)], np.int64(-1))
    if operations.is_mask[o]:
        group = _mask_group(s, unit, operations, rows, first, second)
    else:
        group = _field_group(s, unit, operations, rows, first, second)
    first_count, second_count, needed, consumed = group
    s[MISSING_INDICES] = s[INDICES + LEVEL] < needed
    if s[MISSING_INDICES] or not s[ROOM_PLANS]:
        return
    if first_count + second_count:
        _push_plan(state, first, second, s[DONE], first_count, second_count)
    s[TAKE_INDICES] = consumed
    s[PHASE] = (s[PHASE] + consumed) & 31
    finished = 0
    if s[DONE] + first_count == rows.nnz[first]:
        finished = 1
        s[DONE] = second_count
        if second >= 0 and second_count == rows.nnz[second]:
            finished = 2
            s[DONE] = 0
    else:
        s[DONE] += first_count
    if operations.is_mask[o]:
        pitch = (operations.width[o] + 31) // 32 * 32
        s[MASK_COLUMN] += consumed - finished * pitch
    for _ in range(finished):
        _pop(s, BUFFER)


@JIT
def _load(state, operations, rows, plan, counts):
    """Fill the group register."""
    s = state.scalars
    o = plan[PLAN_OPERATION]
    first, second = plan[PLAN_FIRST], plan[PLAN_SECOND]
    first_count, second_count = plan[PLAN_FIRST_COUNT], plan[PLAN_SECOND_COUNT]
    width = operations.width[o]
    s[HOLDS] = GROUP
    s[GROUP_OPERATION] = o
    s[GROUP_COUNT] = first_count + second_count
    s[GROUP_FIRST] = first_count
    s[GROUP_MASK_FIRST] = rows.mask[first] if first_count else 0
    s[GROUP_MASK_SECOND] = rows.mask[second] if second_count else 0
    s[OUTPUTS_LEFT] = s[GROUP_MASK_FIRST] | s[GROUP_MASK_SECOND]
    left_out_first = operations.outputs[o]
    left_out_second = operations.outputs[o]
    for u in range(operations.outputs[o]):
        left_out_first -= s[GROUP_MASK_FIRST] >> u & 1
        left_out_second -= s[GROUP_MASK_SECOND] >> u & 1
    start = rows.first[first] + plan[PLAN_DONE]
    for i in range(first_count):
        state.columns[i] = rows.columns[start + i]
        if state.columns[i] < width:
            counts[C_SKIPPED_PRODUCTS] += left_out_first
    if second_count:
        start = rows.first[second]
        for i in range(second_count):
            state.columns[first_count + i] = rows.columns[start + i]
            if state.columns[first_count + i] < width:
                counts[C_SKIPPED_PRODUCTS] += left_out_second


@JIT
def _align(s, aligner, ring, unit, unit_bits, take, room, starts, joins, lengths):
    """One aligner: keep a portion of a beat, take the next extent. Returns beats taken.

    They go into the buffer in front of it, if that had `room`.
    """
    units = unit.beat_bits // unit_bits
    remaining = s[aligner + REMAINING]
    position = s[aligner + POSITION]
    left = s[aligner + LEVEL] - take
    portion = np.int64(0)
    if (
        remaining != 0
        and left <= unit.beat_bits
        and (s[aligner + USES_HELD] or s[aligner + SKID] > 0)
    ):
        portion = min(remaining, units - position)
        if not s[aligner + USES_HELD]:
            s[aligner + SKID] -= 1
    taken = 0
    if room and s[aligner + BEATS]:
        taken = 1
        s[aligner + BEATS] -= 1
        s[aligner + SKID] += 1
    finishing = remaining == portion
    s[aligner + LEVEL] = left + portion * unit_bits
    s[aligner + REMAINING] = remaining - portion
    if portion:
        s[aligner + POSITION] = (position + portion) % units
        s[aligner + USES_HELD] = position + portion != units
    if s[aligner + EXTENT_LEVEL]:
        row = ring[s[aligner + EXTENT]]
        start, joined, length = starts[row], joins[row], lengths[row]
        end = s[aligner + EXTENT_END]
        contiguous = start == end and joined == (end != 0)
        if contiguous or finishing:
            _pop(s, aligner + EXTENT)
            s[aligner + REMAINING] += length
            s[aligner + EXTENT_END] = (start + length) % units
            if not contiguous:
                s[aligner + POSITION] = start
                s[aligner + USES_HELD] = joined
    if aligner == INDICES and s[END_DONE]:
        for field in (REMAINING, POSITION, EXTENT_END, USES_HELD, LEVEL):
            s[aligner + field] = 0
    return taken


@JIT
def _describe(state, rows):
    """Pass a row on when it is described, a marker at once."""
    s = state.scalars
    s[MISSING_ROWS] = 0
    waits = s[DESCRIBER_WAITS]
    if s[END_DONE]:
        s[DESCRIBER_WAITS] = 0
    if s[PENDING_LEVEL] == 0 or waits:
        return
    entry = state.pending[s[PENDING]]
    if entry < 0:
        if s[ROOM_BUFFER]:
            _pop(s, PENDING)
            _push(state.buffer, s, BUFFER, entry)
            s[DESCRIBER_WAITS] = 1
        return
    if s[DESCRIPTIONS_LEVEL] == 0:
        s[MISSING_ROWS] = 1
        return
    if rows.nnz[entry] == 0:
        _pop(s, PENDING)
        _pop(s, DESCRIPTIONS)
    elif s[ROOM_BUFFER] and s[ROOM_EXTENTS]:
        _pop(s, PENDING)
        _pop(s, DESCRIPTIONS)
        _push(state.buffer, s, BUFFER, entry)
        _push(state.weight_extents, s, WEIGHTS + EXTENT, entry)
        if rows.index_words[entry]:
            _push(state.index_extents, s, INDICES + EXTENT, entry)


@JIT
def _send(s, jobs, sent, ring, beats):
    """Give one beat of the oldest job."""
    s[beats] += 1
    s[sent] += 1
    if s[sent] == ring[s[jobs]]:
        s[sent] = 0
        _pop(s, jobs)


@JIT
def _memory(state, unit, rows):
    """Beats that memory gives in this cycle, and the requests that it takes."""
    s = state.scalars
    gives_indices = s[INDEX_JOBS_LEVEL] > 0 and s[ROOM_INDEX_BEATS]
    if s[WEIGHT_JOBS_LEVEL] and s[ROOM_WEIGHT_BEATS] and not (unit.shared_port and gives_indices):
        _send(s, WEIGHT_JOBS, WEIGHTS_SENT, state.weight_jobs, WEIGHTS + BEATS)
    if gives_indices:
        _send(s, INDEX_JOBS, INDICES_SENT, state.index_jobs, INDICES + BEATS)
    if s[REQUESTS_LEVEL] and state.times[s[REQUESTS]] <= s[CYCLE] and s[ROOM_JOBS]:
        row = state.requests[s[REQUESTS]]
        _pop(s, REQUESTS)
        _push(state.descriptions, s, DESCRIPTIONS, row)
        if rows.weight_beats[row]:
            _push(state.weight_jobs, s, WEIGHT_JOBS, rows.weight_beats[row])
        if rows.index_beats[row]:
            _push(state.index_jobs, s, INDEX_JOBS, rows.index_beats[row])
    if s[FETCH_LEVEL] and s[ROOM_REQUESTS]:
        state.times[(s[REQUESTS] + s[REQUESTS_LEVEL]) & (RING - 1)] = s[CYCLE] + unit.memory_latency
        _push(state.requests, s, REQUESTS, state.fetch[s[FETCH]])
        _pop(s, FETCH)


@JIT
def _sequence(state, operations, rows, counts):
    """Take or skip one activation beat, or put a marker behind the rows."""
    s = state.scalars
    if s[SEQUENCER_STATE] == IDLE:
        if s[OPERATION_LEVEL] and s[ROOM_CONFIG]:
            s[OPERATION_LEVEL] -= 1
            s[CONFIG_LEVEL] += 1
            s[SEQUENCER_OPERATION] += 1
            s[SEQUENCER_BEAT] = 0
            taking = operations.length[s[SEQUENCER_OPERATION]] > 0
            s[SEQUENCER_STATE] = TAKING if taking else ENDING
        return
    o = s[SEQUENCER_OPERATION]
    if s[SEQUENCER_STATE] == ENDING:
        if s[ROOM_PENDING]:
            _push(state.pending, s, PENDING, operations.kind[o])
            s[SEQUENCER_STATE] = IDLE
        return
    row = operations.first_beat[o] + s[SEQUENCER_BEAT]
    if rows.mask[row] == 0:
        counts[C_SKIPPED_ROWS] += 1
    elif s[ROOM_PENDING] and s[ROOM_FETCH]:
        _push(state.pending, s, PENDING, row)
        _push(state.fetch, s, FETCH, row)
    else:
        return
    counts[C_ACTIVATION_BEATS] += 1
    s[SEQUENCER_BEAT] += 1
    if s[SEQUENCER_BEAT] == operations.length[o]:
        s[SEQUENCER_STATE] = ENDING


@JIT
def _command(s, writes):
    """Take one register write."""
    if s[COMMAND] < writes.shape[0]:
        if writes[s[COMMAND]]:
            if not s[ROOM_OPERATION]:
                return
            s[OPERATION_LEVEL] += 1
            s[OUTSTANDING] += 1
        s[COMMAND] += 1


@JIT
def _flying(reads):
    """Reads of a drain on their way to the queue of results."""
    flying = 0
    for i in range(DRAIN_STAGES):
        flying += reads[i] != 0
    return flying


@JIT
def _drain(state, unit, counts):
    """Read, convert and give away accumulators."""
    s = state.scalars
    reads = state.reads
    room = s[RESULTS_LEVEL] + _flying(reads) < RESULT_QUEUE
    if s[RESULTS_LEVEL]:
        s[RESULTS_LEVEL] -= 1
        counts[C_RESULT_BEATS] += 1
    if reads[DRAIN_STAGES - 1]:
        s[DRAIN_PLACE] += 1
        if reads[DRAIN_STAGES - 1] == 2 or s[DRAIN_PLACE] == s[DRAIN_PER_BEAT]:
            s[DRAIN_PLACE] = 0
            s[RESULTS_LEVEL] += 1
    for i in range(DRAIN_STAGES - 1, 0, -1):
        reads[i] = reads[i - 1]
    reads[0] = 0
    if room and s[DRAIN_FROM] < s[DRAIN_TO]:
        s[DRAIN_FROM] = min(s[DRAIN_FROM] + unit.drain_lanes, s[DRAIN_TO])
        reads[0] = 2 if s[DRAIN_FROM] == s[DRAIN_TO] else 1


@JIT
def _cause(s, entered, waits, held, blocked, marker_done, hazards):
    """The counter that this busy cycle belongs to."""
    if entered:
        return C_ISSUE
    if waits:
        return C_HAZARD if hazards else C_CONFLICT
    if blocked:
        return C_DRAIN
    if held == MARKER and not marker_done:
        return C_ORDER
    if s[MISSING_WEIGHTS]:
        return C_WEIGHTS
    if s[MISSING_INDICES]:
        return C_INDICES
    if s[MISSING_ROWS]:
        return C_ROWS
    return C_OTHER


@JIT
def _step(state, unit, operations, rows, writes, counts):
    """One cycle; returns whether the unit was busy."""
    s = state.scalars
    _note_room(s, unit)
    window_empty = True
    for i in range(s[SLOTS]):
        window_empty = window_empty and state.levels[i] == 0
    settled = (
        s[STAGED_LEVEL] == 0
        and window_empty
        and s[HELD] == 0
        and s[CYCLE] - s[LAST_START] >= unit.latency
    )
    draining = s[DRAIN_FROM] < s[DRAIN_TO]
    reading = draining or _flying(state.reads) or s[RESULTS_LEVEL]
    busy = s[OUTSTANDING] != 0 or s[PLANS_LEVEL] != 0 or s[HOLDS] != NOTHING
    busy = busy or not settled or reading

    held = s[HOLDS]
    group = s[GROUP_OPERATION]
    marker_done = held == MARKER and settled and not draining
    blocked = False
    if held == GROUP and draining:
        end = (
            operations.base[group]
            + (operations.outputs[group] - 1) * operations.stride[group]
            + operations.width[group]
        )
        blocked = operations.base[group] < s[DRAIN_TO] and end > s[DRAIN_FROM]

    hazards = _banks(state, unit, counts)
    slot = _scatter(state, unit, counts)
    waits = s[STAGED_LEVEL] > 0
    multiplied = held == GROUP and not blocked and s[STAGED_LEVEL] < SKID_BUFFER
    entered = waits and slot >= 0
    if entered:
        _enter(state, slot, counts)
    if multiplied:
        _multiply(state, operations)
    finishing = held == NOTHING or marker_done or (multiplied and s[OUTPUTS_LEFT] == 0)
    if finishing:
        s[HOLDS] = NOTHING
    _drain(state, unit, counts)
    if marker_done and operations.kind[group] == DRAIN:
        s[DRAIN_FROM] = operations.base[group]
        s[DRAIN_TO] = operations.base[group] + operations.width[group]
        s[DRAIN_PER_BEAT] = operations.drain_reads[group]
    _expand(state, operations, rows, finishing, counts)
    _plan(state, unit, operations, rows)
    counts[C_WEIGHT_BEATS] += _align(
        s,
        WEIGHTS,
        state.weight_extents,
        unit,
        8,
        s[TAKE_WEIGHTS],
        s[ROOM_WEIGHT_SKID],
        rows.weight_start,
        rows.weight_joined,
        rows.weight_bytes,
    )
    counts[C_INDEX_BEATS] += _align(
        s,
        INDICES,
        state.index_extents,
        unit,
        32,
        s[TAKE_INDICES],
        s[ROOM_INDEX_SKID],
        rows.index_start,
        rows.index_joined,
        rows.index_words,
    )
    _describe(state, rows)
    _memory(state, unit, rows)
    _sequence(state, operations, rows, counts)
    _command(s, writes)
    if busy:
        counts[C_CYCLES] += 1
        counts[_cause(s, entered, waits, held, blocked, marker_done, hazards)] += 1
    s[CYCLE] += 1
    return busy


@JIT
def _run(state, unit, operations, rows, writes, counts):
    s = state.scalars
    quiet = 0
    progress = np.int64(-1)
    while True:
        busy = _step(state, unit, operations, rows, writes, counts)
        if not busy and s[COMMAND] == writes.shape[0] and s[OUTSTANDING] == 0:
            return True
        moved = counts[C_ISSUE] + counts[C_ACTIVATION_BEATS] + counts[C_RESULT_BEATS] + s[COMMAND]
        quiet = quiet + 1 if moved == progress else 0
        progress = moved
        if quiet == STUCK:
            return False


def simulate(
    unit: Unit,
    operations: Operations,
    rows: Rows,
    writes: np.ndarray,
    *,
    banks: np.ndarray,
    lanes: int,
) -> np.ndarray:
    """Run until the unit is idle.

    Parameters
    ----------
    unit : Unit
        Parameters.
    operations, rows, writes
        From `schedule`.
    banks : ndarray, int64 [accumulators]
        Bank of each accumulator.
    lanes : int
        As in `VentaglioConfig`.

    Returns
    -------
    ndarray, int64 [counters]
        In the order of ``COUNTERS``.

    Raises
    ------
    RuntimeError
        If nothing moves any more: a fault of this model or of its input.
    """
    never = -1_000
    scalars = np.zeros(STATE_SIZE, dtype=np.int64)
    scalars[SEQUENCER_OPERATION] = -1
    scalars[LAST_START] = never

    def ring() -> np.ndarray:
        return np.zeros(RING, dtype=np.int64)

    state = State(
        scalars=scalars,
        pending=ring(),
        fetch=ring(),
        buffer=ring(),
        plans=np.zeros((RING, 6), dtype=np.int64),
        weight_extents=ring(),
        index_extents=ring(),
        columns=np.zeros(lanes, dtype=np.int64),
        staged=np.zeros((SKID_BUFFER, lanes), dtype=np.int64),
        staged_levels=np.zeros(SKID_BUFFER, dtype=np.int64),
        slots=np.zeros((unit.window, lanes), dtype=np.int64),
        levels=np.zeros(unit.window, dtype=np.int64),
        wanted=np.full(unit.banks, never, dtype=np.int64),
        held=np.zeros(unit.banks, dtype=np.int64),
        started=np.full(len(banks), never, dtype=np.int64),
        reads=np.zeros(DRAIN_STAGES, dtype=np.int64),
        banks=banks,
        requests=ring(),
        times=ring(),
        descriptions=ring(),
        weight_jobs=ring(),
        index_jobs=ring(),
    )
    counts = np.zeros(len(COUNTERS), dtype=np.int64)
    if not _run(state, unit, operations, rows, writes, counts):
        raise RuntimeError(
            f"the cycle model of the unit stands still in cycle {int(scalars[CYCLE])}"
        )
    return counts
