"""`lensbench claim`: a block to paste, and what its check refuses."""

import json
import random
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

from archived import edit_rows, forge
from benches import Shape, make_bench
from lensbench.core.errors import CheckFailed, UserError
from lensbench.core.preflight_results import PreflightFindings
from lensbench.core.records import sha256
from lensbench.core.system.files import write_json
from lensbench.results.results import write_results
from lensbench_archive.archive import make_archive
from lensbench_archive.claim import main
from lensbench_archive.verdict import main as verdict
from programs import refusal, run_here

FIGURE = re.compile(r"[0-9]+")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a benchmark of version 2.1, and with what stands for its archive."""
    place = tmp_path_factory.mktemp("measured")
    bench = make_bench(place / "mine", Shape(30, lift=0.3, judges=("mechanical",), repositories=30))
    plan = json.loads((bench / "plan.json").read_text())
    write_json(bench / "plan.json", {**plan, "run_id": "mine"})
    PreflightFindings(versions={"with": {"lens": "2.1"}}).write(bench)
    write_results(bench)
    (place / "mine.zip").write_bytes(b"its archive")
    return place


@pytest.fixture
def project(measured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a README that has the claim."""
    shutil.copytree(measured, tmp_path / "p")
    monkeypatch.chdir(tmp_path / "p")
    Path("README.md").write_text(f"# Mine\n\n{run_here(main, 'mine')}\nMore.\n", encoding="utf-8")
    shutil.copy("mine/badge.svg", "badge.svg")
    return tmp_path / "p"


def checked(*options: str) -> str:
    return run_here(main, "--check", "README.md", "--bench", "mine", *options)


def edit(old: str, new: str) -> None:
    text = Path("README.md").read_text(encoding="utf-8")
    assert old in text
    Path("README.md").write_text(text.replace(old, new, 1), encoding="utf-8")


def test_a_claim_names_what_was_measured_in_at_most_12_lines(project: Path) -> None:
    claim = run_here(main, "mine")
    results = json.loads(Path("mine/results.json").read_text(encoding="utf-8"))
    assert len(claim.splitlines()) <= 12
    assert results["estimates"]["with"]["gate"]["sentence"] in claim
    assert "30 tasks, 30 repositories; claude-code 2.1.329, glm-5; lens 2.1; 2026-01-02." in claim
    assert f"sha256 `{sha256(b'its archive')}`" in claim
    assert "`lensbench claim --check README.md --bench mine.zip`" in claim
    for name in ("tokens_weighted", "cost_usd", "duration_s"):
        assert results["figures"]["with"][name]["change"] in claim
    assert checked() == "ok: README.md:3: GO is what mine.zip says\n"


def test_every_edited_figure_is_refused_with_its_line(project: Path) -> None:
    text = Path("README.md").read_text(encoding="utf-8")
    claim = run_here(main, "mine")
    command = claim.index("Check it:")
    figures = [found for found in FIGURE.finditer(claim) if found.start() < command]
    for found in random.Random(1).sample(figures, 25):
        edited = f"{claim[: found.start()]}{int(found[0]) + 1}{claim[found.end() :]}"
        Path("README.md").write_text(text.replace(claim, edited), encoding="utf-8")
        with pytest.raises((CheckFailed, UserError)) as caught:
            checked()
        assert caught.value.exit_code == 1
        line = 3 + claim.count("\n", 0, found.start())
        is_hash = claim[: found.start()].rpartition("\n")[2].startswith("Archive")
        assert str(caught.value).startswith(f"README.md:{3 if is_hash else line}: ")


def test_words_may_not_be_edited_but_places_may(project: Path) -> None:
    edit("](badge.svg)", "](docs/lensbench.svg)")
    edit("--bench mine.zip", "--bench archives/mine.zip")
    assert checked().startswith("ok: ")
    edit("with its tools", "with its wonderful tools")
    with pytest.raises(
        CheckFailed, match=r"README.md:4: says 'wonderful', and the benchmark 'tools"
    ):
        checked()


def test_a_line_left_out_or_another_archive_is_refused(project: Path) -> None:
    Path("mine.zip").write_bytes(b"another")
    with pytest.raises(CheckFailed, match=r"README.md:3: names the archive .*, and mine.zip is "):
        checked()
    Path("mine.zip").write_bytes(b"its archive")
    edit("|---|---|---|---|\n", "")
    with pytest.raises(CheckFailed, match="the claim has 10 lines, not 11"):
        checked()


def test_a_claim_about_an_older_version_is_stale_until_its_badge_is_grey(project: Path) -> None:
    assert checked("--server-version", "2.1").startswith("ok: ")
    before = Path("badge.svg").read_bytes()
    with pytest.raises(
        CheckFailed, match=r"measured with 2\.1, and the server is 2\.4; .*--update"
    ):
        checked("--server-version", "2.4")
    assert Path("badge.svg").read_bytes() == before
    assert "grey, measured with 2.1" in checked("--server-version", "2.4", "--update")
    badge = ElementTree.parse("badge.svg").getroot()
    assert badge.get("aria-label") == "lensbench: measured with 2.1"
    assert "GO" not in Path("badge.svg").read_text(encoding="utf-8")


def test_an_update_mends_no_edited_claim(project: Path) -> None:
    before = Path("badge.svg").read_bytes()
    edit("30 tasks, 30", "90 tasks, 30")
    with pytest.raises(CheckFailed, match=r"says '90', and the benchmark '30'"):
        checked("--server-version", "2.4", "--update")
    assert Path("badge.svg").read_bytes() == before


def test_an_inconclusive_verdict_is_claimed_as_just_that_and_a_tampered_archive_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = random.Random(1)
    rows = [f"t{t},{c},{rng.random():.2f}" for t in range(9) for c in ("without", "with")]
    Path("a.csv").write_text("\n".join(["task,condition,score", *rows]), encoding="utf-8")
    run_here(verdict, "a.csv")
    make_archive(Path("bench/a"), Path("bench/a.zip"))
    claim = run_here(main, "a")
    assert "INCONCLUSIVE: " in claim
    digest = sha256(Path("bench/a.zip").read_bytes())
    make_archive(Path("bench/a"), Path("bench/a.zip"))
    assert sha256(Path("bench/a.zip").read_bytes()) == digest, "a badge is no part of an archive"
    assert "(numbers from elsewhere)" in claim
    Path("README.md").write_text(claim, encoding="utf-8", newline="\r\n")
    assert "ok: " in run_here(main, "--check", "README.md", "--bench", "bench/a.zip")
    change = edit_rows("scores.csv", lambda row: row.update(score="1"))
    forged = forge(Path("bench/a.zip"), change, rehash=True)
    with pytest.raises(CheckFailed, match=r"does not verify: run/scores.csv"):
        run_here(main, "--check", "README.md", "--bench", forged)


def test_what_cannot_be_claimed_or_checked_could_not_run(project: Path) -> None:
    shutil.copy("mine/badge.svg", "other.md")
    assert "has no claim; paste" in refusal(main, "--check", "other.md", "--bench", "mine")
    assert "name a run folder or an archive, or --check FILE" in refusal(main)
    Path("mine.zip").unlink()
    assert "mine.zip: is missing; write it with `lensbench archive mine`" in refusal(main, "mine")


def test_the_offline_agent_claims_nothing(tmp_path: Path) -> None:
    bench = make_bench(tmp_path / "demo", Shape(8, agent="offline", judges=("mechanical",)))
    (tmp_path / "demo.zip").write_bytes(b"")
    assert "there is nothing to claim" in refusal(main, bench)
