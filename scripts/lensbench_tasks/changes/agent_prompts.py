"""Prompts of change tasks written by an agent.

The agent sees the repository before the change, the author's message, and the names of the failing tests, but neither
the change nor the tests, so it cannot give them away. Its prompt is then compared with both: a prompt that contains a
line of them is returned once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from lensbench.changes.hidden_files import with_files
from lensbench.changes.proof import copied_line, given_away
from lensbench.changes.task import ChangeTask, content_bytes
from lensbench.core.system.terminal import printable
from lensbench.repositories.prepare import prepare
from lensbench_tasks.author import AskedAgent, NoAnswer, marked, question
from lensbench_tasks.changes.candidates import ChangeFate, Prover
from lensbench_tasks.changes.prompts import needs, says_too_little, write_prompt

ROUNDS = 2
LONGEST = 4000
"""The maximum length of a prompt in characters."""
_TEMPLATE = "write_change_prompt.md.j2"


def in_other_words(fates: Iterable[ChangeFate], agent: AskedAgent, bench: Prover) -> Iterator[ChangeFate]:
    """The fates, with the agent's prompts in proven tasks, or the original prompts where the agent's are unusable."""
    for fate in fates:
        if fate.task is None:
            yield fate
            continue
        prompt, note = _asked(with_files(fate.task, bench.cache), agent, bench)
        print(printable(f"{fate.id}: {note}"), file=sys.stderr, flush=True)
        yield fate._replace(task=fate.task.model_copy(update={"prompt": prompt or fate.task.prompt}), note=note)


def _asked(task: ChangeTask, agent: AskedAgent, bench: Prover) -> tuple[str, str]:
    """The prompt, or "", and a remark for the report."""
    assert task.repository
    tree = prepare(task.repository, bench.cache).tree.resolve()
    why = ""
    for _ in range(ROUNDS):
        if agent.spent_all:
            return "", "the author's words: the budget is spent"
        try:
            answer = agent.ask(tree, task.id, question(_TEMPLATE, said=task.prompt, why=why))
        except NoAnswer as error:
            return "", f"the author's words: {error}"
        written = (marked(answer, "prompt") or "").strip()
        why = problem(written, task)
        if not why:
            texts = [content for content in task.tests.files.values() if isinstance(content, str)]
            needed = needs(content_bytes(task.reference).decode(errors="replace"), texts, tree)
            return write_prompt(written, task.tests.fail_to_pass, needed), "an agent's words"
    return "", f"the author's words: the agent's text {why}"


def problem(prompt: str, task: ChangeTask) -> str:
    """Why a prompt cannot be used, as a predicate; "" when it can. `task` has the content of its hidden files."""
    if says_too_little(prompt):
        return "has no task between the two marks"
    if len(prompt) > LONGEST:
        return f"is longer than {LONGEST} characters"
    if given_away(prompt, content_bytes(task.reference)):
        return "contains a line of the right change"
    hidden = (content_bytes(content) for content in task.tests.files.values())
    if any(copied_line(prompt, content.decode(errors="replace").split("\n")) for content in hidden):
        return "contains a line of a hidden test"
    return ""
