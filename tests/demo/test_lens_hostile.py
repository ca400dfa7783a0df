"""A repository that wants to be read outside itself, or to run something."""

import os
import subprocess
from pathlib import Path

from lens_client import ask, commit

from lensbench_tasks.parsers.files import MAX_BYTES, list_sources
from stock import write


def names(root: Path) -> list[str]:
    return [source.path for source in list_sources(root.resolve())]


def test_symlinks_are_not_followed_with_git_or_without(tmp_path: Path) -> None:
    write(tmp_path / "outside", {"secret.py": "treasure = 1\n", "deep/secret.py": "treasure = 1\n"})
    for root in (
        write(tmp_path / "plain", {"a.py": ""}),
        write(tmp_path / "git", {"a.py": "", "was/secret.py": ""}),
    ):
        (root / "link.py").symlink_to(tmp_path / "outside" / "secret.py")
        (root / "folder").symlink_to(tmp_path / "outside")
    commit(root)
    (root / "was" / "secret.py").unlink()
    (root / "was").rmdir()
    (root / "was").symlink_to(tmp_path / "outside")
    for name in ("plain", "git"):
        assert names(tmp_path / name) == ["a.py"]
        assert ask(tmp_path / name, "lens_grep", query="treasure").json["results"] == {
            "treasure": []
        }
        assert ask(tmp_path / name, "lens_graph_neighbors", path="link.py").is_error
        assert ask(tmp_path / name, "lens_graph", repoPath="folder").is_error


def test_odd_names_and_bytes_are_shown_as_valid_text(tmp_path: Path) -> None:
    for name in (b"line\nbreak.py", b"latin\xe9.py", b'quo"te.py', b"\x0112", b"sp ace .py"):
        Path(os.fsdecode(bytes(tmp_path) + b"/" + name)).write_bytes(b"needle = '\xff\xfe'\n")
    for with_git in (False, True):
        if with_git:
            commit(tmp_path)
        answer = ask(tmp_path, "lens_grep", query="needle").json
        assert {hit["path"] for hit in answer["results"]["needle"]} == {
            "line\nbreak.py",
            "latin\ufffd.py",
            'quo"te.py',
            "\x0112",
            "sp ace .py",
        }
        assert not ask(tmp_path, "lens_graph_neighbors", path="latin\ufffd.py").is_error
        assert not ask(tmp_path, "lens_graph", dir="").is_error


def test_huge_binary_and_special_files_are_left_out(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"big.py": "x" * (MAX_BYTES + 1), "limit.py": "y" * MAX_BYTES, "zero.py": "a\0needle"},
    )
    os.mkfifo(tmp_path / "pipe.py")
    assert names(tmp_path) == ["limit.py", "zero.py"]
    assert ask(tmp_path, "lens_grep", query="needle|big").json["results"] == {
        "needle": [],
        "big": [],
    }


def test_nothing_of_the_repository_is_executed(tmp_path: Path) -> None:
    root = write(tmp_path / "repo", {"a.py": "needle = 1\n", "b.py": ""})
    trap = tmp_path / "trap"
    commit(root)
    script = tmp_path / "run.sh"
    script.write_text(f"#!/bin/sh\necho \"$0\" >> '{trap}'\nexit 0\n")
    script.chmod(0o755)
    for hook in ("post-index-change", "fsmonitor-watchman", "reference-transaction"):
        (root / ".git" / "hooks" / hook).parent.mkdir(exist_ok=True)
        (root / ".git" / "hooks" / hook).symlink_to(script)
    settings = {
        "core.fsmonitor": script,
        "core.hooksPath": tmp_path,
        "core.pager": script,
        "core.sshCommand": script,
        "alias.ls-files": f"!{script}",
        "alias.log": f"!{script}",
        "log.showSignature": "true",
        "gpg.program": script,
        "diff.external": script,
        "diff.x.textconv": script,
        "filter.x.clean": script,
        "remote.origin.url": f"ext::{script}",
        "remote.origin.promisor": "true",
        "extensions.partialClone": "origin",
        "protocol.ext.allow": "always",
        "core.worktree": "/etc",
    }
    for key, value in settings.items():
        subprocess.run(["git", f"--git-dir={root / '.git'}", "config", key, str(value)], check=True)
    write(root, {".gitattributes": "* diff=x filter=x\n", "a.py": "needle = 2\n"})
    assert names(root) == [".gitattributes", "a.py", "b.py"]
    assert len(ask(root, "lens_grep", query="needle").json["results"]["needle"]) == 1
    assert ask(root, "lens_reindex").json["skipped"] is False
    assert not trap.exists()


def test_missing_objects_are_not_fetched_and_break_nothing(tmp_path: Path) -> None:
    root = write(tmp_path, {"a.py": "needle = 1\n"})
    commit(root)
    for name in (root / ".git" / "objects").rglob("*"):
        if name.is_file():
            name.chmod(0o600)
            name.write_bytes(b"broken")
    assert len(ask(root, "lens_grep", query="needle").json["results"]["needle"]) == 1


def test_a_folder_that_git_ignores_is_served_whole(tmp_path: Path) -> None:
    write(tmp_path, {"inner/a.py": "", "inner/b.py": "", ".gitignore": "inner\n"})
    commit(tmp_path)
    assert names(tmp_path / "inner") == ["a.py", "b.py"]


def test_an_empty_folder_has_an_empty_map(tmp_path: Path) -> None:
    assert ask(tmp_path, "lens_graph").json == {"clusters": [], "edges": []}
    assert ask(tmp_path, "lens_grep", query="x").json["results"] == {"x": []}
