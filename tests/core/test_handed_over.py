"""Texts of people: by their byte order mark, else strictly in UTF-8."""

import codecs
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from lensbench.changes.task import Content, content_bytes, inline_files
from lensbench.core.conditions import read_jsonc
from lensbench.core.errors import UserError
from lensbench.core.handed_over import decoded, read_answer, read_handed_over
from lensbench.core.records import MAX_ANSWER
from lensbench.core.system.yaml_places import parse_document
from lensbench.plan.config import ModelJudge
from lensbench.plan.freeze import planned_judge
from lensbench.plan.reading import read_file

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


@pytest.mark.parametrize(
    "content",
    [
        "caf\u00e9".encode("latin-1"),
        codecs.BOM_UTF16_LE + b"odd",
        "in a.py".encode("utf-16-le"),
        "in a.py".encode("utf-16-be"),
        b"in a.py\0",
        "in a.py\0".encode("utf-16"),
    ],
)
def test_what_is_no_text_is_refused_by_name(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "answer.md").write_bytes(content)
    with pytest.raises(UserError, match=r"answer\.md: byte \d+ is no text in UTF-8"):
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
    with pytest.raises(UserError, match=f"byte {shift} is no text in UTF-8"):
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
    with pytest.raises(UserError, match="byte 10 is no text in UTF-8"):
        read_answer(tmp_path / "answer.md")


PATCH = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+caf\u00e9\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_a_reference_is_read_by_its_mark_and_the_bytes_of_all_other_files_are_kept(
    encoding: str, tmp_path: Path
) -> None:
    content = PATCH.encode(encoding)
    for name in ("fix.patch", "test_a.py"):
        (tmp_path / name).write_bytes(content)
    task = {
        "kind": "change",
        "reference": {"file": "fix.patch"},
        "tests": {"files": {"test_a.py": {"file": "test_a.py"}}},
    }
    read = inline_files(task, tmp_path, [])
    bytes_of = TypeAdapter(Content).validate_python
    kept = content if encoding == "latin-1" else PATCH.encode()
    assert content_bytes(bytes_of(read["reference"])) == kept
    assert content_bytes(bytes_of(read["tests"]["files"]["test_a.py"])) == content


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_a_config_that_snakemake_cannot_read_is_refused_by_name(
    encoding: str, tmp_path: Path
) -> None:
    config = tmp_path / "config.yaml"
    config.write_bytes("run_id: r\n".encode(encoding))
    with pytest.raises(UserError, match=r"config\.yaml:1: .*save it as UTF-8"):
        read_file(str(config))
    config.write_bytes("run_id: r\n".encode("utf-8-sig"))
    read_file(str(config))


def test_a_judges_prompt_is_read_by_its_mark_or_refused_by_name(tmp_path: Path) -> None:
    prompt = tmp_path / "judge.md"
    agent = {"kind": "command", "command": ["cat", "{prompt_file}"]}
    judge = ModelJudge.model_validate({"name": "m", "prompt": str(prompt), "agent": agent})
    prompt.write_bytes(TEXT.encode("utf-16"))
    assert planned_judge(judge)["prompt"] == TEXT
    prompt.write_bytes(TEXT.encode("utf-16-le"))
    with pytest.raises(UserError, match=r"judge\.md: byte \d+ is no text in UTF-8"):
        planned_judge(judge)
