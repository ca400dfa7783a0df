"""`lensbench init`: writes the config and the MCP file, tries both, and estimates what the real run costs.

The trial runs two tasks with the offline agent and your server; it leaves bench/<name>-smoke.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import yaml

from lensbench.agents import Program, programs
from lensbench.core.errors import CheckFailed, UserError, did_you_mean
from lensbench.core.frozen_plan import GateSettings
from lensbench.core.preflight_results import Cure, PreflightFindings, table
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import read_typed, write_atomic, write_json
from lensbench.core.system.places import ROOT, template_environment
from lensbench.core.system.processes import adopt_orphans, end_children
from lensbench.core.system.program import Parser, positive, run_program
from lensbench.core.system.progress import Progress
from lensbench.core.tasks import Folder, Task
from lensbench.plan.config import Gate
from lensbench.plan.reading import load_config, read_config
from lensbench.plan.task_files import read_scenarios, source_problem
from lensbench.repositories.sources.git import PASSWORD
from lensbench.results.results_file import Results
from lensbench.runs.preflight import preflight
from lensbench.runs.stopping import USUAL_USD
from lensbench.scores.gate_words import with_noun
from lensbench.scores.needed import USUAL, usual_tasks
from lensbench_demo.agent_facts import installed, shows
from lensbench_demo.doctor import reported_version
from lensbench_demo.known_servers import KnownServer, server_of, servers_of, write_cures
from lensbench_demo.server_starts import advice

DEMO_SET = ROOT / "scenarios" / "demo.yaml"
SMOKE_TASKS = 2
AT_ONCE = 4
_URL = re.compile(r"https?://")
FindProblem = Callable[[str], str]
AGENT_KINDS = {**programs(), **dict.fromkeys(("offline", "acp"), Program("", "", ""))}


class Wishes(NamedTuple):
    """The user's choices."""

    name: str
    server: str
    """A command line, or a URL."""
    agent: str
    model: str
    repo: str
    """A git URL or a folder; empty for the demo's repositories."""
    known: Sequence[KnownServer] = ()
    """The servers from another program's configuration; then `server` has their names."""
    words: str = ""
    """A file with the words that come with the server, for a ladder; empty for two conditions."""
    members: int = 0
    """Servers of an ablation, of which one is removed at a time; 0 for none."""
    command: str = ""
    """The command line of an agent of kind `acp`."""
    task_set: str = ""
    """The task set that the config of an earlier init names."""

    @property
    def key(self) -> str:
        """The variable with the key for the model; "" when it is not known."""
        program = AGENT_KINDS[self.agent]
        for other in AGENT_KINDS.values():
            if self.command and other.name == shlex.split(self.command)[0]:
                program = other
        return program.key

    @property
    def conditions(self) -> int:
        if self.words:
            return 4
        return 2 + self.members

    @property
    def tasks(self) -> Sequence[Task]:
        return read_scenarios([str(self.files["tasks"])]).tasks

    @property
    def files(self) -> dict[str, Path]:
        names = {
            "config": f"config.{self.name}.yaml",
            "mcp": f"mcp.{self.name}.json",
            "tasks": self.task_set or f"scenarios/{self.name}.yaml",
        }
        return {kind: Path(name) for kind, name in names.items()}

    @property
    def smoke(self) -> Path:
        return Path("bench") / f"{self.name}-smoke"


