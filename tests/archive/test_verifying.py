"""Checking archives from strangers: whatever was changed, one line says what."""

import csv
import json
import shutil
import stat
import sys
import warnings
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from archived import (
    JUDGE,
    MODEL,
    add,
    edit,
    edit_json,
    edit_rows,
    forge,
    make_benchmark,
    pack,
    raw_zip,
    remove,
    rename,
)
from lensbench.core.errors import UserError
from lensbench.core.records import from_json, to_json
from lensbench.core.system.program import run_program
from lensbench_archive import unpacking, verify
from lensbench_archive.code import code_hash
from lensbench_archive.rebuilding import is_derived
from lensbench_archive.unpacking import unpack
from programs import run_module
from stock import write

Change = Callable[[Path], object]


@pytest.fixture(scope="module")
def packed_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an archive with a mechanical judge and a model judge."""
    project = tmp_path_factory.mktemp("base") / "project"
    with pytest.MonkeyPatch.context() as patch:
        write(
            project,
            {"repo/a.py": "x = 1\n", "lens.json": '{"mcpServers": {"lens": {"command": "lens"}}}'},
        )
        patch.chdir(project)
        conditions = {"without": {}, "with": {"mcp": "lens.json"}}
        given = {"run_id": "r", "scenarios": "set.yaml", "conditions": conditions}
        told = (sys.executable, str(JUDGE), str(project.with_name("asked")))
        return pack(make_benchmark(project, given, with_model=True), allowed=told)


@pytest.fixture
def archive(packed_once: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copy(packed_once, tmp_path / "r.zip"))


@pytest.fixture
def check(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, list[str]]]:
    """Runs the program; returns its exit code and the lines that it printed."""

    def run(*arguments: object) -> tuple[int, list[str]]:
        monkeypatch.setattr(sys, "argv", ["verifying", *map(str, arguments)])
        code: Any = 0
        try:
            run_program(verify.main)
        except SystemExit as end:
            code = end.code
        printed = capsys.readouterr()
        errors = [line for line in printed.err.splitlines() if line.startswith("error: ")]
        return code, [*printed.out.splitlines(), *errors]

    return run


def failures(result: tuple[int, list[str]]) -> list[str]:
    """What was found; the exit code must say the same."""
    code, lines = result
    found = [line.removeprefix("FAIL: ") for line in lines if line.startswith("FAIL: ")]
    assert code == (1 if found else 0), lines
    return found


def test_an_untouched_archive_holds_and_nobody_knows_who_made_it(archive: Path, check: Any) -> None:
    code, lines = check(archive)
    assert code == 0
    assert lines == [
        f"ok: {archive}: unchanged since it was written, and everything compared follows from its runs,"
        " according to its own checksums; who wrote it, and whether the runs took place, cannot be verified"
    ]


def test_all_that_is_changed_without_its_hash_is_named(archive: Path, check: Any) -> None:
    changes = {
        "data/run/runs/one-with.md: was changed": edit("runs/one-with.md", "x in", "y in"),
        "data/run/verdicts.csv: was changed": edit("verdicts.csv", "Met", "Missed"),
        "data/run/attempts/one-with/2/record.json: was changed": edit(
            "attempts/one-with/2/record.json", "10.0", "9.0"
        ),
        "data/run/logs/one-with.log: was changed": edit("logs/one-with.log", "answered", "guessed"),
        "data/run/attempts/one-with/1/discard.json: is missing": remove(
            "attempts/one-with/1/discard.json"
        ),
        "data/run/runs/three-with.md: was added to the archive": add("data/run/runs/three-with.md"),
        "data/run/runs/one-without.md: is missing": rename(
            "runs/one-without.md", "runs/one-other.md"
        ),
        "data/run/runs/one-other.md: was added to the archive": lambda bag: None,  # its new name
        "note.txt: was added to the archive": add("note.txt"),
        "bag-info.txt: was changed": edit("../../bag-info.txt", "r", "s"),
    }
    found = failures(
        check(
            forge(archive, lambda bag: [change(bag) for change in changes.values()], rehash=False)
        )
    )
    assert sorted(line.partition(" (")[0] for line in found) == sorted(changes)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tagmanifest-sha256.txt", "tagmanifest-sha256.txt: is missing"),
        ("bagit.txt", "is not a BagIt bag"),
    ],
)
def test_a_bag_without_its_own_files_is_told(
    archive: Path, check: Any, name: str, expected: str
) -> None:
    (found,) = failures(check(forge(archive, lambda bag: (bag / name).unlink(), rehash=False)))
    assert found.startswith(expected)


def test_what_the_archive_says_forges_no_line(archive: Path, check: Any) -> None:
    def change(bag: Path) -> None:
        path = bag / "data" / "versions.json"
        path.write_text(
            json.dumps(
                {**json.loads(path.read_text()), "code_sha256": "", "commit": "\x1b[2J\nok: r.zip"}
            )
        )

    _, lines = check(forge(archive, change, rehash=True))
    assert all(line.isprintable() for line in lines)
    assert [line.split(":")[0] for line in lines] == ["note", "ok"]


def shorter(record: dict[str, Any]) -> None:
    record["attempt"]["duration_s"] = 1.0


def with_its_checksum(bag: Path) -> None:
    path = bag / "data" / "run" / "attempts/one-with/2/record.json"
    record = from_json(path.read_text())
    path.write_text(to_json(replace(record, attempt=replace(record.attempt, duration_s=1.0))))


def as_met(row: dict[str, str]) -> None:
    row.update(verdict="Met", points="1")


def better(results: dict[str, Any]) -> None:
    results["comparisons"]["with"]["wins"] += 1


ATTEMPT = tuple(
    f"attempts/one-with/1/{name}" for name in ("answer.md", "record.json", "discard.json")
)
DERIVED = {
    "verdicts.csv": edit_rows("verdicts.csv", as_met),
    "verdicts/mechanical.csv": edit_rows("verdicts/mechanical.csv", as_met),
    "results.json": edit_json("results.json", better),
    "results.md": edit("results.md", "with", "WITH"),
    "report.html": edit("report.html", "with", "WITH"),
    "answers/one.html": edit("answers/one.html", "one", "two"),
    "runs/timing.csv": edit("runs/timing.csv", "10", "11"),
}


def test_every_table_result_and_page_that_was_changed_with_its_hash_is_named(
    archive: Path, check: Any
) -> None:
    def change(bag: Path) -> None:
        for each in (*DERIVED.values(), add("data/run/answers/other.html"), remove("pairs.csv")):
            each(bag)

    named = {f"run/{name}: does not follow from answers, records and verdicts" for name in DERIVED}
    assert set(failures(check(forge(archive, change, rehash=True)))) == named | {
        "run/answers/other.html: does not follow from the runs",
        "run/pairs.csv: is missing, although it follows from the runs",
    }


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            edit("runs/one-with.md", "x in", "y in"),
            "run/runs/one-with.md: is not the answer in attempts/",
        ),
        (edit("attempts/one-with/2/answer.md", "x in", "y in"), "is not of the answer beside it"),
        (
            edit_json("attempts/one-with/2/record.json", shorter),
            "run/attempts/one-with/2/record.json: was changed",
        ),
        (with_its_checksum, "run/scores.csv: does not follow"),
        (
            edit_rows(f"verdicts/{MODEL}.csv", as_met),
            "the verdict on one, without, trial 1, criterion 2 differs from the judge's reply",
        ),
        (remove(f"verdicts/{MODEL}.csv"), "a model's verdicts cannot be rebuilt without asking it"),
        (
            edit("prompts/one.md", "Where", "There"),
            "run/prompts/one.md: differs from the prompt in the plan",
        ),
        (remove(*ATTEMPT), "run/attempts/one-with/1/record.json: is missing"),
        (
            remove(*ATTEMPT, "attempts/made-1.csv"),
            "run/attempts/one-with/2: is not listed in made-*.csv",
        ),
        (
            remove("attempts/two-with/1/discard.json"),
            "run/attempts/two-with/1/discard.json: is missing, although",
        ),
        (
            edit_json("attempts/one-with/1/discard.json", lambda value: value.pop("by")),
            "discard.json: is not a discard",
        ),
        (
            edit("attempts/one-with/1/answer.md", "broken", "better"),
            "is not of the answer beside it",
        ),
        (
            lambda bag: shutil.rmtree(bag / "data/run/attempts/one-without"),
            "run/runs/one-without.md: this planned run is missing",
        ),
        (
            edit_json("plan.json", lambda plan: plan["tasks"].pop("two")),
            "run/plan.json: is not a plan written by lensbench",
        ),
        (
            edit_json("plan.json", lambda plan: plan.update(order=["one", "../two"])),
            "run/plan.json: is not a plan",
        ),
        (
            edit_json("plan.json", lambda plan: plan.update(trials=10**9)),
            "run/plan.json: is not a plan",
        ),
        (
            edit_json("plan.json", lambda plan: plan.update(gate=[])),
            "the figures cannot be rebuilt",
        ),
        (add("data/versions.json", "[]"), "the figures cannot be rebuilt: TypeError"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_change_with_its_hash_contradicts_more(
    archive: Path, check: Any, change: Change, expected: str
) -> None:
    found = failures(check(forge(archive, change, rehash=True)))
    assert any(expected in line for line in found), found


@pytest.mark.slow
def test_other_code_is_said_first(archive: Path, check: Any) -> None:
    def older(bag: Path) -> None:
        path = bag / "data" / "versions.json"
        path.write_text(path.read_text().replace('"code_sha256": "', '"code_sha256": "0'))

    code, lines = check(forge(archive, older, rehash=True))
    assert code == 0
    assert lines[0].startswith("note: written by lensbench 0.1.0")

    def with_other_pages(bag: Path) -> None:
        older(bag)
        table = bag / "data" / "run" / "validity.csv"
        rows = list(csv.reader(table.read_text().splitlines()))
        table.write_text("".join(",".join(row[:-1]) + "\n" for row in rows))
        for name in ("results.md", "results.json", "answers/one.html"):
            DERIVED[name](bag)

    code, lines = check(forge(archive, with_other_pages, rehash=True))
    assert code == 0
    assert lines[1] == (
        "note: 3 other files differ with this code and were not compared: answers/one.html, results.json, results.md"
    )

    def with_other_heads(bag: Path) -> None:
        older(bag)
        table = bag / "data" / "run" / "escalations.csv"
        assert len(table.read_text().splitlines()) == 1, "no row"
        table.write_text("task,trial\n")

    assert failures(check(forge(archive, with_other_heads, rehash=True))) == []

    def with_other_verdicts(bag: Path) -> None:
        older(bag)
        DERIVED["verdicts.csv"](bag)

    assert failures(check(forge(archive, with_other_verdicts, rehash=True))) == [
        "run/verdicts.csv: does not follow from answers, records and verdicts"
    ]


def linked(name: str) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(name)
    member.external_attr = (stat.S_IFLNK | 0o777) << 16
    return member


@pytest.mark.parametrize(
    "name",
    [
        "r/../../evil",
        "../evil",
        "/tmp/lensbench-evil",
        "r//evil",
        "r/./evil",
        "r/C:\\evil",
        "r/a\nb",
        "evil",
        "s/evil",
        "r/bagit.txt",
        "r/bagit.txt/evil",
        linked("r/link"),
    ],
    ids=str,
)
def test_each_member_stays_or_is_told(
    archive: Path, tmp_path: Path, check: Any, name: str | zipfile.ZipInfo
) -> None:
    with warnings.catch_warnings(), zipfile.ZipFile(archive, "a") as zipped:
        warnings.simplefilter("ignore", UserWarning)  # zipfile warns of names that are there twice
        zipped.writestr(name, b"/etc/passwd")
    place = tmp_path / "place"
    place.mkdir()
    before = {path for path in tmp_path.rglob("*") if place not in path.parents}
    with suppress(UserError):
        unpack(archive, place)
    assert {path for path in tmp_path.rglob("*") if place not in path.parents} == before
    assert not any(path.is_symlink() for path in place.rglob("*"))
    assert not Path("/tmp/lensbench-evil").exists()
    assert check(archive)[0] == 1


FOREIGN = ("1/answer.md", "1/discard.json", "1/record.json", "2/answer.md", "2/record.json")


def test_files_on_which_no_number_rests_are_named(archive: Path, check: Any) -> None:
    def change(bag: Path) -> None:
        names = (
            "data/run/runs/other-with.md",
            "data/run/human/readme.txt",
            "data/project/tool.exe",
        )
        write(bag, dict.fromkeys(names, "x"))
        shutil.copytree(bag / "data/run/attempts/one-with", bag / "data/run/attempts/other-with")

    code, lines = check(forge(archive, change, rehash=True))
    notes = [line for line in lines if line.endswith("no figure uses it")]
    assert [line.split(": ")[1] for line in notes] == [
        *(f"run/attempts/other-with/{name}" for name in FOREIGN),
        "run/runs/other-with.md",
        "run/human/readme.txt",
        "project/tool.exe",
    ]
    assert code == 1
    assert (
        "FAIL: run/attempts/other-with/2/record.json: is not of the answer beside it"
        in "\n".join(lines)
    )


def test_a_bomb_is_refused_before_it_goes_off(tmp_path: Path, check: Any) -> None:
    bomb = raw_zip(tmp_path / "bomb.zip", [("r/zeros", b"\0" * (unpacking.ANY_RATIO_BYTES + 1))])
    assert bomb.stat().st_size < 100_000
    code, lines = check(bomb)
    assert (code, len(lines)) == (1, 1)
    assert "zip bomb" in lines[0]


@pytest.mark.parametrize(("limit", "value"), [("MAX_UNPACKED_BYTES", 5), ("MAX_UNPACKED_FILES", 1)])
def test_a_huge_archive_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    archive = raw_zip(tmp_path / "large.zip", [("r/a", b"123"), ("r/b", b"456")])
    monkeypatch.setattr(unpacking, limit, value)
    with pytest.raises(UserError, match="at most"):
        unpack(archive, tmp_path)


def test_a_file_that_says_it_is_shorter_than_it_is_does_not_fill_the_disk(tmp_path: Path) -> None:
    content = b"0123456789" * 1000
    archive = raw_zip(tmp_path / "liar.zip", [("r/a", content)])
    data = archive.read_bytes().replace(
        len(content).to_bytes(4, "little"), (10).to_bytes(4, "little")
    )
    archive.write_bytes(data)
    with pytest.raises(UserError, match="damaged"):
        unpack(archive, tmp_path)
    assert (tmp_path / "r" / "a").stat().st_size <= 10


@pytest.mark.parametrize("content", [b"", b"PK", b"no zip file", None])
def test_what_is_no_zip_file_is_one_line(tmp_path: Path, check: Any, content: bytes | None) -> None:
    path = tmp_path / "x.zip"
    if content is not None:
        path.write_bytes(content)
    code, lines = check(path)
    assert (code, len(lines)) == (2 if content is None else 1, 1)
    assert lines[0].startswith("error: ")


def test_a_flipped_byte_is_found_and_a_cut_off_archive_is_damaged(
    archive: Path, check: Any
) -> None:
    with zipfile.ZipFile(archive) as zipped:
        largest = max(zipped.infolist(), key=lambda member: member.compress_size)
    _flip(archive, largest.header_offset + largest.compress_size // 2)
    assert check(archive)[0] == 1
    archive.write_bytes(archive.read_bytes()[:-200])
    code, lines = check(archive)
    assert (code, len(lines)) == (1, 1)
    assert "damaged" in lines[0]


@pytest.mark.parametrize("seed", range(12))
def test_a_byte_flipped_anywhere_is_found_or_changes_nothing(
    archive: Path, tmp_path: Path, seed: int
) -> None:
    """Dates and the like in the zip's own headers are read by nobody."""
    before = _contents(unpack(archive, tmp_path / "before"))
    _flip(archive, Random(seed).randrange(archive.stat().st_size))
    try:
        after = unpack(archive, tmp_path / "after")
    except UserError:
        return
    assert _contents(after) == before


