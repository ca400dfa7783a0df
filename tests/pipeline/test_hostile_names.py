"""Names that a shell, a terminal or another user would like to have."""

from __future__ import annotations

import os

from small_benchmark import Project

HOSTILE = 'it\'s "$(touch pwned)"; `touch pwned` & '


def test_no_name_is_obeyed_and_nobody_else_can_write_what_is_made(project: Project) -> None:
    (project.folder / "tasks.yaml").rename(project.folder / f"{HOSTILE}.yaml")
    (project.folder / "mcp.json").rename(project.folder / f"{HOSTILE}.json")
    shell = "printf '\\033[2Jnoise' >&2; cat \"$0\""
    project.configure(
        {"kind": "command", "command": ["/bin/sh", "-c", shell, "{prompt_file}"]},
        scenarios=f"{HOSTILE}.yaml", conditions={"without": {}, "with": {"mcp": f"{HOSTILE}.json"}}, cache=HOSTILE,
    )  # fmt: skip
    before = os.umask(0)
    try:
        project.start()
    finally:
        os.umask(before)
    assert not list(project.folder.rglob("pwned"))
    assert (project.folder / HOSTILE).is_dir()
    made = [project.bench, *project.bench.rglob("*")]
    assert [str(path) for path in made if not path.is_symlink() and path.stat().st_mode & 0o002] == []
    log = (project.bench / "logs" / "anna-with.log").read_text()
    assert "noise" in log
    assert "\x1b" not in log


def test_a_name_that_is_no_name_is_refused(project: Project) -> None:
    (project.folder / "{x}.yaml").write_text("tasks: []")
    for setting in ("run_id=a'b", "run_id=a;touch pwned", "run_id=../r", "run_id=$(touch pwned)", "scenarios={x}.yaml"):
        said = project.start("--config", setting, fails=True)
        assert "use letters, digits and '-' only" in said or "has a brace in its name" in said
        assert "Traceback" not in said
    assert not list(project.folder.parent.rglob("pwned"))
