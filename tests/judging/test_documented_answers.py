"""The answers that docs/scenarios.md shows with their verdicts have these verdicts."""

import re

from lensbench.core.system.places import ROOT
from lensbench.core.tasks import Criterion
from lensbench.judging.judges.mechanical import judge
from lensbench.judging.judges.normalising import normalise

ROW = re.compile(r'^\| "(.+)" \| (Met|Partial|Missed) \|', re.MULTILINE)


def test_the_answers_of_the_page_have_the_verdicts_that_it_names() -> None:
    text = "The default of max_width is 80."
    criterion = Criterion.model_validate({"text": text, "all_of": ["max_width", "80"]})
    shown = ROW.findall((ROOT / "docs" / "scenarios.md").read_text(encoding="utf-8"))
    assert len(shown) == 6
    given = [(answer, judge(criterion, normalise(answer)).verdict.value) for answer, _ in shown]
    assert given == shown