def ask(flags: argparse.Namespace) -> Wishes:
    """The choices: from the flags, else from the terminal; with `--yes`, or without a terminal, the defaults. Raises
    UserError when a value is wrong, or no server is named and there is no prompt."""
    known = _known(flags)
    server = flags.mcp or flags.url or ", ".join(entry.name for entry in known) or None
    can_ask = sys.stdin.isatty() and not flags.yes

    def settle(
        value: str | None, question: str, default: str = "", problem: FindProblem = lambda _: ""
    ) -> str:
        """The flag's value, or the user's input; prompts again until it is usable."""
        while True:
            asks = value is None and can_ask
            answer = (value or (_input(question, default) if asks else default)).strip()
            if not (wrong := problem(answer)):
                return answer
            if not asks:
                raise UserError(wrong)
            print(wrong)

    if flags.words and not Path(flags.words).is_file():
        raise UserError(
            f"--words {flags.words}: there is no such file; write in it what users put into CLAUDE.md"
        )
    question = "MCP server: the command that starts it, or its URL"
    server = settle(server, question, "", lambda answer: "" if known else server_problem(answer))
    name = settle(flags.name, "Name of the benchmark", "mine", name_problem)
    here = [*installed()]
    if can_ask and not flags.agent:
        print(
            *(f"{command or name}: agent {kind}; {shows(kind)}" for name, kind, command in here),
            sep="\n",
        )
    agent = settle(flags.agent, f"Agent ({', '.join(AGENT_KINDS)})", "claude-code", agent_problem)
    model = settle(flags.model, "Model", AGENT_KINDS[agent].model) if agent != "offline" else ""
    command = ""
    if agent == "acp":
        question = "The agent's command, such as 'gemini --acp'"
        command = settle(flags.command, question, "", command_problem)
    repo = settle(
        flags.repo,
        "Repository to ask about, a folder or a git URL (empty: the demo's)",
        "",
        repo_problem,
    )
    members = len(known) if flags.ablate else 0
    return Wishes(name, server, agent, model, repo, known, flags.words or "", members, command)


def _known(flags: argparse.Namespace) -> Sequence[KnownServer]:
    """The servers that `--from` or `--ablate` name. Raises UserError when they cannot be used."""
    if flags.source:
        return (server_of(flags.source, flags.server, Path()),)
    if not flags.ablate:
        return ()
    table, reasons = servers_of(flags.ablate, Path())
    for reason in reasons:
        print(f"omitted: {reason}", flush=True)
    return tuple(table.values())


def server_problem(server: str) -> str:
    """What is wrong with a command line or a URL; "" when it is fine."""
    if not server:
        return "no server is named; give --mcp 'my-server --stdio ${workspace}', --url http://..., or --from .mcp.json"
    if PASSWORD.match(server):
        return "the URL contains a password; put a token in the MCP file's headers instead (docs/servers.md)"
    try:
        program = shlex.split(server)[0]
    except ValueError as error:
        return f"--mcp {server}: {error}"
    if _URL.match(server) or "${" in program or shutil.which(program):
        return ""
    return f"{server}: no program {program!r} is here; name one on PATH or its path, or a URL with http://"


def name_problem(name: str) -> str:
    """What is wrong with the name of a benchmark, with a usable name; "" when it is fine."""
    if re.fullmatch(r"[a-z0-9][a-z0-9-]{0,40}", name):
        wishes = Wishes(name, "", "", "", "")
        taken = (wishes.files["config"], wishes.files["mcp"], wishes.smoke)
        file = next((path for path in taken if path.exists()), None)
        remedy = f"choose another --name, or remove it; `init --name {name}` alone tries it again"
        return f"{file} already exists; {remedy}" if file else ""
    better = re.sub(r"[^a-z0-9]+", "-", name.lower())[:41].strip("-")
    return f"--name {name!r}: use a-z, 0-9 and '-', at most 41" + (
        f", such as {better}" if better else ""
    )


def repo_problem(repo: str) -> str:
    """What is wrong with a folder or a git URL; "" when it is fine, and for a URL that only git can try."""
    if PASSWORD.match(repo):
        return "--repo: the URL contains a password; let git's credential helper keep it"
    if not repo or re.match(r"\w+://|[\w.-]+@", repo):
        return ""
    return (problem := source_problem(Folder(path=repo))) and f"--repo {repo}: {problem}"


def agent_problem(agent: str) -> str:
    if agent in AGENT_KINDS:
        return ""
    message = f"--agent {agent!r} is not one of {', '.join(AGENT_KINDS)}; for others write a config (docs/agents.md)"
    return f"{message}{did_you_mean(agent, AGENT_KINDS)}"


def command_problem(command: str) -> str:
    """What is wrong with the command line of an agent of kind `acp`; "" when it is fine."""
    if not command:
        return "--agent acp needs --command, such as 'gemini --acp'"
    return server_problem(command)


