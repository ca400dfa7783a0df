"""The parsers of untrusted input, as functions of bytes: the result is always a value of its types or a UserError.

`benchmarks/fuzz.py` searches for bytes that violate this, `test_fuzz.py` replays those in tests/fuzz/<target>/.
"""

import atexit
import contextlib
import io
import json
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import TypeAdapter

from archived import make_benchmark
from lensbench.agents import load_adapter
from lensbench.core.errors import UserError
from lensbench.core.markdown import placed_html
from lensbench.core.records import Attempt, Record, from_json, to_json
from lensbench.core.tables import items, read_table, run_of_row, write_table
from lensbench.core.tasks import Criterion, Regex
from lensbench.judging.blinding import MARK, Hidden, blind
from lensbench.judging.judges.canaries import COUNT, canaries
from lensbench.judging.judges.mechanical import judge
from lensbench.judging.judges.model import nonce_of, read_reply
from lensbench.judging.judges.normalising import normalise
from lensbench.plan import task_markdown
from lensbench.plan.task_files import read_scenarios
from lensbench.results.page.answers import Evidence, mark_answer
from lensbench.runs.reports import parse_report, process_spans
from lensbench.runs.self_report import MAX_COUNT, normalise_path
from lensbench_archive.archive import versions
from lensbench_archive.bag import check_bag
from lensbench_archive.completeness import check_plan
from lensbench_archive.rebuilding import is_derived
from lensbench_archive.unpacking import unpack
from lensbench_archive.verify import number_problems

NONCE = nonce_of("fuzz")
ANSWER = "The cause is in `src/a.py`: **parse** drops the last line."
"""The answer that the judges' replies in the corpus are about."""
ADAPTERS = [
    load_adapter(kind)
    for kind in ("claude-code", "codex", "gemini", "opencode", "command", "offline")
]


def report(data: bytes) -> None:
    """The report parser."""
    answer = _text(data)
    found = parse_report(answer)
    _fits(found)
    assert all(
        count is None or 0 <= count <= MAX_COUNT for count in (found.tool_calls, found.files_read)
    )
    for path in found.files_used or ():
        assert normalise_path(normalise_path(path)) == normalise_path(path)
    ends = [0, *(place for span in process_spans(answer, MARK) for place in span), len(answer)]
    assert ends == sorted(ends)


def scenarios_yaml(data: bytes) -> None:
    """Task sets in YAML."""
    _scenarios("set.yaml", data)


def scenarios_md(data: bytes) -> None:
    """Task sets in Markdown."""
    _scenarios("set.md", data)


def _scenarios(name: str, data: bytes) -> None:
    with _folder() as folder:
        (folder / name).write_bytes(data)
        try:
            tasks = read_scenarios([str(folder / name)], imported=True).tasks
        except UserError:
            return
        page = task_markdown.render(tasks, "set")
        (folder / "again.md").write_bytes(page.encode())
        assert [
            task.id for task in read_scenarios([str(folder / "again.md")], imported=True).tasks
        ] == [task.id for task in tasks]


def stream(data: bytes) -> None:
    """The output of agents. The first byte selects the agent."""
    adapter = ADAPTERS[data[0] % len(ADAPTERS) if data else 0]
    outcome = adapter.read(io.StringIO(_text(data[1:]), newline="\n"))
    _fits(outcome)
    for call in outcome.calls or ():
        _fits(call)
        assert 0 <= call.errors <= call.count
    attempt = Attempt(1, "2026-01-02T03:04:05.000Z", 1.0, 0.0, 0, False)
    written = to_json(Record("a", "with", 1, "run", attempt, outcome))
    json.loads(written, parse_constant=_no_number)
    assert to_json(from_json(written)) == written


def record(data: bytes) -> None:
    """Records, which are untrusted in an archive."""
    try:
        found = from_json(_text(data))
    except ValueError:
        return
    written = to_json(found)
    assert to_json(from_json(written)) == written


def table(data: bytes) -> None:
    """Tables."""
    with _folder() as folder:
        (folder / "t.csv").write_bytes(data)
        try:
            rows = read_table(folder / "t.csv")
            for row in rows:
                assert all(
                    isinstance(part, str) for cell in row.values() for part in items(cell) or ()
                )
                if {"task", "condition", "trial"} <= set(row):
                    assert run_of_row(row).trial >= 0
        except UserError:
            return
        if rows:
            write_table(folder / "again.csv", list(rows[0]), rows)
            assert read_table(folder / "again.csv") == read_table(folder / "again.csv")


def reply(data: bytes) -> None:
    """Replies of model judges."""
    text = _text(data)
    found = read_reply(text, NONCE, ANSWER, _CRITERION.text)
    _fits(found)
    assert found.position is None or ANSWER.startswith(found.evidence, found.position)


