from xml.etree import ElementTree

from fanweave.sim.report import CaseResult, write_junit


def test_cases_and_failures_are_counted(tmp_path):
    file = tmp_path / "junit.xml"
    cases = [
        CaseResult(name="q_proj", seconds=1.5),
        CaseResult(name="k_proj", failure="element 3 <differs>\x07\nexpected 1"),
    ]
    write_junit(file, suite="ventaglio", cases=cases)
    suite = ElementTree.parse(file).getroot().find("testsuite")
    assert suite.attrib == {
        "name": "ventaglio",
        "tests": "2",
        "failures": "1",
        "errors": "0",
        "time": "1.500",
    }
    good, bad = suite.findall("testcase")
    assert good.attrib == {"classname": "ventaglio", "name": "q_proj", "time": "1.500"}
    assert good.find("failure") is None
    assert bad.find("failure").get("message") == "element 3 <differs>"
    assert bad.find("failure").text == "element 3 <differs>\nexpected 1"
