import hashlib
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import stock
from lensbench.core.conditions import treatment_words
from lensbench.core.errors import UserError
from lensbench.core.system.trees import copy_tree, hash_tree
from lensbench.core.tasks import Folder, Git, Pypi, Source
from lensbench.repositories.prepare import main, prepare, source_key
from lensbench.repositories.sources.pypi import sha256
from services import Files, packed, serving, zipped
from stock import git, write

ANSWERS = "bench/r1/runs/a-exp-01-with.md"


def commit(repository: Path, files: dict[str, str], *removed: str) -> str:
    if not (repository / ".git").exists():
        repository.mkdir(exist_ok=True)
        git(repository, "init", "--quiet", "--initial-branch=trunk")
    return stock.commit(repository, "change", {**files, **dict.fromkeys(removed)})


@pytest.fixture
def upstream(tmp_path: Path) -> Path:
    repository = tmp_path / "upstream"
    commit(repository, {"a.py": "1\n", "pkg/b.py": "1\n"})
    commit(repository, {"a.py": "2\n", "pkg/b.py": "2\n"})
    return repository


# --- package index


class Index(Files):
    """A package index on loopback."""

    def add(
        self, filename: str, content: bytes, project: str = "demo", listed_hash: str = ""
    ) -> str:
        digest = hashlib.sha256(content).hexdigest()
        self.bodies[f"/files/{filename}"] = content
        page = json.loads(self.bodies.get(f"/simple/{project}/", b'{"files": []}'))
        hashes = {"sha256": listed_hash or digest}
        page["files"].append(
            {"filename": filename, "url": f"../../files/{filename}", "hashes": hashes}
        )
        self.bodies[f"/simple/{project}/"] = json.dumps(page).encode()
        return listed_hash or digest


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    files = Index()
    with serving(files, monkeypatch):
        monkeypatch.setenv("PIP_INDEX_URL", f"{files.url}/simple")
        yield files


PACKAGE = {
    "PKG-INFO": "Name: demo\n",
    "src/demo/core.py": "x = 1\n",
    "CLAUDE.md": "use lens",
    ".gitignore": "*.py\n",
}


@pytest.fixture
def demo(index: Index) -> Pypi:
    """A package in the index."""
    return Pypi(pypi="demo==1.0", sha256=index.add("demo-1.0.tar.gz", packed(PACKAGE)))


def test_a_package_is_fetched_verified_and_cleaned_once_and_again_where_damaged(
    tmp_path: Path, index: Index, demo: Pypi
) -> None:
    prepared = prepare(demo, tmp_path / "cache")
    core = prepared.tree / "src/demo/core.py"
    kept = prepared.tree.parent
    assert prepared.tree == tmp_path / "cache" / source_key(demo) / "tree"
    assert core.read_text() == "x = 1\n"
    assert (prepared.revision, prepared.history, prepared.removed) == (
        "1.0",
        "none",
        ("CLAUDE.md",),
    )
    assert prepared.tree_sha256 == hash_tree(str(prepared.tree))
    assert git(prepared.tree, "status", "--porcelain", "--ignored") == ""
    assert json.loads((kept / "repository.json").read_text())["tree_sha256"] == prepared.tree_sha256
    asked = len(index.asked)
    bodies = dict(index.bodies)
    index.bodies.clear()
    assert prepare(demo, tmp_path / "cache") == prepared
    core.write_text("x = 2\n")  # made again from the archive that is kept
    assert prepare(demo, tmp_path / "cache") == prepared
    assert core.read_text() == "x = 1\n"
    assert len(index.asked) == asked
    index.bodies.update(bodies)
    (kept / "archive").write_bytes(b"?")  # fetched again
    (prepared.tree / "PKG-INFO").unlink()
    assert prepare(demo, tmp_path / "cache") == prepared
    assert len(index.asked) > asked


def test_no_code_of_a_package_is_run(tmp_path: Path, index: Index) -> None:
    code = f"open({str(tmp_path / 'ran')!r}, 'w')\n"
    backend = '[build-system]\nrequires = []\nbuild-backend = "setup"\nbackend-path = ["."]\n'
    digest = index.add("demo-1.0.tar.gz", packed({"setup.py": code, "pyproject.toml": backend}))
    prepare(Pypi(pypi="demo==1.0", sha256=digest), tmp_path / "cache")
    assert not (tmp_path / "ran").exists()


OTHER_HASH = hashlib.sha256(b"another file").hexdigest()


def refusal(index: Index, cache: Path, pinned: str, sha256: str = OTHER_HASH) -> str:
    """Why the index's package with this hash is refused; nothing of it is left in the cache."""
    with pytest.raises(UserError) as caught:
        prepare(Pypi(pypi=pinned, sha256=sha256), cache)
    assert [path.name for path in cache.iterdir() if not path.name.endswith(".lock")] == []
    return str(caught.value)


