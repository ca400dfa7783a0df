"""The hash of the code that computed an archive's figures."""

from __future__ import annotations

from pathlib import Path

from lensbench.core.records import sha256
from lensbench.core.system.places import PACKAGE, ROOT
from lensbench.core.system.trees import hash_tree


def code_hash(root: Path = ROOT) -> str:
    """The sha256 of everything that affects results: the package, the rules, the templates, the pinned libraries."""
    package = root / "scripts" / "lensbench"
    parts = (package if package.is_dir() else PACKAGE, root / "rules", root / "templates")
    trees = [hash_tree(str(part)) for part in parts]
    files = [sha256((root / name).read_bytes()) for name in ("Snakefile", "requirements.lock")]
    return sha256("\n".join([*trees, *files]).encode())