_CRITERION = Criterion(
    text="names src/a.py as the place where `parse` drops the last line",
    all_of=("src/a.py", Regex(regex=r"(?i)drops?\s+the\s+(?:last|final)\s+line")),
    must_not=("src/b.py",),
    partial={"place": ("src/a.py",)},
)
_HIDDEN = Hidden(("mcp__lens__lens_grep",), ("lens",), ("with", "without"))


def answer(data: bytes) -> None:
    """Answers: blinded, judged by patterns, put into a judge's prompt, and shown on a page."""
    text = _text(data)
    shown = blind(text, _HIDDEN).text
    _fits(judge(_CRITERION, normalise(shown)))
    assert (
        len(list(canaries(shown, NONCE, "Where?", [_CRITERION.text, shown[:300]], [text[:300]])))
        == COUNT
    )
    marked = mark_answer(text, [Evidence(1, text[5:40], 5), Evidence(2, "a.py")], "x")
    for html in (marked.html, marked.plain or "", placed_html(text)):
        low = html.lower()
        assert not any(
            bad in low for bad in ("<script", "<img", "<iframe", "<style", 'href="javascript')
        )


def archive(data: bytes) -> None:
    """Archives: a zip file as it is, or its members as lines of JSON: [name, content, mode]."""
    with _folder() as folder:
        (folder / "a.zip").write_bytes(_zip(data))
        (folder / "out").mkdir()
        try:
            bag = unpack(folder / "a.zip", folder / "out")
        except UserError:
            bag = None
        there = list((folder / "out").rglob("*"))
        assert not any(path.is_symlink() for path in there)
        assert {path.name for path in folder.iterdir()} == {"a.zip", "out"}
        if bag is not None and not check_bag(bag):
            with contextlib.suppress(UserError):
                check_plan(bag / "data" / "run")


def _zip(data: bytes) -> bytes:
    members: dict[str, tuple[str, int]] = {}
    for line in _text(data).splitlines():
        try:
            name, content, mode = json.loads(line)
        except (ValueError, TypeError, RecursionError):
            return data
        if not (isinstance(name, str) and isinstance(content, str) and isinstance(mode, int)):
            return data
        members[name] = (content, mode)
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, (content, mode) in members.items():
            member = zipfile.ZipInfo(_text(name.encode(errors="replace"))[:60000])
            member.create_system, member.external_attr = 3, (mode & 0xFFFF) << 16
            zipped.writestr(member, content.encode(errors="replace"))
    return target.getvalue()


def rebuild(data: bytes) -> None:
    """An archive with a replaced file: its path in the run folder in the first line, then its content."""
    name, _, content = data.partition(b"\n")
    if _text(name) not in kept_files():
        return
    with _folder() as folder:
        shutil.copytree(_bench(), folder / "run")
        (folder / "run" / _text(name)).write_bytes(content)
        (folder / "versions.json").write_text(json.dumps(versions()))
        with contextlib.redirect_stdout(io.StringIO()):
            assert all(
                isinstance(problem, str) for problem in number_problems(folder, folder / "again")
            )


@cache
def _bench() -> Path:
    project = Path(tempfile.mkdtemp(prefix="lensbench-fuzz-")) / "project"
    atexit.register(shutil.rmtree, project.parent, ignore_errors=True)
    (project / "repo").mkdir(parents=True)
    (project / "repo" / "a.py").write_text("x = 1\n")
    (project / "lens.json").write_text('{"mcpServers": {"lens": {"command": "lens"}}}')
    conditions = {"without": {}, "with": {"mcp": "lens.json"}}
    with contextlib.chdir(project):
        return make_benchmark(
            project, {"run_id": "r", "scenarios": "set.yaml", "conditions": conditions}
        )


@cache
def kept_files() -> frozenset[str]:
    """The files of the run folder that `rebuild` can replace."""
    names = (
        path.relative_to(_bench()).as_posix() for path in _bench().rglob("*") if path.is_file()
    )
    return frozenset(name for name in names if not is_derived(name))


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def _no_number(name: str) -> Any:
    raise AssertionError(f"{name} is no JSON")


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="lensbench-fuzz-") as name:
        yield Path(name)


@cache
def _types(kind: type) -> dict[str, TypeAdapter[Any]]:
    return {name: TypeAdapter(hint) for name, hint in get_type_hints(kind).items()}


def _fits(value: Any) -> None:
    """Checks that every field has the type in its class."""
    for name, adapter in _types(type(value)).items():
        adapter.validate_python(getattr(value, name), strict=True)


TARGETS = {
    target.__name__: target
    for target in (
        report,
        scenarios_yaml,
        scenarios_md,
        stream,
        record,
        table,
        reply,
        answer,
        archive,
        rebuild,
    )
}
