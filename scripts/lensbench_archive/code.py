"""The hash of the code that computed an archive's figures."""

from pathlib import Path

from lensbench.core.records import sha256
from lensbench.core.system.places import PACKAGE, ROOT


def code_hash(root: Path = ROOT) -> str:
    """The sha256 of everything that affects results: package, rules, templates, pinned libraries."""
    package = root / "scripts" / "lensbench"
    parts = [package if package.is_dir() else PACKAGE]
    parts += [root / name for name in ("rules", "templates", "Snakefile", "requirements.lock")]
    paths = [path for part in parts for path in sorted([part, *part.rglob("*")]) if path.is_file()]
    files = [f"{path.name} {sha256(path.read_bytes())}" for path in paths if path.suffix != ".pyc"]
    return sha256("\n".join(files).encode())
