"""`lensbench archive --redact`: planted texts are nowhere in an archive, in any encoding, and every number is rebuilt."""

import base64
import getpass
import gzip
import html
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
import yaml

from handmade import Bench
from lensbench.core.errors import UserError
from lensbench.core.records import RunId
from lensbench.core.tables import read_table
from lensbench.judging.blinding import opaque_id
from lensbench.plan.freeze import write_plan
from lensbench.plan.reading import load_config
from lensbench.runs.validity import judge_validity
from lensbench_archive.archive import make_archive
from lensbench_archive.rebuilding import rebuild
from lensbench_archive.redacting import _figures
from lensbench_archive.redaction import Redaction, read_lines
from lensbench_archive.verify import verify
from stock import write

COMPANY, PERSON, CHINESE = "Müller & Söhne", 'Jörg "Jo" O\'Neill', "王小明"
PLACE, MAIL = "/srv/Höfe&Söhne/shop+1.py", "jo@quagga.example"
PLANTED = [COMPANY, PERSON, CHINESE, "QuaggaCart", "quagga_v2", PLACE, MAIL, "Quagga"]
PATTERNS = f"""\
# who and where
{COMPANY}
{PERSON}
{CHINESE}
Quagga

{PLACE}
re:[\\w.]+@quagga\\.example
"""
REPORT = "\n## Report\n\n- **Tool calls**: 1\n- **Tools used**: Grep\n- **Files read**: 1\n- **Files used**: {}\n"
TASKS = [
    {
        "id": "quagga-dbg-01",
        "category": "Debug",
        "repository": {"path": "repo"},
        "prompt": f"Where does {COMPANY} keep the cart of {PERSON}? See {PLACE}.\nAsk {CHINESE}.",
        "criteria": [
            {"text": "names the class `QuaggaCart`", "all_of": "QuaggaCart"},
            {"text": f"names {CHINESE}", "all_of": CHINESE},
        ],
    },
    {
        "id": "two",
        "category": "Targeted",
        "repository": {"path": "repo"},
        "prompt": f"What is the limit of {COMPANY}, as {MAIL} wrote?",
        "criteria": [
            {"text": "names `quagga.py`", "all_of": {"regex": r"\bquagga\.py\b"}},
            {"text": "names the limit", "all_of": "LIMIT"},
        ],
    },
]


