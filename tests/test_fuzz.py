"""Replays the bytes that the fuzzer found, and those that it begins with."""

from pathlib import Path

import pytest

from fuzz_targets import TARGETS

pytestmark = pytest.mark.fuzz
CORPUS = Path(__file__).parent / "fuzz"
INPUTS = sorted(path.relative_to(CORPUS).as_posix() for path in CORPUS.glob("*/*"))


@pytest.mark.parametrize("name", INPUTS)
def test_whatever_bytes_come_the_result_is_what_was_promised(name: str) -> None:
    TARGETS[name.partition("/")[0]]((CORPUS / name).read_bytes())


def test_every_target_has_a_corpus() -> None:
    assert {name.partition("/")[0] for name in INPUTS} == set(TARGETS)
