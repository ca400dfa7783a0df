"""Saved indexes: one file per content of a folder, written once and read by every server of that content.

The file name is a hash of the checked-out commit, the path and content of every indexed file, and this package's code:
it is found for a copy of the folder, but not for a changed folder or by another version of the server. Servers only
read it, and index later changes themselves.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple
from pathlib import Path
from typing import Any

from lensbench.core.system.trees import hash_tree
from lensbench.lens.files import Source, list_sources, read_bytes
from lensbench.lens.history import History, head_of
from lensbench.lens.symbols import Facts, Import, Symbol
from lensbench.lens.texts import Texts
from lensbench.lens.tree import Tree, scan

SUFFIX = ".index"

Index = tuple[Tree, Texts]


def find_index(cache: Path, root: Path, stopped: Callable[[], bool]) -> Index | None:
    """The saved index of the current content of `root`; None when it is missing or unreadable."""
    if not any(cache.glob(f"*{SUFFIX}")):
        return None
    listed, head = list_sources(root), head_of(root)
    file = cache / _name(root, head, listed, stopped)
    texts = None
    try:
        texts = Texts(file)
        return _tree(json.loads(texts.about), listed), texts
    except (sqlite3.Error, ValueError, TypeError, LookupError):  # incomplete, or not one of ours
        if texts:
            texts.close()
        return None


def make_index(cache: Path, root: Path) -> Path:
    """Indexes `root` (an absolute, resolved path) unless its index exists, and returns the file in `cache`.

    Raises OSError when the file cannot be written.
    """
    head, listed = head_of(root), list_sources(root)
    file = cache / _name(root, head, listed, lambda: False)
    if file.exists():
        return file
    texts = Texts()
    try:
        tree = scan(root, texts, Tree(), lambda: False)
        with tempfile.TemporaryDirectory(dir=cache, prefix=".") as beside:
            made = Path(beside, file.name)
            texts.save(made, json.dumps(_about(tree), separators=(",", ":")))
            os.replace(made, file)
    finally:
        texts.close()
    return file


def _name(root: Path, head: str, listed: Iterable[Source], stopped: Callable[[], bool]) -> str:
    """Raises InterruptedError once `stopped()` is true."""
    total = hashlib.sha256(hash_tree(str(Path(__file__).parent)).encode() + head.encode())
    for source in listed:
        if stopped():
            raise InterruptedError
        content = read_bytes(root, source)
        path = source.path.encode()
        total.update(b"\0%d %d " % (len(path), -1 if content is None else len(content)) + path)
        total.update(content or b"")
    return f"{total.hexdigest()}{SUFFIX}"


def _about(tree: Tree) -> dict[str, Any]:
    """A tree as plain data, without what differs between copies of it."""
    history = tree.history
    return {
        "facts": {path: astuple(facts) for path, facts in tree.facts.items()},
        "imports": tree.imports,
        "importers": tree.importers,
        "most_importers": tree.most_importers,
        "history": [history.head, history.commits, history.recent, history.partners],
    }


def _tree(about: Mapping[str, Any], listed: list[Source]) -> Tree:
    head, commits, recent, partners = about["history"]
    return Tree(
        tuple(listed),
        {source.path: source for source in listed if source.path in about["facts"]},
        {path: _facts(*facts) for path, facts in about["facts"].items()},
        about["imports"],
        about["importers"],
        History(head, Counter(commits), Counter(recent), {path: Counter(other) for path, other in partners.items()}),
        about["most_importers"],
    )


def _facts(
    symbols: list[Any], exports: list[str], docstring: str, sections: list[Any], imports: list[Any], package: str
) -> Facts:
    return Facts(
        tuple(Symbol(*symbol) for symbol in symbols),
        tuple(exports),
        docstring,
        tuple((title, line) for title, line in sections),
        tuple(Import(module, tuple(names)) for module, names in imports),
        package,
    )
