"""What lensbench rests on inside Snakemake: each test shows what would break, on a small workflow of its own."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
USES = "from lensbench.workflow import snakemake_inside\n"
LIMITED = """
rule all:
    input: "made.txt"
rule made:
    output: "made.txt"
    resources: seats=1
    shell: "echo x > {output}"
onstart:
    print("limited:", workflow.scheduler.job_rate_limiter is not None)
    snakemake_inside.lift_rate_limit(workflow)
    print("three seats:", "3" in str(workflow.global_resources["seats"]))
    print("limited after:", workflow.scheduler.job_rate_limiter is not None)
"""


def snakemake(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "snakemake", "--cores", "1", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_rate_limit_goes_and_resources_are_known(tmp_path: Path) -> None:
    added = "snakemake_inside.add_resources(workflow, {'seats': 3})\n"
    (tmp_path / "Snakefile").write_text(USES + added + LIMITED)
    ended = snakemake(tmp_path, "--max-jobs-per-timespan", "100/1s")
    assert ended.returncode == 0, ended.stderr
    said = ended.stdout.splitlines()
    assert [line for line in said if line.startswith(("limited", "three"))] == [
        "limited: True",
        "three seats: True",
        "limited after: False",
    ]


def test_nothing_else_of_snakemakes_inside_is_used() -> None:
    """What is read of `workflow`, and what is imported; the executor plug-in knows the interface alone, as mypy checks."""
    documented = {"cores", "source_path"}
    read = {"is_main_process", "output_settings", "configfiles"}
    inside = r"\b(job_rate_limiter|register_resource|global_resources|\.sp\b|shellcmd|needrun_jobs|open_jobs)\b"
    files = [ROOT / "Snakefile", *(ROOT / "rules").glob("*.smk"), *(ROOT / "scripts").rglob("*.py")]
    texts = {file: file.read_text(encoding="utf-8") for file in files}
    assert {file.name for file, text in texts.items() if re.search(inside, text)} == {
        "snakemake_inside.py"
    }
    used = {
        name
        for text in texts.values()
        for name in re.findall(r'(?<![\w./"])workflow\.([a-z_]+)', text)
    }
    assert used == documented | read | {"scheduler", "register_resource"}
    imported = {
        name
        for text in texts.values()
        for name in re.findall(r"(?:from|import) (snakemake\.[\w.]+)", text)
    }
    assert imported == {
        "snakemake.cli",
        "snakemake.exceptions",
        "snakemake.logging",
        "snakemake.settings.enums",
        "snakemake.utils",
    }
    assert not [
        at
        for at, it in texts.items()
        if re.search(r"(?:get|set|has)attr\((?:workflow|dag|scheduler)\b", it)
    ]
    private = {
        name
        for text in texts.values()
        for name in re.findall(r"\b(?:workflow|dag|scheduler)\._\w+", text)
    }
    assert private == set()
