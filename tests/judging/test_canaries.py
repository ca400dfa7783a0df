"""Canaries: criteria whose verdict is known, and which judges they find out."""

import hashlib
import importlib
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drafted_answers import drafting_set
from lensbench.agents import Assignment
from lensbench.agents.start import AgentReply, now
from lensbench.core.records import Outcome
from lensbench.core.system.files import write_atomic, write_json
from lensbench.core.system.places import TEMPLATES
from lensbench.core.system.processes import Ended
from lensbench.core.tables import read_table
from lensbench.judging import ask_models, judge_agent
from lensbench.judging.judges import Verdict
from lensbench.judging.judges.canaries import COUNT, Canary, canaries
from lensbench.judging.judges.model import find_evidence, nonce_of
from lensbench.judging.verdicts import judge_all
from lensbench.plan.config import Agent
from lensbench.runs.validity import judge_validity

ANSWER = "The class Cart holds the items.\nIt lies in shop.py, which waits for 30 s.\n"
QUESTION = "Where are the items?"
FOREIGN = ("Names the method `read_all`", "Names the file `cli.py`", "Names the file `shop.py`")
TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=120)


def three(answer: str, *facts: str, others: Sequence[str] = (), salt: str = "") -> list[Canary]:
    return list(canaries(answer, nonce_of(answer, salt), QUESTION, facts, others))


def near(answer: str, *facts: str, others: Sequence[str] = (), salt: str = "") -> str:
    return three(answer, *facts, others=others, salt=salt)[1].fact


@given(TEXT, TEXT, TEXT, st.text())
def test_one_is_stated_and_two_are_not_whatever_the_answer(
    answer: str, fact: str, other: str, salt: str
) -> None:
    planted, second, third = three(answer, fact, others=[other], salt=salt)
    assert COUNT == 3
    assert [each.allowed[0] for each in (planted, second, third)] == [
        Verdict.MET,
        Verdict.MISSED,
        Verdict.MISSED,
    ]
    name = re.search("`(.+)`", planted.fact)
    assert name
    assert find_evidence(name[1], planted.planted)
    assert find_evidence(name[1], planted.shown(answer))
    assert not find_evidence(name[1], answer)
    assert not third.planted
    assert three(answer, fact, others=[other], salt=salt) == [planted, second, third]


def test_no_canary_quotes_the_answer() -> None:
    """Of three words in a row that stand in a canary, none stand in the answer alone."""
    for number in range(60):
        for canary in three(ANSWER, "Names the class `Cart`", others=FOREIGN, salt=str(number)):
            words = canary.fact.split()
            assert not any(" ".join(words[at : at + 3]) in ANSWER for at in range(len(words) - 2))


@pytest.mark.parametrize(
    ("fact", "exchanged"),
    [
        ("Names the class `Cart`", r"Names the class `[A-Z][a-z]+`"),
        ("Names the file shop.py", r"Names the file [a-z]+\.py"),
        ("States that it waits for 30 s", r"States that it waits for \d+ s"),
        ("Says that `Basket` in shop.py is wrong", r"Says that `Basket` in [a-z]+\.py is wrong"),
    ],
)
def test_a_near_miss_has_one_name_or_number_that_the_answer_does_not_have(
    fact: str, exchanged: str
) -> None:
    for number in range(30):
        found = near(ANSWER, fact, salt=str(number))
        assert found != fact
        assert re.fullmatch(exchanged, found)


@pytest.mark.parametrize(
    "fact",
    [
        "Names the class `Basket`",
        "Names `Cart` or `Basket`",
        "Says what is wrong",
        "Names either shop.py",
        "The items",
    ],
)
def test_a_criterion_that_is_not_stated_or_leaves_a_choice_is_not_exchanged(fact: str) -> None:
    planted, second, _ = three(ANSWER, fact)
    assert second.planted == planted.planted != ""
    assert second.fact != planted.fact
    assert second.fact.partition("`")[0] == planted.fact.partition("`")[0]


def test_the_first_stated_criterion_gets_a_name_of_another_task_unless_the_question_gives_it() -> (
    None
):
    facts = ["Names the class `Basket`", "Names the class `Cart`"]
    assert (
        near(ANSWER, *facts)
        == near(ANSWER, *facts, "Names the file shop.py")
        != near(ANSWER, facts[0])
    )
    assert near(ANSWER, "Names the file `shop.py`", others=FOREIGN) == "Names the file `cli.py`"
    nonce = nonce_of(ANSWER)
    _, second, _ = canaries(ANSWER, nonce, "What is in shop.py?", ["Names the file `shop.py`"], [])
    assert second.planted


