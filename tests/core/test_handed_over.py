"""Texts of people: by their byte order mark, else strictly in UTF-8."""

import codecs
from pathlib import Path

import pytest

from lensbench.core.conditions import read_jsonc
from lensbench.core.errors import UserError
from lensbench.core.handed_over import decoded, read_answer, read_handed_over
from lensbench.core.records import MAX_ANSWER
from lensbench.core.system.yaml_places import parse_document

TEXT = '{"name": "caf\u00e9 \u51fd\u6570"}'
WRITTEN = {
    "UTF-8": TEXT.encode(),
    "UTF-8 with a mark": codecs.BOM_UTF8 + TEXT.encode(),
    "UTF-16 LE": codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"),
    "UTF-16 BE": codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"),
    "UTF-32 LE": codecs.BOM_UTF32_LE + TEXT.encode("utf-32-le"),
    "UTF-32 BE": codecs.BOM_UTF32_BE + TEXT.encode("utf-32-be"),
}


@pytest.mark.parametrize("encoding", WRITTEN)
def test_every_encoding_with_a_mark_is_read(encoding: str) -> None:
    content = WRITTEN[encoding]
    assert decoded(content) == TEXT
    assert (
        read_jsonc(content) == parse_document(content).value == {"name": "caf\u00e9 \u51fd\u6570"}
    )


@pytest.mark.parametrize("content", ["caf\u00e9".encode("latin-1"), codecs.BOM_UTF16_LE + b"odd"])
def test_what_is_no_text_is_refused_by_name(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "answer.md").write_bytes(content)
    with pytest.raises(UserError, match=r"answer\.md: byte \d+ is no UTF-8"):
        read_handed_over(tmp_path / "answer.md")


@pytest.mark.parametrize("encoding", WRITTEN)
def test_a_stored_answer_is_scored_as_it_was_written_with_plain_line_ends(
    encoding: str, tmp_path: Path
) -> None:
    (tmp_path / "answer.md").write_bytes(WRITTEN[encoding])
    assert read_answer(tmp_path / "answer.md") == TEXT
    (tmp_path / "answer.md").write_bytes(b"a\r\nb\rc\n")
    assert read_answer(tmp_path / "answer.md") == "a\nb\nc\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("shift", range(4))
def test_of_a_longer_answer_in_a_store_of_before_only_the_bound_is_read_up_to_a_whole_character(
    encoding: str, shift: int, tmp_path: Path
) -> None:
    text = "a" * shift + "\u51fd" * MAX_ANSWER
    (tmp_path / "answer.md").write_bytes(text.encode(encoding))
    read = read_answer(tmp_path / "answer.md")
    assert text.startswith(read)
    assert MAX_ANSWER - 8 < len(read.encode(encoding)) <= MAX_ANSWER + 4
    odd = ("a" * shift + "\udcff" + "b" * MAX_ANSWER).encode("utf-8", "surrogateescape")
    (tmp_path / "answer.md").write_bytes(odd)
    with pytest.raises(UserError, match=f"byte {shift} is no UTF-8"):
        read_answer(tmp_path / "answer.md")


def test_an_answer_that_is_a_sparse_file_without_end_is_read_up_to_the_bound(
    tmp_path: Path,
) -> None:
    with (tmp_path / "answer.md").open("wb") as file:
        file.truncate(64_000_000_000)
    assert read_answer(tmp_path / "answer.md") == "\0" * MAX_ANSWER


def test_an_answer_with_a_damaged_character_is_refused_and_not_scored_with_another(
    tmp_path: Path,
) -> None:
    (tmp_path / "answer.md").write_bytes(b"in a.py:3 \xff\n")
    with pytest.raises(UserError, match="byte 10 is no UTF-8"):
        read_answer(tmp_path / "answer.md")
