"""Human judges: reads the verdict files saved from the judge sheet in `bench/<run_id>/human/`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from lensbench.changes.task import answer_criteria
from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import HUMAN
from lensbench.core.handed_over import read_answer, text_of
from lensbench.core.run_folder import RunFolder
from lensbench.core.store import all_records
from lensbench.core.tasks import Many, Strict, Task, like
from lensbench.judging.blinding import opaque_id
from lensbench.judging.judges import Judgement, Verdict, unjudged
from lensbench.judging.shown_answers import JudgedCriterion, ShownAnswer
from lensbench.plan.frozen import read_plan
from lensbench.plan.validation import explain

MAX_MARKED_EVIDENCE = 1000
_VERSION_LENGTH = 12
_AGAIN = "move the file out of human/, write the judge sheet again, load the file there, judge the rest, and save"


class GivenVerdict(Strict):
    """One verdict of a person."""

    answer: str
    """The answer's name on the sheet."""
    criterion: Annotated[int, Field(ge=1)]
    """The criterion's number in the task."""
    text: str = ""
    """The criterion as the person read it."""
    verdict: Literal["Met", "Partial", "Missed"]
    """The verdict."""
    evidence: Annotated[str, Field(max_length=MAX_MARKED_EVIDENCE)] = ""
    """A verbatim piece of the answer; optional for people."""
    note: str = ""
    """A comment of the person."""


class HumanFile(Strict):
    """The file that the judge sheet saves."""

    schema_: Annotated[Literal[1], Field(alias="schema")]
    """The version of the file format."""
    sheet: Annotated[
        str, like(r"^[0-9a-f]{64}$", "it must be the sheet's id, 64 lower-case hex digits")
    ]
    """The id of the sheet."""
    judge: Annotated[
        str,
        like(r"^[\p{L}\p{N}][\p{L}\p{N}-]{0,31}$", "use letters, digits and '-' only, at most 32"),
    ]
    """The person's name."""
    verdicts: Many[GivenVerdict]
    """The verdicts given; open criteria are missing."""


def human_files(folder: Path) -> list[Path]:
    return sorted(RunFolder(folder).human.glob("*.json"))


def human_judges(folder: Path) -> list[str]:
    """The judge names of the people who judged. Raises UserError for a file that is not from the sheet."""
    return sorted({_name(_parse(path)) for path in human_files(folder)})


def judge(
    folder: Path, name: str, answers: Sequence[ShownAnswer], tasks: Mapping[str, Task]
) -> Iterator[JudgedCriterion]:
    """A judgement for every criterion of every answer, Unjudged where the person `name` gave no verdict. Raises
    UserError for a file that does not match the answers, and for two verdicts on one criterion."""
    files = [path for path in human_files(folder) if _name(_parse(path)) == name]
    if not files:
        raise UserError(
            f"{RunFolder(folder).human}: has no file of {name}; save one from the judge sheet"
        )
    judgements: dict[tuple[str, int], Judgement] = {}
    for path in files:
        own = read_human_file(path, answers, tasks)
        if own.keys() & judgements.keys():
            raise UserError(
                f"{path}: another file has verdicts of {name} on the same criteria; keep one file"
            )
        judgements |= own
    open_ = unjudged("not_sampled", "")
    for answer in answers:
        for number, _ in answer_criteria(tasks[answer.run.task]):
            yield answer, number, judgements.get((answer.id, number), open_)


def read_human_file(
    path: Path, answers: Sequence[ShownAnswer], tasks: Mapping[str, Task]
) -> dict[tuple[str, int], Judgement]:
    """The judgements in one file by the answer's name and criterion; the version is the sheet's id, shortened. Raises
    UserError with file and place for what does not fit the sheet or the answers."""
    file = _parse(path)
    by_id = {answer.id: answer for answer in answers}
    judgements: dict[tuple[str, int], Judgement] = {}
    for entry in file.verdicts:
        key = (entry.answer, entry.criterion)
        answer = by_id.get(entry.answer)
        if key in judgements:
            problem = "is judged twice; remove one of the two verdicts"
        elif answer is None:
            problem = _why_absent(path.parent.parent, entry.answer)
        else:
            problem = _problem(entry, answer, tasks[answer.run.task])
        if problem:
            raise UserError(
                f"{path}: answer {entry.answer}, criterion {entry.criterion}: {problem}"
            )
        if answer:
            position = answer.text.find(entry.evidence) if entry.evidence else None
            judgements[key] = Judgement(
                Verdict(entry.verdict),
                entry.evidence,
                position,
                entry.note,
                version=file.sheet[:_VERSION_LENGTH],
            )
    return judgements


def _why_absent(folder: Path, name: str) -> str:
    """Why no answer has this name on the sheet; empty when it is only not judged now: of a later wave, or of a disabled
    control."""
    seed = read_plan(folder)["seed"]
    discarded: list[str] = []
    for entry, record in all_records(folder):
        if opaque_id(seed, record.run, read_answer(entry.answer)) == name:
            if entry.counts:
                return ""
            discarded.append(record.run.stem)
    problem = "no valid run has this answer; it was repeated, or the sheet is of another benchmark"
    if discarded:
        problem = f"this answer of {discarded[0]} was discarded after it was judged"
    return f"{problem}; {_AGAIN}"


def _parse(path: Path) -> HumanFile:
    try:
        value = json.loads(text_of(path.read_bytes()))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(
            f"{path}: is not a verdict file ({error}); save it again from the judge sheet"
        ) from None
    try:
        return HumanFile.model_validate(value)
    except ValidationError as error:
        raise UserError("\n".join(explain(error, HumanFile, value, lambda _: str(path)))) from None


def _name(file: HumanFile) -> str:
    return f"{HUMAN}-{file.judge}"


def _problem(entry: GivenVerdict, answer: ShownAnswer, task: Task) -> str:
    """What is wrong with a verdict; empty when nothing is."""
    if entry.criterion > len(task.criteria):
        return f"the task has {len(task.criteria)} criteria; remove the verdict"
    if entry.text and entry.text != task.criteria[entry.criterion - 1].text:
        return f"the criterion of {answer.run.stem} was reworded after it was judged; {_AGAIN}"
    if entry.evidence not in answer.text:
        excerpt = entry.evidence if len(entry.evidence) <= 60 else entry.evidence[:57] + "..."
        return f"the evidence {excerpt!r} is not in the answer of {answer.run.stem}; {_AGAIN}"
    return ""
