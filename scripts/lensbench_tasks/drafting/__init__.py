"""Draft patterns: automatic proposals for criteria in prose, until a person accepts or edits them.

    lensbench draft scenarios.md --kind strict --output drafted.yaml

The patterns are the pieces of the criterion's text (`pieces`), or its words if it has none.
"""

from __future__ import annotations

import re

from pydantic import ValidationError

from lensbench.core.tasks import Criterion, DraftKind, Task
from lensbench.judging.judges.fact_pieces import cut, pattern_of, words

FEW = 2
"""A fact with fewer pieces has its words as pieces, too: answers to other questions may have one of them."""


def with_drafts(task: Task, kind: DraftKind) -> Task:
    """The task with draft patterns for each criterion that has none."""
    return task.model_copy(update={"criteria": tuple(draft(criterion, kind) for criterion in task.criteria)})


def draft(criterion: Criterion, kind: DraftKind) -> Criterion:
    """The criterion with patterns from its text, marked as `drafted`; unchanged if it has patterns, or no word.

    Met requires every piece if `strict`; if `lenient`, more than half, and no other piece in place of a missing one.
    Half of them is Partial.
    """
    if criterion.mechanical:
        return criterion
    pieces = [pattern_of(piece) for piece in cut(criterion.text)]
    if len(pieces) < FEW:
        pieces += words(criterion.text) or ([] if pieces else re.findall(r"\w+", criterion.text))
    patterns: dict[str, object] = {"all_of": pieces}
    if kind == "lenient":
        patterns = {"at_least": {"n": len(pieces) // 2 + 1, "of": pieces}, "no_other": True}
    if len(pieces) > 1:
        patterns["partial"] = {"half of it": {"n": -(-len(pieces) // 2), "of": pieces}}
    try:
        return Criterion.model_validate({"text": criterion.text, **patterns, "drafted": kind})
    except ValidationError:
        return criterion
