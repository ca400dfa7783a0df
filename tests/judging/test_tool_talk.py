"""What tells that MCP tools were used, beside their names, is learnt from these tools and taken out of answers."""

import gzip
import json
from pathlib import Path

import pytest

from benches import Shape, make_bench
from lensbench.core.records import from_json
from lensbench.core.store import run_files
from lensbench.core.system.files import write_json
from lensbench.core.tasks import Category, Criterion, Task
from lensbench.judging.blinding import MARK, Hidden, blind, hidden_names
from lensbench.judging.shown_answers import read_shown_answers, read_tasks
from lensbench.judging.tool_talk import (
    ToolTalk,
    figures_of,
    learn_figures,
    learn_phrases,
    read_tool_talk,
)

TOOLS = ("mcp__lens__lens_grep", "mcp__lens__lens_graph", "mcp__lens__find_usages")
DESCRIPTIONS = {
    "mcp__lens__lens_grep": "Semantic search over the repository; prefer it to any search. A ranked, fuzzy lookup.",
    "mcp__lens__lens_graph": "The import graph of a folder.",
}
TALK = ToolTalk(learn_phrases(TOOLS, DESCRIPTIONS), ("hubScore", "importers"))
PLAN = {"conditions": {"without": {"servers": []}, "with": {"servers": ["lens"]}}}


def asked(prompt: str) -> Hidden:
    criteria = (Criterion(text="it is there"), Criterion(text="it is here"))
    return hidden_names(
        PLAN, TOOLS, Task(id="t", category=Category.DEBUG, prompt=prompt, criteria=criteria), TALK
    )


def test_phrases_are_words_of_names_and_what_descriptions_call_a_way_of_searching() -> None:
    assert TALK.phrases == (
        "find",
        "fuzzy lookup",
        "graph",
        "grep",
        "import graph",
        "ranked fuzzy lookup",
        "semantic search",
        "usages",
    )


@pytest.mark.parametrize(
    ("answer", "seen"),
    [
        ("I used LensGrep and lensGraph.", "I @."),
        ("`LensGraph` shows it, lens grep too", "@ shows it, @ too"),
        ("I ran findUsages to see it", "I @ to see it"),
        ("The graph tool shows it", "@ shows it"),
        ("According to the usages tool, it is", "According to @, it is"),
        ("The semantic search returned `a.py`", "@ `a.py`"),
        ("Semantic search results: `a.py`", "@: `a.py`"),
        ("I found it via the import graph", "I found it @"),
        ("importers=3 and hub score 0.82", "@ and @"),
        ('a.py ("importers": 12), `hubScore: 1.5`', 'a.py ("@), `@`'),
        ("```\na.py importers=3\n```\n", "```\na.py @\n```\n"),
    ],
)
def test_learnt_talk_becomes_a_mark(answer: str, seen: str) -> None:
    assert blind(answer, asked("Where is it?")).text == seen.replace("@", MARK)


@pytest.mark.parametrize(
    "answer",
    [
        "The import graph of the package has no circle, and the graph is small.",
        "It calls findUsages(name), and a search returned early.",
        "There are 3 importers, and importers are modules.",
        "A graph toolkit and usages of tools.",
        "hub score is a name, line=3 and timeout: 30 are values.",
    ],
)
def test_the_same_words_as_content_stay(answer: str) -> None:
    assert blind(answer, asked("Where is it?")).text == answer


def test_what_the_task_says_itself_is_content() -> None:
    hidden = asked(
        "Which importers has the semantic search, and why does the graph tool call lens grep?"
    )
    answer = "The semantic search returned importers=3, the graph tool and LensGrep too"
    assert blind(answer, hidden).text == answer
    assert blind("hubScore=3", hidden).text == MARK


def test_figures_are_those_of_most_results_of_a_tool_and_of_nothing_else() -> None:
    results = [
        ("x", "one", '{"importers": 3, "line": 4, "depth": 1}'),
        ("x", "two", "importers=0 line=7"),
        ("x", "two", "importers: 2, line: 9, max_redirects=20"),
        ("y", "one", "rank=1"),
        ("y", "one", "rank=2"),
        ("y", "one", "rank=3"),
        ("z", "one", "few=1"),
        ("z", "two", "few=1"),
    ]
    assert learn_figures(results, figures_of("the baseline wrote line: 3")) == ("importers",)


def said(tool: str, result: str) -> str:
    call = {"type": "tool_use", "id": "1", "name": tool, "input": {}}
    got = {"type": "tool_result", "tool_use_id": "1", "content": result}
    events = [
        {"type": "assistant", "message": {"role": "assistant", "content": [call]}},
        {"type": "user", "message": {"role": "user", "content": [got]}},
    ]
    return "".join(json.dumps(event) + "\n" for event in events)


def test_judges_see_nothing_of_what_a_benchmarks_own_transcripts_and_preflight_teach(
    tmp_path: Path,
) -> None:
    folder = make_bench(tmp_path / "b", Shape(tasks=8))
    write_json(
        folder / "preflight.json",
        {"tools": {}, "descriptions": {"mcp__lens__lens_grep": "Semantic search."}},
    )
    records = {
        run: from_json(path.read_text())
        for path in sorted(folder.glob("attempts/*/*/record.json"))
        for run in [from_json(path.read_text()).run]
    }
    for run, record in records.items():
        calls = [call.name for call in record.outcome.calls or () if call.name.startswith("mcp__")]
        text = (
            said(calls[0], '{"importers": 3, "limit": 20}') if calls else said("Read", "limit = 20")
        )
        files = run_files(folder, run)
        files.transcript.parent.mkdir(exist_ok=True)
        files.transcript.write_bytes(gzip.compress(text.encode()))
        figure = "importers=3, " if calls else ""
        files.answer.write_text(
            f"Semantic search returned it: {figure}limit=20.\n\n{files.answer.read_text()}"
        )
    assert read_tool_talk(folder, records, TOOLS).figures == ("importers",)
    run_files(folder, next(iter(records))).transcript.unlink()
    plan = json.loads((folder / "plan.json").read_text())
    shown = read_shown_answers(folder, plan, read_tasks(folder))
    assert len(shown) == len(records)
    assert {each.text.splitlines()[0] for each in shown} == {
        f"{MARK} it: limit=20.",
        f"{MARK} it: {MARK}, limit=20.",
    }


def test_a_damaged_transcript_teaches_nothing(tmp_path: Path) -> None:
    folder = make_bench(tmp_path / "b", Shape(tasks=2))
    records = {
        from_json(path.read_text()).run: from_json(path.read_text())
        for path in folder.glob("attempts/*/*/record.json")
    }
    for run in records:
        transcript = run_files(folder, run).transcript
        transcript.parent.mkdir(exist_ok=True)
        whole = bytearray(gzip.compress(said("Read", "limit = 20").encode() * 50))
        whole[20:40] = bytes(20)
        transcript.write_bytes(bytes(whole))
    assert read_tool_talk(folder, records, TOOLS).figures == ()