def earlier(name: str) -> Wishes | None:
    """The choices of an earlier `init` of that name, if any. Raises UserError for incomplete or broken files."""
    wishes = Wishes(name, "", "", "", "")
    config_file = wishes.files["config"]
    if name and config_file.is_file():
        wishes = wishes._replace(task_set=_task_set(config_file))
    servers = wishes.files["mcp"]
    if not name or not (config_file.is_file() or servers.is_file()):
        return None
    for there, missing in ((servers, config_file), (config_file, servers)):
        if not missing.is_file():
            what = f"{there} is there, but {missing} is not"
            raise UserError(f"{what}; restore it, or remove {there} and name a server")
    tasks = wishes.files["tasks"]
    if not tasks.is_file():
        command = f"generate --repo <your repository> --count 12 --output {tasks}"
        raise UserError(f"{tasks} is missing: write it yourself, or by {_lensbench()} {command}")
    config = read_config(wishes.files["config"])
    return wishes._replace(
        agent=config.agent.kind,
        model=config.agent.model,
        words=config.ladder.words if config.ladder else "",
        members=len(config.conditions) - 2 if config.ablate else 0,
    )


def _task_set(config: Path) -> str:
    """The first YAML set that a config names; "" when it names none, or cannot be read."""
    try:
        named = yaml.safe_load(config.read_text(encoding="utf-8"))["scenarios"]
    except (yaml.YAMLError, UnicodeDecodeError, TypeError, KeyError):
        return ""
    names = [named] if isinstance(named, str) else named
    return next((str(name) for name in names if str(name).endswith((".yaml", ".yml"))), "")


def _input(question: str, default: str) -> str:
    try:
        return input(f"{question} [{default}]: " if default else f"{question}: ").strip() or default
    except EOFError:
        raise UserError("the input ended; nothing was written") from None


def mcp_file(wishes: Wishes) -> dict[str, Any]:
    if wishes.known:
        return {"mcpServers": {server.name: server.entry for server in wishes.known}}
    if _URL.match(wishes.server):
        return {"mcpServers": {wishes.name: {"type": "http", "url": wishes.server}}}
    command, *arguments = shlex.split(wishes.server)
    return {"mcpServers": {wishes.name: {"command": command, "args": arguments}}}


def config_text(wishes: Wishes, version: str, tools: list[str], limit: int) -> str:
    """The text of the config, with a comment for each choice; the limit is in dollars, or in runs of kind `acp`."""
    files = {kind: str(path) for kind, path in wishes.files.items()}
    keys = [wishes.key]
    for server in wishes.known:
        keys += server.variables
    values = {**wishes._asdict(), **files, "keys": [*dict.fromkeys(filter(None, keys))]}
    values["command"] = shlex.split(wishes.command)
    page = template_environment().get_template("starting.yaml.j2")
    return page.render(values, version=version, tools=tools, limit=limit)


def write_tasks(wishes: Wishes, count: int) -> None:
    """Writes the task set, unless it is there: generated from the repository, or the demo's. Raises UserError when that
    fails."""
    target = wishes.files["tasks"]
    if target.exists():
        print(f"{target} exists: its tasks are used", flush=True)
        return
    if not wishes.repo:
        write_atomic(target, DEMO_SET.read_bytes())
        return
    print(f"generating {count} tasks about {wishes.repo} ...", flush=True)
    arguments = ["generate", "--repo", wishes.repo, "--count", str(count), "--output", str(target)]
    if subprocess.run(
        [sys.executable, "-P", "-m", "lensbench", *arguments], check=False
    ).returncode:
        raise UserError(
            f"could not generate tasks about {wishes.repo}; write one into {target} (docs/first-task.md) and repeat "
            "the command, use another --repo, or try the server with the demo's tasks (about other projects):\n"
            f"  {_lensbench()} init {_without_repo(sys.argv[1:])}"
        )


def _without_repo(arguments: Sequence[str]) -> str:
    """The command line without the options about a repository."""
    kept: list[str] = []
    words = iter(arguments)
    for word in words:
        if word in ("--repo", "--count"):
            next(words, None)
        elif not word.startswith(("--repo=", "--count=")):
            kept.append(word)
    return shlex.join(kept)


