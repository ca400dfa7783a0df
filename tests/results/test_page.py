"""The page: what stands on it, in which order, and that nobody's text can do anything there."""

import base64
import gzip
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import yaml

from benches import Shape, make_bench
from lensbench.core.errors import UserError
from lensbench.core.records import RunId
from lensbench.core.rows import VerdictRow, columns
from lensbench.core.store import run_files
from lensbench.core.system.files import plain
from lensbench.core.system.places import TEMPLATES
from lensbench.core.tables import read_table, write_table
from lensbench.judging.criteria_checks import Finding
from lensbench.judging.trust import JudgeSummary, ReliabilityFile
from lensbench.judging.trust.agreement import All, Coefficient, JudgePair
from lensbench.judging.trust.belief import Belief
from lensbench.judging.trust.bias import Differential, Mean
from lensbench.judging.trust.blinding_check import BlindingCheck, Share
from lensbench.results.page.data import MOST_LOSSES, Inputs, stem
from lensbench.results.page.judges import judges_view
from lensbench.results.page.page import page_environment, read_inputs, render, write_page

ROWS = yaml.safe_load(Path(__file__).with_name("kinds_of_pages.yaml").read_text(encoding="utf-8"))


HOSTILE = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'`[a](javascript:alert(3))"
)
Make = Callable[..., Path]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder with discards, missing runs, two judges and estimates."""
    judges = ("claude-haiku", "mechanical")
    shape = Shape(48, repositories=8, discarded=0.06, missing=0.04, judges=judges)
    return make_bench(tmp_path_factory.mktemp("measured") / "bench", shape)


@pytest.fixture(scope="module")
def written(measured: Path) -> dict[str, str]:
    """All pages of it, by their path."""
    return pages(measured)


@pytest.fixture
def made(tmp_path: Path) -> Make:
    """Makes a run folder whose judges and differences nobody has measured yet."""

    def make(**shape: Any) -> Path:
        return make_bench(tmp_path / "bench", Shape(**{"tasks": 3, **shape}))

    return make


def pages(folder: Path) -> dict[str, str]:
    return dict(render(folder, read_inputs(folder)))


def page(folder: Path) -> str:
    return pages(folder)["report.html"]


class Elements(HTMLParser):
    """The tags of a page with their attributes, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.parts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        self.parts.append(data)

    def values(self, name: str) -> list[str]:
        return [attributes[name] for _, attributes in self.tags if name in attributes]

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.parts).split())


def change_results(folder: Path, change: Callable[[Any], object]) -> None:
    """Changes results.json, which the page is made of."""
    results = json.loads((folder / "results.json").read_text())
    change(results)
    (folder / "results.json").write_text(json.dumps(results))


def give_estimates(folder: Path, gate: dict[str, Any], **parts: Any) -> None:
    """Puts figures and a verdict into the results."""

    def change(results: Any) -> None:
        comparison = results["estimates"]["with"]
        comparison["score"]["overall"] |= {"delta": 0.072, "p": 0.021, "mde": 0.09}
        comparison["gate"] |= gate
        comparison |= {"level": 0.95, **parts}

    change_results(folder, change)


SHAPES = ("circle", "square", "diamond", "right", "left")
"""The marks of charts, which are defined once on the page."""
GO = {"verdict": "GO", "sentence": "GO: the tools help.", "needs": "", "low": 0.01, "high": 0.14}


@pytest.mark.slow
def test_the_sections_stand_in_the_order_in_which_people_ask(written: dict[str, str]) -> None:
    ids = [name for name in Elements(written["report.html"]).values("id") if name not in SHAPES]
    assert ids == [
        "treatment-0-verdict",
        "treatment-0-tasks",
        "treatment-0-pairs",
        "treatment-0-where",
        "treatment-0-use",
        "treatment-0-effort",
        "treatment-0-losses",
        "trust",
        "provenance",
    ]


