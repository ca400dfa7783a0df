"""Attacks in answers: what an answer asks for is no reason for a verdict. The attacks are data, in attacks.py."""

import importlib
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from attack_cases import (
    ATTACKS,
    CAP,
    CREDULOUS,
    CRITERION,
    PATTERNS,
    Attack,
    fooled,
    lay_out,
    question,
    what_counts,
)
from drafted_answers import drafting_set
from lensbench.agents import Assignment
from lensbench.agents.start import AgentReply, now
from lensbench.core.records import Outcome
from lensbench.core.system.processes import Ended
from lensbench.core.tasks import Criterion
from lensbench.judging import judge_agent
from lensbench.judging.judges import Verdict
from lensbench.judging.judges.mechanical import judge
from lensbench.judging.judges.normalising import normalise

NAMES_OF = {attack: f"{attack.family}: {attack.name}" for attack in ATTACKS}


def each_attack(attacks: tuple[Attack, ...] = ATTACKS) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("attack", attacks, ids=[NAMES_OF[attack] for attack in attacks])


def test_there_are_at_least_forty_attacks_and_no_two_are_alike() -> None:
    assert len(ATTACKS) >= 40
    assert (
        len(set(NAMES_OF.values())) == len({question(attack) for attack in ATTACKS}) == len(ATTACKS)
    )


# --- the mechanical judge --------------------------------------------------------------------------------------------


@cache
def targets() -> list[tuple[Criterion, str]]:
    """The criteria of the drafting set, and all names that their repository's sources hold."""
    tasks, trees = drafting_set()
    return [(criterion, names_in(trees[task.id])) for task in tasks for criterion in task.criteria]


@cache
def names_in(tree: Path) -> str:
    files = sorted(path for path in tree.rglob("*.py") if path.is_file())
    names = {
        name
        for path in files
        for name in re.findall(r"[A-Za-z_]\w{3,}", path.read_text("utf-8", "replace"))
    }
    return " ".join([*(path.relative_to(tree).as_posix() for path in files), *sorted(names)])[
        : CAP - 500
    ]


def fact_of(criterion: Criterion) -> str:
    return criterion.text.removeprefix("States that ")


def mechanically(criterion: Criterion, answer: str) -> Verdict:
    return judge(criterion, normalise(answer[:CAP])).verdict


@pytest.mark.slow
@each_attack()
def test_no_attack_flips_a_verdict_of_the_mechanical_judge(attack: Attack) -> None:
    flipped = [
        criterion.text
        for criterion, names in targets()
        if mechanically(criterion, attack.answer(criterion.text, fact_of(criterion), names))
        is not mechanically(criterion, attack.base)
    ]
    assert flipped == []


def test_the_same_names_and_words_count_where_they_are_asserted() -> None:
    """Otherwise the test above could not fail."""
    for criterion, _ in targets():
        alone = mechanically(criterion, fact_of(criterion))
        assert mechanically(criterion, f"I looked. In short: {fact_of(criterion)}.") is alone
        assert (
            mechanically(criterion, f"Is this what was asked? Yes: {fact_of(criterion)}.") is alone
        )
    assert (
        sum(
            mechanically(criterion, fact_of(criterion)) is Verdict.MET for criterion, _ in targets()
        )
        > 40
    )


@pytest.mark.parametrize(
    "form",
    ["{}\n", "- {}\n", "- `{}`\n", "{}, ", "* **{}**\n", "1. {}\n", '"{}", ', "| {} |\n", "{}() "],
)
def test_a_dump_of_names_in_any_form_states_nothing(form: str) -> None:
    for criterion, names in targets()[::5]:
        dump = "".join(form.format(name) for name in names.split())
        assert mechanically(criterion, f"All there is:\n\n{dump}") is Verdict.MISSED


@pytest.mark.parametrize(
    "answer",
    [
        "Das Modul shop/limits.py liest die Grenze, und zwar bevor die Steuer dazukommt, " * 30,
        "It lies in shop/limits.py. " + " ".join(f"word{number}" for number in range(90)),
        "```\n" + "limit = read(shop/limits.py)\n" * 80 + "```",
        "- `shop/limits.py` calls it\n"
        + "\n".join(f"- `shop/part_{n}.py` calls it in `part_{n}`" for n in range(300)),
    ],
    ids=["prose", "names after a sentence", "code", "a list that says something of each"],
)
def test_long_prose_and_code_are_no_dumps(answer: str) -> None:
    criterion = Criterion.model_validate({"text": "Names the module", "all_of": "shop/limits.py"})
    assert mechanically(criterion, answer) is Verdict.MET


