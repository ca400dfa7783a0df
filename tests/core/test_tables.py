from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lensbench.core.errors import UserError
from lensbench.core.tables import items, read_table, write_table

cells = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), max_size=20)
rows = st.lists(st.fixed_dictionaries({"a": cells, "b": cells, "c": cells}), max_size=5)


@given(rows)
def test_any_text_survives_a_table(table: list[dict[str, str]]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "t.csv")
        write_table(path, ("a", "b", "c"), table)
        assert read_table(path) == table


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (None, ""),
        (True, "yes"),
        (False, "no"),
        (0, "0"),
        ([], "none"),
        (["x"], "x"),
        (["a;b", "c"], "a,b;c"),
        ("a\0b", "ab"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("x" * 200_000, "x" * 200_000),
    ],
)
def test_a_value_is_written_in_one_way(tmp_path: Path, value: Any, cell: str) -> None:
    write_table(tmp_path / "t.csv", ("a", "b"), [{"a": value, "b": "x"}])
    assert read_table(tmp_path / "t.csv") == [{"a": cell, "b": "x"}]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\tx", "'x", "=HYPERLINK(...)"])
def test_no_text_is_a_formula_to_a_spreadsheet(tmp_path: Path, text: str) -> None:
    write_table(tmp_path / "t.csv", ("a",), [{"a": text}])
    assert (tmp_path / "t.csv").read_text().splitlines()[1].strip('"').startswith("'")
    assert read_table(tmp_path / "t.csv") == [{"a": text}]


def test_an_empty_list_is_not_a_missing_one() -> None:
    assert items("") is None
    assert (items("none"), items("a;b")) == ([], ["a", "b"])


@pytest.mark.parametrize("content", [b"a,b\n1\n", b"a,b\n1,2,3\n", b"a,b\n\xff,2\n", None])
def test_a_damaged_table_is_a_clear_error(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(UserError, match=r"t\.csv: .*rebuilds it"):
        read_table(tmp_path / "t.csv")


@given(st.one_of(st.binary(max_size=60), st.text("a,\"\n\r';= ", max_size=60).map(str.encode)))
def test_any_bytes_give_rows_or_a_user_error(content: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "t.csv")
        path.write_bytes(content)
        try:  # noqa: SIM105
            assert all(isinstance(value, str) for row in read_table(path) for value in row.values())
        except UserError:
            pass


def test_the_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("1", "2"):
        write_table(tmp_path / name, ("a", "b"), [{"b": ["x", "y"], "a": None}])
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes() == b"a,b\n,x;y\n"
