"""Wakes blocks of Verilog that assign nothing but constants."""

import re

__all__ = ["wake_constant_blocks"]

_CONSTANT = r"\d+'[hbd][0-9a-f]+"
_BLOCK = re.compile(
    rf"^  always @\*\n    (.+? = (?:{_CONSTANT}|\{{ {_CONSTANT}(?: , {_CONSTANT})* \}});)$",
    re.MULTILINE,
)
_MODULE = re.compile(r"^(?:\(\*.*\*\)\n)*module [^;]*;\n(?:.*\n)*?endmodule$", re.MULTILINE)
_HEADER = re.compile(r"^module [^;]*;\n", re.MULTILINE)
_WAKER = r"\always_wakes "


def wake_constant_blocks(text: str) -> str:
    """Give every block that reads nothing something to read.

    Where some bits of a signal change and others are constant, the conversion assigns the
    constant ones in a block of their own, ``always @* x[3:0] = 4'h0;``. Such a block waits for
    what it reads, which is nothing, so by the standard it never runs and the bits stay unknown.
    With a variable that is initialised at time zero it runs once; synthesis drops it.

    Parameters
    ----------
    text : str
        Verilog.

    Returns
    -------
    str
        The same, with a variable more in modules that need it.
    """
    return _MODULE.sub(lambda module: _wake(module[0]), text)


def _wake(module: str) -> str:
    block = rf"  always @* begin\n    if ({_WAKER}) begin end\n    \1\n  end"
    woken, count = _BLOCK.subn(block.replace("\\always", "\\\\always"), module)
    if not count:
        return module
    return _HEADER.sub(lambda header: f"{header[0]}  reg {_WAKER}= 0;\n", woken, count=1)
