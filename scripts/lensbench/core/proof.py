"""The record of the self-test, and the hash of the code that it applies to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from typing_extensions import TypedDict

from lensbench.core.records import sha256
from lensbench.core.system.places import IS_CHECKOUT, PACKAGE, ROOT
from lensbench.core.system.trees import hash_tree


class SelftestStatus(TypedDict):
    """The outcome of the self-test for this code."""

    state: Literal["passed", "failed", "not run"]
    """The outcome; `not run` also when it was run with other code."""
    sentence: str
    """The sentence for the results."""


def status(root: Path = ROOT) -> SelftestStatus:
    """The outcome of the last complete self-test for the code in `root`; a damaged record is ignored."""
    try:
        record = json.loads(record_file(root).read_text(encoding="utf-8"))
        current = record["code_sha256"] == code_hash(root)
        passes, failures = ([x["control"] for x in record["findings"] if x["ok"] is ok] for ok in (True, False))
    except (OSError, ValueError, KeyError, TypeError):
        current = False
    if not current:
        sentence = "The self-test was not run with this code; `lensbench selftest` runs it."
        return {"state": "not run", "sentence": sentence}
    if failures:
        sentence = f"The self-test FAILED with this code: {', '.join(failures)}."
        return {"state": "failed", "sentence": sentence}
    return {"state": "passed", "sentence": f"The self-test passed with this code: {', '.join(passes)}."}


def code_hash(root: Path = ROOT) -> str:
    """The sha256 of everything that affects results: the package, the rules, the templates, the pinned libraries."""
    package = root / "scripts" / "lensbench"
    parts = (package if package.is_dir() else PACKAGE, root / "rules", root / "templates")
    trees = [hash_tree(str(part)) for part in parts]
    files = [sha256((root / name).read_bytes()) for name in ("Snakefile", "requirements.lock")]
    return sha256("\n".join([*trees, *files]).encode())


def record_file(root: Path) -> Path:
    """The path of the record: in the checkout, or for an installed package in the current folder."""
    return (root if IS_CHECKOUT else Path()) / ".cache" / "selftest.json"