@pytest.fixture(scope="module")
def project_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a finished benchmark full of names, which the tests copy."""
    project = tmp_path_factory.mktemp("project")
    entry = {"command": "quagga-server", "args": ["--for", PERSON], "env": {"SHOP": PLACE}}
    write(
        project,
        {
            "repo/a.py": "x = 1\n",
            "quagga.json": json.dumps({"mcpServers": {"quagga-server": entry}}),
            "words.md": f"Use it as {PERSON} of {COMPANY} does.\n",
            "set.yaml": yaml.safe_dump({"tasks": TASKS}, allow_unicode=True),
        },
    )
    treatment = {"mcp": "quagga.json", "files": {"CLAUDE.md": "words.md"}}
    given = {
        "run_id": "quagga-1",
        "scenarios": "set.yaml",
        "conditions": {"without": {}, "quagga_v2": treatment},
        "judges": ["mechanical", "human"],
        "sandbox": "none",
        "notes": [f"made for {PERSON}"],
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        folder = project / "bench" / "quagga-1"
        write_plan(load_config(given), [], folder)
        plan = json.loads((folder / "plan.json").read_text())
        bench = Bench(
            folder, changes=plan, servers={"without": (), "quagga_v2": ("quagga-server",)}
        )
        answers = {
            ("quagga-dbg-01", "without"): f"It is in the shop of {COMPANY}.",
            ("quagga-dbg-01", "quagga_v2"): f"The class QuaggaCart ({PLACE}), by {CHINESE}.",
            ("two", "without"): f"LIMIT in quagga.py, says {MAIL}.",
            ("two", "quagga_v2"): "There is a QUAGGA.PY with LIMIT, and quagga.py, too.",
        }
        for (task, condition), text in answers.items():
            bench.run(task, condition, answer=text + REPORT.format(PLACE), files_read=(PLACE,))
        for place in folder.glob("attempts/*/*/"):
            events = [
                {"type": "text", "text": f"{PERSON}: {COMPANY}\nquagga {CHINESE} {PLACE}"},
                {"inner": json.dumps({"said": json.dumps([PERSON, COMPANY, CHINESE, PLACE])})},
                {"html": html.escape(f"<b>{PERSON} {COMPANY}</b>"), "url": quote(PLACE, safe="")},
                {"query": quote_plus(COMPANY), "nfd": unicodedata.normalize("NFD", COMPANY)},
                {
                    "python": COMPANY.encode("unicode_escape").decode(),
                    "bytes": repr(CHINESE.encode()),
                },
                {"git": 'diff --git "a/srv/H\\303\\266fe&S\\303\\266hne/shop+1.py"'},
                {"windows": f"C:\\{CHINESE}\\nora\\quagga", "key of QuaggaCart": 1},
            ]
            lines = [
                *(json.dumps(event) for event in events),
                *(json.dumps(event, ensure_ascii=False).replace("/", "\\/") for event in events),
                f"no JSON: {PERSON}",
            ]
            (place / "transcript.jsonl.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
        write(
            folder, {f"logs/quagga-dbg-01-{CHINESE}.log": f"{PLACE}: {PERSON}\n{COMPANY.upper()}\n"}
        )
        (folder / "logs" / "raw.log").write_bytes(b"\xff\xfe " + f"{PERSON} quagga".encode())
        judge_validity(folder)
        people(folder, answers)
        rebuild(folder)
    return project


def people(folder: Path, answers: dict[tuple[str, str], str]) -> None:
    """A person's verdicts, as the judge sheet saves them."""
    verdicts = []
    for (task, condition), text in answers.items():
        name = opaque_id(1, RunId(task, condition), text + REPORT.format(PLACE))
        criteria = next(one["criteria"] for one in TASKS if one["id"] == task)
        for number, criterion in enumerate(criteria, 1):
            verdict = {"answer": name, "criterion": number, "text": criterion["text"]}
            said = "Missed" if (condition, number) == ("without", 2) else "Met"
            verdicts.append(verdict | {"verdict": said, "note": f"asked {PERSON} (hansmaier)"})
    file = {"schema": 1, "sheet": "a" * 64, "judge": "anna", "verdicts": verdicts}
    write(folder, {"human/anna.json": json.dumps(file)})


