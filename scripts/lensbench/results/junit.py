"""The results as JUnit XML, which CI services show as tests: a test case per run and one per verdict of the gate. The
only failure is HARM; a discarded run is an error, and what has no score or verdict is skipped."""

from __future__ import annotations

import re
from fractions import Fraction
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from lensbench.core.frozen_plan import VerdictName
from lensbench.core.numbers import decimal, percent
from lensbench.core.rows import RunStatus
from lensbench.results.results_file import Figure, Results, RunResult

_NOT_XML = re.compile(r"[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")
_OUTCOMES = {"failure": "failures", "error": "errors", "skipped": "skipped"}
"""Outcome -> its element, and the suite's attribute that counts it."""


def junit(data: Results[Fraction]) -> str:
    root = Element("testsuites", name=f"lensbench {data['run_id']}")
    for condition in data["conditions"]:
        suite = SubElement(root, "testsuite", name=f"{data['run_id']}.{condition}")
        for run in data["runs"]:
            if run["condition"] == condition:
                _run(suite, run)
    suite = SubElement(root, "testsuite", name=f"{data['run_id']}.gate")
    properties = SubElement(suite, "properties")
    for treatment, figures in data["figures"].items():
        for figure in figures.values():
            SubElement(
                properties,
                "property",
                name=f"{data['names'][treatment]}: {figure['label']}",
                value=_figure(figure),
            )
    for name, verdict in data["verdicts_on"].items():
        _verdict(suite, data["names"][name], verdict, data["plain"][name]["sentence"])
    for node in (*root, root):
        node.set("tests", str(sum(1 for _ in node.iter("testcase"))))
        for element, attribute in _OUTCOMES.items():
            node.set(attribute, str(sum(1 for _ in node.iter(element))))
    ElementTree.indent(root)
    return (
        _NOT_XML.sub("\ufffd", ElementTree.tostring(root, encoding="unicode", xml_declaration=True))
        + "\n"
    )


def _figure(figure: Figure) -> str:
    total = f"; total {figure['total']}" if figure["total"] else ""
    compared = f"{figure['treatment']} against {figure['baseline']}"
    return f"{compared}; change {figure['change']} ({figure['interval']}){total}"


def _run(suite: Element, run: RunResult[Fraction]) -> None:
    name = run["task"] if run["trial"] == 1 else f"{run['task']}, trial {run['trial']}"
    case = SubElement(
        suite,
        "testcase",
        classname=suite.get("name", ""),
        name=name,
        time=decimal(run["duration_s"]) or "0",
    )
    if run["status"] == RunStatus.DISCARDED:
        SubElement(case, "error", type=run["reason"], message=f"{run['reason']}: {run['detail']}")
    elif run["status"] != RunStatus.SCORED:
        SubElement(case, "skipped", message=run["status"])
    else:
        SubElement(case, "system-out").text = f"score {percent(run['score'])}"


def _verdict(suite: Element, treatment: str, verdict: VerdictName, sentence: str) -> None:
    case = SubElement(suite, "testcase", classname=suite.get("name", ""), name=treatment, time="0")
    match verdict:
        case "HARM":
            SubElement(case, "failure", type="HARM", message=sentence)
        case "INCONCLUSIVE":
            SubElement(case, "skipped", message=sentence)
        case _:
            SubElement(case, "system-out").text = sentence
