"""Repeats scores that others gave (`lensbench verdict`): the stored answer of such a run begins with `Score: 0.85`."""

from __future__ import annotations

import re
from fractions import Fraction

from lensbench.core.numbers import decimal
from lensbench.judging.judges import POINTS, Judgement, Verdict, unjudged

_LINE = re.compile(r"Score: (1|0(?:\.[0-9]{1,6})?)\n")


def answer(score: Fraction, calls: Fraction | None) -> bytes:
    """The stored answer of a run with this score, a share of 1, and this number of tool calls, if known."""
    report = "" if calls is None else f"\n## Report\n\n- **Tool calls**: {calls}\n"
    return f"Score: {decimal(score)}\n{report}".encode()


def judge(text: str) -> Judgement:
    """The score in an answer that `answer` wrote, as a share of the only criterion."""
    line = _LINE.match(text)
    if line is None:
        return unjudged("unparsable", "the answer is no score from elsewhere")
    share = Fraction(line[1])
    named = {points: verdict for verdict, points in POINTS.items()}
    return Judgement(
        named.get(share, Verdict.PARTIAL), line[1], line.start(1), "as given", share=share
    )
