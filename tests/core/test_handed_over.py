"""Texts of people: by their byte order mark, else strictly in UTF-8."""

import codecs
from pathlib import Path

import pytest

from lensbench.core.conditions import read_jsonc
from lensbench.core.errors import UserError
from lensbench.core.handed_over import decoded, read_answer, read_handed_over
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


def test_an_answer_with_a_damaged_character_is_refused_and_not_scored_with_another(
    tmp_path: Path,
) -> None:
    (tmp_path / "answer.md").write_bytes(b"in a.py:3 \xff\n")
    with pytest.raises(UserError, match="byte 10 is no UTF-8"):
        read_answer(tmp_path / "answer.md")