def smoke_settings(wishes: Wishes) -> dict[str, Any]:
    """What the trial changes of the config; writes a set with the first tasks to .cache."""
    whole = yaml.safe_load(wishes.files["tasks"].read_text(encoding="utf-8"))
    few = Path(".cache") / "starting" / f"{wishes.name}-smoke.yaml"
    write_atomic(
        few, yaml.safe_dump({**whole, "tasks": whole["tasks"][:SMOKE_TASKS]}, sort_keys=False)
    )
    settings = yaml.safe_load(wishes.files["config"].read_text(encoding="utf-8"))["agent"]
    keys = [name for name in settings.get("pass_env", []) if name != wishes.key]
    return {
        "run_id": wishes.smoke.name,
        "scenarios": str(few),
        "agent": {"kind": "offline", "command": [], "model": "", "version": "", "pass_env": keys},
        "preflight": {"tools": True},
    }


def smoke_command(wishes: Wishes) -> list[str]:
    """The command of the trial."""
    changes = (f"{key}={json.dumps(value)}" for key, value in smoke_settings(wishes).items())
    return ["--cores", "2", "--configfile", str(wishes.files["config"]), "--config", *changes]


def write(wishes: Wishes, count: int) -> None:
    write_tasks(wishes, count)
    runs = wishes.conditions * len(wishes.tasks)  # a set that cannot be used leaves no other file
    write_json(wishes.files["mcp"], mcp_file(wishes))
    dropped = [key for server in wishes.known for key in server.dropped]
    if dropped:
        keys = ", ".join(dict.fromkeys(dropped))
        print(f"not taken over into {wishes.files['mcp']}: {keys} (docs/servers.md)", flush=True)
    limit = max(1, math.ceil(runs * USUAL_USD))
    if wishes.command:
        limit = 2 * runs  # each can be repeated once
    write_atomic(
        wishes.files["config"], config_text(wishes, reported_version(wishes.agent), [], limit)
    )


def finish(wishes: Wishes, fix: bool) -> None:
    """Runs the trial, adds the tools that it found to the config, and prints the next steps; `fix`: also adds what the
    server lacks, without a question. Raises UserError when the trial failed, or its agent called no tool."""
    while not _try(wishes):
        cure(wishes, fix)
    tools = [tool.split("__", 2)[2] for tool in PreflightFindings.read(wishes.smoke).listing]
    config = wishes.files["config"].read_text(encoding="utf-8")
    write_atomic(
        wishes.files["config"], config.replace("tools: []", f"tools: {json.dumps(tools)}", 1)
    )
    results = read_typed(RunFolder(wishes.smoke).results_json, Results[float])
    runs = [
        run["tools"]
        for name in results["treatments"]
        for run in results["comparisons"][name]["tools_by_run"]
    ]
    counts = {
        tool: sum(count for run in runs if isinstance(count := run.get(tool), int))
        for tool in tools
    }
    calls = ", ".join(f"{tool} {count}" for tool, count in counts.items() if count)
    print(f"\n{', '.join(map(str, wishes.files.values()))} are written.")
    print(f"The offline agent's calls: {calls or 'none'}.")
    listed = with_noun(len(tools), "tool")
    print(f"Proven: the server starts in a run and lists {listed}.")
    print("Not proven: that a model calls them, and that they help. Only the real run can tell.")
    if not calls:
        of = sum(
            results["comparisons"][name]["adoption"]["called"]["of"]
            for name in results["treatments"]
        )
        raise CheckFailed(
            f"the trial is no success: no tool of the server was called in {of} of {of} runs. The offline agent calls "
            "only tools that read, with arguments that it can guess: a model may know more. Try it on one task:\n"
            f"  {_real_run(wishes)} --only {wishes.tasks[0].id}\n"
            f"{estimate(wishes.agent, 1, wishes.conditions)},\n"
            f"or change the server, then {_lensbench()} init --name {wishes.name}"
        )
    print(*what_next(wishes), sep="\n")


