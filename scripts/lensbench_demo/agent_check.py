"""`lensbench agent-check KIND`: starts an agent on a small repository with the embedded server, without it, and with
one that does not start; shows whether these runs would count, which facts of them a result can have, and whether the
adapter keeps the promises that can be asked of any.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from lensbench.agents import known_kinds, load_adapter, secret_names
from lensbench.agents.sandbox import Place, find_sandbox
from lensbench.agents.start import AgentReply, assign, start_agent
from lensbench.agents.taps import is_tapped
from lensbench.core.error_texts import KNOWN_ERRORS
from lensbench.core.errors import CheckFailed, UserError
from lensbench.core.frozen_plan import AgentSettings
from lensbench.core.preflight_results import Check, table
from lensbench.core.records import Outcome
from lensbench.core.system.files import write_atomic
from lensbench.core.system.private_folders import private_folder
from lensbench.core.system.processes import adopt_orphans, end_children
from lensbench.core.system.program import Parser, run_program
from lensbench.core.system.progress import Progress
from lensbench.core.system.redaction import Redactor
from lensbench.plan.config import Config
from lensbench.plan.reading import agent_problems, read_config
from lensbench.runs.reasons import Expectation, reason_of, tools_of

CHECKED_SERVER = "lens"
STOPPED = "a server that does not start"
RUBBISH = (
    "null\n",
    "[1]\n",
    f"{'':[<10000}\n",
    '{"type": 1}\n',
    '{"type": "x", "item": 3}\n',
    "\0\ud800\n",
)
"""Lines that a program may print."""
QUESTION = "Call the tool lens_grep with the query Cart. Then answer with the path of the file that it names.\n"


def row(name: str, shown: object, seen: object = None, tee: str = "") -> Check:
    """The row of a fact that the agent shows, or the tee has seen; `tee`: when runs have one."""
    if shown:
        return Check(name, "ok", f"shown: {shown}")
    if seen:
        return Check(name, "ok", f"seen by the tee{tee}: {seen}")
    return Check(name, "skipped", "not shown")


def ask(config: Config, settings: AgentSettings, program: str) -> AgentReply:
    """One start of the agent, with the embedded server as `program` runs it, or, for "", without it."""
    sandbox = find_sandbox(
        {
            "mode": config.sandbox,
            "visible": config.sandbox_visible,
            "hosts": config.sandbox_hosts,
            "network": config.sandbox_network,
            "hidden": [],
        }
    )
    with private_folder() as private:
        place = Place(sandbox, private)
        write_atomic(Path(private, "repo", "src", "shop.py"), "class Cart:\n    pass\n")
        workspace = place.inside(f"{private}/repo")
        entry = {
            "command": program,
            "args": ["-P", "-m", "lensbench_demo.lens", "--root", workspace],
        }
        servers = {}
        denied = [CHECKED_SERVER]
        if program:
            servers[CHECKED_SERVER] = entry
            denied = []
        run = assign(
            place,
            QUESTION,
            servers,
            settings,
            1,
            servers=tuple(servers),
            denied_servers=tuple(denied),
        )
        redact = Redactor(secret_names(settings), os.environ)
        return start_agent(run, place, settings["timeout_s"], redact)


def counts(name: str, said: AgentReply, expected: Expectation) -> Check:
    """Whether the run would count."""
    reason, detail = reason_of(said, expected)
    if reason:
        return Check(name, "failed", f"{reason}: {detail}; {_cause(said)}")
    return Check(name, "ok", "counts")


def _cause(said: AgentReply) -> str:
    """What `read` failed at, or what the program printed last."""
    if said.unread:
        return f"`read` raises {said.unread}"
    lines = said.transcript.split("\n")
    last = [line for line in lines if line.strip()][-1:]
    return f"its last line: {''.join(last)[:200] or 'none'}"


def discarded(said: AgentReply) -> Check:
    """Whether a run is discarded whose server ends at once."""
    reason, detail = reason_of(said, Expectation([CHECKED_SERVER], []))
    if reason:
        return Check(STOPPED, "ok", f"discarded: {reason}: {detail}")
    return Check(STOPPED, "failed", "counts as a run with a server")


def reading(
    name: str, kind: str, lines: Iterable[str], holds: Callable[[Outcome], bool], promise: str
) -> Check:
    """Whether a promise holds for what the adapter reads in these lines."""
    try:
        outcome = load_adapter(kind).read(iter(lines), errors=KNOWN_ERRORS)
    except Exception as error:  # in code that may be another package's
        return Check(name, "failed", f"`read` raises {type(error).__name__}: {error}")
    if holds(outcome):
        return Check(name, "ok", promise)
    return Check(name, "failed", f"it {promise}: no")


def promises(said: AgentReply, kind: str) -> Iterator[Check]:
    """What holds for the reading of any output, asked with that of a run."""
    lines = [*io.StringIO(said.transcript)]
    half = len(lines) // 2
    hide = Redactor(["WORD"], {"WORD": said.answer.strip()[-8:]})
    whole = said.outcome

    def is_kept(outcome: Outcome) -> bool:
        facts = (outcome.finished, outcome.calls, outcome.tokens)
        return facts == (whole.finished, whole.calls, whole.tokens)

    def is_open(outcome: Outcome) -> bool:
        return not outcome.finished

    noisy = [*lines[:half], *RUBBISH, *lines[half:]]
    yield reading("lines of any text", kind, noisy, is_kept, "changes no fact")
    yield reading("a hidden secret", kind, map(hide, lines), is_kept, "changes no fact")
    if whole.ending:
        yield reading("no output", kind, (), is_open, "is not finished")
        yield reading("a cut output", kind, lines[:half], is_open, "is not finished")


def calls_of(outcome: Outcome) -> dict[str, str]:
    """How many of the calls of each of the server's tools worked."""
    calls = {}
    for call in outcome.calls or ():
        if tools_of([CHECKED_SERVER], [call.name]):
            calls[call.name] = f"{call.count - call.errors} of {call.count}"
    return calls


