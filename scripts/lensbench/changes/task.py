"""The format of a task whose answer is a change (`kind: change`)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, ValidationError, model_validator

from lensbench.changes.wrong_kinds import CopyKind
from lensbench.core.errors import UserError
from lensbench.core.handed_over import encoding_of, read_handed_over
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import write_atomic
from lensbench.core.tasks import (
    Criterion,
    InsidePath,
    Many,
    Source,
    Strict,
    Task,
    path_inside,
)

PYTEST: Final = "pytest"
NODE: Final = "node"
JUNIT: Final = "junit"
PRINTED: Final = "printed"
EXIT: Final = "exit"
REPORT_PLACE: Final = "{report}"
"""In `tests.command`: the path of the JUnit file."""
EXIT_ID: Final = "exit"
"""The only test of a command that is judged by its exit status."""

TEST_CRITERION: Final = "The change makes the failing tests pass and breaks no other test."
"""The first criterion of each change task, decided only by the judge `tests`."""


class Binary(Strict):
    """Content that is not text."""

    base64: str
    """The bytes in base64."""

    @classmethod
    def text_or_bytes(cls, data: bytes) -> str | Self:
        """Content from bytes: text if they are UTF-8."""
        try:
            return data.decode()
        except UnicodeDecodeError:
            return cls(base64=base64.b64encode(data).decode())

    @model_validator(mode="after")
    def _decodes(self) -> Self:
        try:
            base64.b64decode(self.base64, validate=True)
        except binascii.Error:
            raise ValueError("is not base64") from None
        return self


class FromSource(Strict):
    """The content of the file at the same path in another pinned source, such as a later release."""

    source: Source
    """The source. In a task set it may be a name under `repositories`."""


Content = str | Binary
"""The content of a file. In a task set it may also be `{file: <path beside the set>}`."""


def content_bytes(content: Content | FromSource) -> bytes:
    """The bytes of a file's content. Raises UserError for one not yet fetched from its source (`hidden_files`)."""
    if isinstance(content, FromSource):
        raise UserError(
            "a hidden file was not fetched from its source; delete plan.json to rebuild the plan"
        )
    return base64.b64decode(content.base64) if isinstance(content, Binary) else content.encode()


class WrongCopies(Strict):
    """The failing tests whose wrong copy fails by an assertion with the reference, by the kind of copy
    (docs/changes.md), as `generate` finds them. With `report: exit`: names of tests."""

    each: Many[str] = ()
    """Each assertion expects another value, and must fail."""
    everything: Many[str] = ()
    """All values of the test are others."""
    assertions: Many[str] = ()
    """All values in its assertions are others."""
    expected: Many[str] = ()
    """Its assertions expect other values."""

    @classmethod
    def of(cls, kinds: Mapping[str, CopyKind]) -> Self:
        """By test id the kind of copy."""
        names: dict[str, list[str]] = {}
        for name in sorted(kinds):
            names.setdefault(kinds[name], []).append(name)
        return cls.model_validate(names)

    @property
    def kinds(self) -> dict[str, CopyKind]:
        """The kind of copy by test id."""
        return {name: kind for kind in CopyKind for name in getattr(self, kind)}


class Tests(Strict):
    """Tests that are added after the agent has ended."""

    __test__ = False  # not a test class of pytest

    files: dict[InsidePath, Content | FromSource] = Field(default={})
    """Hidden files by their path in the repository. They replace the agent's files."""
    command: Annotated[Many[str], Field(min_length=1)]
    """The program and its arguments, started at the top of the repository; `{report}` is where JUnit XML goes."""
    report: str = PYTEST
    """The source of results: `pytest` (the command is `python -m pytest ...`), `node` (`node --test ...`), `junit` (the
    command writes to `{report}`), `printed` (the verbose output of unittest, of Django's or SymPy's runner, of
    `go test -json` or `cargo test`, or TAP), the path inside the repository of a JUnit file that the command writes, or
    `exit` (the exit status, as one test)."""
    fail_to_pass: Annotated[Many[str], Field(min_length=1)]
    """Ids of the tests that fail without a change and pass with the right one."""
    pass_to_pass: Many[str] | Literal["all"] = "all"
    """Ids of the tests that pass before and after; `all`: all that do so with the reference."""
    wrong_copies: WrongCopies | None = None
    """What must fail in a wrong copy of the tests. Without it, it is found with the reference before the first run is
    judged."""
    timeout_s: Annotated[float, Field(gt=0, strict=False)] = 120
    """Wall-clock limit of the command."""
    memory_mb: Annotated[int, Field(ge=16)] = 2048
    """Memory limit of all its processes together."""
    processes: Annotated[int, Field(ge=1)] = 256
    """Limit of processes and threads at a time."""

    @property
    def report_file(self) -> str:
        """The path inside the repository of the report; "" when it is elsewhere."""
        return "" if self.report in (PYTEST, NODE, JUNIT, PRINTED, EXIT) else self.report

    @model_validator(mode="after")
    def _report_fits(self) -> Self:
        has_place = any(REPORT_PLACE in word for word in self.command)
        if has_place != (self.report == JUNIT):
            raise ValueError("report: junit and {report} in the command belong together")
        if self.report == PYTEST and not is_pytest(self.command):
            raise ValueError(
                "report: pytest needs a command that starts with `python -m pytest` or `pytest`"
            )
        if self.report == NODE and not (
            self.command[0].endswith("node") and "--test" in self.command
        ):
            raise ValueError(
                "report: node needs a command that starts with `node` and has `--test`"
            )
        if self.report_file:
            path_inside(self.report_file)
        if self.report == EXIT and (
            set(self.fail_to_pass) != {EXIT_ID} or self.pass_to_pass not in ((), "all")
        ):
            raise ValueError("report: exit has one test: fail_to_pass: [exit], and no pass_to_pass")
        return self