def test_the_verdict_comes_first_with_its_interval(made: Make) -> None:
    folder = made()
    give_estimates(folder, GO)
    text = Elements(page(folder)).text
    assert re.search(
        r"GO .*\+7\.2 points difference in score, 95% interval \+1\.0 to \+14\.0 .*GO: the tools help\.",
        text,
    )
    give_estimates(folder, GO, level=0.999996)
    assert "score, 99.9996% interval" in Elements(page(folder)).text
    assert (
        "9.0 points or more 80 of 100 benchmarks like this show a true difference of this size"
        in text
    )


@pytest.mark.parametrize("verdict", ["GO", "NO-GO", "HARM", "INCONCLUSIVE"])
def test_every_verdict_has_its_own_colour_and_sign(made: Make, verdict: str) -> None:
    folder = made(tasks=2)
    give_estimates(folder, GO | {"verdict": verdict})
    html = page(folder)
    assert f'<section class="verdict {verdict.lower()}"' in html
    assert f"--{verdict.lower()}: " in html


COEFFICIENT = Coefficient(0.83, 0.7, 0.91, "")
NONE = Mean(None, None, None, 0, "")
UNBLINDED = Share(9, 0.95, 0.9, 1.0)
CALLED = {
    "with": "lens",
    "without": "without a server",
}


def reliability(**parts: Any) -> ReliabilityFile:
    """What is known of two judges."""
    overall = JudgePair(60, 0.9, COEFFICIENT)
    summary: JudgeSummary = {
        "models": ["m"],
        "verdicts": {"Met": 5},
        "answers": 30,
        "voided": 1,
        "failures": {"timeout": Counter({"with": 2})},
        "cost_usd": None,
        "cost_is_guess": False,
    }
    favour = Differential(NONE, "claude favours with.")
    corrected = parts.get("corrected", Mean(0.031, -0.01, 0.07, 24, ""))
    classifier = parts.get(
        "classifier", BlindingCheck(9, 9, 0.61, 0.52, 0.7, holds=False, unblinded=UNBLINDED)
    )
    return {
        "judges": {"claude": summary, "gpt": summary},
        "agreement": {
            "pairs": [{"judges": ["claude", "gpt"], "overall": overall, "conditions": {}}],
            "all": All(60, parts.get("alpha", COEFFICIENT)),
        },
        "bias": {
            "judges": {"claude": {"with": favour}},
            "together": {"with": favour._replace(sentence="")},
            "correction": {"with": corrected},
        },
        "blinding": {"classifier": {"with": classifier}},
        "criteria": [Finding("t", 2, "met_by_all", "Everybody met it: ask for more.")],
        "unjudged": {"with": {"criteria": 2, "of": 60}, "without": {"criteria": 0, "of": 60}},
        "belief": Belief({}, {}, "", {}, []),
    }