def test_a_canary_is_a_criterion_of_another_task_whose_names_are_not_in_the_answer() -> None:
    found = {
        three(ANSWER, "Names the items", others=FOREIGN, salt=str(number))[2].fact
        for number in range(60)
    }
    assert found == set(FOREIGN[:2])


def test_in_the_drafting_set_most_answers_that_state_a_criterion_have_a_near_miss_of_it() -> None:
    tasks, _ = drafting_set()
    facts = {task.id: [criterion.text for criterion in task.criteria] for task in tasks}
    others = {
        name: [text for other in facts if other != name for text in facts[other]] for name in facts
    }
    real = [
        not list(
            canaries(
                " ".join(facts[task.id]),
                nonce_of(task.id),
                task.prompt,
                facts[task.id],
                others[task.id],
            )
        )[1].planted
        for task in tasks
    ]
    print(f"near misses of real criteria: {sum(real)} of {len(real)}")
    assert sum(real) >= 0.9 * len(real)


# --- which judges they find out --------------------------------------------------------------------------------------

TASKS = 20


@pytest.fixture
def fake_judge(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "fakes"))
    return importlib.import_module("judge")


def court(made: Any, attempts: int) -> Path:
    """Answers that state the first of two criteria; the treatment's state the second too."""
    sections = []
    for number in range(TASKS):
        task = f"t{number}"
        made.run(
            task,
            "with",
            answer=f"The class Cart{number:02} is in the module shop{number:02}.py of this project.\n",
        )
        made.run(
            task,
            "without",
            answer=f"The class is in the module shop{number:02}.py of this project, I think.\n",
        )
        sections.append(
            f"#### {task}\n- **Category**: Debug\n- **Prompt**:\n  `Where is it, {task}?`\n- **Judge Criteria**:\n"
            f"  1. Names the class `Cart{number:02}`\n  2. Names the module `shop{number:02}.py`\n"
        )
    write_atomic(made.folder / "scenarios.md", "\n".join(sections))
    agent = Agent.model_validate(
        {"kind": "command", "command": ("true",), "retries": attempts}
    ).model_dump(mode="json")
    model = {"name": "model", "agent": agent, "prompt": (TEMPLATES / "judge.md.j2").read_text()}
    write_json(made.folder / "plan.json", made.plan | {"judges": [model]})
    judge_validity(made.folder)
    return Path(made.folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("judge", "attempts", "void"),
    [
        ("right", 3, (0, 0)),
        ("lenient", 1, (0.95, 1)),
        ("lenient", 3, (0.95, 1)),
        ("a little lenient", 3, (0.2, 0.6)),
        ("superficial", 3, (1, 1)),
        ("strict", 3, (1, 1)),
    ],
)
def test_lenient_superficial_and_strict_judges_are_found_out_and_a_right_one_is_not(
    bench: Callable[..., Any],
    fake_judge: Any,
    monkeypatch: pytest.MonkeyPatch,
    judge: str,
    attempts: int,
    void: tuple[float, float],
) -> None:
    def behaviour(nonce: str, fact: str, answer: str) -> str:
        draw = int(hashlib.sha256(nonce.encode()).hexdigest()[:8], 16) / 16**8
        subject = any(
            word.lower() in answer.lower()
            for word in re.findall(r"\w{5,}", re.sub("`.*`", "", fact))
        )
        says_met = {
            "lenient": draw < 0.93,
            "a little lenient": draw < 0.2,
            "superficial": subject,
            "strict": False,
            "right": False,
        }[judge]
        return "met:" if says_met else "missed:" if judge in ("strict", "superficial") else "honest"

    def ask(assignment: Assignment, *_: Any) -> AgentReply:
        nonce = re.search(r"<fact-(\w+)>", assignment.prompt)
        assert nonce
        fact, answer = (
            fake_judge.part(assignment.prompt, name, nonce[1]) for name in ("fact", "answer")
        )
        reply = fake_judge.reply(behaviour(nonce[1], fact, answer), nonce[1], fact, answer)
        return AgentReply(Outcome(answer=reply), reply, "", now(), Ended(0, False, 0.0), "own", "")

    monkeypatch.setattr(judge_agent, "start_agent", ask)
    monkeypatch.setattr(ask_models, "back_off", lambda attempts: 0.0)
    folder = court(
        bench(tasks=tuple(f"t{number}" for number in range(TASKS)), criteria=2), attempts
    )
    judge_all(folder, "model", 2)
    found = Counter(
        row["failure"] or row["verdict"] for row in read_table(folder / "verdicts" / "model.csv")
    )
    print(f"{judge}, up to {attempts} attempts: {json.dumps(found)}")
    assert void[0] <= found["canary"] / found.total() <= void[1]
    if judge == "right":
        assert found == {"Met": 3 * TASKS, "Missed": TASKS}
