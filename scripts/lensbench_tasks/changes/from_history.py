"""Change tasks from a project's own history: commits that touch source and tests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from lensbench.changes.execute import last_error
from lensbench.changes.hidden_files import with_files
from lensbench.changes.reports import unloaded_files
from lensbench.changes.task import ChangeTask, FromSource
from lensbench.core.errors import UserError
from lensbench.core.tasks import Git
from lensbench.repositories.prepare import prepare
from lensbench.repositories.sources.git_program import GitError, git
from lensbench_tasks.changes.candidates import ChangeFate, Prover, deciding_tests
from lensbench_tasks.changes.history import Commit, commits
from lensbench_tasks.changes.prompts import (
    SHOWN_LINES,
    added_lines,
    category_of,
    needs,
    says_too_little,
    write_prompt,
)
from lensbench_tasks.changes.proof import given_away
from lensbench_tasks.changes.suites import Moment
from lensbench_tasks.changes.telling import without_the_fix
from lensbench_tasks.pin import Pinned


def tasks_from_history(name: str, origin: Pinned, bench: Prover) -> Iterator[ChangeFate]:
    """A task about the repository before each commit that touches source and tests, newest first, or the reasons
    against it. Raises UserError without a history."""
    if not isinstance(origin.source, Git):
        raise UserError(
            f"tasks from a history need one: {origin.warning}; commit the changes, or use another repo"
        )
    history = prepare(origin.source, bench.cache).tree.resolve()
    for commit in commits(history, origin.source.revision):
        before = Git(git=origin.source.git, revision=commit.parent)
        task_id = f"{name}-{commit.id[:8]}"
        what = commit.message.partition("\n")[0]
        if says_too_little(commit.message):
            why = "the commit's message does not describe the goal"
            yield ChangeFate.refused(task_id, what, why)
            continue
        try:
            yield _fate(task_id, what, commit, before, history, bench)
        except (UserError, GitError, UnicodeDecodeError) as error:
            yield ChangeFate.refused(task_id, what, error)


def _moment(before: Git, history: Path, commit: str) -> Moment:
    """The commit's date, and the version of the last tag before it where the repository is on this machine."""
    seconds = git(history, "show", "--no-patch", "--format=%ct", commit)
    date = datetime.fromtimestamp(int(seconds), UTC)
    tag = b""
    with suppress(GitError, OSError):
        tag = git(Path(before.git), "describe", "--tags", "--abbrev=0", before.revision)
    match = re.search(r"\d[\w.]*", tag.decode())
    if match:
        return Moment(match[0], date)
    return Moment(date=date)


def _fate(
    task_id: str, what: str, commit: Commit, before: Git, history: Path, bench: Prover
) -> ChangeFate:
    reference = git(
        history,
        "--literal-pathspecs",
        "diff",
        "--binary",
        "--full-index",
        "--no-renames",
        "--no-ext-diff",
        commit.parent,
        commit.id,
        "--",
        *commit.sources,
    )
    tree = prepare(before, bench.cache).tree.resolve()
    suite = bench.suite(tree, _moment(before, history, commit.id))
    programs = [path for path in commit.tests if suite.starts(path)]
    if not programs:
        raise UserError("it changes no test file of Python, JavaScript, Go or Rust")
    commands, installation = bench.first_environment(suite.environments, tree)
    after = Git(git=before.git, revision=commit.id)
    hidden = dict.fromkeys(commit.tests, FromSource(source=after))
    tests = bench.hidden_tests(suite, programs, hidden)
    task = ChangeTask(
        id=task_id,
        kind="change",
        category=category_of(commit.message),
        repository=before,
        prompt=commit.message,
        tests=tests,
        environment=commands,
        reference=reference.decode(),
    )
    full_tests = with_files(task, bench.cache).tests
    runs = bench.before_and_after(tree, reference, full_tests, installation)
    if runs[1].problem:
        raise UserError(runs[1].problem)
    failing, passing = deciding_tests(*runs)
    if not failing:
        why = "no test fails before the commit and passes after it"
        files = unloaded_files(runs[1].results, full_tests.files)
        if files:
            output = runs[1].output.partition("= FAILURES =")[0]
            why += f"; {', '.join(sorted(files))}: does not load{last_error(output)}"
        return ChangeFate.refused(task_id, what, why)
    final_tests = tests.model_copy(update={"fail_to_pass": failing, "pass_to_pass": passing})
    texts = [content for content in full_tests.files.values() if isinstance(content, str)]
    documents = git(history, "diff", commit.parent, commit.id, "--", "*.md", "*.rst", "*.d.ts")
    added = added_lines(documents.decode(errors="replace"))
    harmless = [line for line in added if not given_away(line, reference)]
    promise = "\n".join(harmless[:SHOWN_LINES])
    terms = needs(reference.decode(), texts, tree)
    message, _ = without_the_fix(commit.message, reference.decode(), terms.own_names)
    if promise.strip():
        message += f"\n\nIts documents will say:\n\n{promise}"
    prompt = write_prompt(message, failing, terms)
    task = task.model_copy(update={"tests": final_tests, "prompt": prompt})
    return bench.judged(task, what, tree, installation, runs=runs)