@pytest.fixture
def folder(project_once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    project = Path(shutil.copytree(project_once, tmp_path / "project"))
    (project / "patterns.txt").write_text(PATTERNS, encoding="utf-8")
    monkeypatch.chdir(project)
    return project / "bench" / "quagga-1"


def members(archive: Path) -> dict[str, str]:
    """Names and texts of all files in an archive."""
    texts = {}
    with zipfile.ZipFile(archive) as zipped:
        for name in zipped.namelist():
            content = zipped.read(name)
            texts[name] = (gzip.decompress(content) if name.endswith(".gz") else content).decode(
                errors="replace"
            )
    return texts


def encodings(text: str) -> set[str]:
    """A text as a file may have it."""
    forms = {text, unicodedata.normalize("NFD", text), text.upper(), text.lower()}
    for form in list(forms):
        forms |= {html.escape(form), form.replace('"', '""'), form.replace("'", "''")}
        forms |= {html.escape(form).replace("&#x27;", "&#39;").replace("&quot;", "&#34;")}
        forms |= {quote(form), quote(form, safe=""), quote_plus(form)}
        forms |= {form.encode("unicode_escape").decode(), repr(form.encode())[2:-1]}
        forms |= {"".join(chr(byte) if byte < 128 else f"\\{byte:o}" for byte in form.encode())}
        forms |= {form.encode().hex(), base64.b64encode(form.encode()).decode().rstrip("=")[:-1]}
        forms |= {
            form.encode("utf-16-le").decode("latin-1"),
            form.encode("utf-8").decode("latin-1"),
        }
    for _ in range(3):
        forms |= {json.dumps(form)[1:-1] for form in forms}
        forms |= {form.replace("/", "\\/") for form in forms}
    return forms


def left(archive: Path) -> list[str]:
    """The planted texts that an archive has in any encoding, with the files."""
    found = []
    for name, text in members(archive).items():
        for planted in PLANTED:
            if any(form in place for form in encodings(planted) for place in (name, text)):
                found.append(f"{planted} in {name}")
    return found


@pytest.mark.slow
def test_planted_texts_are_nowhere_in_the_archive_and_every_number_follows_from_what_is_left(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = folder.with_name("plain.zip")
    make_archive(folder, plain, patterns=None)
    assert {item.split(" in ")[0] for item in left(plain)} == {*PLANTED}
    made = make_archive(folder, patterns=Path("patterns.txt"))
    (archive,) = Path("bench").glob("redacted*.zip")
    assert made.startswith(str(archive.resolve())) or str(archive) in made
    assert left(archive) == []
    capsys.readouterr()
    assert list(verify(archive)) == []
    assert re.search(r"note: redacted \(texts: \d+, places: \d+\)", capsys.readouterr().out)
    texts = {name.partition("/")[2]: text for name, text in members(archive).items()}
    counted = json.loads(texts["data/redactions.json"])
    assert (counted["lines"], counted["used"]) == (6, 6)
    kept = "".join(f"{name} {text}" for name, text in texts.items() if name.startswith("data/"))
    assert all(0 < count <= kept.count(word) for word, count in counted["replaced"].items())
    for name, columns in (("scores", ("score", "points")), ("verdicts", ("verdict", "criterion"))):
        rows = read_table(folder / f"{name}.csv")
        again = read_table(written(texts[f"data/run/{name}.csv"]))
        assert len({tuple(row[column] for column in columns) for row in rows}) > 1
        for row, other in zip(rows, again, strict=True):
            assert [row[column] for column in columns] == [other[column] for column in columns]
    first = archive.read_bytes()
    make_archive(folder, patterns=Path("patterns.txt"))
    assert archive.read_bytes() == first


def written(text: str) -> Path:
    path = Path("table.csv")
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("patterns", "said"),
    [
        (
            "# nothing\n\n",
            "p.txt: has no pattern; write a text a line, or re: before a regular expression",
        ),
        (
            "Quagga\nab\n",
            "p.txt:2: 'ab' is too short or has no letter, so numbers would change; write a longer text",
        ),
        ("\n2024-01\n", "p.txt:2: '2024-01' is too short or has no letter"),
        ("re:(unclosed\n", "p.txt:1: is no regular expression (RE2): missing )"),
        (
            "x y z\nre: a(?=b)\n",
            "p.txt:2: is no regular expression (RE2): invalid perl operator: (?=",
        ),
        ("re:[a-z]*\n", "p.txt:1: fits the empty text; write what must be there"),
    ],
)
def test_a_file_of_patterns_is_refused_with_the_line(
    tmp_path: Path, patterns: str, said: str
) -> None:
    (tmp_path / "p.txt").write_text(patterns, encoding="utf-8")
    with pytest.raises(UserError) as refused:
        read_lines(tmp_path / "p.txt")
    assert str(refused.value).removeprefix(f"{tmp_path}/").startswith(said)
    assert "\n" not in str(refused.value)
    with pytest.raises(UserError, match=r"^gone.txt: cannot be read \(No such file"):
        read_lines(Path("gone.txt"))


def redacted_with(folder: Path, patterns: str) -> str:
    """Why an archive with these patterns is refused."""
    Path("p.txt").write_text(patterns, encoding="utf-8")
    with pytest.raises(UserError) as refused:
        make_archive(folder, patterns=Path("p.txt"))
    assert not list(Path("bench").glob("*.zip"))
    assert not list(Path("bench").glob(".*.tmp"))
    return str(refused.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("patterns", "said"),
    [
        (
            "Quagga\nLIMIT in\n",
            "p.txt:2: would change the verdict of mechanical on task two, without, trial 1, criterion 2 from Met to Missed; its pattern must have the whole text, or leave the line out",
        ),
        ("criteria\n", "p.txt:1: 'Criteria' is a word of lensbench's own files ("),
        ("re:[0-9]+\n", "p.txt:1: finds '0' is too short or has no letter"),
    ],
)
def test_a_redaction_that_would_change_a_verdict_or_a_file_s_form_is_refused(
    folder: Path, patterns: str, said: str
) -> None:
    assert redacted_with(folder, patterns).startswith(said)


def test_the_figures_of_results_are_its_numbers_and_truths_with_their_places() -> None:
    data = {"a": [1, {"Quagga": True}], "b": "2", "c": 0.5}
    assert [*_figures(data, Redaction())] == [("a.0.", 1), ("a.1.Quagga.", True), ("c.", 0.5)]


@pytest.mark.slow
def test_an_edited_result_is_refused_as_without_redaction(folder: Path) -> None:
    path = folder / "results.md"
    path.write_text(path.read_text().replace("2 tasks", "9 tasks", 1) + "edited\n")
    assert "results.md does not follow from the runs" in redacted_with(folder, PATTERNS)


@pytest.mark.slow
def test_a_line_that_finds_nothing_is_named_and_a_name_of_the_machine_may_be_redacted(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(getpass, "getuser", lambda: "hansmaier")
    with pytest.raises(UserError, match="the user's name"):
        make_archive(folder)
    Path("p.txt").write_text("hansmaier\nnobody here\n", encoding="utf-8")
    make_archive(folder, patterns=Path("p.txt"))
    assert capsys.readouterr().out == "note: p.txt:2 finds nothing\n"


def half_members(content: bytes) -> Iterator[str]:
    """Names and texts of the files in a part of an archive."""
    place = content.find(b"PK\x03\x04")
    while place >= 0:
        name, extra = struct.unpack("<HH", content[place + 26 : place + 30])
        start = place + 30 + name + extra
        text = zlib.decompressobj(-15).decompress(content[start:])
        yield content[place + 30 : start].decode() + text.decode(errors="replace")
        place = content.find(b"PK\x03\x04", start)


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["1 s", "2 s", "3 s", "as it is written"])
def test_a_kill_leaves_nothing_under_the_archive_s_name_and_the_next_start_makes_it(
    folder: Path, tmp_path: Path, moment: str
) -> None:
    options = ("--redact", "patterns.txt", "--output", "made.zip")
    command = [sys.executable, "-P", "-m", "lensbench_archive.archive", str(folder), *options]
    copies = tmp_path / "tmp"
    copies.mkdir()
    environment = {**os.environ, "TMPDIR": str(copies)}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment) as process:
        if moment == "as it is written":
            while process.poll() is None and not list(Path().glob(".made.zip*")):
                time.sleep(0.001)
        else:
            time.sleep(float(moment.split()[0]))
        process.send_signal(signal.SIGKILL)
        process.wait()
    if Path("made.zip").exists():  # it was done before
        assert list(verify(Path("made.zip"))) == []
    for half in Path().glob(".made.zip*"):
        for text in half_members(half.read_bytes()):
            assert not any(form in text for planted in PLANTED for form in encodings(planted))
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert left(Path("made.zip")) == []
    assert list(copies.glob("lb-*")) == []
