"""Texts that other programs wrote: files that people hand over, and the stored answers that are scored."""

from __future__ import annotations

import codecs
from pathlib import Path

from lensbench.core.errors import UserError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""Byte order marks -> encoding. That of UTF-16 begins that of UTF-32, so it comes last."""


def decoded(content: bytes) -> str:
    """The text by its byte order mark, else in UTF-8. Raises UnicodeDecodeError, never replaces a character."""
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return content.decode(encoding)
    return content.decode("utf-8")


def read_handed_over(path: Path) -> str:
    """The text of a file. Raises UserError with its name when it cannot be read."""
    try:
        return decoded(path.read_bytes())
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}: byte {error.start} is no UTF-8, and there is no byte order mark; save it as UTF-8"
        ) from None


def read_answer(path: Path) -> str:
    """The text of a stored answer, as everything reads it that scores or shows it; each line ends with `\\n`. Raises
    UserError like `read_handed_over`: a replaced character would be scored as the model's."""
    return read_handed_over(path).replace("\r\n", "\n").replace("\r", "\n")
