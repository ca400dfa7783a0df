"""A benchmark to archive, built by hand and by the real stages; and ways to forge an archive."""

import csv
import io
import json
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import bagit

from handmade import Bench
from lensbench.core.records import sha256
from lensbench.judging.verdicts import judge_all
from lensbench.plan.freeze import write_plan
from lensbench.plan.reading import load_config
from lensbench.runs.validity import judge_validity
from lensbench_archive.archive import main
from lensbench_archive.bag import write_zip
from lensbench_archive.rebuilding import rebuild
from lensbench_archive.unpacking import unpack
from programs import run_here

TASK = """\
  - id: {}
    category: {}
    repository: {{path: repo}}
    prompt: {}
    criteria:
      - {{text: names `a.py`, all_of: a.py}}
      - {{text: names `{}`, all_of: {}}}
"""
TASKS = f"tasks:\n{TASK.format('one', 'Debug', 'Where is it?', *'xx')}{TASK.format('two', 'Targeted', 'What is it?', *'yy')}"
MODEL = "first"
JUDGE = Path(__file__).parents[1] / "fakes" / "judge.py"
REPORT = "\n## Report\n\n- **Tool calls**: 1\n- **Tools used**: Grep\n- **Files read**: 1\n- **Files used**: a.py\n"


def make_benchmark(project: Path, given: dict[str, Any], with_model: bool = False) -> Path:
    """The run folder of a finished benchmark: four runs, of which one was discarded and repeated, one given up."""
    (project / "set.yaml").write_text(TASKS)
    judges: list[Any] = ["mechanical"]
    if with_model:
        asked = project.with_name(
            "asked"
        )  # not in the project, whose path must not be in the archive
        asked.mkdir()
        command = [sys.executable, "-I", str(JUDGE), "{prompt_file}", str(asked)]
        judges.append({"name": MODEL, "agent": {"kind": "command", "command": command}})
    folder = project / "bench" / "r"
    write_plan(
        load_config({**given, "judges": judges, "sandbox": "none", "discards": {"max_rounds": 0}}),
        [],
        folder,
    )
    bench = Bench(folder, changes=json.loads((folder / "plan.json").read_text(encoding="utf-8")))
    bench.run("one", "without", answer=f"in a.py{REPORT}")
    bench.run("one", "with", answer=f"broken{REPORT}", reason="timed_out")
    bench.run("two", "without", answer=f"in a.py{REPORT}", duration_s=12.0)
    bench.run("two", "with", answer="", reason="empty")
    judge_validity(folder)
    bench.run("one", "with", answer=f"x in a.py{REPORT}")
    for name, text in (
        ("logs/one-with.log", "answered\n"),
        (".gate/one", ""),
        ("runs/.x.md.12.tmp", "half"),
    ):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    if with_model:
        judge_validity(folder)
        judge_all(folder, MODEL)
    rebuild(folder)
    return folder


def pack(folder: Path, allowed: Iterable[str] = ()) -> Path:
    """The archive of a run folder, beside it as usual; `allowed` texts may be in it."""
    archive = folder.with_suffix(".zip")
    run_here(
        main,
        folder,
        "--output",
        archive,
        "--allow",
        *(sha256(text.encode())[:12] for text in allowed),
    )
    return archive


def forge(archive: Path, change: Callable[[Path], object], rehash: bool) -> Path:
    """A copy of the archive with a change in `<run_id>/`, with or without valid hashes."""
    place = archive.parent / "forged"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    bag = unpack(archive, place)
    change(bag)
    if rehash:
        bagit.Bag(str(bag)).save(manifests=True)
    forged = archive.with_name("forged.zip")
    write_zip(bag, forged)
    return forged


def edit(name: str, old: str, new: str) -> Callable[[Path], object]:
    """Replaces a piece of a file in the run folder."""

    def change(bag: Path) -> None:
        path = bag / "data" / "run" / name
        text = path.read_text()
        assert old in text, f"{name} has no {old!r}"
        path.write_text(text.replace(old, new, 1))

    return change


def edit_json(name: str, change: Callable[[Any], object]) -> Callable[[Path], object]:
    """Changes a JSON file in the run folder, written as by lensbench."""

    def edited(bag: Path) -> None:
        path = bag / "data" / "run" / name
        value = json.loads(path.read_text())
        change(value)
        path.write_text(json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n")

    return edited


def edit_rows(name: str, change: Callable[[dict[str, str]], object]) -> Callable[[Path], object]:
    """Changes the rows of a table in the run folder."""

    def edited(bag: Path) -> None:
        path = bag / "data" / "run" / name
        rows = list(csv.DictReader(io.StringIO(path.read_text())))
        for row in rows:
            change(row)
        text = io.StringIO()
        writer = csv.DictWriter(text, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        path.write_text(text.getvalue())

    return edited


def remove(*names: str) -> Callable[[Path], object]:
    """Deletes files of the run folder."""
    return lambda bag: [(bag / "data" / "run" / name).unlink() for name in names]


def add(name: str, text: str = "new\n") -> Callable[[Path], object]:
    """Adds a file, by its path in the bag."""
    return lambda bag: (bag / name).write_text(text)


def rename(old: str, new: str) -> Callable[[Path], object]:
    """Renames a file of the run folder."""
    return lambda bag: (bag / "data" / "run" / old).rename(bag / "data" / "run" / new)


def raw_zip(path: Path, members: list[tuple[str | zipfile.ZipInfo, bytes]]) -> Path:
    """A zip file with exactly these members."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, content in members:
            zipped.writestr(name, content)
    return path