def test_what_is_known_of_the_judges_stands_on_the_page(made: Make) -> None:
    folder = made()
    both = reliability()
    told = {"judge_reliability": plain(both), "judging": plain(judges_view(both, CALLED)._asdict())}
    change_results(folder, lambda results: results.update(told))
    text = Elements(page(folder)).text
    for known in (
        "agreement \u03b1 0.83",
        "is 0.83 (0.70 to 0.91) over 60 criteria",
        "claude and gpt 60 90% 0.83 0.70 to 0.91",
        "timeout (lens 2)",
        "claude favours with.",
        "the difference is +3.1 points (\u22121.0 to +7.0)",
        "lens: Blinding fails.",
        "61% (52% to 70%)",
        "without blinding it would be 95% (90% to 100%)",
        "1 criterion (t 2): Everybody met it: ask for more.",
        "Criteria without a verdict: lens 2 of 60.",
        "2 answers lost all verdicts",
    ):
        assert known in text


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        (
            {"alpha": Coefficient(None, None, None, "too few")},
            "judges agree is not known: too few.",
        ),
        ({"corrected": NONE._replace(reason="few pairs.")}, "not corrected by persons: few pairs."),
        (
            {"classifier": BlindingCheck(9, 9, 0.5, 0.4, 0.6, holds=True, would_find=0.64)},
            "lens: Blinding is not shown to fail (usually only 64% right guesses show it).",
        ),
        ({"classifier": BlindingCheck(2, 2, reason="Two tasks.")}, "lens: not checked: Two tasks."),
    ],
)
def test_what_is_not_known_of_the_judges_is_said_with_the_reason(
    parts: dict[str, Any], words: str
) -> None:
    assert words in str(judges_view(reliability(**parts), CALLED))


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "said"), ROWS, ids=str)
def test_every_kind_of_benchmark_has_a_page_saying_so(
    made: Make, shape: dict[str, Any], said: dict[str, int]
) -> None:
    folder = made(**{"tasks": 5, **shape})
    write_page(folder)
    html = (folder / "report.html").read_text()
    text = Elements(html).text
    assert not re.search(r"None(?! of \d)", text)
    assert {words: text.count(words) for words in said} == said
    assert "trials" in shape or all(
        f'<td><a href="answers/{pair["task"]}.html">' in html for pair in _pairs(folder)
    )


@pytest.mark.slow
def test_every_link_leads_somewhere(written: dict[str, str]) -> None:
    assert len(written) == 49
    for path, html in written.items():
        elements = Elements(html)
        ids = elements.values("id")
        assert len(ids) == len(set(ids))
        for address in elements.values("href"):
            place, _, fragment = address.partition("#")
            if place:
                assert str((Path("/") / path).parent.joinpath(place).resolve())[1:] in written
            else:
                assert fragment in ids


def test_the_pages_of_trials_and_of_tasks_never_share_a_name() -> None:
    names = [stem("a", 1), stem("a-t2", 1), stem("a", 2), stem("t2", 1), stem("a", 12)]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    "task", ["../../etc/passwd", "/etc/passwd", "..", "a/b", "a\\b", "</script>", "a\0b"]
)
def test_no_task_id_leads_out_of_the_folder(task: str) -> None:
    assert "/" not in stem(task, 1)
    assert "/" not in stem(task, 2).removeprefix("t2/")
    assert re.fullmatch(r"[\w.-]+", stem(task, 1))


def test_a_pair_page_shows_both_answers_with_marked_evidence(made: Make) -> None:
    folder = made(tasks=4)
    html = next(
        html for path, html in pages(folder).items() if path.startswith("answers/") and "●" in html
    )
    assert html.index("<h3>without a server") < html.index("<h3>lens:")
    assert "<mark>" in html
    places = set(re.findall(r'id="(answer-[^"]*-c\d)"', html))
    assert places == set(re.findall(r'href="#(answer-[^"]*-c\d)"', html))
    assert "States that step 1 happens" in html


def test_a_pair_page_shows_what_the_patterns_did_not_find(made: Make) -> None:
    folder = made(tasks=1, judges=("mechanical",))
    rows = read_table(folder / "verdicts.csv", VerdictRow)
    verdicts = ("Met", "Partial", "Missed")
    given = [
        {**row, "verdict": verdicts[number % 3], "reason": f"'{number} of {HOSTILE}' is missing"}
        for number, row in enumerate(rows)
    ]
    write_table(folder / "verdicts.csv", columns(VerdictRow), given)
    (html,) = (
        html
        for path, html in pages(folder).items()
        if path.startswith("answers/") and "runs/" not in path
    )
    assert_harmless(html)
    text = Elements(html).text
    assert len(given) >= 3
    for row in given:
        assert (f"patterns: {row['reason']}" in text) == (row["verdict"] != "Met")


