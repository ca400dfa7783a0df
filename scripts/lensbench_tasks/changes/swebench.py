"""Change tasks from JSONL in the format of SWE-bench, with a folder of cloned repositories."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lensbench.changes.patches import PatchError, apply_patch, patch_size
from lensbench.changes.task import Binary, ChangeTask, Content
from lensbench.core.errors import UserError
from lensbench.core.system.private_folders import private_folder
from lensbench.core.system.trees import copy_tree
from lensbench.core.tasks import Git
from lensbench.repositories.prepare import prepare
from lensbench_tasks.changes.candidates import Bench, Fate, hidden_tests
from lensbench_tasks.changes.names import task_id
from lensbench_tasks.changes.prompts import category_of
from lensbench_tasks.changes.suites import suite_of

_TEXTS = ("instance_id", "repo", "base_commit", "problem_statement", "patch", "test_patch")
_LISTS = ("FAIL_TO_PASS", "PASS_TO_PASS")
_KNOWN = {*_TEXTS, *_LISTS, "hints_text", "created_at", "version", "environment_setup_commit", "difficulty"}
"""Keys that are supported, or that do not affect how a task is judged."""


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


class Refused(Exception):
    """A task that is not supported; the text names the reason."""


def tasks_from_swebench(
    file: Path, mirrors: Path, bench: Bench, environment: Sequence[str], command: str, timeout_s: float
) -> Iterator[Fate]:
    """A task, or the reasons against it, for each line of `file`. Raises UserError when it cannot be read."""
    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{file}: cannot be read: {error}") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        name, what = f"{file.name}-{number}", f"line {number}"
        try:
            instance = read_instance(line)
            name, what = instance.instance_id, f"{instance.repo} at {instance.base_commit[:12]}"
            yield _fate(instance, what, mirrors, bench, environment, command, timeout_s)
        except (Refused, PatchError, UserError) as error:
            yield Fate(task_id(name), what, None, (str(error).replace("\n", "; "),))


def read_instance(line: str) -> Instance:
    """A line as an instance. Raises Refused for unsupported content."""
    try:
        value = json.loads(line)
    except ValueError as error:
        raise Refused(f"the line is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise Refused("the line is not a JSON object")
    missing = [key for key in _TEXTS if not isinstance(value.get(key), str) or not value[key].strip()]
    if missing:
        raise Refused(f"{', '.join(missing)}: missing, empty, or no text")
    unknown = sorted(key for key, given in value.items() if key not in _KNOWN and given not in (None, "", [], {}))
    if unknown:
        raise Refused(f"{', '.join(unknown)}: not supported here")
    failing, passing = (_names(value, key) for key in _LISTS)
    if not failing:
        raise Refused("FAIL_TO_PASS is empty")
    texts = {key: value[key] for key in _TEXTS}
    return Instance(**texts, fail_to_pass=failing, pass_to_pass=passing)


def _names(value: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """The tests of a key: a list, or a JSON string with a list, as both occur in the data sets."""
    given = value.get(key, [])
    try:
        names = json.loads(given) if isinstance(given, str) else given
    except ValueError:
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise Refused(f"{key} is not a list of test ids")
    return tuple(names)


def _fate(
    instance: Instance, what: str, mirrors: Path, bench: Bench, environment: Sequence[str], command: str,
    timeout_s: float,
) -> Fate:  # fmt: skip
    source = Git(git=str(_mirror(mirrors, instance.repo)), revision=instance.base_commit)
    tree = prepare(source, bench.cache).tree.resolve()
    files = _hidden(tree, instance.test_patch)
    suite = suite_of(tree, environment, command)
    programs = [path for path in files if suite.starts(path)]
    if not programs:
        raise Refused("test_patch changes no runnable test file")
    if strange := next((test for test in instance.fail_to_pass if "::" not in test), ""):
        raise Refused(
            f"FAIL_TO_PASS: {strange!r} is not a test id of pytest or a JUnit report (<file or class>::<name>)"
        )
    tests = hidden_tests(suite, programs, files, timeout_s).model_copy(
        update={"fail_to_pass": instance.fail_to_pass, "pass_to_pass": instance.pass_to_pass}
    )
    task = ChangeTask(
        id=task_id(instance.instance_id), kind="change", category=category_of(instance.problem_statement),
        repository=source, prompt=instance.problem_statement, tests=tests, environment=suite.environment,
        reference=instance.patch,
    )  # fmt: skip
    return bench.judged(task, what, tree, bench.environment(suite.environment, tree))


def _mirror(mirrors: Path, repo: str) -> Path:
    """The clone of `owner/name` in `mirrors`, under any of the usual names."""
    owner, _, name = repo.rpartition("/")
    for place in (f"{owner}/{name}", f"{owner}__{name}", name):
        for found in (mirrors / place, mirrors / f"{place}.git"):
            if found.is_dir():
                return found
    raise Refused(f"repo: there is no clone of {repo} in {mirrors}; clone it to {mirrors / owner / name}")


def _hidden(tree: Path, test_patch: str) -> Mapping[str, Content]:
    """The test files after `test_patch`."""
    with private_folder() as private:
        work, scratch = Path(private, "work"), Path(private, "scratch")
        scratch.mkdir()
        copy_tree(str(tree), str(work))
        size = patch_size(test_patch.encode(), scratch)
        apply_patch(test_patch.encode(), work, scratch, ())
        deleted = [path for path in size.files if not (work / path).is_file()]
        if deleted:
            raise Refused(f"test_patch deletes {', '.join(deleted)}, but hidden files cannot delete")
        return {path: Binary.text_or_bytes((work / path).read_bytes()) for path in size.files}
