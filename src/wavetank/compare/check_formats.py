"""A check as JUnit XML, which systems of continuous integration show as tests, and as Markdown for a merge request."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from wavetank.compare.regression import Check, Verdict
from wavetank.compare.tables.check import check_table
from wavetank.tables.formats import escaped, markdown_table
from wavetank.tables.words import change, printable
from wavetank.units import format_duration


def junit_text(check: Check, *, undecided_fails: bool) -> str:
    """JUnit XML: a test for each configuration; a slower one has failed.

    Args:
        check: what is said.
        undecided_fails: what cannot be told is an error; else it is skipped.
    """
    undecided = "error" if undecided_fails else "skipped"
    counts = {"failures": check.n("slower"), "errors": 0, "skipped": 0}
    counts["errors" if undecided_fails else "skipped"] = check.n("cannot tell")
    numbers = {key: str(number) for key, number in counts.items()}
    numbers["tests"] = str(len(check.verdicts))
    suites = ET.Element("testsuites", {"name": "wavetank check", **numbers})
    suite = ET.SubElement(suites, "testsuite", {"name": printable(check.campaign), **numbers})
    for each in check.verdicts:
        case = ET.SubElement(
            suite,
            "testcase",
            {
                "classname": printable(f"{check.campaign}.{each.application}"),
                "name": printable(f"{each.cluster_title} with {each.mapping}"),
                "time": f"{each.after.median if each.after else 0:.6f}",
            },
        )
        words = printable(verdict_words(each))
        if each.word == "slower":
            ET.SubElement(case, "failure", {"message": words, "type": "slower"})
        elif each.word == "cannot tell":
            ET.SubElement(case, undecided, {"message": words, "type": "cannot tell"})
        else:
            ET.SubElement(case, "system-out").text = words
    ET.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(suites, encoding="unicode")}\n'


def verdict_words(verdict: Verdict) -> str:
    """A configuration in a sentence: "slower: 4.1 s, before 2.0 s, change +104 %"."""
    found: str = verdict.word
    if verdict.before is not None and verdict.after is not None:
        found += f": {format_duration(verdict.after.median)}, before {format_duration(verdict.before.median)}"
    if verdict.change is not None:
        told = change(verdict.change.median)
        if verdict.change.low is not None and verdict.change.high is not None:
            told += f" ({change(verdict.change.low)} to {change(verdict.change.high)})"
        found += f", change {told}"
    more = [each for each in (verdict.reason, *verdict.differs) if each]
    return "; ".join((found, *more))


def markdown_text(check: Check) -> str:
    """A summary for a merge request or a page of a run."""
    table = check_table(check)
    notes = [escaped(note) for note in check.notes]
    head = "## wavetank check" + (": slower" if check.n("slower") else "")
    return "\n\n".join((head, *notes, *markdown_table(table.title, table))) + "\n"