def test_a_pair_page_shows_the_source_lines_that_answers_cite(made: Make) -> None:
    folder = made(tasks=1)
    (run,) = (folder / "runs").glob("*-with.md")
    lines = ["class Cart:", "    " + HOSTILE]
    there = {"cited": "cart.py:3", "path": "src/cart.py", "first": 3, "lines": lines, "problem": ""}
    gone = {
        "cited": f"{HOSTILE}.py:9",
        "path": "",
        "first": 0,
        "lines": [],
        "problem": "there is no such file",
    }
    (folder / "citations.json").write_text(json.dumps({run.stem: [there, gone]}))
    (html,) = (
        html
        for path, html in pages(folder).items()
        if path.startswith("answers/") and "runs/" not in path
    )
    assert_harmless(html)
    told = " ".join(Elements(html).text.split())
    assert "Source lines that it cites: 2, 1 not as cited" in told
    assert "cart.py:3 in src/cart.py 3 class Cart: 4" in told
    assert "there is no such file" in told


def test_a_run_s_page_has_the_figures_of_the_table(made: Make) -> None:
    folder = made(tasks=1)
    (attempt,) = (folder / "attempts").glob("*-with/*")
    (attempt / "transcript.jsonl.gz").write_bytes(gzip.compress(b"{}\n"))
    (html,) = (html for path, html in pages(folder).items() if path.startswith("answers/runs/"))
    facts = Elements(html).text
    for label in (
        "score: ",
        "duration: ",
        "tokens out: ",
        "cost in US dollars: ",
        "turns: ",
        "files read, observed: ",
    ):
        assert facts.count(f"· {label}") == 1


def test_a_run_that_does_not_count_shows_why_and_no_answer(made: Make) -> None:
    folder = made(tasks=3, discarded=1.0)
    html = next(html for path, html in pages(folder).items() if path.startswith("answers/"))
    assert "No valid answer." in html
    assert re.search(r"discarded: (timed_out|api_error|mcp_failed): as it was", html)
    assert "The rest follows" not in html


def test_discards_are_counted_by_condition_and_losses_come_in_the_order_of_their_kinds(
    measured: Path, written: dict[str, str]
) -> None:
    data = json.loads((measured / "results.json").read_text())
    text = Elements(written["report.html"]).text
    for reason, counts in data["discards"].items():
        assert f"{reason} {counts.get('with', 0)} {counts.get('without', 0)}" in text
    html = written["report.html"]
    losses = [
        float(value.replace("\u2212", "-"))
        for value in re.findall(r'<b class="worse">(\S+) points</b>', html)
    ]
    deltas = [100 * pair["delta"] for pair in data["losses"]["with"]["pairs"]]
    assert losses == pytest.approx(deltas[:MOST_LOSSES])
    assert sorted(deltas) == sorted(
        100 * pair["delta"] for pair in _pairs(measured) if pair["delta"] < 0
    )
    assert "→ <b>Missed</b>: States that step" in html
    gaps = [pair["task"] for pair in data["pairs"] if not pair["delta"]]
    assert f"so not in the charts: {', '.join(gaps)}." in text
    assert (html.count('data-outcome="worse"'), html.count('data-outcome="no score"')) == (
        len(deltas),
        len(gaps),
    )


def _pairs(folder: Path) -> list[dict[str, Any]]:
    pairs = json.loads((folder / "results.json").read_text())["pairs"]
    return [{**pair, "delta": float(pair["delta"])} for pair in pairs if pair["delta"]]


def test_several_treatments_have_a_verdict_and_sections_each(made: Make) -> None:
    html = page(made(tasks=4, treatments=("with", "graph")))
    assert (html.count('class="verdict inconclusive"'), html.count("<h2>Tasks: ")) == (2, 2)
    assert html.index("All verdicts") < html.index('class="verdict ')