def test_a_wrong_hash_names_the_right_one_and_what_is_absent_is_named(
    tmp_path: Path, index: Index, demo: Pypi
) -> None:
    cache = tmp_path / "cache"
    assert f"demo-1.0.tar.gz has the sha256 {demo.sha256}" in refusal(index, cache, "demo==1.0")
    assert "no project 'nothing'" in refusal(index, cache, "nothing==1.0")
    assert "no sdist or wheel of demo==2.0" in refusal(index, cache, "demo==2.0")
    del index.bodies["/files/demo-1.0.tar.gz"]
    assert "does not exist (404)" in refusal(index, cache, "demo==1.0", demo.sha256)


def test_an_index_that_sends_other_bytes_than_it_lists_is_not_believed(
    tmp_path: Path, index: Index
) -> None:
    digest = index.add("demo-1.0.tar.gz", packed(PACKAGE), listed_hash=OTHER_HASH)
    assert "is damaged" in refusal(index, tmp_path / "cache", "demo==1.0", digest)


@pytest.mark.parametrize(
    "filename", ["other-1.0.tar.gz", "demo-1.1.tar.gz", "demo-1.1-py3-none-any.whl"]
)
def test_a_hash_of_another_file_is_refused(tmp_path: Path, index: Index, filename: str) -> None:
    digest = index.add(filename, packed(PACKAGE))
    problem = refusal(index, tmp_path / "cache", "demo==1.0", digest)
    assert "no sdist or wheel of demo==1.0" in problem


def test_a_wheel_stands_for_a_release_without_an_sdist(tmp_path: Path, index: Index) -> None:
    names = ("win_amd64", "manylinux_2_17_x86_64", "manylinux_2_17_aarch64")
    hashes = [
        index.add(f"demo-1.0-py3-none-{name}.whl", zipped(PACKAGE | {"WHEEL": name}))
        for name in names
    ]
    assert sha256("demo", "1.0") == hashes[1]
    pinned = Pypi(pypi="demo==1.0", sha256=hashes[2])
    tree = prepare(pinned, tmp_path / "cache").tree
    assert (tree / "src/demo/core.py").read_text() == "x = 1\n"
    any_machine = index.add("demo-1.0-py3-none-any.whl", zipped(PACKAGE))
    assert sha256("demo", "1.0") == any_machine
    sdist = index.add("demo-1.0.tar.gz", packed(PACKAGE))
    assert sha256("demo", "1.0") == sdist
    problem = refusal(index, tmp_path / "other", "demo==1.0", any_machine)
    assert f"demo-1.0.tar.gz has the sha256 {sdist}" in problem


@pytest.mark.parametrize("fragment", ["#sha256={sha256}", "#md5=0", ""])
def test_an_index_in_html_serves_too(tmp_path: Path, index: Index, fragment: str) -> None:
    sha256 = index.add("demo-1.0.tar.gz", packed(PACKAGE))
    link = f'<a data-yanked="" href="../../files/demo-1.0.tar.gz{fragment.format(sha256=sha256)}">demo</a>'
    index.bodies["/simple/demo/"] = f"<!DOCTYPE html><a href='/'>up</a><br>{link}".encode()
    assert prepare(Pypi(pypi="demo==1.0", sha256=sha256), tmp_path / "cache").revision == "1.0"
    assert refusal(index, tmp_path / "other", "demo==1.0")


@pytest.mark.parametrize("body", [b"<html>", b"{}", b'{"files": [1]}', b'{"files": '])
def test_a_page_that_lists_no_files_is_refused(tmp_path: Path, index: Index, body: bytes) -> None:
    index.bodies["/simple/demo/"] = body
    assert "PIP_INDEX_URL" in refusal(index, tmp_path / "cache", "demo==1.0")


def test_a_cut_off_download_is_tried_again_and_ends_with_a_message(
    tmp_path: Path, index: Index, demo: Pypi
) -> None:
    index.cut = 2
    assert prepare(demo, tmp_path / "cache").revision == "1.0"
    assert index.asked.count("/files/demo-1.0.tar.gz") == 3
    index.cut = 99
    assert "is damaged" in refusal(index, tmp_path / "other", "demo==1.0", demo.sha256)


def test_a_busy_index_is_asked_again_and_a_refusing_one_is_not(
    tmp_path: Path, index: Index, demo: Pypi
) -> None:
    index.failures["/simple/demo/"] = [503, 429, 403]
    assert "answers 403" in refusal(index, tmp_path / "cache", demo.pypi, demo.sha256)
    assert prepare(demo, tmp_path / "cache").revision == "1.0"


