import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lensbench.core.records import (
    Attempt,
    Call,
    Outcome,
    Record,
    RunId,
    cut_answer,
    from_json,
    run_of_stem,
    sha256,
    to_json,
)
from lensbench.core.store import run_files, view_of

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
counts = st.integers(0, 10**6)
times = st.floats(0, 10**6)


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


def tuples(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(strategy, max_size=3).map(tuple)


outcomes = st.builds(
    Outcome,
    answer=st.just(""),
    finished=st.booleans(),
    error=names,
    error_status=maybe(counts),
    agent_version=maybe(names),
    models=maybe(tuples(names)),
    servers=maybe(st.dictionaries(names, names, max_size=2)),
    tools_offered=maybe(tuples(names)),
    calls=maybe(tuples(st.builds(Call, names, counts, counts))),
    files_read=maybe(tuples(names)),
    tokens=maybe(st.dictionaries(names, counts, max_size=2)),
    cost_usd=maybe(times),
    turns=maybe(counts),
    server_faults=st.dictionaries(names, names, max_size=2),
)
attempts = st.builds(
    Attempt, counts, names, times, times, maybe(counts), st.booleans(), names, names
)
records = st.builds(
    Record,
    names,
    names,
    counts,
    names,
    attempts,
    outcomes,
    names,
    counts,
    names,
    names,
    names,
    names,
    names,
    names,
    maybe(st.dictionaries(names, counts, max_size=2)),
    names,
    names,
    names,
)
EXAMPLE = Record(
    "a", "with", 1, "run", Attempt(1, "2026", 1.0, 0.0, 0, False), Outcome(calls=(Call("Read", 2),))
)


@given(records)
def test_a_record_survives_its_file(record: Record) -> None:
    assert (from_json(to_json(record)), to_json(from_json(to_json(record)))) == (
        record,
        to_json(record),
    )


def test_the_answer_is_not_in_the_record() -> None:
    assert "answer" not in json.loads(to_json(EXAMPLE))["outcome"]


def signed(value: dict[str, Any]) -> str:
    """A record's text with a checksum that fits, so that it is refused for what it says."""
    text = json.dumps({**value, "checksum": ""})
    return text.replace('"checksum": ""', f'"checksum": "{sha256(text.encode())}"', 1)


def without(key: str) -> str:
    return signed(
        {name: value for name, value in json.loads(to_json(EXAMPLE)).items() if name != key}
    )


def changed(**changes: Any) -> str:
    return signed(json.loads(to_json(EXAMPLE)) | changes)


def test_a_record_of_another_schema_or_changed_without_its_checksum_is_refused_by_name() -> None:
    assert from_json(changed()) == EXAMPLE
    with pytest.raises(ValueError, match="has schema 99; this version reads"):
        from_json(changed(schema=99))
    with pytest.raises(ValueError, match="was changed: its checksum does not match"):
        from_json(to_json(EXAMPLE).replace('"Read"', '"Grep"'))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[]",
        "5",
        '"x"',
        "{}",
        "[" * 100_000,
        to_json(EXAMPLE)[:-40],
        without("schema"),
        without("outcome"),
        without("attempt"),
        without("task"),
        changed(schema=99),
        changed(outcome=None),
        changed(outcome=[]),
        changed(outcome={"calls": 5}),
        changed(attempt=5),
        changed(attempt=[5]),
        changed(attempt={"x": 1}),
        changed(unknown=1),
        changed(outcome={"calls": [1]}),
    ],
)
def test_a_damaged_record_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        from_json(text)


@given(
    st.text(max_size=40)
    | st.recursive(
        st.none() | st.integers() | names,
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(["schema", "outcome", "attempt", "task", "calls"]), inner
            )
        ),
        max_leaves=8,
    ).map(json.dumps)
)
def test_any_text_is_a_record_or_a_value_error(text: str) -> None:
    try:  # noqa: SIM105
        assert isinstance(from_json(text), Record)
    except ValueError:
        pass


@pytest.mark.parametrize(
    ("run", "stem"),
    [
        (RunId("click-exp-01", "with"), "click-exp-01-with"),
        (RunId("click-exp-01", "without", 2), "t2/click-exp-01-without"),
        (RunId("a", "with_more", 12), "t12/a-with_more"),
    ],
)
def test_a_run_has_the_name_of_the_protocol_and_is_found_by_it(run: RunId, stem: str) -> None:
    assert run.stem == stem
    assert run_of_stem(stem) == run
    assert view_of(Path("b"), run).as_posix() == f"b/runs/{stem}.md"
    assert run_files(Path("b"), run).answer.as_posix() == f"b/attempts/{stem}/1/answer.md"


def test_an_answer_is_cut_between_characters_and_a_short_one_stays_as_it_is() -> None:
    assert cut_answer(b"\xff" * 10) == b"\xff" * 10
    cut = cut_answer(b"x" + "ü".encode() * 600_000)
    assert len(cut) == 999_999
    assert cut.decode().endswith("ü")
