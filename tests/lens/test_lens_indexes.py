"""Indexes that are made once and taken over by every server of the same content."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from lens_client import commit, write_tree

from lensbench.lens import service as serving
from lensbench.lens.index_files import find_index, make_index
from lensbench.lens.make_indexes import make_indexes
from lensbench.lens.service import Service

FILES = {
    "src/shop/__init__.py": "",
    "src/shop/pricing.py": '"""Prices."""\nMAX_DISCOUNT = 30\n\n\nclass PriceRule:\n    def apply(self): ...\n',
    "src/shop/cart.py": "from .pricing import PriceRule\n\n\ndef totalAmount():\n    return MAX\n",
    "README.md": "# The Shop\n\nselect * from the shelf.\n",
    "notes.bin": "a\0b",
}
QUESTIONS: tuple[Callable[[Service], str], ...] = (
    lambda service: service.grep(None, "PriceRule|total amount|shelf|*", 20),
    lambda service: service.grep("src", "price", 5),
    lambda service: service.graph(None, None),
    lambda service: service.graph(None, ""),
    lambda service: service.neighbors(None, "src/shop/pricing.py", 30),
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = write_tree(tmp_path / "root", FILES)
    commit(root)
    write_tree(root, {"src/shop/cart.py": FILES["src/shop/cart.py"] + "# more\n", "README.md": "# Shop\n"})
    commit(root)
    return root


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    folder = tmp_path / "cache"
    folder.mkdir()
    return folder


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders that are indexed from here on."""
    seen: list[Path] = []
    scan = serving.scan
    monkeypatch.setattr(serving, "scan", lambda root, *rest: (seen.append(root), scan(root, *rest))[1])
    return seen


def told(root: Path, cache: Path | None = None) -> list[str]:
    service = Service(root, cache)
    try:
        return [question(service) for question in QUESTIONS]
    finally:
        service.close()


def test_an_index_that_is_taken_over_answers_as_a_new_one(root: Path, cache: Path, scans: list[Path]) -> None:
    fresh = told(root)
    assert scans == [root]
    make_index(cache, root)
    assert told(root, cache) == fresh
    assert scans == [root]


def test_a_copy_takes_it_over_and_a_changed_copy_does_not(root: Path, cache: Path, tmp_path: Path) -> None:
    file = make_index(cache, root)
    copy = Path(shutil.copytree(root, tmp_path / "copy", copy_function=shutil.copy))  # with other times
    assert find_index(cache, copy, lambda: False) is not None
    assert make_index(cache, copy) == file
    write_tree(copy, {"src/shop/cart.py": "x = 1\n"})
    assert find_index(cache, copy, lambda: False) is None
    assert make_index(cache, copy) != file
    found = find_index(cache, copy, lambda: False)
    assert found is not None
    assert found[0].facts["src/shop/cart.py"].exports == ("x",)


def test_what_changes_later_is_indexed_for_oneself(root: Path, cache: Path) -> None:
    file = make_index(cache, root)
    kept, others = file.read_bytes(), Service(root, cache)
    others.grep(None, "PriceRule", 5)
    service = Service(root, cache)
    service.grep(None, "PriceRule", 5)
    write_tree(root, {"src/shop/tax.py": "def vat_rate():\n    return 19\n"})
    assert json.loads(service.reindex(None, False)) | {"duration_ms": 0} == {
        "files_scanned": 6, "duration_ms": 0, "skipped": False,
    }  # fmt: skip
    assert "src/shop/tax.py" in service.grep(None, "vat rate", 5)
    assert "src/shop/tax.py" not in others.grep(None, "vat rate", 5)
    assert file.read_bytes() == kept
    service.close()
    others.close()


@pytest.mark.parametrize("damage", [b"", b"no database", None], ids=("empty", "other", "cut"))
def test_a_damaged_index_is_not_believed(root: Path, cache: Path, damage: bytes | None) -> None:
    file = make_index(cache, root)
    file.write_bytes(file.read_bytes()[:5000] if damage is None else damage)
    assert told(root, cache) == told(root)


def test_a_server_never_writes_one(root: Path, cache: Path) -> None:
    told(root, cache)
    told(root, cache / "missing")
    assert list(cache.iterdir()) == []


def test_each_repository_has_its_own_folder(root: Path, tmp_path: Path) -> None:
    other = write_tree(tmp_path / "other", {"a.py": "x = 1\n"})
    trees = {"one": {"tree": str(root), "tree_sha256": "1" * 64}, "two": {"tree": str(other), "tree_sha256": "2" * 64}}
    repositories, output = tmp_path / "repositories.json", tmp_path / "indexes.json"
    repositories.write_text(json.dumps(trees))
    make_indexes(repositories, tmp_path / "kept", output)
    folders = json.loads(output.read_text())
    assert [len(list(Path(folders[name]).iterdir())) for name in ("one", "two")] == [1, 1]
    assert find_index(Path(folders["one"]), root, lambda: False) is not None
    assert find_index(Path(folders["two"]), root, lambda: False) is None