def test_a_missing_index_is_named_without_login_and_a_login_is_used_for_both(
    tmp_path: Path, index: Index, monkeypatch: pytest.MonkeyPatch, demo: Pypi
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://me:secret@127.0.0.1:9/simple/")
    message = refusal(index, tmp_path / "cache", "demo==1.0")
    assert "127.0.0.1:9/simple/demo" in message
    assert "secret" not in message
    index.login = "Basic bWU6YSBi"
    monkeypatch.setenv("PIP_INDEX_URL", f"{index.url}/simple".replace("//", "//me:a%20b@", 1))
    assert prepare(demo, tmp_path / "cache").revision == "1.0"


def test_a_package_in_the_cache_killed_half_way_is_made_again(
    tmp_path: Path, index: Index, demo: Pypi
) -> None:
    abandoned = tmp_path / "cache" / f".{source_key(demo)}.abc.tmp"
    write(abandoned, {"new/tree/x": "half"})
    assert prepare(demo, tmp_path / "cache").revision == "1.0"
    assert not abandoned.exists()


# --- git


def test_the_history_of_the_revision_is_kept_and_nothing_else(
    tmp_path: Path, upstream: Path
) -> None:
    tip = git(upstream, "rev-parse", "HEAD")
    git(upstream, "tag", "--annotate", "v1", "--message=one")
    git(upstream, "switch", "--quiet", "--create", "other")
    later = commit(upstream, {"secret.py": "later\n"})
    prepared = prepare(Git(git=str(upstream), revision="v1"), tmp_path / "cache")
    tree = prepared.tree
    assert (prepared.revision, prepared.history, prepared.removed) == (tip, "kept", ())
    assert git(tree, "rev-list", "--count", "HEAD") == "2"
    assert (git(tree, "for-each-ref", "--format=%(refname)"), git(tree, "remote")) == (
        "refs/heads/main",
        "",
    )
    assert git(tree, "status", "--porcelain", "--branch") == "## main"
    assert subprocess.run(
        ["git", "cat-file", "-e", later], cwd=tree, capture_output=True, check=False
    ).returncode
    assert git(tree, "fsck", "--unreachable") == ""
    assert sorted(path.name for path in (tree / ".git").iterdir()) == [
        "HEAD",
        "config",
        "index",
        "objects",
        "packed-refs",
        "refs",
    ]


@pytest.mark.parametrize(
    "name", ["trunk", "HEAD", "full", "abbreviated", "abbreviated, not on top"]
)
def test_a_revision_is_a_branch_or_a_full_or_abbreviated_commit_id(
    tmp_path: Path, upstream: Path, name: str
) -> None:
    tip = git(upstream, "rev-parse", "HEAD~1" if "not" in name else "HEAD")
    commit(upstream, {"later.py": "x"}) if "not" in name else None
    revision = {"full": tip}.get(name, tip[:9] if "abbreviated" in name else name)
    prepared = prepare(Git(git=str(upstream), revision=revision), tmp_path / "cache")
    assert (prepared.revision, git(prepared.tree, "fsck", "--unreachable")) == (tip, "")


def test_a_clone_that_lacks_files_of_its_history_gives_the_commit(
    tmp_path: Path, upstream: Path
) -> None:
    git(tmp_path, "clone", "--quiet", "--bare", str(upstream), "clone")
    clone = tmp_path / "clone"
    large = "large\n" * 9
    for text in (large, "small\n"):
        commit(upstream, {"large.txt": text})
    git(clone, "fetch", "--quiet", str(upstream), "HEAD:refs/heads/more")
    blob = git(clone, "rev-parse", "more~1:large.txt")
    (clone / "objects" / blob[:2] / blob[2:]).unlink()
    prepared = prepare(
        Git(git=str(clone), revision=git(clone, "rev-parse", "more")), tmp_path / "cache"
    )
    assert (prepared.tree / "large.txt").read_text() == "small\n"
    assert prepared.history == "kept, without the commits that its clone lacks"


def test_urls_shallow_clones_and_relative_paths_are_sources_and_moving_changes_no_key(
    tmp_path: Path, upstream: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "clone", "--quiet", "--depth=1", upstream.as_uri(), "shallow")
    by_url = prepare(Git(git=upstream.as_uri(), revision="trunk"), tmp_path / "cache")
    shallow = prepare(Git(git=str(tmp_path / "shallow"), revision="HEAD"), tmp_path / "cache")
    assert (by_url.revision, by_url.tree_sha256) == (shallow.revision, shallow.tree_sha256)
    monkeypatch.chdir(tmp_path)
    assert prepare(Git(git="upstream", revision="trunk"), Path("cache")).history == "kept"
    sources = [Git(git="../upstream", revision="x"), Folder(path="repo")]
    here = [source_key(source) for source in sources]
    monkeypatch.chdir(tmp_path)
    assert [source_key(source) for source in sources] == here


def test_a_prepared_revision_needs_its_source_no_more(tmp_path: Path, upstream: Path) -> None:
    source = Git(git=str(upstream), revision="trunk")
    first = prepare(source, tmp_path / "cache")
    upstream.rename(tmp_path / "gone")
    assert prepare(source, tmp_path / "cache") == first


def test_cleaning_a_git_source_adds_one_commit_with_a_fixed_id(
    tmp_path: Path, upstream: Path
) -> None:
    tip = commit(upstream, {"CLAUDE.md": "use lens", ".claude/settings.json": "{}", "a.py": "3\n"})
    (upstream / "out").symlink_to("/etc")
    tip = commit(upstream, {})
    source = Git(git=str(upstream), revision="trunk")
    one = prepare(source, tmp_path / "one")
    two = prepare(source, tmp_path / "two")
    assert (one.removed, one.revision, one.history) == (
        (".claude/", "CLAUDE.md", "out"),
        tip,
        "kept",
    )
    assert git(one.tree, "rev-parse", "HEAD") == git(two.tree, "rev-parse", "HEAD")
    assert (git(one.tree, "rev-parse", "HEAD~1"), git(one.tree, "status", "--porcelain")) == (
        tip,
        "",
    )
    assert git(one.tree, "ls-files").split() == ["a.py", "pkg/b.py"]


def readable(tree: Path) -> str:
    """All that git can show of `tree`: every object, reachable or not, and every name and message."""
    kinds = git(
        tree, "cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)"
    ).splitlines()
    bodies = (git(tree, "cat-file", "-p", row.split()[0]) for row in kinds)
    return "\n".join(
        (
            *bodies,
            git(tree, "rev-list", "--objects", "--all"),
            git(tree, "log", "-p", "-m", "--all"),
        )
    )


@pytest.mark.parametrize("kind", ["git", "path", "shallow"])
def test_a_history_with_a_benchmarks_answers_is_rewritten_without(
    tmp_path: Path, upstream: Path, kind: str
) -> None:
    commit(
        upstream,
        {
            ANSWERS: "LEAK 1",
            "bench/r1/scores.md": "LEAK 2",
            "bench/speed.py": "fast",
            "é a.py": "1\n",
        },
    )
    commit(upstream, {"bench/r1/scores.md": "LEAK 3"})
    (upstream / "AGENTS.md").write_text("LEAK 4")
    commit(
        upstream,
        {
            "a.py": "3\n",
            "bench/r1/scores.md": "LEAK 5",
            "pkg/scenarios.md": "**Judge Criteria** LEAK 6",
        },
    )
    commit(upstream, {"pkg/scenarios.md": "harmless\n"}, ANSWERS, "bench/r1/scores.md")
    git(upstream, "switch", "--quiet", "--create", "side", "HEAD~4")
    commit(upstream, {"pkg/c.py": "1\n", "evals/scenarios-x.md": "- **Judge Criteria**: LEAK 7"})
    commit(upstream, {}, "evals/scenarios-x.md")
    git(upstream, "switch", "--quiet", "trunk")
    git(upstream, "merge", "--quiet", "--no-edit", "side")
    tip = git(upstream, "rev-parse", "HEAD")
    place = upstream
    facts = "--format=%an %ae %aI %cI %s"
    if kind == "shallow":
        place = tmp_path / "shallow"
        git(tmp_path, "clone", "--quiet", "--depth=3", upstream.as_uri(), str(place))
    source = Folder(path=str(place)) if kind == "path" else Git(git=str(place), revision="HEAD")
    one = prepare(source, tmp_path / "one")
    two = prepare(source, tmp_path / "two")
    tree = one.tree
    assert one.history.startswith("kept, without answers and criteria of a benchmark")
    assert one.revision == (tip if kind != "path" else one.tree_sha256)
    assert git(tree, "rev-parse", "HEAD") == git(two.tree, "rev-parse", "HEAD")
    assert "LEAK" not in readable(tree)
    assert git(tree, "fsck", "--unreachable") == git(tree, "status", "--porcelain") == ""
    git(upstream, "rm", "--quiet", "AGENTS.md")
    assert git(tree, "rev-parse", "HEAD^{tree}") == git(upstream, "write-tree")
    if kind != "shallow":
        assert git(tree, "log", facts, "--", "a.py") == git(upstream, "log", facts, "--", "a.py")
        assert git(tree, "log", facts, "--", "pkg/c.py") == git(
            upstream, "log", facts, "--", "pkg/c.py"
        )
        assert git(tree, "log", "--format=%s", "--", "bench/speed.py") == "change"


@pytest.mark.parametrize(
    ("message", "why"),
    [("**Judge Criteria** LEAK", "a message"), ("answers", "only answers or criteria")],
)
def test_a_history_that_cannot_be_rewritten_is_dropped(
    tmp_path: Path, message: str, why: str
) -> None:
    commit(tmp_path / "repo", {ANSWERS: "LEAK", **({"a.py": "1"} if "LEAK" in message else {})})
    git(tmp_path / "repo", "commit", "--quiet", "--amend", f"--message={message}")
    prepared = prepare(Git(git=str(tmp_path / "repo"), revision="trunk"), tmp_path / "cache")
    assert (prepared.history.startswith("dropped: "), why in prepared.history) == (True, True)
    assert git(prepared.tree, "rev-list", "--count", "--all") == "1"
    assert "LEAK" not in readable(prepared.tree)


def test_a_history_with_harmless_benchmarks_is_kept(tmp_path: Path, upstream: Path) -> None:
    commit(
        upstream,
        {"bench/speed.md": "fast", "docs/scenarios.md": "a story", "bench/runs/timing.csv": "1"},
    )
    assert prepare(Git(git=str(upstream), revision="trunk"), tmp_path / "cache").history == "kept"


def test_no_hook_filter_or_setting_of_it_runs(
    tmp_path: Path, upstream: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = tmp_path / "ran"
    hostile = f"#!/bin/sh\ntouch {ran}\n"
    commit(upstream, {".gitattributes": "* filter=evil\n", ".githooks/x": hostile})
    for name in (
        "post-checkout",
        "post-commit",
        "pre-commit",
        "reference-transaction",
        "fsmonitor-watchman",
    ):
        (upstream / ".git/hooks" / name).write_text(hostile)
        (upstream / ".git/hooks" / name).chmod(0o755)
    for setting in (
        "filter.evil.smudge",
        "filter.evil.clean",
        "core.fsmonitor",
        "uploadpack.packObjectsHook",
    ):
        git(upstream, "config", setting, f"touch {ran}")
    settings = tmp_path / "home" / ".gitconfig"
    write(
        settings.parent,
        {".gitconfig": f'[filter "evil"]\nsmudge = touch {ran}\nclean = touch {ran}\n'},
    )
    monkeypatch.setenv("HOME", str(settings.parent))
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    prepare(Git(git=str(upstream), revision="trunk"), tmp_path / "cache")
    prepare(Folder(path=str(upstream)), tmp_path / "cache")
    assert not ran.exists()


@pytest.mark.parametrize("source", ["git", "path", "file:", "clone", ".git"])
def test_the_files_of_submodules_and_inner_repositories_are_there(
    tmp_path: Path, upstream: Path, source: str
) -> None:
    commit(upstream, {"CLAUDE.md": "LEAK", "evals/scenarios.md": "**Judge Criteria** LEAK"})
    middle = tmp_path / "middle"
    outer = tmp_path / "outer"
    for folder, lower in ((middle, "upstream"), (outer, "middle")):
        commit(folder, {"a.py": "1", ".gitignore": "*.log"})
        git(folder, "submodule", "--quiet", "add", f"../{lower}", "vendor/lib")
        commit(folder, {})
    git(outer, "submodule", "--quiet", "update", "--init", "--recursive")
    commit(upstream, {"later.py": "x"})
    if (
        source == "clone"
    ):  # its URL `../middle` is relative to the place of the clone, where nothing is
        (tmp_path / "other").mkdir()
        git(tmp_path / "other", "clone", "--quiet", "--recurse-submodules", str(outer), "outer")
        outer = tmp_path / "other" / "outer"
    commit(outer / "inner", {"new.py": "x"}) if source == "path" else None
    address = {"file:": outer.as_uri(), ".git": str(outer / ".git")}.get(source, str(outer))
    prepared = prepare(
        Folder(path=address) if source == "path" else Git(git=address, revision="trunk"),
        tmp_path / "cache",
    )
    files = {".gitignore", ".gitmodules", "a.py"}
    nested = {f"vendor/lib/vendor/lib/{name}" for name in ("a.py", "pkg/b.py")}
    files |= (
        {f"vendor/lib/{name}" for name in files}
        | nested
        | ({"inner/new.py"} if source == "path" else set())
    )
    assert set(git(prepared.tree, "ls-files").splitlines()) == files
    assert all((prepared.tree / name).is_file() for name in files)
    assert (prepared.empty, prepared.history[:4]) == ((), "kept")
    assert (
        git(prepared.tree, "fsck", "--unreachable")
        == git(prepared.tree, "status", "--porcelain")
        == ""
    )
    assert "LEAK" not in readable(prepared.tree)


@pytest.mark.parametrize(
    "url", ["{private}", "file://{private}", "--upload-pack=touch ran:x", "ext::touch ran", None]
)
@pytest.mark.parametrize("kind", ["git", "path"])
def test_a_submodule_that_stays_empty_is_named(
    tmp_path: Path, upstream: Path, url: str | None, kind: str
) -> None:
    outer = tmp_path / "outer"
    commit(outer, {"a.py": "1"})
    git(outer, "submodule", "--quiet", "add", str(upstream), "vendor/lib")
    if url:
        git(
            outer,
            "config",
            "--file=.gitmodules",
            "submodule.vendor/lib.url",
            url.format(private=upstream),
        )
    commit(outer, {}, *(() if url else (".gitmodules",)))
    git(outer, "submodule", "--quiet", "deinit", "--force", "--all") if url else None
    git(tmp_path, "clone", "--quiet", str(outer), "clone")
    place = str(tmp_path / "clone")
    source = Git(git=place, revision="trunk") if kind == "git" else Folder(path=place)
    git(
        tmp_path / "clone", "clone", "--quiet", "--no-checkout", str(upstream), "blank"
    ) if kind == "path" else None
    prepared = prepare(source, tmp_path / "cache")
    assert prepared.empty == (("blank", "vendor/lib") if kind == "path" else ("vendor/lib",))
    assert prepare(source, tmp_path / "cache") == prepared
    assert not list((prepared.tree / "vendor").glob("*/*"))
    assert not list(tmp_path.rglob("ran"))
    assert git(prepared.tree, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("address", "revision", "message"),
    [
        ("{upstream}", "nothing", "cannot get revision 'nothing'"),
        ("{upstream}", "0123abc", "cannot get revision '0123abc'"),
        ("{upstream}-missing", "trunk", "there is no git repository"),
        ("{upstream}/pkg", "trunk", "cannot get revision"),
        ("ext::sh%-c%touch", "trunk", "not allowed"),
        ("https://me:secret@example.invalid/x", "trunk", "contains a password"),
    ],
)
def test_a_git_source_that_cannot_be_had_is_named(
    tmp_path: Path, upstream: Path, address: str, revision: str, message: str
) -> None:
    source = Git(git=address.format(upstream=upstream), revision=revision)
    with pytest.raises(UserError, match=message) as caught:
        prepare(source, tmp_path / "cache")
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


# --- folders


def test_a_work_tree_gives_what_is_tracked_or_new_but_not_what_is_ignored(
    tmp_path: Path, upstream: Path
) -> None:
    write(upstream, {".gitignore": "*.log\n", "new.py": "x", "debug.log": "x", "a.py": "changed"})
    (upstream / "pkg/b.py").unlink()
    prepared = prepare(Folder(path=str(upstream)), tmp_path / "cache")
    assert sorted(path.name for path in prepared.tree.iterdir()) == [
        ".git",
        ".gitignore",
        "a.py",
        "new.py",
    ]
    assert (prepared.tree / "a.py").read_text() == "changed"
    assert (prepared.revision, prepared.history) == (prepared.tree_sha256, "kept")
    assert git(prepared.tree, "status", "--porcelain", "--ignored") == ""
    assert git(prepared.tree, "log", "--format=%s").splitlines() == [
        "Changes of the work tree",
        "change",
        "change",
    ]


def test_a_folder_with_git_keeps_its_history_and_no_other_branch(
    tmp_path: Path, upstream: Path
) -> None:
    head = git(upstream, "rev-parse", "HEAD")
    git(upstream, "switch", "--quiet", "--create", "side")
    commit(upstream, {"elsewhere.py": "x"})
    elsewhere = git(upstream, "rev-parse", "HEAD")
    git(upstream, "switch", "--quiet", "trunk")
    first = prepare(Folder(path=str(upstream)), tmp_path / "cache")
    assert git(first.tree, "rev-parse", "HEAD") == head
    assert git(first.tree, "log", "--format=%an", "--", "a.py").splitlines() == [
        "Somebody",
        "Somebody",
    ]
    assert "Somebody" in git(first.tree, "blame", "pkg/b.py")
    assert not git(first.tree, "rev-list", "--all").count(elsewhere)
    assert prepare(Folder(path=str(upstream)), tmp_path / "cache") == first
    git(upstream, "commit", "--quiet", "--allow-empty", "--message=nothing new in the files")
    second = prepare(Folder(path=str(upstream)), tmp_path / "cache")
    assert (second.tree_sha256, git(second.tree, "rev-list", "--count", "HEAD")) == (
        first.tree_sha256,
        "3",
    )


def test_a_linked_work_tree_is_a_repository_and_an_inner_folder_has_no_history(
    tmp_path: Path, upstream: Path
) -> None:
    git(upstream, "worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"), "HEAD~1")
    prepared = prepare(Folder(path=str(tmp_path / "linked")), tmp_path / "cache")
    assert git(prepared.tree, "rev-parse", "HEAD") == git(upstream, "rev-parse", "HEAD~1")
    inner = prepare(Folder(path=str(upstream / "pkg")), tmp_path / "cache")
    assert inner.history.startswith("dropped: the folder is part of a git repository")


def test_a_plain_folder_is_taken_whole_but_for_git_caches_and_the_cache_itself(
    tmp_path: Path,
) -> None:
    root = tmp_path / "plain"
    write(
        root,
        {
            "a.py": "1",
            "sub/b.py": "2",
            "__pycache__/a.pyc": "x",
            "sub/.git/config": "x",
            ".gitignore": "*",
        },
    )
    (root / "link").symlink_to("sub")
    os.mkfifo(root / "pipe")
    first = prepare(Folder(path=str(root)), root / "cache")
    assert prepare(Folder(path=str(root)), root / "cache") == first
    assert sorted(path.name for path in first.tree.iterdir()) == [
        ".git",
        ".gitignore",
        "a.py",
        "link",
        "sub",
    ]
    assert first.history == "none"
    assert git(first.tree, "status", "--porcelain", "--ignored") == ""


def test_benchmarks_that_grow_inside_stay_out(
    tmp_path: Path, upstream: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(upstream)
    write(upstream, {"bench/speed.py": "x", "pkg/bench/new.py": "x"})
    git(upstream, "add", "bench/speed.py")
    before = prepare(Folder(path="."), tmp_path / "cache")
    assert (before.tree / "bench/speed.py").exists()
    assert (before.tree / "pkg/bench/new.py").exists()
    write(upstream, {"bench/r/logs/plan.log": "x"})
    assert prepare(Folder(path="."), tmp_path / "cache") == before


def test_a_folder_is_read_at_each_preparation(tmp_path: Path) -> None:
    root = tmp_path / "plain"
    write(root, {"a.py": "1"})
    first = prepare(Folder(path=str(root)), tmp_path / "cache")
    inode = first.tree.stat().st_ino
    assert prepare(Folder(path=str(root)), tmp_path / "cache") == first
    assert first.tree.stat().st_ino == inode
    write(root, {"a.py": "2"})
    second = prepare(Folder(path=str(root)), tmp_path / "cache")
    assert second.tree == first.tree
    assert second.revision != first.revision
    assert (second.tree / "a.py").read_text() == "2"


def test_the_same_files_give_the_same_commit_wherever_and_whenever(tmp_path: Path) -> None:
    commits = set()
    for name in ("one", "two"):
        write(tmp_path / name, {"a.py": "1", "sub/run.sh": "2"})
        (tmp_path / name / "sub/run.sh").chmod(0o755)
        commits.add(
            git(
                prepare(Folder(path=str(tmp_path / name)), tmp_path / "cache").tree,
                "rev-parse",
                "HEAD",
            )
        )
    assert len(commits) == 1


def test_a_tracked_folder_that_became_a_link_shows_nothing_of_the_host(
    tmp_path: Path, upstream: Path
) -> None:
    write(tmp_path / "host", {"b.py": "secret"})
    (upstream / "pkg/b.py").unlink()
    (upstream / "pkg").rmdir()
    (upstream / "pkg").symlink_to(tmp_path / "host")
    prepared = prepare(Folder(path=str(upstream)), tmp_path / "cache")
    assert sorted(path.name for path in prepared.tree.iterdir()) == [".git", "a.py"]


def test_names_and_attributes_that_git_dislikes_do_not_stop_the_preparation(tmp_path: Path) -> None:
    root = tmp_path / "odd"
    write(
        root,
        {
            ".gitattributes": "*.txt working-tree-encoding=UTF-16\n",
            "a.txt": "x",
            "git~1": "x",
            "a\\b\nc": "x",
        },
    )
    (root / ".gitmodules").symlink_to("a.txt")
    (Path(os.fsdecode(os.fsencode(root) + b"/\xff"))).write_text("x", encoding="utf-8")
    prepared = prepare(Folder(path=str(root)), tmp_path / "cache")
    assert prepared.removed == (".gitmodules",)
    assert git(prepared.tree, "rev-list", "--count", "HEAD") == "1"


# --- copies, keys, processes, command line


def test_a_copy_of_a_prepared_tree_is_a_clean_repository_with_the_same_hash(
    tmp_path: Path, upstream: Path
) -> None:
    commit(upstream, {"CLAUDE.md": "use lens"})
    prepared = prepare(Git(git=str(upstream), revision="trunk"), tmp_path / "cache")
    copy_tree(str(prepared.tree), str(tmp_path / "copy"))
    assert hash_tree(str(tmp_path / "copy")) == prepared.tree_sha256
    assert (git(tmp_path / "copy", "status", "--porcelain"), git(tmp_path / "copy", "fsck")) == (
        "",
        "",
    )


def test_keys_are_readable_and_differ_with_the_source() -> None:
    key = source_key(Pypi(pypi="Click==8.1.8", sha256=OTHER_HASH[::-1]))
    assert key.startswith("click-8.1.8-")
    assert len(key) == len("click-8.1.8-") + 8
    sources: list[Source] = [
        Pypi(pypi="Click==8.1.8", sha256=OTHER_HASH),
        Git(git="https://example.invalid/a/click.git", revision="8.1.8"),
        Git(git="git@example.invalid:a/click", revision="8.1.8"),
        Git(git="/click", revision="8.1.7"),
        Folder(path="/click"),
        Folder(path="/"),
        Folder(path="/Ünïcode name/.."),
    ]
    keys = {key, *(source_key(source) for source in sources)}
    assert len(keys) == len(sources) + 1
    assert all(
        name == name.lower() and "/" not in name and not name.startswith(".") for name in keys
    )


def test_processes_that_prepare_the_same_source_at_once_share_one_tree(
    tmp_path: Path, upstream: Path
) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text(
        json.dumps({"repositories": {"u": {"git": str(upstream), "revision": "trunk"}}})
    )
    started = [
        subprocess.Popen(
            [
                sys.executable,
                "-P",
                "-m",
                "lensbench.repositories.prepare",
                "--plan",
                str(plan),
                "--cache",
                str(tmp_path / "cache"),
                "--output",
                str(tmp_path / f"{number}.json"),
            ],
            stdout=subprocess.DEVNULL,
        )
        for number in range(3)
    ]
    assert [process.wait(60) for process in started] == [0, 0, 0]
    assert len({(tmp_path / f"{number}.json").read_bytes() for number in range(3)}) == 1
    folders = [path.name for path in (tmp_path / "cache").iterdir() if path.is_dir()]
    assert folders == [source_key(Git(git=str(upstream), revision="trunk"))]


def run_stage(tmp_path: Path, plan: object) -> int:
    (tmp_path / "plan.json").write_text(plan if isinstance(plan, str) else json.dumps(plan))
    return main(
        [
            "--plan",
            str(tmp_path / "plan.json"),
            "--cache",
            "cache",
            "--output",
            str(tmp_path / "repositories.json"),
        ]
    )


def test_the_stage_writes_where_each_repository_stands(
    tmp_path: Path,
    upstream: Path,
    index: Index,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    sha256 = index.add("demo-1.0.tar.gz", packed(PACKAGE))
    sources = {
        "package": {"pypi": "demo==1.0", "sha256": sha256},
        "same": {"pypi": "demo==1.0", "sha256": sha256},
        "checkout": {"git": "upstream", "revision": "trunk"},
        "folder": {"path": "upstream"},
    }
    assert run_stage(tmp_path, {"repositories": sources}) == 0
    rows = json.loads((tmp_path / "repositories.json").read_text())
    assert {key: row["source"] for key, row in rows.items()} == sources
    assert (
        rows["package"]["tree"] == f"cache/{source_key(Pypi(pypi='demo==1.0', sha256=sha256))}/tree"
    )
    assert all(hash_tree(row["tree"]) == row["tree_sha256"] for row in rows.values())
    assert sorted(rows["package"]) == [
        "empty",
        "has_history",
        "history",
        "removed",
        "revision",
        "source",
        "tree",
        "tree_sha256",
    ]
    assert len(capsys.readouterr().out.splitlines()) == 4
    before = (tmp_path / "repositories.json").read_bytes()
    assert run_stage(tmp_path, {"repositories": sources}) == 0
    assert (tmp_path / "repositories.json").read_bytes() == before


@pytest.mark.parametrize(
    ("name", "command", "words"),
    [
        ("mine", "serena start-mcp-server", "mine serena"),
        ("seek_mcp", "npx -y @acme/seek-mcp@1.2 .", "seek"),
        ("a", "uvx --from git+https://github.com/oraios/serena serena", "a serena"),
        ("a", "${python} -P -m seek_server.cli", "a seek"),
        ("a", "/opt/bin/python3.11 /home/me/tools/server.py --root docs", "a"),
        ("a", "node /x/node_modules/@me/graphx/dist/index.js", "a graphx"),
        ("a", "docker run -i --rm acme/seek:1", "a seek"),
        ("a", "env A=1 timeout 600 /usr/bin/Code-Graph docs", "a code-graph"),
        ("a", "uv run --directory /opt/seek server.py", "a seek"),
        ("a", "bash -lc 'cd /tmp && exec seek | tee docs'", "a seek"),
        ("Far", "", "far"),
    ],
)
def test_words_for_a_server_are_its_and_its_program_s_name(
    tmp_path: Path, name: str, command: str, words: str
) -> None:
    argv = shlex.split(command)
    entry = (
        {"command": argv[0], "args": argv[1:]}
        if argv
        else {"type": "http", "url": "http://localhost:1/docs"}
    )
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {name: entry}}))
    condition: Any = {"mcp": str(tmp_path / "mcp.json")}
    assert treatment_words([condition]) == words.split()


