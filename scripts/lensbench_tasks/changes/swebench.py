"""Change tasks from lines in the format of SWE-bench, with a folder of cloned repositories."""

from __future__ import annotations

import ast
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from lensbench.changes.execute import TestRun, last_error
from lensbench.changes.patches import PatchError, apply_patch, patch_size
from lensbench.changes.printed import read_printed
from lensbench.changes.task import PRINTED, Binary, ChangeTask, Content
from lensbench.core.errors import UserError
from lensbench.core.handed_over import read_handed_over
from lensbench.core.system.private_folders import private_folder
from lensbench.core.system.trees import copy_tree
from lensbench.core.tasks import Git
from lensbench.repositories.prepare import prepare
from lensbench_tasks.changes.candidates import ChangeFate, Prover, deciding_tests, task_id
from lensbench_tasks.changes.prompts import category_of
from lensbench_tasks.changes.suites import Moment


class Instance(NamedTuple):
    """A line of the file."""

    instance_id: str
    repo: str
    base_commit: str
    problem_statement: str
    patch: str
    test_patch: str
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]
    moment: Moment


_TEXTS = Instance._fields[:6]


class Refused(UserError):
    """A task that is not supported; the text names the reason."""


def tasks_from_swebench(file: Path, mirrors: Path, bench: Prover) -> Iterator[ChangeFate]:
    """A task, or the reasons against it, for each line of `file`, or each object of its JSON array.

    Raises UserError when it cannot be read, or has none.
    """
    text = read_handed_over(file)
    try:
        whole = json.loads(text)
        if not isinstance(whole, list):
            whole = [whole]
        lines = [*map(json.dumps, whole)]
    except ValueError:
        lines = text.split("\n")
    names = set[str]()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        name = f"{file.name}-{number}"
        what = f"line {number}"
        try:
            instance = read_instance(line)
            if instance.instance_id in names:
                raise Refused(f"instance_id: {instance.instance_id} occurs twice")
            names.add(instance.instance_id)
            name = instance.instance_id
            what = f"{instance.repo} at {instance.base_commit[:12]}"
            yield _fate(instance, what, mirrors, bench)
        except (PatchError, UserError) as error:
            yield ChangeFate.refused(task_id(name), what, error)


