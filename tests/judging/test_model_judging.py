import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fakes import judge as fake_judge
from handmade import Bench
from lensbench.agents import Assignment
from lensbench.agents.adapters import command
from lensbench.agents.start import AgentReply, now, start_agent
from lensbench.core.errors import UserError
from lensbench.core.records import Outcome
from lensbench.core.system.files import write_atomic, write_json
from lensbench.core.system.places import TEMPLATES
from lensbench.core.system.processes import Ended
from lensbench.core.tables import Row, read_table
from lensbench.judging import ask_models, judge_agent
from lensbench.judging.judges import FAILURES
from lensbench.judging.verdicts import judge_all, rounds_of
from lensbench.plan.config import Agent, Judging
from lensbench.runs.stopping import spend, spend_on_request, spent, start_attempt
from lensbench.runs.validity import judge_validity

JUDGE = Path(__file__).parents[1] / "fakes" / "judge.py"
PROMPT = (TEMPLATES / "judge.md.j2").read_text()
SET = """\
#### a
- **Category**: Debug
- **Prompt**:
  `Where is the cart?`
- **Judge Criteria**:
  1. Names the class `Cart`
  2. Names the file `shop.py`
"""
ANSWER = (
    "The class Cart holds the items of a customer.\nIt lies in shop.py, which also has the limit.\n"
)


