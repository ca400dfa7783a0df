"""An agent that writes tasks is believed nothing: the real Claude Code, and a model that says what the test wants."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from fakes.messages_api import Fake, MessagesApi, read_rules, serving
from lensbench.agents.sandbox import NO_SANDBOX
from lensbench.core.errors import UserError
from lensbench.core.system.progress import Progress
from lensbench.core.system.yaml_places import DocumentError
from lensbench.core.tasks import Category, Folder
from lensbench.plan.config import Agent
from lensbench_tasks.author import AskedAgent, Author, NoAnswer, read_reply
from lensbench_tasks.generate import Examiner
from lensbench_tasks.rounds import CandidateResult, run_rounds
from lensbench_tasks.survey import Survey
from stock import write_stock

CLAUDE = Path(__file__).parents[2] / "tools" / "agents" / "node_modules" / ".bin" / "claude"
KEY = "sk-live-test-0123456789abcdef"


def live(test: Any) -> Any:
    """The mark of a test that starts Claude Code."""
    skip = pytest.mark.skipif(
        not CLAUDE.exists(), reason="Claude Code is not installed: make agents (needs npm)"
    )
    return pytest.mark.xdist_group("claude")(skip(test))


def fact(name: str, quote: str, value: str) -> dict[str, Any]:
    file = f"stock/{name}.py"
    text = f"States that `{quote.split(' ')[0]}` in {file} is {value}"
    return {
        "text": text,
        "all_of": [quote.split(" ")[0], value],
        "proofs": [{"file": file, "quote": quote}],
    }


def written(name: str, part: str, value: int, prompt: str, **changes: Any) -> dict[str, Any]:
    """A task about the shelf `part`, whose first value is `value`; right for 17, 23, 31 and so on."""
    first = fact(part, f"batch_{part} = {3 * value}", str(3 * value))
    second = fact(part, f"{part.upper()}_LIMIT = {10 * value}", str(10 * value))
    third = {
        "text": f"States that `fill_{part}` in stock/{part}.py has patience {value}",
        "all_of": [f"fill_{part}", str(value)],
        "proofs": [
            {
                "file": f"stock/{part}.py",
                "quote": f"patience_{part}={value}",
                "within": f"{part.title()}Store.fill_{part}",
            }
        ],
    }
    return {
        "id": f"stock-tgt-{name}",
        "prompt": prompt,
        "criteria": [first | changes, second, third],
    }


def reply(*tasks: dict[str, Any]) -> dict[str, Any]:
    return {
        "text": f"Here they are.\n<<<tasks>>>\n{yaml.safe_dump({'tasks': list(tasks)})}<<<end>>>\n"
    }


BARK, BEACH = (
    "White bark: which numbers hold when nobody chooses any?",
    "What bounds has sand by the sea, and how many?",
)
GOOD = written(
    "01", "amber", 17, "How much does yellow stone take at once and at all, how patient is it?"
)
FALSE = written("02", "birch", 24, BARK)
MENDED = written("02", "birch", 23, BARK)
HOPELESS = written(
    "03",
    "cedar",
    31,
    "Who keeps moths away, and with which three figures?",
    text="States that `nobody_knows` is right",
    all_of="nobody_knows",
)
DUPLICATE = written(
    "04",
    "amber",
    17,
    prompt="What are all the figures of resin that is old, and what are they for?",
)
LEAKING = written(
    "05", "dune", 37, prompt="Is `DUNE_LIMIT` 370 in the dune corner, and what else holds there?"
)
DISCREET = written("05", "dune", 37, BEACH)
TOOL = written("06", "ember", 41, prompt="Use Grep to find out what holds in the ember corner?")
RULES = [
    {
        "when": {"text": "checked by a program"},
        "times": 1,
        "reply": reply(MENDED, HOPELESS, DUPLICATE, DISCREET, TOOL),
    },
    {"when": {"text": "checked by a program"}, "reply": reply(HOPELESS, DUPLICATE)},
    {
        "when": {"text": "of the category Targeted"},
        "reply": reply(GOOD, FALSE, HOPELESS, DUPLICATE, LEAKING, TOOL),
    },
    {"reply": {"text": "ok"}},
]


def ask(
    fake: Fake, folder: Path, monkeypatch: pytest.MonkeyPatch, max_usd: float | None = None
) -> list[CandidateResult]:
    monkeypatch.setenv("LIVE_TEST_KEY", KEY)
    monkeypatch.setenv("CLAUDE_CODE_MAX_RETRIES", "0")
    agent = Agent(
        kind="claude-code",
        command=(str(CLAUDE),),
        model="sonnet",
        provider="custom",
        base_url=fake.url,
        token_env="LIVE_TEST_KEY",
        pass_env=("CLAUDE_CODE_MAX_RETRIES",),
        timeout_s=120,
    )
    known = Survey.read(write_stock(folder / "stock"))
    asked = AskedAgent(agent.model_dump(mode="json"), NO_SANDBOX, folder / "said", max_usd)
    author = Author("stock", Folder(path="stock"), known.root, asked)
    examine = Examiner(known, frozenset(), Progress("trying"))
    return run_rounds(author, examine, {Category.TARGETED: 6})


@live
def test_good_tasks_stay_bad_ones_go_back_and_hopeless_ones_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(MessagesApi(), read_rules(RULES)) as fake:
        fates = {fate.proposal.id[-2:]: fate for fate in ask(fake, tmp_path, monkeypatch)}
        asked = [json.dumps(body) for body in fake.bodies if "benchmark task" in json.dumps(body)]
    assert {name: fate.outcome for name, fate in fates.items()} == {
        "01": "kept",
        "02": "repaired",
        "03": "dropped",
        "04": "dropped",
        "05": "repaired",
        "06": "dropped",
    }
    first = {
        name: {problem.reason for problem in fate.tries[0].problems} for name, fate in fates.items()
    }
    assert "false_proof" in first["02"]
    assert "unknown_name" in first["03"]
    assert first["04"] == {"duplicate"}
    assert "given_away" in first["05"]
    assert "names_tool" in first["06"]
    assert {problem.reason for problem in fates["06"].tries[-1].problems} == {
        "schema"
    }  # it was not sent again
    assert [len(fate.tries) for fate in fates.values()] == [1, 2, 4, 4, 2, 4]
    assert "duplicate: it asks the same as stock-tgt-01" in asked[-1]
    assert "stock-tgt-01\\\\n  prompt" not in asked[-1]  # what is good does not go back
    kept = b"".join(path.read_bytes() for path in (tmp_path / "said").iterdir())
    assert len(list((tmp_path / "said").glob("*.jsonl.gz"))) == 4
    assert KEY.encode() not in kept


@live
def test_a_refused_key_ends_everything_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        serving(MessagesApi(), read_rules([{"reply": {"status": 401}}])) as fake,
        pytest.raises(UserError, match="refused"),
    ):
        ask(fake, tmp_path, monkeypatch)


def quick_agent(folder: Path, shell: str) -> AskedAgent:
    """An agent that is a shell script."""
    agent = Agent(kind="command", command=("/bin/sh", "-c", shell), tee=False)
    return AskedAgent(agent.settings, NO_SANDBOX, folder / "said")


def test_an_answer_is_returned_and_stored_with_its_output(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    asked = quick_agent(tmp_path, "echo here")
    assert asked.ask(tmp_path / "tree", "one", "Where?") == "here\n"
    names = {path.name for path in asked.folder.iterdir()}
    assert names == {"01-one.md", "01-one.jsonl.gz"}


@pytest.mark.parametrize("shell", ["true", "echo here; exit 1"])
def test_a_reply_that_would_not_count_as_a_run_is_no_answer(tmp_path: Path, shell: str) -> None:
    (tmp_path / "tree").mkdir()
    with pytest.raises(NoAnswer, match="the agent gave no valid answer: "):
        quick_agent(tmp_path, shell).ask(tmp_path / "tree", "one", "Where?")


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "tasks: []",
        "<<<tasks>>>\n<<<end>>>",
        "<<<tasks>>>\ntasks: 7\n<<<end>>>",
        "<<<tasks>>>\ntasks: [7]\n<<<end>>>",
        "<<<tasks>>>\n- &a [*a]\n<<<end>>>",
        "<<<tasks>>>\ntasks: [{id: 1}\n<<<end>>>",
        "<<<tasks>>>\n\x00\n<<<end>>>",
    ],
)
def test_a_reply_that_is_no_list_of_tasks_is_none(answer: str) -> None:
    with pytest.raises(DocumentError):
        read_reply(answer)


def test_the_last_marked_text_of_a_reply_counts() -> None:
    text = "<<<tasks>>>\ntasks: [{id: a}]\n<<<end>>>\nNo, better:\n<<<tasks>>>\ntasks: [{id: b}]\n<<<end>>>"
    assert list(read_reply(text)) == ["b"]
