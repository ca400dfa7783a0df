"""Draft patterns: what a machine proposes for criteria that come as prose, until a person accepts or edits it.

    lensbench draft scenarios.md --output drafted.yaml

A criterion is cut into pieces that an answer can be searched for (`pieces`), and these are put together by three rules
(`rules`). A draft sees no negation and infers nothing; where there is no piece, there is no draft.
"""

from __future__ import annotations

from lensbench.core.tasks import Criterion, Task
from lensbench.judging.drafting.pieces import cut, without_examples
from lensbench.judging.drafting.rules import stated, what_is_named, what_is_valued
from lensbench.judging.judges.mechanical import find
from lensbench.judging.judges.normalising import normalise

MAX_TEXT = 2000
"""Characters; cutting takes time in proportion to the square of the text."""


def with_drafts(task: Task) -> Task:
    """The task with draft patterns for each criterion that has none, as far as there is something to hold on to."""
    return task.model_copy(update={"criteria": tuple(draft(criterion, task.prompt) for criterion in task.criteria)})


def draft(criterion: Criterion, prompt: str = "") -> Criterion:
    """The criterion with patterns from its text, marked `drafted`.

    It is returned as it is when it has patterns, is longer than a fact can be, or has nothing that could be searched
    for. A name that `prompt` states is no evidence, since every answer may repeat it.
    """
    if criterion.mechanical or len(criterion.text) > MAX_TEXT:
        return criterion
    text = without_examples(criterion.text)
    pieces = cut(text)
    question = normalise(prompt)
    news = [piece for piece in pieces if piece.kind == "number" or not find(stated(piece), question)]
    patterns = what_is_valued(text, pieces) or what_is_named(text, news)
    if not patterns or all(find(pattern, question) for pattern in patterns["all_of"]):
        return criterion
    return Criterion.model_validate({"text": criterion.text, **patterns, "drafted": True})
