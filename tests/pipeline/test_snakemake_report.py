"""`snakemake --report`: Snakemake's own page over a finished benchmark."""

import re
import zipfile
from pathlib import Path

import pytest

from small_benchmark import CHECKOUT, Project

NO_NETWORK = dict.fromkeys(
    ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9"
)
FILES = {
    "report.html",
    "results.md",
    "results.json",
    "estimates.json",
    "judge_reliability.json",
    "validity.csv",
    "reports.csv",
    "verdicts.csv",
    "decisions.csv",
    "scores.csv",
    "pairs.csv",
}
ANSWERS = {"anna.html", "bert.html"}


def written(project: Project, name: str) -> Path:
    """The report of a finished project, written without a network."""
    project.start("--report", name, env=NO_NETWORK, cores=None)
    assert project.ledger() == []
    return project.folder / name


def test_the_zip_has_every_result_as_it_is_and_a_caption_for_each(finished: Project) -> None:
    with zipfile.ZipFile(written(finished, "out.zip")) as archive:
        raw = {
            name: name.rpartition("/")[2]
            for name in archive.namelist()
            if name.startswith("out/data/raw/")
        }
        assert sorted(raw.values()) == sorted(FILES | ANSWERS)
        for member, name in raw.items():
            folder = finished.bench / "answers" if name in ANSWERS else finished.bench
            assert archive.read(member) == (folder / name).read_bytes()
        page = archive.read("out/report.html").decode()
    for caption in (
        "One row per run: points",
        "The page for people",
        "The answers to anna side by side",
    ):
        assert caption in page
    assert all(f'"{category}"' in page for category in ("Results", "Tables", "Data", "Answers"))
    assert "the same tasks with and without them" in page


def test_the_single_page_holds_everything_and_asks_nobody_for_anything(finished: Project) -> None:
    page = written(finished, "out.html").read_text()
    assert {
        name for name in FILES | ANSWERS if f"filename={name};base64," in page
    } == FILES | ANSWERS
    assert re.findall(r"<(?:script|link|img)\b[^>]*(?:src|href)=.?http[^>]*", page) == []


def test_what_is_marked_for_it_is_not_made_again_and_neither_is_what_no_longer_is(
    finished: Project,
) -> None:
    program = finished.copy_program()
    finished.start()
    changed = 0
    for path in (program / "rules").glob("*.smk"):
        bare, count = re.subn(
            r"report\(\s*((?:directory\()?f\"[^\"]*\"\)?),(?:[^()]|\([^()]*\))*\)",
            r"\1",
            path.read_text(),
        )
        path.write_text(bare)
        changed += count
    assert changed == len(FILES) + 1
    assert "Nothing to be done" in finished.start()


@pytest.mark.parametrize(
    "path", sorted((CHECKOUT / "report").glob("*.rst")), ids=lambda path: path.stem
)
def test_every_caption_is_used(path: Path) -> None:
    rules = "".join(
        file.read_text() for file in [CHECKOUT / "Snakefile", *(CHECKOUT / "rules").glob("*.smk")]
    )
    assert f"report/{path.name}" in rules
