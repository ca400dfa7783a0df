"""junit.xml and summary.md: what CI services show of a benchmark."""

from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handmade import Bench
from lensbench.core.errors import UserError
from lensbench.core.run_folder import RunFolder
from lensbench.results import fail_on
from lensbench.results.junit import junit
from programs import run_here

CONTROL = "\x1b[31m\x00 <b>&"


@pytest.fixture
def mixed(bench: Callable[..., Bench]) -> Bench:
    """A pair that counts, a discarded run, and one that was never made."""
    made = bench()
    made.run("a", "with", duration_s=12.5)
    made.run("a", "without", points=("1", "0"))
    made.run("b", "with", reason="mcp_failed", detail=f"did not start {CONTROL}")
    made.build()
    return made


def cases(made: Bench) -> dict[tuple[str, str], ElementTree.Element]:
    root = ElementTree.parse(made.folder / "junit.xml").getroot()
    return {
        (case.get("classname", ""), case.get("name", "")): case for case in root.iter("testcase")
    }


def test_every_run_and_every_verdict_is_a_test_case(mixed: Bench) -> None:
    found = cases(mixed)
    assert sorted(found) == [
        ("r.gate", "lens"),
        *((f"r.{one}", task) for one in ("with", "without") for task in "ab"),
    ]
    assert found["r.with", "a"].get("time") == "12.5"
    assert found["r.without", "a"].findtext("system-out") == "score 50%"


def test_a_discard_is_an_error_a_missing_run_is_skipped_and_the_counts_are_those_of_the_cases(
    mixed: Bench,
) -> None:
    error = cases(mixed)["r.with", "b"].find("error")
    assert error is not None
    assert error.get("type") == "mcp_failed"
    assert "did not start" in error.get("message", "")
    assert cases(mixed)["r.without", "b"].find("skipped") is not None
    root = ElementTree.parse(mixed.folder / "junit.xml").getroot()
    assert {name: root.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "5",
        "failures": "0",
        "errors": "1",
        "skipped": "2",
    }
    assert [suite.get("errors") for suite in root] == ["1", "0", "0"]


def results(**changes: Any) -> dict[str, Any]:
    verdict = {"verdict": "HARM", "sentence": "HARM: it falls."} | changes
    return {
        "run_id": "r",
        "conditions": {},
        "names": {"with": "lens"},
        "runs": [],
        "figures": {},
        "plain": {"with": verdict},
        "verdicts_on": {"with": verdict["verdict"]},
    }


@pytest.mark.parametrize(
    ("verdict", "element"),
    [
        ("HARM", "failure"),
        ("INCONCLUSIVE", "skipped"),
        ("GO", "system-out"),
        ("NO-GO", "system-out"),
    ],
)
def test_only_harm_is_a_failure(verdict: str, element: str) -> None:
    (case,) = ElementTree.fromstring(junit(results(verdict=verdict))).iter("testcase")
    assert [child.tag for child in case] == [element]


@given(st.text())
def test_whatever_a_sentence_holds_it_is_xml(text: str) -> None:
    (failure,) = ElementTree.fromstring(
        junit(results(sentence=text)).encode(errors="replace")
    ).iter("failure")
    assert failure.get("type") == "HARM"


def test_the_summary_says_what_counts_and_a_verdict_that_is_named_is_refused(mixed: Bench) -> None:
    summary = (mixed.folder / "summary.md").read_text()
    assert summary.startswith(
        "## lensbench: r\n\n**lens: The pipeline works. No verdict: a search program answered"
    )
    assert "2 runs scored, 0 unjudged, 1 discarded, 1 missing" in summary
    assert (
        "- discarded: b, lens: mcp\\_failed" in summary
        or "- discarded: b, lens: mcp_failed" in summary
    )
    assert not [mark for mark in ("\x1b", "<b>") if mark in summary]
    run_here(fail_on.main, "--folder", mixed.folder, "--verdicts", "HARM", "NO-GO")
    assert not RunFolder(mixed.folder).refused.exists()
    with pytest.raises(
        UserError, match="the verdict on 'lens' is INCONCLUSIVE, which fail_on names"
    ):
        run_here(fail_on.main, "--folder", mixed.folder, "--verdicts", "HARM", "INCONCLUSIVE")
    assert RunFolder(mixed.folder).refused.exists()