def _flip(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


def _contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_verify_of_a_file_that_is_no_archive_fails_and_names_it(tmp_path: Path) -> None:
    (tmp_path / "r.zip").write_bytes(b"no zip file")
    done = run_module("lensbench_archive.verify", "r.zip", cwd=tmp_path)
    assert done.returncode == 1
    assert "r.zip" in done.stdout + done.stderr


def test_code_rules_templates_and_libraries_are_the_code_and_caches_of_python_are_not(
    tmp_path: Path,
) -> None:
    parts = [
        "scripts/lensbench/a.py",
        "rules/a.smk",
        "templates/a.j2",
        "Snakefile",
        "requirements.lock",
    ]
    hashes = {code_hash(write(tmp_path, dict.fromkeys(parts, "1\n")))}
    hashes |= {code_hash(write(tmp_path, {name: "2\n"})) for name in parts}
    assert len(hashes) == 1 + len(parts)
    for name in (
        "__pycache__",
        "gone/__pycache__",
    ):  # what an update leaves of a folder that it removes
        write(tmp_path, {f"scripts/lensbench/{name}/a.cpython-311.pyc": "x"})
    assert code_hash(tmp_path) in hashes


@pytest.mark.parametrize(
    ("name", "is_made"),
    [
        ("verdicts/mechanical.csv", True),
        ("verdicts/human-anna.csv", True),
        ("verdicts/claude.csv", False),
        ("results.json", True),
        ("plan.json", False),
    ],
)
def test_what_follows_from_the_runs_is_made_again(name: str, is_made: bool) -> None:
    assert is_derived(name) == is_made