def is_pytest(command: tuple[str, ...]) -> bool:
    """True for a command that starts pytest, alone or by `python -m`."""
    name = PurePosixPath(command[0]).name
    return name in ("pytest", "py.test") or (
        name.startswith("python") and command[1:3] == ("-m", "pytest")
    )


class ChangeTask(Task):
    """A task that asks for a change of the repository. It is judged by tests; facts about the answer may be added."""

    kind: Literal["change"]
    """Distinguishes it from a question."""
    criteria: Many[Criterion] = ()
    """Up to three facts that the answer must state. They follow the one that tests decide."""
    tests: Tests
    """How the change is judged."""
    environment: Many[str] = ()
    """Shell commands that install what the tests need into `/env`, run once at the top of a copy of the repository."""
    told: bool = False
    """True when the prompt tells how to fix it; set when the task is proven."""
    small: bool = False
    """True when the reference changes one place and at most 4 lines; likewise."""
    reference: Content = ""
    """The right change, as a git patch. It proves the task; no agent sees it."""

    @model_validator(mode="after")
    def _with_test_criterion(self) -> Self:
        facts = [criterion for criterion in self.criteria if criterion.text != TEST_CRITERION]
        object.__setattr__(self, "criteria", (Criterion(text=TEST_CRITERION), *facts))
        return self


def answer_criteria(task: Task) -> list[tuple[int, Criterion]]:
    """The criteria that are judged by the answer's text, by number (from 1): all except those that tests decide."""
    pairs = enumerate(task.criteria, 1)
    return [(number, criterion) for number, criterion in pairs if criterion.text != TEST_CRITERION]


def inline_files(value: Any, folder: Path, names: list[str]) -> Any:
    """A raw task with the content of the files that it names by `{file: ...}`, which `names` gets. A reference
    with a byte order mark, as PowerShell writes it, is read by it; all other bytes are kept. Raises OSError."""

    def content(raw: Any, *, is_reference: bool = False) -> Any:
        if not (isinstance(raw, dict) and set(raw) == {"file"} and isinstance(raw["file"], str)):
            return raw
        path = folder / raw["file"]
        names.append(str(path))
        found = path.read_bytes()
        if is_reference and encoding_of(found) != "utf-8":
            return read_handed_over(path)
        data = Binary.text_or_bytes(found)
        return data.model_dump() if isinstance(data, Binary) else data

    if not isinstance(value, dict) or value.get("kind") != "change":
        return value
    value = dict(value)
    if "reference" in value:
        value["reference"] = content(value["reference"], is_reference=True)
    tests = value.get("tests")
    if isinstance(tests, dict) and isinstance(files := tests.get("files"), dict):
        value["tests"] = {**tests, "files": {path: content(raw) for path, raw in files.items()}}
    return value


def tests_digest(tests: Tests) -> str:
    """The digest that caches test runs."""
    return hashlib.sha256(
        json.dumps(tests.model_dump(mode="json"), sort_keys=True).encode()
    ).hexdigest()


def changes_of(tasks: Iterable[Task]) -> list[ChangeTask]:
    """The change tasks."""
    return [task for task in tasks if isinstance(task, ChangeTask)]


def task_file(folder: Path, task: str) -> Path:
    """The file of a task with its tests in a run folder."""
    return RunFolder(folder).changes / f"{task}.json"


def write_task(folder: Path, task: ChangeTask) -> None:
    """Freezes a task; an unchanged file is not rewritten, so that nothing is judged again."""
    path = task_file(folder, task.id)
    text = json.dumps(task.model_dump(mode="json"), indent=1, sort_keys=True) + "\n"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        write_atomic(path, text)


def read_task(folder: Path, task: str) -> ChangeTask:
    """A frozen task. Raises UserError."""
    path = task_file(folder, task)
    try:
        return ChangeTask.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise UserError(
            f"{path}: cannot be read ({error}); delete it and plan.json to rebuild both"
        ) from None