def _try(wishes: Wishes) -> bool:
    """Runs the trial; returns whether it ended without an error."""
    shutil.rmtree(wishes.smoke, ignore_errors=True)
    command = [sys.executable, "-P", "-m", "lensbench.workflow.launch", *smoke_command(wishes)]
    print(f"trying {SMOKE_TASKS} tasks with the offline agent ...", flush=True)
    return not subprocess.run(command, check=False).returncode


def cure(wishes: Wishes, fix: bool) -> None:
    """Writes what the server lacks in a run, as far as it is known: with `fix`, or when the user agrees. Raises
    UserError when nothing is known, or the user does not agree."""
    files = f"{wishes.files['mcp']} or {wishes.files['config']} (docs/servers.md)"
    again = f"  {_lensbench()} init --name {wishes.name}"
    failure = f"the trial failed; fix {files}, then continue with\n{again}"
    cures = lacking(wishes)
    if not cures:
        raise UserError(failure)
    print("The server lacks:", *dict.fromkeys(f"  {cure}" for cure in cures), sep="\n", flush=True)
    if not fix and not sys.stdin.isatty():
        raise UserError(f"the trial failed; to write what is missing and try again:\n{again} --fix")
    is_agreed = fix or _input("Write that, and try again? (y or n)", "y").lower().startswith("y")
    if not is_agreed or not write_cures(wishes.files["config"], cures):
        raise UserError(failure)


def lacking(wishes: Wishes) -> Sequence[Cure]:
    """What the server lacks in a run: as the failed trial showed it, else by starting it with more and more settings.
    Prints what still fails where nothing helped."""
    trial = PreflightFindings.read(wishes.smoke)
    if trial.cures or not trial.failed:
        return trial.cures
    print("trying what the server lacks ...", flush=True)
    document = yaml.safe_load(wishes.files["config"].read_text(encoding="utf-8"))
    for key, value in smoke_settings(wishes).items():
        document[key] = {**document.get(key, {}), **value} if isinstance(value, dict) else value
    config = load_config(document, [str(wishes.files["config"])])
    adopt_orphans()
    try:
        with tempfile.TemporaryDirectory() as folder, Progress("starting the server"):
            findings = preflight(
                config, read_scenarios(config.scenario_files), Path(folder), advice
            )
    finally:
        end_children()
    if not findings.cures:
        failures = [check for check in findings.checks if check.outcome == "failed"]
        print(*table(failures), sep="\n", flush=True)
    return findings.cures


def what_next(wishes: Wishes) -> Iterator[str]:
    """The lines that end `init`: the command of the real run and its price, and the same for a verdict."""
    config = wishes.files["config"]
    key = wishes.key
    if wishes.agent in programs() and not reported_version(wishes.agent):
        yield f"{wishes.agent} does not start here: install it, and write its version into {config}."
    if wishes.files["tasks"].read_bytes() == DEMO_SET.read_bytes():
        yield f"{wishes.files['tasks']} has the demo's tasks, about other projects; --repo asks about yours."
    yield f"Read the tasks in {wishes.files['tasks']}{f', and export {key}' if key else ''}. Then the real run:"
    yield f"  {_real_run(wishes)}"
    yield f"{estimate(wishes.agent, len(wishes.tasks), wishes.conditions)}."
    yield from _is_a_trial(wishes)
    if wishes.agent != "offline":
        yield _PUBLISHED


def _is_a_trial(wishes: Wishes) -> Iterator[str]:
    """What a set of few tasks is too small for, what is enough, and the command that adds tasks."""
    enough = usual_tasks(cast("GateSettings", Gate().model_dump()))
    if enough is None or len(wishes.tasks) >= enough:
        return
    gain = f"{100 * USUAL.delta:g}"
    spread = f"{100 * USUAL.sd:g}"
    command = f"size --sd {spread} --effect {gain}"
    if len({task.repository for task in wishes.tasks}) == 1:
        command = f"generate --count {enough} --output {wishes.files['tasks']}"
    yield f"That is a trial. A verdict about a gain of {gain} points needs about {enough} tasks:"
    yield f"  {_lensbench()} {command}"
    yield f"{estimate(wishes.agent, enough, wishes.conditions)}."


