"""JUnit XML, as continuous integration reads it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from fanweave.sim.report.files import write_text

__all__ = ["CaseResult", "write_junit"]


@dataclass(frozen=True, kw_only=True)
class CaseResult:
    """One test case.

    Attributes
    ----------
    name
        Name of the case.
    seconds
        Wall time.
    failure
        What went wrong, or the empty string.
    """

    name: str
    seconds: float = 0.0
    failure: str = ""


def write_junit(path: Path | str, *, suite: str, cases: Sequence[CaseResult]) -> None:
    """Write the results of one suite.

    Parameters
    ----------
    path
        File to write, or ``-``.
    suite
        Name of the suite; also the class name of its cases.
    cases
        The cases, in order.
    """
    root = ElementTree.Element("testsuites")
    element = ElementTree.SubElement(
        root,
        "testsuite",
        name=suite,
        tests=str(len(cases)),
        failures=str(sum(bool(case.failure) for case in cases)),
        errors="0",
        time=f"{sum(case.seconds for case in cases):.3f}",
    )
    for case in cases:
        item = ElementTree.SubElement(
            element, "testcase", classname=suite, name=case.name, time=f"{case.seconds:.3f}"
        )
        if case.failure:
            fault = ElementTree.SubElement(
                item, "failure", message=_printable(case.failure.splitlines()[0])
            )
            fault.text = _printable(case.failure)
    ElementTree.indent(root)
    write_text(path, ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n")


def _printable(text: str) -> str:
    """Drop control characters, which XML 1.0 cannot hold."""
    return "".join(char for char in text if char.isprintable() or char in "\n\t")