def test_no_repository_of_a_stock_agent_names_the_treatment_and_what_may_be_its_index_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mcp.json").write_text('{"mcpServers": {"mine": {"command": "seek"}}}')
    for name in ("one", "two"):
        write(
            tmp_path / name,
            {"CLAUDE.md": "Be brief.", "a/CLAUDE.md": "Ask seek.", "apps/a/.seek/db": "x"},
        )
    plan = {
        "repositories": {name: {"path": name} for name in ("one", "two")},
        "agent": {"profile": "stock"},
    }
    assert (
        run_stage(
            tmp_path,
            {**plan, "conditions": {"without": {"mcp": None}, "with": {"mcp": "mcp.json"}}},
        )
        == 0
    )
    rows = json.loads((tmp_path / "repositories.json").read_text())
    assert [row["removed"] for row in rows.values()] == [["a/CLAUDE.md"]] * 2
    said = capsys.readouterr().out.splitlines()
    assert all(line.endswith("1 paths removed; named like a server: apps/a/.seek") for line in said)


def test_every_repository_that_cannot_be_had_is_named_at_once(
    tmp_path: Path,
    upstream: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    sources = {
        "good": {"path": "upstream"},
        "bad": {"path": "nothing"},
        "worse": {"git": "none", "revision": "x"},
    }
    assert run_stage(tmp_path, {"repositories": sources}) == 1
    errors = capsys.readouterr().err.splitlines()
    assert [one.split(":")[:2] for one in errors] == [
        ["error", " repository 'bad'"],
        ["error", " repository 'worse'"],
    ]
    assert not (tmp_path / "repositories.json").exists()


@pytest.mark.parametrize(
    "plan", ["{", "[]", "{}", '{"repositories": {"a": {"path": 1}}}', '{"repositories": {"a": []}}']
)
def test_an_unusable_plan_is_no_traceback(
    tmp_path: Path, plan: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_stage(tmp_path, plan) == 1
    assert capsys.readouterr().err.startswith("error: ")


def test_a_missing_folder_and_a_cache_that_cannot_be_written_are_named(
    tmp_path: Path, upstream: Path
) -> None:
    with pytest.raises(UserError, match="there is no folder"):
        prepare(Folder(path=str(tmp_path / "missing")), tmp_path / "cache")
    (tmp_path / "other").write_text("a file")
    with pytest.raises(UserError, match="cannot be stored"):
        prepare(Folder(path=str(upstream)), tmp_path / "other")