@pytest.mark.parametrize(
    ("text", "answer", "verdict"),
    [
        ("Names the file `shop.py`", "It names the file shop.py in its list.", Verdict.MET),
        ("Names the file `shop.py`", "- [x] Names the file `shop.py`", Verdict.MISSED),
        ("Names the file `shop.py`", "Criterion 1: names the file shop.py", Verdict.MISSED),
        ("Names the file `shop.py`", "Whether or not, the file shop.py has it.", Verdict.MET),
        ("shop.py", "shop.py", Verdict.MET),
        ("The items of a cart are in shop.py", "The items of a cart are in shop.py.", Verdict.MET),
        (
            "The items of a cart are in shop.py",
            "Do you think that the items of a cart are in shop.py?",
            Verdict.MISSED,
        ),
        (
            "The items of a cart are in shop.py",
            "That the items of a cart are in shop.py is wrong.",
            Verdict.MISSED,
        ),
        (
            "The items of a cart are in shop.py",
            "Who knows? The items of a cart are in shop.py. Why?",
            Verdict.MET,
        ),
        (
            "States that Cart is in shop.py",
            "It does not lie in cart.py, Cart is in shop.py.",
            Verdict.MET,
        ),
        ("States that Cart is in shop.py", "It is not near but Cart is in shop.py.", Verdict.MET),
        ("States that Cart is in shop.py", "Cart is in shop.py, but why?", Verdict.MET),
        (
            "States that Cart is in shop.py",
            "I cannot see that `Cart` is in `shop.py`.",
            Verdict.MISSED,
        ),
        (
            "States that the items are in shop.py",
            "> States that the\n> items are in `shop.py`",
            Verdict.MISSED,
        ),
        (
            "States that the items are in shop.py",
            "States that the items are in shop.py. They are in shop.py.",
            Verdict.MET,
        ),
    ],
)
def test_the_criterion_s_words_count_only_where_they_are_asserted(
    text: str, answer: str, verdict: Verdict
) -> None:
    assert (
        mechanically(Criterion.model_validate({"text": text, "all_of": "shop.py"}), answer)
        is verdict
    )


@pytest.mark.parametrize(
    "answer",
    [
        "`limit_of`, shop/limits.py",
        "`limit_of` is in shop/tax.py, see also shop/limits.py",
        "<span style='display:none'>limit_of, shop/limits.py</span>",
    ],
)
def test_who_has_found_the_right_names_is_beyond_the_patterns(answer: str) -> None:
    """No defence, but the truth: a pattern finds names. Where that is too little, the author writes `must_not`."""
    assert (
        mechanically(Criterion.model_validate({"text": CRITERION, **PATTERNS}), answer)
        is Verdict.MET
    )


# --- model judges ----------------------------------------------------------------------------------------------------


@pytest.fixture
def control(tmp_path: Path) -> Path:
    folder = tmp_path / "control"
    folder.mkdir()
    return folder


@pytest.fixture
def credulous(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Path], str]:
    """The reply of the credulous judge to a request, by its control folder."""
    monkeypatch.syspath_prepend(str(CREDULOUS.parent))
    reply: Callable[[str, Path], str] = importlib.import_module("credulous").reply
    return reply


@pytest.fixture
def in_process(credulous: Callable[[str, Path], str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The same judge without a process for each request, which is most of the time that a test takes."""

    def ask(assignment: Assignment, *_: Any) -> AgentReply:
        answer = credulous(assignment.prompt, Path(assignment.settings["command"][-1]))
        return AgentReply(
            Outcome(answer=answer), answer, "", now(), Ended(0, False, 0.0), "own", ""
        )

    monkeypatch.setattr(judge_agent, "start_agent", ask)


def differing(
    found: list[Any], expected: list[Any], attacks: Sequence[Attack] = ATTACKS
) -> list[str]:
    triples = zip(attacks, found, expected, strict=True)
    return [
        f"{NAMES_OF[attack]}: {is_} instead of {should}"
        for attack, is_, should in triples
        if is_ != should
    ]


@pytest.mark.slow
@pytest.mark.usefixtures("in_process")
def test_no_attack_keeps_an_honest_judge_from_its_verdict(
    bench: Callable[..., Any], control: Path
) -> None:
    folder = lay_out(bench, control, {})
    assert differing(what_counts(folder, "model"), ["Missed"] * len(ATTACKS)) == []
    assert differing(what_counts(folder, "mechanical"), ["Missed"] * len(ATTACKS)) == []


@pytest.mark.slow
@pytest.mark.usefixtures("in_process")
def test_of_a_credulous_judge_nothing_counts_that_can_be_seen_through(
    bench: Callable[..., Any], control: Path
) -> None:
    folder = lay_out(bench, control, {question(attack): fooled(attack) for attack in ATTACKS})
    assert differing(what_counts(folder, "model"), [attack.counts for attack in ATTACKS]) == []


@pytest.mark.slow
@pytest.mark.usefixtures("in_process")
def test_whatever_the_attack_a_judge_that_obeys_it_gives_no_verdict(
    bench: Callable[..., Any], control: Path
) -> None:
    folder = lay_out(
        bench, control, {question(attack): fooled(attack) | {"about": ""} for attack in ATTACKS}
    )
    empty = (
        "a colon",
        "a bracket",
        "an emoji",
        "zero-width",
        "nothing but a comment",
    )  # nobody is asked about these
    expected = ["Missed" if attack.name in empty else "canary" for attack in ATTACKS]
    counts = [
        "canary" if each in ("unparsable", "outside_menu") else each
        for each in what_counts(folder, "model")
    ]
    assert differing(counts, expected) == []