def _real_run(wishes: Wishes) -> str:
    return f"{_lensbench()} run --cores {AT_ONCE} --configfile {wishes.files['config']}"


def _lensbench() -> str:
    """The command as the user can type it here."""
    return (
        "lensbench"
        if shutil.which("lensbench")
        else f"{shlex.quote(sys.executable)} -P -m lensbench"
    )


def main() -> None:
    """Write a config for your own MCP server, try it with the offline agent, and estimate the price."""
    parser = Parser(prog="lensbench init", description=main.__doc__)
    parser.add_argument(
        "--name", help="name of the files and the run folder (default: mine); alone: try that again"
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--mcp", help="the command of the server; ${workspace} stands for the repository's folder"
    )
    which.add_argument("--url", help="the URL of a running server")
    file = "a file that configures the server already, such as .mcp.json"
    which.add_argument("--from", dest="source", type=Path, metavar="FILE", help=file)
    which.add_argument(
        "--ablate",
        type=Path,
        metavar="FILE",
        help="such a file: which of its servers can go? (docs/ablation.md)",
    )
    parser.add_argument(
        "--server", help="the server's name in that file; not needed if it has only one"
    )
    words = "the text that users put into the agent's instruction file: makes the ladder of docs/ladder.md"
    parser.add_argument("--words", metavar="FILE", help=words)
    parser.add_argument("--agent", help=f"one of {', '.join(AGENT_KINDS)} (default: claude-code)")
    parser.add_argument("--command", help="with --agent acp: the program and its arguments")
    parser.add_argument("--model", help="the model, as the agent's program names it")
    parser.add_argument(
        "--repo", help="a folder or a git URL to ask about (default: the demo's projects)"
    )
    parser.add_argument(
        "--count", type=positive, default=12, help="how many tasks about --repo (default: 12)"
    )
    parser.add_argument(
        "--yes", action="store_true", help="do not prompt; use defaults for missing values"
    )
    parser.add_argument(
        "--fix",
        action="store_true",
        help="write settings that the server lacks, without a question",
    )
    arguments = parser.parse_args()
    if arguments.server and not arguments.source:
        parser.error("--server needs --from")
    if arguments.command and arguments.agent != "acp":
        parser.error("--command needs --agent acp")
    if arguments.words and arguments.ablate:
        parser.error("--words are for one server; with --ablate, name them in the config")
    names_server = arguments.mcp or arguments.url or arguments.source or arguments.ablate
    if not names_server and (wishes := earlier(arguments.name or "")):
        if any(vars(arguments)[flag] for flag in ("words", "agent", "model", "repo")):
            parser.error(f"{wishes.files['config']} exists; edit it, or take another --name")
        print(f"{wishes.files['config']} exists: trying it again", flush=True)
    else:
        wishes = ask(arguments)
        if arguments.count != parser.get_default("count") and not wishes.repo:
            parser.error("--count needs --repo")
        write(wishes, arguments.count)
    finish(wishes, arguments.fix)


_PUBLISHED = (
    "Time and price are a guess from four agents' cost per task in SWE-bench Verified, whatsthebestcodeagent.com;"
    " questions take less."
)


def estimate(agent: str, tasks: int, conditions: int) -> str:
    """The tasks and runs of a benchmark, and a guess of its time and cost."""
    runs = conditions * tasks
    at_once = min(AT_ONCE, runs)
    seconds = (136.0, 543.0)
    dollars = f"{_span(runs * 0.04, runs * USUAL_USD)} US dollars"
    if agent == "offline":
        seconds = (0.2, 10)
        dollars = "nothing to pay (no model is asked)"
    minutes = _span(*(math.ceil(runs * duration / at_once / 60) for duration in seconds))
    shown = with_noun(tasks, "task")
    return f"{shown}, {runs} runs, {at_once} at a time: about {minutes} min and {dollars}"


def _span(low: float, high: float) -> str:
    ends = [f"{value:.2g}" if value < 10 else f"{value:.0f}" for value in (low, high)]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


if __name__ == "__main__":
    run_program(main)
