"""Smoke results as JUnit XML, for the test pages of CI servers."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement, indent, tostring

from relmgr.model.smoke import CellResult, SmokeRun


def render_junit(run: SmokeRun) -> str:
    """Return one test suite with a test case for each cell; what failed is an error or, with an answer, a failure."""
    report = run.report
    bad = [result for result in run.results if not result.as_expected]
    errors = [result for result in bad if result.case.outcome == "error"]
    counts = {"tests": len(run.results), "failures": len(bad) - len(errors), "errors": len(errors)}
    suite = Element(
        "testsuite",
        {"name": f"relmgr smoke {report.backend} {report.arch}", **{name: str(n) for name, n in counts.items()}},
        time=f"{run.seconds:.3f}",
    )
    properties = SubElement(suite, "properties")
    for name in ("backend", "double", "emulated", "device", "arch", "driver", "pin", "abi", "head"):
        SubElement(properties, "property", name=name, value=_text(str(getattr(report, name))))
    for result in run.results:
        _add_case(suite, result)
    indent(suite)
    return tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _add_case(suite: Element, result: CellResult) -> None:
    cell, case = result.cell, result.case
    kind = "matching" if cell.matching else "mismatch"
    attributes = {"classname": f"smoke.{kind}.{cell.direction}.{cell.dtype}", "name": _text(cell.key)}
    element = SubElement(suite, "testcase", attributes, time=f"{case.seconds:.6f}")
    if not result.as_expected:
        wanted = " or ".join(cell.expected)
        gate = "" if cell.matching else " and a refusal by the static gate"
        message = f"static gate: {case.static}; {case.outcome}, wanted {wanted}{gate}"
        tag = "error" if case.outcome == "error" else "failure"
        SubElement(element, tag, message=message, type=case.outcome).text = _text(case.detail or "")


def _text(text: str) -> str:
    """Return `text` without characters that XML 1.0 has no place for."""
    return "".join(c for c in text if c in "\t\n" or " " <= c < "\ud800" or "\ue000" <= c <= "\ufffd" or c > "\uffff")