def read_instance(line: str) -> Instance:
    """A line as an instance; keys that are not known do not affect it. Raises Refused for unsupported content."""
    try:
        value = json.loads(line)
    except ValueError as error:
        raise Refused(f"the line is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise Refused("the line is not a JSON object")
    missing = []
    for key in _TEXTS:
        text = value.get(key)
        if not isinstance(text, str) or not text.strip():
            missing.append(key)
    if missing:
        raise Refused(f"{', '.join(missing)}: missing, empty, or no text")
    if value.get("image_assets") not in (None, "", "{}", {}, []):
        raise Refused("image_assets: the issue needs pictures, which are not supported here")
    failing = _names(value, "FAIL_TO_PASS")
    passing = _names(value, "PASS_TO_PASS")
    if not failing:
        raise Refused("FAIL_TO_PASS: missing or empty")
    texts = {key: value[key] for key in _TEXTS}
    for key in ("patch", "test_patch"):
        texts[key] = texts[key].removesuffix("\n") + "\n"
    return Instance(**texts, fail_to_pass=failing, pass_to_pass=passing, moment=_moment(value))


def _moment(value: Mapping[str, Any]) -> Moment:
    """The version and the date of a line; dates are texts, or milliseconds where a data frame was written, whose
    missing values are not a number."""
    stamp = value.get("created_at")
    version = value.get("version")
    try:
        if isinstance(stamp, int | float):
            date = datetime.fromtimestamp(stamp / 1000, UTC)
        else:
            date = datetime.fromisoformat(str(stamp)).astimezone(UTC)
    except (ValueError, OverflowError):
        date = None
    return Moment(str(version) if version and version == version else "0", date)


def _names(value: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """The tests of a key in either case: a list, or a text with one in JSON or Python, as they occur in data sets;
    none where a data frame has no value."""
    names: Any = value.get(key, value.get(key.lower()))
    names = [] if names in (None, "") or names != names else names
    for read in (json.loads, ast.literal_eval):
        with suppress(ValueError, SyntaxError):
            if isinstance(names, str):
                names = read(names)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise Refused(f"{key} is not a list of test ids")
    return tuple(names)


def _fate(instance: Instance, what: str, mirrors: Path, bench: Prover) -> ChangeFate:
    mirror = _mirror(mirrors, instance.repo)
    source = Git(git=str(mirror), revision=instance.base_commit)
    tree = prepare(source, bench.cache).tree.resolve()
    files = _hidden(tree, instance.test_patch)
    suite = bench.suite(tree, instance.moment)
    paths = {test.partition("::")[0] for test in instance.fail_to_pass}
    programs = [path for path in files if path in paths or suite.starts(path)]
    if not programs:
        raise Refused("test_patch changes no runnable test file")
    task = ChangeTask(
        id=task_id(instance.instance_id),
        kind="change",
        category=category_of(instance.problem_statement),
        repository=source,
        prompt=instance.problem_statement,
        tests=bench.hidden_tests(suite, programs, files),
        reference=instance.patch,
    )
    fates: dict[Sequence[str], ChangeFate] = {}
    # Neither the newest packages nor the date's suit every line.
    for commands in dict.fromkeys(suite.environments):
        installed = task.model_copy(update={"environment": commands})
        try:
            fate = _tried(instance, installed, what, tree, bench)
        except UserError as error:
            fate = ChangeFate.refused(task.id, what, error)
        if fate.task:
            return fate
        fates[commands] = fate
    newest = suite.environments[-2:][0]
    return fates[newest]


def _tried(
    instance: Instance, task: ChangeTask, what: str, tree: Path, bench: Prover
) -> ChangeFate:
    installation = bench.environment(task.environment, tree)
    runs = bench.before_and_after(tree, instance.patch.encode(), task.tests, installation)
    if runs[1].problem:
        raise Refused(f"with the patch: {runs[1].problem}")
    failing, baseline = deciding_tests(*runs)
    ids = _ids_by_name(runs, task)
    fixes = set[str]()
    for test in instance.fail_to_pass:
        if not ids[_short(test)]:
            output = runs[1].output.partition("= FAILURES =")[0]
            error = last_error(output)
            count = len(runs[1].results)
            raise Refused(f"FAIL_TO_PASS: {test!r} is not among the {count} tests that ran{error}")
    for test in instance.fail_to_pass:
        fixed = ids[_short(test)].intersection(failing)
        if fixed:
            fixes |= fixed
        elif ids[_short(test)].intersection(baseline):
            raise Refused(f"FAIL_TO_PASS: {test!r} passes without a change")
        else:
            error = _why(test, runs[1].output)
            raise Refused(f"FAIL_TO_PASS: {test!r} does not pass with the patch{error}")
    passing = set[str]()
    absent = set[str]()
    for test in instance.pass_to_pass:
        still = ids[_short(test)].intersection(baseline)
        passing |= still
        if not still:
            absent.add(test)
    proven = {"fail_to_pass": tuple(sorted(fixes)), "pass_to_pass": tuple(sorted(passing))}
    tests = task.tests.model_copy(update=proven)
    task = task.model_copy(update={"tests": tests})
    note = ""
    if absent:
        count = len(set(instance.pass_to_pass))
        note = f"{len(absent)} of {count} ids of PASS_TO_PASS do not pass here, and are omitted"
    fate = bench.judged(task, what, tree, installation, foreign=True, runs=runs)
    return fate._replace(note=note)


def _ids_by_name(runs: Sequence[TestRun], task: ChangeTask) -> defaultdict[str, set[str]]:
    """The ids of the tests that ran, by the short form of each name that data sets may give them."""
    ids = defaultdict[str, set[str]](set)
    for run in runs:
        for test in run.results:
            for name in forms_of(test):
                ids[_short(name)].add(test)
        if run.results and task.tests.report == PRINTED:
            _, ids_by_form = read_printed(run.output, task.tests.files)
            for name, test in ids_by_form.items():
                ids[_short(name)].add(test)
    return ids


def forms_of(test: str) -> Iterator[str]:
    """What data sets call a test: few name its file; pytest writes escapes for letters."""
    name = test.partition("::")[2]
    dotted = test.replace(".py::", ".").replace("/", ".").replace("::", ".")
    head, _, last = dotted.rpartition(".")
    yield test
    yield name
    yield test.replace("::", " > ", 1)
    yield name.replace(" > ", " ")
    yield name.rpartition(" > ")[2]
    yield dotted
    yield f"{last} ({head})"
    yield re.sub(r"\\x(..)|\\u(....)", _letter, test)


def _letter(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2]
    return chr(int(code, 16))


def _why(test: str, output: str) -> str:
    """The error of a failed test, after a colon; "" without one."""
    function = test.rpartition("::")[2].partition(" ")[0]
    name = re.escape(function)
    for section in re.findall(rf"\b{name}.*\n((?:(?!___|===).*\n)*)", output):
        if error := last_error(section):
            return error
    return ""


def _short(test: str) -> str:
    """The form that lines have: cut at the first space, a path in brackets by its last part."""
    # A docstring, or unittest's `test (class)`, which newer versions write with the test.
    if "::" not in test:
        kind = re.fullmatch(r"(\w+) \(([\w.]+?)\.\1\)", test)
        return f"{kind[1]} ({kind[2]})" if kind else test
    name = test.partition(" ")[0]
    head, bracket, inside = name.partition("[/")
    if bracket and not inside.startswith("/"):
        return f"{head}[/{inside.rpartition('/')[2]}"
    return name


def _mirror(mirrors: Path, repo: str) -> Path:
    """The clone of `owner/name` in `mirrors`, under any of the usual names."""
    owner, _, name = repo.rpartition("/")
    for place in (f"{owner}/{name}", f"{owner}__{name}", name):
        for clone in (mirrors / place, mirrors / f"{place}.git"):
            if clone.is_dir():
                return clone
    raise Refused(
        f"repo: there is no clone of {repo} in {mirrors}; clone it to {mirrors / owner / name}"
    )


def _hidden(tree: Path, test_patch: str) -> Mapping[str, Content]:
    with private_folder() as private:
        work = Path(private, "work")
        scratch = Path(private, "scratch")
        scratch.mkdir()
        copy_tree(str(tree), str(work), with_git=False)
        size = patch_size(test_patch.encode(), scratch)
        apply_patch(test_patch.encode(), work, scratch, ())
        deletions = [path for path in size.files if not (work / path).is_file()]
        if deletions:
            raise Refused(
                f"test_patch deletes {', '.join(deletions)}, but hidden files cannot delete"
            )
        contents: dict[str, Content] = {}
        for path in size.files:
            data = (work / path).read_bytes()
            contents[path] = Binary.text_or_bytes(data)
        return contents
