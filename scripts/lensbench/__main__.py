"""The `lensbench` command: one table of verbs, each a program that is also started by `python -P -m <module>`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NamedTuple

from lensbench import __version__
from lensbench.core.errors import UserError, did_you_mean
from lensbench.core.system.program import run_program


class Verb(NamedTuple):
    """What a verb starts, and its line in the overview."""

    module: str
    help: str


GROUPS: dict[str, dict[str, Verb]] = {
    "Begin": {
        "init": Verb(
            "lensbench.workflow.setup", "write a config for your own MCP server, try it, and estimate the price"
        ),
        "generate": Verb("lensbench.scenarios.generate", "write a task set about a repository, every fact proven"),
        "draft": Verb("lensbench.judging.drafting", "turn Markdown scenarios into a task set, with draft patterns"),
        "check": Verb(
            "lensbench.scenarios.check", "check a task set: what its patterns miss, and what gives facts away"
        ),
        "try": Verb("lensbench.scenarios.try_answer", "judge a text at once, and show which words decided"),
        "prove": Verb("lensbench.scenarios.proofs", "look up the proofs of a task set in its repositories"),
        "size": Verb("lensbench.scores.sample_size", "how many tasks, repositories and trials a decision needs"),
    },
    "Run": {
        "run": Verb(
            "lensbench.workflow.launch", "make what is missing of the benchmark here; takes Snakemake's options"
        ),
        "status": Verb("lensbench.workflow.status", "how far a benchmark is: valid, discarded, left, running, spent"),
        "discard": Verb("lensbench.workflow.discard", "discard a run by hand, or take that back; results name it"),
        "ask": Verb("lensbench.workflow.ask", "ask one question with and without the server, side by side"),
    },
    "Results": {
        "view": Verb("lensbench.workflow.view", "open the page of a benchmark; list the benchmarks of a folder"),
        "judge": Verb("lensbench.judging.judge_sheet", "write the page on which people judge blinded answers"),
        "compare": Verb(
            "lensbench.results.compare.compare", "compare finished benchmarks on the tasks that they share"
        ),
        "archive": Verb("lensbench.archive.archive", "pack a benchmark into one file that others can check"),
        "verify": Verb("lensbench.archive.verify", "check an archive: hashes, signature, every number"),
        "merge": Verb("lensbench.archive.merge", "join the parts of a benchmark made on several machines"),
        "import": Verb("lensbench.archive.import_runs", "take over a finished run in the protocol's form"),
    },
    "Check and maintain": {
        "doctor": Verb("lensbench.workflow.doctor", "check machine, agents, keys, servers and config, at any time"),
        "fsck": Verb("lensbench.workflow.damage", "find damaged files in a run folder"),
        "selftest": Verb("lensbench.workflow.selftest", "prove the instrument on benchmarks whose outcome is known"),
        "schemas": Verb("lensbench.plan.schemas", "write the JSON schemas of config, task sets and records"),
        "lens": Verb("lensbench.lens", "serve a folder with the embedded MCP server"),
        "completion": Verb("lensbench.workflow.shell_completion", "print a completion script for bash, zsh or fish"),
    },
}
VERBS = {name: verb for group in GROUPS.values() for name, verb in group.items()}
HIDDEN = {"skill": "lensbench.workflow.skill", "retrieval": "lensbench.agents.offline"}
"""What the /benchmark skill and the offline agent start."""
ALIASES = {
    "starting": "init",
    "generating": "generate",
    "drafting": "draft",
    "proving": "prove",
    "planning": "size",
    "evaluating": "ask",
    "judge_sheet": "judge",
    "comparing": "compare",
    "verifying": "verify",
    "merging": "merge",
    "importing": "import",
    "checking": "fsck",
}
"""The names of version 0.1, for one release."""
EXIT_CODES = (
    "Exit codes: 0 done; 1 a mistake, a failed run or check, or a verdict named in fail_on; "
    "2 a wrong option; 130 interrupted."
)


def overview() -> str:
    """All verbs with a line each, and the exit codes."""
    lines = [f"lensbench {__version__}: does an MCP server help a coding agent?", ""]
    lines += ["usage: lensbench <verb> ...      lensbench <verb> --help"]
    for title, verbs in GROUPS.items():
        lines += ["", f"{title}:", *(f"  {name:11} {verb.help}" for name, verb in verbs.items())]
    return "\n".join([*lines, "", EXIT_CODES])


def module_of(name: str) -> str:
    """The module of a verb, by its name or an old one. Raises UserError when there is none."""
    verb = VERBS.get(ALIASES.get(name, name))
    if module := verb.module if verb else HIDDEN.get(name):
        return module
    hint = did_you_mean(ALIASES.get(name, name), VERBS) or "; lensbench --help lists them"
    raise UserError(f"there is no verb {name!r}{hint}")


def _start(name: str, arguments: Sequence[str]) -> None:
    """Becomes the program of a verb."""
    module = module_of(name)
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-P", "-m", module, *arguments])


def main() -> None:
    """Starts what the first argument names."""
    match sys.argv[1:]:
        case [] | ["-h" | "--help" | "help", *_]:
            print(overview())
        case ["-V" | "--version", *_]:
            print(f"lensbench {__version__}")
        case [name, *arguments]:
            run_program(lambda: _start(name, arguments))


if __name__ == "__main__":
    main()