def test_48_tasks_stay_under_400_kb_and_the_plot_has_a_line_for_each_group(
    written: dict[str, str],
) -> None:
    html = written["report.html"]
    assert len(html.encode()) < 400_000
    plot = html.partition("Where the difference is")[2].partition("The same as a table")[0]
    assert {"all tasks", "Debug", *(f"repo-{n}" for n in range(1, 9))} <= set(
        re.findall(r"<span>([^<]+) <small>", plot)
    )


def test_the_policy_allows_the_page_s_own_style_and_nothing_else(written: dict[str, str]) -> None:
    for html in written.values():
        style = re.search("<style>(.*?)</style>", html, re.DOTALL)
        assert style is not None
        digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
        script = re.search("<script>(.*?)</script>", html, re.DOTALL)
        allowed = ""
        if script is not None:
            allowed = f"script-src 'sha256-{base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()}'; "
        policy = f"default-src 'none'; {allowed}style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
        assert [
            given["content"] for tag, given in Elements(html).tags if "http-equiv" in given
        ] == [policy]
        assert html.index("Content-Security-Policy") < html.index("<style>")
        assert not Elements(html).values("style")


def assert_harmless(html: str) -> None:
    html = html.replace(f"<script>{(TEMPLATES / 'tables.js').read_text()}</script>", "")
    elements = Elements(html)
    tags = {tag for tag, _ in elements.tags}
    assert not tags & {"script", "img", "iframe", "object", "embed", "link", "form", "base"}
    assert not any(name.startswith("on") for _, attributes in elements.tags for name in attributes)
    assert not any(
        address.lower().startswith(("javascript:", "data:", "http"))
        for address in elements.values("href")
    )
    assert html.count("<style>") == 1


@pytest.mark.slow
def test_hostile_text_of_people_agents_and_models_does_nothing(made: Make) -> None:
    folder = made(tasks=4, hostile=HOSTILE, discarded=0.2)
    for html in pages(folder).values():
        assert_harmless(html)
        assert "alert(1)" in Elements(html).text


def renamed(value: Any, old: str, new: str) -> Any:
    """The data with one text replaced wherever it is a whole value or key."""
    if isinstance(value, str):
        return new if value == old else value
    if isinstance(value, dict):
        return {renamed(key, old, new): renamed(item, old, new) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_make"):
        return value._make(renamed(item, old, new) for item in value)
    return [renamed(item, old, new) for item in value] if isinstance(value, list) else value


@pytest.mark.slow
def test_hostile_task_ids_categories_and_conditions_do_nothing(made: Make) -> None:
    folder = made(tasks=4)
    inputs: Inputs = read_inputs(folder)
    task = inputs.tables.plan["order"][0]
    category = "Exploratory"
    hostile = renamed(renamed(inputs, task, HOSTILE), category, HOSTILE)
    for condition in ("with", "without"):
        answer = run_files(folder, RunId(HOSTILE, condition)).answer
        answer.parent.mkdir(parents=True, exist_ok=True)
        answer.write_text("an answer")
    for html in dict(render(folder, hostile)).values():
        assert_harmless(html)
    hostile = renamed(inputs, "with", "a<b>&\"'")
    for attempts in [*(folder / "attempts").glob("*-with")]:
        attempts.rename(f"{str(attempts).removesuffix('with')}a<b>&\"'")
    for html in dict(render(folder, hostile)).values():
        assert "<b>&" not in html


@pytest.mark.slow
def test_broken_results_are_named_with_what_to_do(made: Make) -> None:
    folder = made(tasks=2)
    (folder / "results.json").write_text("{")
    with pytest.raises(
        UserError,
        match=r"results\.json: cannot be read .*; delete it, and the next start rebuilds it",
    ):
        read_inputs(folder)


def test_commands_in_sentences_are_code_and_everything_else_is_escaped() -> None:
    template = page_environment().from_string("{{ text | code }}")
    assert template.render(text="Run `lensbench run`; <b> & `a<b`.") == (
        "Run <code>lensbench run</code>; &lt;b&gt; &amp; <code>a&lt;b</code>."
    )
