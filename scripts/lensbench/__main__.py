"""The `lensbench` command: a table of verbs. Each verb can also be started as `python -P -m <module>`."""

from __future__ import annotations

import os
import sys
from importlib.metadata import entry_points
from typing import NamedTuple

from lensbench import __version__
from lensbench.core.errors import UserError, did_you_mean
from lensbench.core.system.places import commit
from lensbench.core.system.program import run_program


class Verb(NamedTuple):
    """The module of a verb (in GROUPS without `lensbench.`), and its line in the overview."""

    module: str
    help: str


GROUPS: dict[str, dict[str, Verb]] = {
    "Begin": {},
    "Run": {
        "run": Verb(
            "workflow.launch",
            "run what is missing of the benchmark here; accepts Snakemake's options",
        ),
        "status": Verb(
            "workflow.status", "show progress: runs valid, discarded, left and running, money spent"
        ),
        "discard": Verb(
            "workflow.discard", "discard a run by hand, or undo that; the results report it"
        ),
    },
    "Results": {
        "judge": Verb("judging.judge_sheet", "write the page for human judging of blinded answers"),
    },
    "Check and maintain": {
        "tee": Verb("agents.tee", "note the messages between an agent and an MCP server"),
        "fsck": Verb("workflow.damage", "find damaged files in a run folder"),
    },
}
HIDDEN = ""
"""The group that the overview does not show: what programs start."""
EXIT_CODES = (
    "Exit codes: 0 done; 1 a check failed, or the verdict is in fail_on; "
    "2 it could not run (option, config, server, key, budget); 130 interrupted."
)


def all_verbs() -> dict[str, dict[str, Verb]]:
    """The verbs by group: those of this package, then those that the entry points of packages beside it name."""
    groups = {
        title: {name: Verb(f"lensbench.{verb.module}", verb.help) for name, verb in verbs.items()}
        for title, verbs in GROUPS.items()
    }
    for entry in sorted(entry_points(group="lensbench.verbs"), key=lambda entry: entry.name):
        for title, verbs in entry.load().items():
            groups.setdefault(title, {}).update({name: Verb(*verb) for name, verb in verbs.items()})
    return groups


def overview() -> str:
    """The text of `lensbench --help`: a line for each verb, and the exit codes."""
    lines = [f"lensbench {__version__}: does an MCP server help a coding agent?", ""]
    lines += ["usage: lensbench <verb> ...      lensbench <verb> --help"]
    for title, verbs in all_verbs().items():
        if title == HIDDEN:
            continue
        lines += ["", f"{title}:", *(f"  {name:11} {verb.help}" for name, verb in verbs.items())]
    return "\n".join([*lines, "", EXIT_CODES])


def module_of(name: str) -> str:
    """The module of a verb, by its name. Raises UserError for an unknown verb."""
    verbs = {name: verb for group in all_verbs().values() for name, verb in group.items()}
    if name in verbs:
        return verbs[name].module
    hint = did_you_mean(name, verbs) or "; lensbench --help lists them"
    raise UserError(f"there is no verb {name!r}{hint}")


def _start() -> None:
    """Replaces this process with the program of a verb."""
    match sys.argv[1:]:
        case [] | ["-h" | "--help" | "help", *_]:
            print(overview())
        case ["-V" | "--version", *_]:
            print(f"lensbench {__version__} (commit {commit()})")
        case [name, *arguments]:
            module = module_of(name)
            sys.stdout.flush()
            os.execv(sys.executable, [sys.executable, "-P", "-m", module, *arguments])


def main() -> None:
    """Starts the verb that the first argument names."""
    run_program(_start)


if __name__ == "__main__":
    main()