@pytest.fixture
def court(bench: Callable[..., Bench], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "Court":
    """A finished pair and a model judge that has not been asked yet; it answers in this process."""

    def answer(assignment: Assignment, *_: Any) -> AgentReply:
        with (tmp_path / "shown").open("a", encoding="utf-8") as file:
            file.write(assignment.prompt)
        said = fake_judge.said(assignment.prompt, Path(assignment.settings["command"][-1]))
        return AgentReply(Outcome(answer=said), said, "", now(), Ended(0, False, 0.0), "own", "")

    monkeypatch.setattr(ask_models, "back_off", lambda attempts: 0.0)
    monkeypatch.setattr(judge_agent, "start_agent", answer)
    return Court(bench, tmp_path)


@pytest.fixture
def program(court: "Court", monkeypatch: pytest.MonkeyPatch) -> "Court":
    """The same with a judge that is a program, two at a time."""
    monkeypatch.setattr(judge_agent, "start_agent", start_agent)
    court.parallel = 2
    return court


class Court:
    parallel = 1

    def __init__(self, bench: Callable[..., Bench], base: Path) -> None:
        self.control = base / "control"
        self.control.mkdir()
        self.bench = bench(tasks=("a",))
        self.folder = self.bench.folder
        self.answers(ANSWER, "I did not find it, but there is a file shop.py somewhere.\n")
        write_atomic(self.folder / "scenarios.md", SET)
        self.configure()

    def configure(self, prompt: str = PROMPT, **agent: Any) -> None:
        command = (sys.executable, "-I", str(JUDGE), "{prompt_file}", str(self.control))
        agent = {"kind": "command", "command": command, "timeout_s": 20.0, **agent}
        settings = Agent.model_validate(agent).model_dump(mode="json")
        judge = {"name": "judge", "agent": settings, "prompt": prompt}
        plan = self.bench.plan | {"judges": [judge], "judging": Judging().model_dump(mode="json")}
        write_json(self.folder / "plan.json", plan)
        judge_validity(self.folder)

    def answers(self, treatment: str, baseline: str) -> None:
        self.bench.run("a", "with", answer=treatment)
        self.bench.run("a", "without", answer=baseline)

    def behave(self, **behaviours: str | list[str]) -> None:
        named = {name.replace("others", "*"): value for name, value in behaviours.items()}
        (self.control / "judge.json").write_text(json.dumps(named))

    def judge(self) -> list[Row]:
        judge_all(self.folder, "judge", self.parallel)
        rows = read_table(self.folder / "verdicts" / "judge.csv")
        assert {row["failure"] for row in rows} <= {
            "",
            *FAILURES,
        }  # where the verdict names them in words
        return rows

    def asked(self) -> list[str]:
        path = self.control / "asked"
        facts = (
            [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        )
        path.unlink(missing_ok=True)
        return facts


def verdicts(rows: list[Row], condition: str = "with") -> list[str]:
    return [row["failure"] or row["verdict"] for row in rows if row["condition"] == condition]


@pytest.mark.slow
def test_each_criterion_is_one_request_after_three_canaries_and_its_evidence_is_in_the_answer(
    program: Court,
) -> None:
    rows = program.judge()
    assert (verdicts(rows, "with"), verdicts(rows, "without")) == (
        ["Met", "Met"],
        ["Missed", "Met"],
    )
    asked = program.asked()
    assert len(asked) == 10
    assert (
        sum(fact in ("Names the class `Cart`", "Names the file `shop.py`") for fact in asked) == 4
    )
    first, second = (row for row in rows if row["condition"] == "with")
    for row in (first, second):
        position = int(row["position"])
        assert ANSWER[position : position + len(row["evidence"])] == row["evidence"] != ""
    assert second["evidence"] == "shop.py"
    assert (program.judge(), program.asked()) == (rows, [])


def test_a_judge_that_the_plan_lacks_is_named_beside_those_that_it_has(court: Court) -> None:
    with pytest.raises(UserError, match=r"the plan has no judge 'jugde'; known are judge.*judge"):
        judge_all(court.folder, "jugde")


def test_no_model_is_asked_where_the_plan_is_private_whatever_judges_it_has(
    court: Court, tmp_path: Path
) -> None:
    plan = json.loads((court.folder / "plan.json").read_text())
    write_json(court.folder / "plan.json", plan | {"judging": plan["judging"] | {"private": True}})
    with pytest.raises(UserError, match=r"^judge 'judge' is a model, .* nothing was sent$"):
        court.judge()
    assert not (tmp_path / "shown").exists()
    assert court.asked() == []


def test_only_another_criterion_or_prompt_is_asked_anew_and_the_old_verdicts_stay(
    court: Court,
) -> None:
    court.judge()
    assert len(court.asked()) == 10
    court.configure(timeout_s=30.0, retries=1)  # no other judge
    court.judge()
    assert court.asked() == []
    write_atomic(court.folder / "scenarios.md", SET + "  3. Names the word `limit`\n")
    court.judge()
    assert court.asked() == ["Names the word `limit`"] * 2
    court.configure(prompt="Strictly.\n" + PROMPT)
    court.judge()
    assert len(court.asked()) == 12
    court.configure()
    court.judge()
    assert court.asked() == []


@pytest.mark.parametrize(
    ("behaviour", "failure"),
    [
        (
            'says:{"id": "0123456789abcdef", "verdict": "Met", "evidence": "shop.py", "reason": ""}',
            "unparsable",
        ),
        (
            'says:{"id": "NONCE", "verdict": "Met", "evidence": "a warehouse", "reason": ""}',
            "evidence_not_found",
        ),
        ("says:", "api_error"),
    ],
)
def test_a_judge_that_fails_gives_no_verdict_and_never_missed(
    court: Court, behaviour: str, failure: str
) -> None:
    court.behave(**{"`Cart`": behaviour})
    rows = court.judge()
    assert verdicts(rows) == [failure, "Met"]
    assert court.asked().count("Names the class `Cart`") == 6  # three attempts in each condition
    assert all(row["points"] == "" for row in rows if row["failure"])
    assert rounds_of(court.folder, "judge") == 1


@pytest.mark.slow
@pytest.mark.parametrize(("behaviour", "failure"), [("crashes", "crashed"), ("sleeps", "timeout")])
def test_a_program_that_crashes_or_is_too_slow_gives_no_verdict(
    program: Court, behaviour: str, failure: str
) -> None:
    program.configure(timeout_s=1.0 if behaviour == "sleeps" else 20.0)
    program.behave(**{"`Cart`": behaviour})
    assert verdicts(program.judge()) == [failure, "Met"]
    assert program.asked().count("Names the class `Cart`") == 6


def test_one_bad_reply_is_tried_again_with_another_nonce(court: Court) -> None:
    court.behave(**{"`Cart`": ["says:hm", "says:hm"]})
    assert "unparsable" not in [row["failure"] for row in court.judge()]


def test_the_next_start_asks_only_for_what_failed_and_a_round_without_failures_begins_anew(
    court: Court,
) -> None:
    court.behave(**{"`Cart`": "says:hm"})
    court.judge()
    court.judge()
    assert rounds_of(court.folder, "judge") == 2
    court.asked()
    court.behave()
    assert (verdicts(court.judge()), set(court.asked())) == (
        ["Met", "Met"],
        {"Names the class `Cart`"},
    )
    assert rounds_of(court.folder, "judge") == 0


@pytest.mark.parametrize("behaviour", ["met:", "missed:"])
def test_a_judge_that_says_the_same_of_everything_is_found_out_by_a_canary(
    court: Court, behaviour: str
) -> None:
    court.behave(others=behaviour)
    rows = court.judge()
    assert {row["failure"] for row in rows} == {"canary"}
    assert {row["verdict"] for row in rows} == {"Unjudged"}
    assert not {"Names the class `Cart`", "Names the file `shop.py`"} & set(court.asked())


@pytest.mark.parametrize(
    ("behaviour", "failure"), [("says:hm", "unparsable"), ("says:", "api_error")]
)
def test_a_judge_that_fails_at_a_canary_is_not_wrong_about_it(
    court: Court, behaviour: str, failure: str
) -> None:
    court.behave(others=behaviour)
    assert {row["failure"] for row in court.judge()} == {failure}


def test_a_canary_voids_the_answer_that_it_was_about_and_no_other(court: Court) -> None:
    court.behave(**{"I did not find it": "met:I did not find it"})
    rows = court.judge()
    assert (verdicts(rows, "without"), verdicts(rows, "with")) == (
        ["canary", "canary"],
        ["Met", "Met"],
    )


def test_the_answer_of_half_a_pair_is_not_judged(court: Court) -> None:
    court.bench.run("a", "without", answer="", reason="empty")
    judge_validity(court.folder)
    assert (verdicts(court.judge()), court.asked()) == (["pair_incomplete", "pair_incomplete"], [])
    assert rounds_of(court.folder, "judge") == 0


def test_an_answer_of_which_nothing_is_left_states_nothing_and_costs_nothing(court: Court) -> None:
    report = "## Report\n\n- **Tool calls**: 3\n- **Tools used**: Read\n- **Files read**: 1\n- **Files used**: shop.py\n"
    court.answers(ANSWER, report)
    court.configure()
    assert (verdicts(court.judge(), "without"), len(court.asked())) == (["Missed", "Missed"], 5)


def test_at_the_end_of_the_budget_nothing_more_is_asked(court: Court) -> None:
    spend_on_request(court.folder, Outcome(cost_usd=2.0))
    plan = json.loads((court.folder / "plan.json").read_text()) | {"budget": {"max_usd": 1.0}}
    write_json(court.folder / "plan.json", plan)
    assert {row["failure"] for row in court.judge()} == {"not_reached"}
    assert (court.asked(), spent(court.folder).usd_known) == ([], 2.0)


def test_a_template_that_is_wrong_is_one_sentence(court: Court) -> None:
    court.configure(prompt="{{ fact }} {{ anser }} {{ nonce }}")
    with pytest.raises(UserError, match=r"the prompt of judge 'judge': 'anser' is undefined"):
        court.judge()


def test_a_judge_whose_program_is_not_there_is_one_sentence(program: Court) -> None:
    program.configure(command=("no-such-judge",))
    with pytest.raises(UserError, match="no-such-judge"):
        program.judge()


def test_a_damaged_verdict_is_asked_for_again(court: Court) -> None:
    rows = court.judge()
    court.asked()
    kept = sorted((court.folder / "judging").rglob("*.json"))
    kept[0].write_text(kept[0].read_text()[:40])
    assert court.judge() == rows
    assert len(court.asked()) <= 1


def test_without_asking_only_what_was_said_before_counts(court: Court) -> None:
    judge_all(court.folder, "judge", 1, ask=False)
    assert {row["failure"] for row in read_table(court.folder / "verdicts" / "judge.csv")} == {
        "not_reached"
    }
    assert court.asked() == []
    said = court.judge()
    judge_all(court.folder, "judge", 1, ask=False)
    assert read_table(court.folder / "verdicts" / "judge.csv") == said


@pytest.mark.slow
def test_what_canaries_cost_stands_with_the_first_criterion(
    program: Court, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        command, "read", lambda lines, **_: Outcome(answer="".join(lines), cost_usd=0.25)
    )
    rows = program.judge()
    assert [row["cost_usd"] for row in rows] == ["1", "0.25"] * 2
    assert (program.judge(), spent(program.folder).usd_known) == (rows, 2.5)
    program.behave(others="missed:")
    program.answers(ANSWER + "More.\n", "Nothing here.\n")
    program.configure()
    void = program.judge()
    assert {row["failure"] for row in void} == {"canary"}
    assert [row["cost_usd"] for row in void] == [
        "0.75",
        "",
    ] * 2  # three attempts at the first canary


def test_limits_on_runs_and_hours_stop_no_judge(court: Court) -> None:
    for _ in range(4):
        start_attempt(court.folder)
        spend(court.folder, Outcome(), 0.75)
    plan = json.loads((court.folder / "plan.json").read_text()) | {
        "budget": {"max_runs": 4, "max_hours": 1}
    }
    write_json(court.folder / "plan.json", plan)
    assert verdicts(court.judge()) == ["Met", "Met"]


def test_an_answer_of_one_line_that_names_its_tool_is_judged_like_any_other(court: Court) -> None:
    court.answers(
        "The class Cart is in shop.py, which I found with mcp__lens__lens_grep.\n", ANSWER
    )
    court.configure()
    assert verdicts(court.judge()) == ["Met", "Met"]
    assert "lens_grep" not in (court.control.parent / "shown").read_text(encoding="utf-8")


def test_a_judge_whose_key_is_not_set_is_one_sentence(program: Court) -> None:
    program.configure(pass_env=["NO_SUCH_KEY"])
    with pytest.raises(UserError, match="judge 'judge': NO_SUCH_KEY is not set"):
        program.judge()
