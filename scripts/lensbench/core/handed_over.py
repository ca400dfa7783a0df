"""Texts that other programs wrote: files that people hand over, and the stored answers that are scored."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lensbench.core.errors import UserError
from lensbench.core.records import MAX_ANSWER

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""Byte order marks -> encoding. That of UTF-16 begins that of UTF-32, so it comes last."""


def decoded(content: bytes, *, is_whole: bool = True) -> str:
    """The text by its byte order mark, else in UTF-8. Raises UnicodeDecodeError, never replaces a character; where the
    text goes on (not `is_whole`), the last character may be cut."""
    decoder = codecs.getincrementaldecoder(encoding_of(content))()
    return decoder.decode(content, final=is_whole)


def encoding_of(content: bytes) -> str:
    """The encoding by the byte order mark; `utf-8` without one."""
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return encoding
    return "utf-8"


def text_of(content: bytes) -> str:
    """The same; a NUL is no character of a text: UTF-16 without a mark is full of them."""
    text = decoded(content)
    if "\0" in text:
        place = content.index(b"\0")
        raise UnicodeDecodeError("utf-8", content, place, place + 1, "a NUL")
    return text


def read_handed_over(path: Path) -> str:
    """The text of a file. Raises UserError with its name when it cannot be read."""
    with _refused_by_name(path):
        return text_of(path.read_bytes())


@contextmanager
def _refused_by_name(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}: byte {error.start} is no text in UTF-8, and there is no byte order mark; save it as UTF-8"
        ) from None


def read_answer(path: Path) -> str:
    """The text of a stored answer, as everything reads it that scores or shows it: at most MAX_ANSWER bytes, which
    older stores may exceed, and each line ends with `\n`. Raises UserError like `read_handed_over`: a replaced
    character would be scored as the model's."""
    with _refused_by_name(path), path.open("rb") as file:
        content = file.read(MAX_ANSWER)
        is_whole = not file.read(1)
        text = decoded(content, is_whole=is_whole)
    text = text.replace("\r\n", "\n")
    return text.replace("\r", "\n")
