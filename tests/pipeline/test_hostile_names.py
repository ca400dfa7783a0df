"""Names that a shell, a terminal or another user would like to have."""

import os
import re
import shutil
import subprocess

import pytest

from small_benchmark import Project

HOSTILE = 'it\'s "$(touch pwned)"; `touch pwned` & '


def test_no_name_is_obeyed_and_nobody_else_can_write_what_is_made(project: Project) -> None:
    (project.folder / "tasks.yaml").rename(project.folder / f"{HOSTILE}.yaml")
    (project.folder / "mcp.json").rename(project.folder / f"{HOSTILE}.json")
    shell = "printf '\\033[2Jnoise' >&2; cat \"$0\""
    project.configure(
        {"kind": "command", "command": ["/bin/sh", "-c", shell, "{prompt_file}"], "tee": False},
        scenarios=f"{HOSTILE}.yaml",
        conditions={"without": {}, "with": {"mcp": f"{HOSTILE}.json"}},
        cache=HOSTILE,
    )
    before = os.umask(0)
    try:
        project.start()
    finally:
        os.umask(before)
    assert not list(project.folder.rglob("pwned"))
    assert (project.folder / HOSTILE).is_dir()
    made = [project.bench, *project.bench.rglob("*")]
    assert [
        str(path) for path in made if not path.is_symlink() and path.stat().st_mode & 0o002
    ] == []
    log = (project.bench / "logs" / "anna-with.log").read_text()
    assert "noise" in log
    assert "\x1b" not in log


def test_a_name_that_is_no_name_is_refused(project: Project) -> None:
    said = project.start(
        "--config", "run_id=a;touch pwned", fails=True
    )  # other names: test_config.py
    assert "use letters, digits and '-' only" in said
    assert "Traceback" not in said
    said = project.start("-n", target="bench/r/runs/$(touch pwned)-with.md", fails=True)
    assert "MissingRuleException" in said
    assert not list(project.folder.parent.rglob("pwned"))


@pytest.mark.parametrize("locale", ["en_US.ISO-8859-1", "C"])
def test_every_locale_gives_the_scores_of_utf_8_and_names_its_encodings(
    project: Project, locale: str
) -> None:
    env = {
        "LC_ALL": locale,
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
        "PYTHONWARNDEFAULTENCODING": "1",
    }
    if locale != "C":
        if not shutil.which("localedef"):
            pytest.skip("localedef, which makes a Latin-1 locale, is not installed")
        made = project.control / locale
        subprocess.run(
            ["localedef", "-i", "en_US", "-f", "ISO-8859-1", made], check=True, capture_output=True
        )
        env["LOCPATH"] = str(project.control)
    project.write_tasks(["size"], wanted="Größe", suffix=" Wo steht 日本?")
    (project.folder / "tasks.yaml").rename(project.folder / "größe.yaml")
    (project.folder / "repo" / "größe.py").write_text("Größe = 40\n", encoding="utf-8")
    (project.folder / "answer.md").write_text(
        "Die Größe steht in größe.py:1, 日本.\n", encoding="utf-8"
    )
    command = ["/bin/cat", str(project.folder / "answer.md")]
    agent = {"kind": "command", "command": command, "tee": False}
    project.configure(agent, scenarios="größe.yaml")
    with (project.control / "output").open("w+", encoding="utf-8") as output:
        ended = project.begin(env=env, output=output.fileno()).wait(120)
        output.seek(0)
        said = output.read()
    assert ended == 0, said
    assert {row["score"] for row in project.table("scores")} == {"0.5"}
    assert "Größe = 40" in (project.bench / "citations.json").read_text(encoding="utf-8")
    assert "—" in said
    logs = [log.read_text(encoding="utf-8") for log in (project.bench / "logs").rglob("*.log")]
    assert not re.search(r"lensbench/\S+: EncodingWarning", "\n".join([said, *logs]))
