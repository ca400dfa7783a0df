"""Names are found beside text of every script, and no name is found inside a longer one."""

import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from lensbench.core.tasks import Criterion, Pattern, Task
from lensbench.judging.judges import Verdict
from lensbench.judging.judges.mechanical import judge
from lensbench.judging.judges.normalising import normalise
from lensbench.plan.task_files import read_scenarios

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks" / "inputs"))

from labelled import say  # noqa: E402

DATA = yaml.safe_load((Path(__file__).parent / "neighbours.yaml").read_text(encoding="utf-8"))
FRAMES = [frame for frames in DATA["frames"].values() for frame in frames]
SETS = [
    "scenarios/standard.yaml",
    "scenarios/demo.yaml",
    "examples/ci/tasks.yaml",
    "examples/own-server/tasks.yaml",
]
SENTENCES = DATA["sentences"]


def states(name: str, answer: str) -> bool:
    criterion = Criterion(text="a fact", all_of=(name,))
    return judge(criterion, normalise(answer)).verdict is Verdict.MET


@pytest.mark.parametrize("name", DATA["names"])
@pytest.mark.parametrize("frame", FRAMES)
def test_a_name_is_found_beside_letters_of_every_script(name: str, frame: str) -> None:
    assert states(name, frame.replace("NAME", name))


@pytest.mark.parametrize(("name", "answer"), DATA["wide"])
def test_full_width_spellings_state_the_name(name: str, answer: str) -> None:
    assert states(name, answer)


@pytest.mark.parametrize("name", ["parse_args", "cart.py", "src/cart.py", "40", "TotalPrice"])
@pytest.mark.parametrize("longer", DATA["longer"])
def test_a_name_inside_a_longer_one_is_not_found(name: str, longer: str) -> None:
    found = [
        frame
        for frame in FRAMES
        if states(name, frame.replace("NAME", longer.replace("NAME", name)))
    ]
    assert found == []


@pytest.mark.parametrize(("name", "answer"), DATA["numbers"])
def test_a_part_of_another_number_is_not_found(name: str, answer: str) -> None:
    assert not states(name, answer)


def patterns(criterion: Criterion) -> Iterator[Pattern]:
    """Patterns that suffice for Met."""
    yield from criterion.all_of
    yield from criterion.any_of[:1]
    if criterion.at_least:
        yield from criterion.at_least.of[: criterion.at_least.n]


def mechanical_criteria(path: str) -> Iterator[tuple[Task, Criterion]]:
    for task in read_scenarios([str(ROOT / path)]).tasks:
        yield from ((task, criterion) for criterion in task.criteria if criterion.mechanical)


@pytest.mark.parametrize("language", SENTENCES)
@pytest.mark.parametrize("path", SETS)
def test_every_shipped_criterion_is_met_by_its_own_patterns(path: str, language: str) -> None:
    begin, join, end = SENTENCES[language]
    missed = []
    for task, criterion in mechanical_criteria(path):
        said = [say(pattern, random.Random(0)) for pattern in patterns(criterion)]
        verdict = judge(criterion, normalise(begin + join.join(said) + end))
        if verdict.verdict is not Verdict.MET:
            missed.append((task.id, criterion.text, said, verdict.reason))
    assert missed == []
