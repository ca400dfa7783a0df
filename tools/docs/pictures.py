"""Takes the pictures of docs/pictures from the demo in bench/, after `lensbench judge bench/demo`."""

from __future__ import annotations

import struct
import tempfile
import zlib
from pathlib import Path

from gallery import take_pictures

from lensbench import __version__

ROOT = Path(__file__).parents[2]
PAGES = {"page": "report.html", "sheet": "judge_sheet.html"}
"""The picture and its page; <picture>-dark has the colours of a dark screen."""


def stamped(png: bytes) -> bytes:
    """The picture with the version that it shows, in a text chunk after the header of 33 bytes."""
    chunk = f"tEXtSoftware\0lensbench {__version__}".encode()
    return (
        png[:33]
        + struct.pack(">I", len(chunk) - 4)
        + chunk
        + struct.pack(">I", zlib.crc32(chunk))
        + png[33:]
    )


def main() -> None:
    """Replaces the pictures."""
    demo = ROOT / "bench" / "demo"
    with tempfile.TemporaryDirectory() as folder:
        for scheme, suffix in (("light", ""), ("dark", "-dark")):
            shown = Path(folder) / scheme
            taken = take_pictures([demo / page for page in PAGES.values()], shown, scheme)
            for name, page in PAGES.items():
                picture = (shown / taken[demo / page]).read_bytes()
                path = ROOT / "docs" / "pictures" / f"{name}{suffix}.png"
                path.write_bytes(stamped(picture))


if __name__ == "__main__":
    main()
