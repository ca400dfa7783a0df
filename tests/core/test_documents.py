import pytest
from hypothesis import given
from hypothesis import strategies as st

from lensbench.core.system.yaml_places import (
    MAX_YAML_BYTES,
    Document,
    DocumentError,
    parse_document,
)

BOMB = b"a: &a [x,x]\n" + b"".join(
    b"%c: &%c [*%c,*%c]\n" % (c, c, c - 1, c - 1) for c in range(ord("b"), ord("k"))
)


@pytest.mark.parametrize(
    ("source", "line", "words"),
    [
        (b"a: 1\nb: &x 2\n", 2, "anchor or alias"),
        (b"a: 1\nb: *x\n", 2, "anchor or alias"),
        (BOMB, 1, "anchor or alias"),
        (b"a:\n  <<: {b: 1}\n", 2, "merge key"),
        (b"[" * 3000, 1, "deeper than 24"),
        (b"{a: " * 3000, 1, "deeper than 24"),
        (b"".join(b"%s- \n" % (b" " * depth) for depth in range(40)), 25, "deeper than 24"),
        (b"a: 1\nb: 2\na: 3\n", 3, "'a' twice"),
        (b"x:\n  a: 1\n  a: 3\n", 3, "'a' twice"),
        (b"a: 1\n5: x\n", 2, "put it in quotes"),
        (b"true: x\n", 1, "not text"),
        (b"? [a, b]\n: x\n", 1, "a list or mapping"),
        (b"a: 1\nb: \xff\xfe\n", 2, "not UTF-8"),
        (b"a: b\n\tc: d\n", 2, "not valid YAML"),
        (b"a: [1, 2\nb: 3\n", 2, "not valid YAML"),
        (b"a: 'open\n", 2, "not valid YAML"),
        (b"a: 1\n---\nb: 2\n", 2, "not valid YAML"),
        (b"a: !!python/object/apply:os.system [ls]\n", 1, "tag"),
        (b"a: !!int ''\n", 1, "tag"),
        (b"a: !!timestamp x\n", 1, "tag"),
        (b"a: !mine x\n", 1, "tag"),
        (b"a: 2024-13-45\n", 1, "not valid YAML"),
        (b'a: "\\ud800"\n', 1, "not valid YAML"),
        (b"a: \x00\n", 1, "not valid YAML"),
        (b"x" * (MAX_YAML_BYTES + 1), 1, "at most"),
    ],
)
def test_what_cannot_be_read_safely_is_an_error_with_its_line(
    source: bytes, line: int, words: str
) -> None:
    with pytest.raises(DocumentError, match=words) as caught:
        parse_document(source)
    assert caught.value.line == line


@pytest.mark.parametrize("source", [b"", b"\n\n", b"# only a comment\n", b"\xef\xbb\xbf", b"---\n"])
def test_an_empty_file_is_an_empty_value(source: bytes) -> None:
    assert parse_document(source).value is None
    assert parse_document(source).line(("tasks",)) >= 1


def test_every_key_and_item_knows_its_line() -> None:
    document = parse_document(b"a: 1\nb:\n  - x\n  - c: 2\n    d: 3\n")
    assert {path: document.line(path) for path in [("a",), ("b", 0), ("b", 1, "d")]} == {
        ("a",): 1,
        ("b", 0): 3,
        ("b", 1, "d"): 5,
    }
    assert (document.line(("b", 1, "unknown")), document.line(("unknown",))) == (4, 1)
    assert document.at(("b", 1, "d")) == 3


@given(
    st.one_of(
        st.binary(max_size=60), st.text("ab:-[]{}&*!|>'\"?#% \n\t0,<", max_size=60).map(str.encode)
    )
)
def test_any_bytes_give_a_value_or_a_document_error(source: bytes) -> None:
    try:
        assert isinstance(parse_document(source), Document)
    except DocumentError as error:
        assert error.line >= 1  # noqa: PT017
