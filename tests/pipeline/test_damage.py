"""Files that were cut off or changed: found, named, and only what they are about is made again."""

import gzip
import json
import os
import random
import shutil
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_repeating import DERIVED, NOTHING, bytes_of, contents

from lensbench.core.run_folder import RunFolder
from lensbench.workflow.damage import FolderCheck, read_checksums, read_index
from small_benchmark import RUNS, SCORED, Project

NOT_CHECKED = (
    "logs/",
    "attempts/made-",
    ".gate/",
    ".plan/",
    ".copies/",
    ".at-work",
    ".checked",
    ".checksums",
    "spent.json",
)


def test_a_list_names_nothing_outside_of_its_folder(tmp_path: Path) -> None:
    names = ("a.csv", "/a.csv", "../a.csv", "looks/../../a.csv", "looks/1/..a.csv")
    RunFolder(tmp_path).checksums.write_text("".join(f"{'0' * 64}  {name}\n" for name in names))
    assert list(read_checksums(tmp_path)) == ["a.csv", "looks/1/..a.csv"]


def damage(path: Path, rng: random.Random) -> None:
    """Flips a bit or cuts the end off, and leaves the time as it was."""
    times = path.stat()
    content = bytearray(path.read_bytes())
    if rng.random() < 0.5:
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    else:
        del content[rng.randrange(len(content)) :]
    path.write_bytes(content)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def checked(project: Project) -> list[str]:
    files = (path for path in project.bench.rglob("*") if path.is_file() and path.stat().st_size)
    names = (path.relative_to(project.bench).as_posix() for path in files)
    return sorted(name for name in names if not name.startswith(NOT_CHECKED))


@settings(
    max_examples=300,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(st.data())
def test_any_changed_or_missing_byte_is_found_and_its_file_named(
    finished_once: Project, data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(checked(finished_once)))
    path = finished_once.bench / name
    before = path.read_bytes()
    if data.draw(st.booleans()):
        place = data.draw(st.integers(0, len(before) - 1))
        after = (
            before[:place]
            + bytes([before[place] ^ data.draw(st.integers(1, 255))])
            + before[place + 1 :]
        )
    else:
        after = before[: data.draw(st.integers(0, len(before) - 1))]
    path.write_bytes(after)
    try:
        found = [damage.name for damage in FolderCheck(finished_once.bench).damages]
        assert found == [name] or (not found and reads_the_same(name, before, after))
    finally:
        path.write_bytes(before)


def reads_the_same(name: str, before: bytes, after: bytes) -> bool:
    """The header of a gzip file has a time and a system that nobody reads; a record may have another kind of line end."""
    if name.endswith(".gz"):
        return gzip.decompress(before) == gzip.decompress(after)
    return name.endswith("/record.json") and before == after.replace(b"\r", b"\n")


def test_damaged_runs_are_named_and_made_again_and_no_other(finished: Project) -> None:
    before = finished.files()
    derived = contents(finished)
    rng = random.Random(7)
    names = (
        "anna-with/1/record.json",
        "anna-without/1/answer.md",
        "bert-with/1/transcript.jsonl.gz",
    )
    for name in names:
        path = finished.bench / "attempts" / name
        path.write_bytes(path.read_bytes()[: rng.randrange(1, 30)])
    dry = finished.start("-n")
    assert "bench/r/attempts/anna-with/1/record.json is damaged" in dry
    assert finished.ledger() == []
    shown = finished.start(*SCORED)
    for stem in ("anna-with", "anna-without", "bert-with"):
        assert f"bench/r/attempts/{stem}/1/" in shown
        assert (
            json.loads((finished.bench / "attempts" / stem / "1" / "discard.json").read_text())[
                "by"
            ]
            == "runner"
        )
    assert finished.ledger() == ["anna-with", "anna-without", "bert-with"]
    kept = {name for name in before if "bert-without" in name}
    assert {name: finished.files()[name] for name in kept} == {name: before[name] for name in kept}
    for name in ("verdicts.csv", "pairs.csv", "reports.csv"):
        assert contents(finished)[name] == derived[name]
    assert finished.is_idle(*SCORED)


def test_damaged_tables_are_named_and_rebuilt_without_an_agent(finished: Project) -> None:
    rng = random.Random(1)
    before = finished.files()
    derived = contents(finished)
    chosen = rng.sample([*DERIVED, "preflight.json"], 6)
    for name in chosen:
        damage(finished.bench / name, rng)
    shown = finished.start()
    for name in chosen:
        assert f"bench/r/{name} is damaged" in shown
    assert (contents(finished), bytes_of(finished.files())) == (derived, bytes_of(before))
    assert finished.ledger() == []
    shutil.rmtree(finished.folder / ".snakemake")
    assert NOTHING in finished.start()


def test_the_plan_and_discards_are_restored_from_their_copies(project: Project) -> None:
    project.configure(discards={"max_rounds": 0})
    project.behave(anna_with="crash")
    project.start(*RUNS)
    plan = (project.bench / "plan.json").read_bytes()
    validity = (project.bench / "validity.csv").read_bytes()
    rng = random.Random(3)
    names = ("plan.json", "attempts/anna-with/1/discard.json")
    for name in names:
        damage(project.bench / name, rng)
    shown = project.start(*RUNS)
    assert all(
        f"bench/r/{name} is damaged (its checksum does not match): restored from " in shown
        for name in names
    )
    assert (project.bench / "plan.json").read_bytes() == plan
    assert (project.bench / "validity.csv").read_bytes() == validity
    assert project.ledger() == ["anna-with", "anna-without", "bert-with", "bert-without"]


def test_a_damaged_list_of_checksums_costs_no_run_and_an_old_folder_has_none(
    finished: Project,
) -> None:
    before = bytes_of(finished.files())
    damage(RunFolder(finished.bench).checksums, random.Random(5))
    finished.start(*RUNS)
    assert bytes_of(finished.files()) == before
    RunFolder(finished.bench).checksums.unlink()
    finished.start()
    assert (bytes_of(finished.files()), finished.ledger()) == (before, [])
    assert len(read_index(finished.bench)) == 16


def test_without_an_agent_a_damaged_run_is_named_and_nothing_is_done(finished: Project) -> None:
    finished.configure({"kind": "none"})
    path = finished.attempt("anna-with") / "record.json"
    path.write_bytes(path.read_bytes()[:-5])
    before = finished.files("")
    assert "restore the file, or import the run again" in finished.start(fails=True)
    after = finished.files("")
    assert all(
        after[name] == content for name, content in before.items() if not name.startswith(".")
    )
