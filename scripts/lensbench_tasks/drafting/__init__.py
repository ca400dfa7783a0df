"""Draft patterns: automatic proposals for criteria in prose, until a person accepts or edits them.

    lensbench draft scenarios.md --output drafted.yaml

A criterion is split into searchable pieces (`pieces`), which are combined to patterns (`rules`). A draft is rejected
when the criterion's text does not meet it, or when the text with a replaced piece still does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import ValidationError

from lensbench.core.tasks import Criterion, Regex, Task
from lensbench.judging.judges import Verdict
from lensbench.judging.judges.mechanical import find, judge
from lensbench.judging.judges.normalising import normalise
from lensbench.judging.judges.pieces import Piece, cut, stem, stems, without_examples
from lensbench_tasks.drafting.rules import NEGATION, denials, fields, groups, is_alone, negation_near, pattern_of

MAX_TEXT = 2000
"""The maximum number of characters; splitting takes quadratic time."""


def with_drafts(task: Task) -> Task:
    """The task with draft patterns for each criterion that has none, where a draft is possible."""
    return task.model_copy(update={"criteria": tuple(draft(criterion, task.prompt) for criterion in task.criteria)})


def draft(criterion: Criterion, prompt: str = "") -> Criterion:
    """The criterion with patterns from its text, marked `drafted`.

    It is returned unchanged when it has patterns, is too long, has no searchable piece, or when its draft would not
    distinguish the fact from others. Pieces in `prompt` are no evidence, since every answer may repeat them.
    """
    if criterion.mechanical or len(criterion.text) > MAX_TEXT:
        return criterion
    text = without_examples(criterion.text)
    pieces = cut(text)
    question = normalise(prompt)
    asked = {stem(word) for word in question.text.lower().split()}
    unsaid = (word for word in stems(text, pieces) if word not in asked)
    words = [word for word in unsaid if not find(Regex(regex=rf"(?i)\b{word}"), question)]
    grouped = groups(text, pieces)
    names = sum(group[0].kind not in ("file", "folder") for group in grouped)
    elide = names > 1 or (names == 1 and bool(words))
    hard = []
    for group in grouped:
        pattern = pattern_of(group, text, pieces, elide, strict=False)
        alone = is_alone(group, text) and group[0].kind in ("name", "word", "file")
        if alone and find(pattern, normalise(_without(text, group))):
            # the text states it in another place, too
            pattern = pattern_of(group, text, pieces, elide=False, strict=True)
        if not find(pattern, question):
            hard.append((group, pattern))
    patterns = fields(text, hard, words)
    if not patterns:
        return criterion
    if NEGATION.search(text):
        patterns["all_of"] += (negation_near(text, pieces, words),)
    else:
        patterns["must_not"] = denials(text, pieces)
    try:
        made = Criterion.model_validate({"text": criterion.text, **patterns, "drafted": True})
    except ValidationError:
        return criterion
    if judge(made, question).verdict is Verdict.PARTIAL:
        made = made.model_copy(update={"partial": {}})
    return made if _tells(made, [group for group, _ in hard if is_alone(group, text)], question.text) else criterion


def _tells(made: Criterion, hard: Sequence[Sequence[Piece]], question: str) -> bool:
    """True when the draft matches its own text, but neither the question nor the text with a replaced piece."""
    bare = made.model_copy(update={"text": "-"})

    def met(text: str) -> bool:
        return judge(bare, normalise(text)).verdict is Verdict.MET

    return met(made.text) and not met(question) and not any(met(_without(made.text, group)) for group in hard)


def _without(text: str, group: Sequence[Piece]) -> str:
    """The text with the group's pieces replaced by others of the same kind."""
    others = {"number": "917", "file": "qxzvyk/qxzvyk.py", "folder": "qxzvyk/qxzvyk"}
    for piece in group:
        stated = rf"(?<![\w/.]){re.escape(piece.text)}(?!\w)"
        text = re.sub(stated, others.get(piece.kind, "Qxzvyk"), text)
    return text
