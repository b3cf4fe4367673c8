"""Local calls, exits and tail calls."""

from fanweave.golden.isa.ebpf_helpers import HELPERS
from fanweave.golden.isa.ebpf_machine import CALL_FRAMES
from fanweave.sw.ebpf.verifier.environment import Environment
from fanweave.sw.ebpf.verifier.helper_calls import call_helper
from fanweave.sw.ebpf.verifier.rules import Rule, Violation
from fanweave.sw.ebpf.verifier.scalar import Scalar
from fanweave.sw.ebpf.verifier.state import ARGUMENTS, Frame, State
from fanweave.sw.ebpf.verifier.values import Kind, number

__all__ = ["TAIL_CALL", "enter", "leave", "tail_call"]

_NUMBERS = {helper.name: number_ for number_, helper in HELPERS.items()}
#: Number of the helper that goes on in another program.
TAIL_CALL = _NUMBERS["tail_call"]
_RETURN = 0


def enter(state: State, entry: int) -> None:
    """Call a function of the program.

    Raises
    ------
    Violation
        If there is no frame left.
    """
    if len(state.frames) >= CALL_FRAMES:
        raise Violation(Rule.CALL_DEPTH, f"{CALL_FRAMES} frames are in use")
    caller = state.frames[-1]
    callee = Frame(state.slot + 1, len(state.frames))
    for register in ARGUMENTS:
        callee.registers[register] = caller.registers[register]
        callee.origins[register] = caller.origins[register]
    state.unset(_RETURN)
    state.forget_arguments()
    state.frames.append(callee)
    state.slot = entry


def leave(environment: Environment, state: State) -> bool:
    """Exit from a function or from the program; returns whether the program has ended.

    Raises
    ------
    Violation
        If r0 is not what may be returned, or records are open in the end.
    """
    if state.depth:
        _return(environment, state)
        return False
    value = state.read(_RETURN)
    if value.kind is not Kind.NUMBER:
        raise Violation(Rule.RETURN_VALUE, environment.say(_RETURN, value))
    _require_no_records(state)
    return True


def _return(environment: Environment, state: State) -> None:
    """Go back to the caller, with r0."""
    callee = state.frames.pop()
    value = callee.registers[_RETURN]
    if value.kind is Kind.STACK and value.place >= len(state.frames):
        raise Violation(Rule.FRAME_ENDS, environment.say(_RETURN, value))
    caller = state.frames[-1]
    caller.registers[_RETURN] = value
    caller.origins[_RETURN] = callee.origins[_RETURN]
    state.slot = callee.back


def _require_no_records(state: State) -> None:
    if state.records:
        count = len(state.records)
        raise Violation(
            Rule.RECORD_OPEN, f"{count} {'record is' if count == 1 else 'records are'} open"
        )


def tail_call(environment: Environment, state: State) -> list[State]:
    """Go on in another program, or behind the call if there is none.

    Returns
    -------
    list of State
        What this program may go on with: behind the call, and, if it was made in a function, behind
        the call of the function, where the other program's exit leads.

    Raises
    ------
    Violation
        If an argument does not fit, or records are open.
    """
    _require_no_records(state)
    call_helper(environment, state, HELPERS[TAIL_CALL])
    result = [state]
    if state.depth:
        other = state.copy()
        back = other.frames.pop().back
        other.write(_RETURN, number(Scalar.unknown()))
        other.slot = back
        result.append(other)
    state.slot += 1
    return result