def facts(said: AgentReply, settings: AgentSettings, is_noted: bool) -> Iterator[Check]:
    """What a result has of the run with a server; `is_noted`: the tee stands before the servers of runs, too."""
    outcome = said.outcome
    seen = said.seen
    tee = ""
    if not is_noted:
        tee = " (runs have it with `agent.tee: true`)"
    version = getattr(load_adapter(settings["kind"]), "version", lambda settings: None)
    yield row(
        "offered", tools_of([CHECKED_SERVER], outcome.tools_offered or ()), seen.tools_offered, tee
    )
    yield row("called, worked", calls_of(outcome), calls_of(seen), tee)
    yield row("tokens", outcome.tokens)
    yield row("cost", outcome.cost_usd)
    yield row("model", outcome.models)
    yield row("version", outcome.agent_version or version(settings))
    yield row("end", outcome.ending)


def main() -> None:
    """Show whether runs with an agent would count, and which facts a result can have. It is asked three short
    questions, which may cost something."""
    parser = Parser(prog="lensbench agent-check", description=main.__doc__)
    parser.add_argument("kind", help="as in agent.kind")
    parser.add_argument("--configfile", type=Path, help="the config with the agent's settings")
    given = parser.parse_args()
    config = Config(run_id="x", scenarios=())
    if given.configfile:
        config = read_config(given.configfile)
    own = config.agent.model_copy(update={"kind": given.kind})
    agent = own.model_copy(update={"tee": True})
    for _, problem in agent_problems(agent, "agent", ("agent",), known_kinds()[:-1]):
        raise UserError(f"{problem}; --configfile names a config with the agent's settings")
    settings = agent.settings
    adopt_orphans()
    try:
        with Progress(f"starting {given.kind} with a server, and without it"):
            treatment = ask(config, settings, sys.executable)
            baseline = ask(config, settings, "")
            stopped = ask(config, settings, "false")
    finally:
        end_children()
    checks = [
        counts("a run with a server", treatment, Expectation([CHECKED_SERVER], [])),
        counts("a run without it", baseline, Expectation([], [CHECKED_SERVER])),
        discarded(stopped),
        *facts(treatment, settings, is_tapped(own.settings)),
        *promises(treatment, given.kind),
    ]
    print(*table(checks), sep="\n")
    if any(check.outcome == "failed" for check in checks):
        raise CheckFailed(f"runs of {given.kind} would be discarded; fix what is FAILED above")


if __name__ == "__main__":
    run_program(main)
