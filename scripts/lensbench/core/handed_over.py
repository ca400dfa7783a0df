"""Texts that other programs wrote: files that people hand over, and the stored answers that are scored."""

from __future__ import annotations

import codecs
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
    encoding = "utf-8"
    for mark, marked in _MARKS:
        if content.startswith(mark):
            encoding = marked
            break
    decoder = codecs.getincrementaldecoder(encoding)()
    return decoder.decode(content, final=is_whole)


def read_handed_over(path: Path, most: int | None = None) -> str:
    """The text of a file, of its first `most` bytes. Raises UserError with its name when it cannot be read."""
    try:
        with path.open("rb") as file:
            content = file.read(most)
            is_whole = not file.read(1)
        return decoded(content, is_whole=is_whole)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}: byte {error.start} is no UTF-8, and there is no byte order mark; save it as UTF-8"
        ) from None


def read_answer(path: Path) -> str:
    """The text of a stored answer, as everything reads it that scores or shows it: at most MAX_ANSWER bytes, which
    older stores may exceed, and each line ends with `\n`. Raises UserError like `read_handed_over`: a replaced
    character would be scored as the model's."""
    text = read_handed_over(path, MAX_ANSWER)
    text = text.replace("\r\n", "\n")
    return text.replace("\r", "\n")
