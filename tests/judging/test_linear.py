"""Foreign text is read in linear time: twice as much of it takes about twice as long, whatever it repeats."""

import time
from collections.abc import Callable

import pytest

from lensbench.core.tasks import Criterion
from lensbench.judging.judges.fact_pieces import cut, words
from lensbench.judging.judges.mechanical import judge
from lensbench.judging.judges.normalising import normalise

pytestmark = pytest.mark.slow

HALF = 100_000
CRITERION = Criterion.model_validate(
    {
        "text": "States that limit_of is in a/b.py",
        "all_of": ["limit_of", "a/b.py"],
        "must_not": "x",
        "no_other": True,
    }
)
READERS: dict[str, Callable[[str], object]] = {
    "pieces": cut,
    "words": words,
    "patterns": lambda text: judge(CRITERION, normalise(text)),
}
PIECES = (
    "a",
    "a-",
    "a/",
    "a.",
    "1,000",
    "`",
    "~~a ",
    "(like ",
    "@",
    "?",
    "limit_of a/b.py not ",
    "if ",
    "\n",
    "I ",
    "1. ",
    "--a ",
    "a_b ",
    "States that ",
    "States that limit_of is in a/b.py ",
    "not limit_of is in a/b.py ",
)


def seconds(read: Callable[[str], object], text: str) -> float:
    started = time.process_time()
    read(text)
    return time.process_time() - started


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("reader", READERS)
def test_twice_the_text_takes_about_twice_the_time(reader: str, piece: str) -> None:
    text = piece * (HALF // len(piece))
    read = READERS[reader]
    assert seconds(read, text * 2 + "!") < 3.2 * seconds(read, text + "!") + 0.12
