"""A soak test: hundreds of runs with random faults of service, MCP server and machine, restarted until all is done.

    python benchmarks/soak.py [--runs 300] [--seed 1] [--agent claude-code|command] [--share 0.35] [--minutes 45]

Prints the injected faults and their outcomes, and what was lost, duplicated, wrongly counted or left. Exit code 1 when
one of these is not 0 (docs/testing.md). The agent has no sandbox, so that only lensbench ends processes that it leaves.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from contextlib import suppress
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "scripts")]

from soaking.accounts import Accounts, place_of, settle  # noqa: E402
from soaking.chaos import MARK, Machine, living, mount, mount_again  # noqa: E402
from soaking.injector import MODEL, Injector  # noqa: E402

from fakes.messages_api import served  # noqa: E402
from lensbench.core.records import RunId  # noqa: E402
from lensbench.core.store import run_files  # noqa: E402

HERE = ROOT / "benchmarks" / "soaking"
CLAUDE = ROOT / "tools" / "agents" / "node_modules" / ".bin" / "claude"
NAMESPACE = "LENSBENCH_SOAK_NAMESPACE"
CORES = 6
RUNS_PER_EVENT = 5
MOST_STARTS = 100


class Soak:
    """One benchmark on a machine that fails."""

    def __init__(self, options: argparse.Namespace, base: Path, injector: Injector) -> None:
        self.options = options
        self.injector = injector
        self.folder = base / "disk"
        self.bench = self.folder / "bench" / "s"
        self.folder.mkdir()
        mounted = NAMESPACE in os.environ and mount(self.folder)
        for name in ("runs", "attempts"):
            mount_again(self.bench / name) if mounted else None
        (self.folder / "tmp").mkdir()
        self.runs = [
            RunId(f"t-{n}", side) for n in range(options.runs // 2) for side in ("with", "without")
        ]
        self.machine = Machine(
            base.name, self.folder, self.bench, injector, random.Random(options.seed), mounted
        )
        self.deck = self.machine.deck(max(9, options.runs // RUNS_PER_EVENT))
        spread = range(2, max(len(self.runs), len(self.deck) + 3))
        self.thresholds = sorted(self.machine.rng.sample(spread, len(self.deck)))
        self.log = base / "snakemake.log"
        self.left = 0
        self.starts = 0
        self.stood: set[str] = set()

    def write_project(self) -> None:
        """The benchmark: a repository of one file, a task for every two runs."""
        (self.folder / "repo").mkdir()
        (self.folder / "repo" / "cart.py").write_text(
            "class Cart:\n    limit = 10\n", encoding="utf-8"
        )
        criteria = [
            {"text": "names the file", "all_of": "cart.py"},
            {"text": "index", "all_of": "An index"},
        ]
        tasks = [
            {
                "id": run.task,
                "category": "Targeted",
                "prompt": f"Task {run.task}: where is Cart?",
                "criteria": criteria,
            }
            for run in self.runs[::2]
        ]
        (self.folder / "tasks.yaml").write_text(json.dumps({"tasks": tasks}), encoding="utf-8")
        server = {
            "command": sys.executable,
            "args": ["-I", str(HERE / "server.py"), self.injector.url, "${workspace}"],
        }
        daemon = {"type": "http", "url": f"http://127.0.0.1:{self.machine.port}/mcp"}
        (self.folder / "mcp.json").write_text(
            json.dumps({"mcpServers": {"soak": server, "daemon": daemon}}), encoding="utf-8"
        )
        places = ["{prompt_file}", "{mcp_file}"]
        command = [sys.executable, "-I", str(HERE / "agent.py"), self.injector.url, *places]
        agents = {
            "command": {
                "kind": "command-events",
                "command": command,
                "timeout_s": 20,
                "pass_env": [MARK],
            },
            "claude-code": {
                "kind": "claude-code",
                "command": [str(CLAUDE)],
                "version": "2.1.329",
                "model": "sonnet",
                "models": {"sonnet": MODEL},
                "provider": "custom",
                "base_url": self.injector.url,
                "timeout_s": 60,
                "token_env": "SOAK_TOKEN",
                "pass_env": [MARK, "CLAUDE_CODE_MAX_RETRIES"],
                "tools": ["Bash", "Read"],
            },
        }
        config = {
            "run_id": "s",
            "scenarios": "tasks.yaml",
            "repository": {"path": "repo"},
            "sandbox": "none",
            "conditions": {"without": {}, "with": {"mcp": "mcp.json"}},
            "discards": {"max_rounds": 20},
            "agent": {"retries": 2, **agents[self.options.agent]},
        }
        (self.folder / "config.yaml").write_text(json.dumps(config), encoding="utf-8")

    def snakemake(self) -> subprocess.Popen[bytes]:
        """A started Snakemake."""
        command = [
            sys.executable,
            "-m",
            "snakemake",
            "-s",
            str(ROOT / "Snakefile"),
            "--cores",
            str(CORES),
        ]
        command += [
            "--directory",
            str(self.folder),
            "--configfile",
            str(self.folder / "config.yaml"),
        ]
        ours = {
            MARK: self.machine.mark,
            "TMPDIR": str(self.folder / "tmp"),
            "SOAK_TOKEN": "sk-soak-0123456789abcdef",
        }
        with self.log.open("ab") as log:
            return subprocess.Popen(
                command,
                env={**os.environ, **ours, "CLAUDE_CODE_MAX_RETRIES": "1"},
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def run(self) -> bool:
        """Starts Snakemake until every run counts; False when time or starts are used up."""
        until = time.monotonic() + self.options.minutes * 60
        while self.starts < MOST_STARTS:
            self.starts += 1
            process = self.snakemake()
            while process.poll() is None and time.monotonic() < until:
                with self.injector.asked:
                    self.injector.asked.wait(0.2)
                if self.deck and len(self.injector.attempts) >= self.thresholds[0]:
                    time.sleep(self.machine.rng.random())
                    self.thresholds.pop(0)
                    self.machine.strike(self.deck.pop(0), process)
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                return False
            self._look()
            if process.returncode == 0 and self._is_done():
                return True
        return False

    def _look(self) -> None:
        """Checks what a start left."""
        left = self.machine.left()
        self.left += len(left)
        for process in left:
            with suppress(psutil.Error):
                self.injector.note("left over", command=process.cmdline())
                process.kill()
        for run in self.runs:
            files = run_files(self.bench, run)
            with suppress(OSError, ValueError):
                self.stood.add(
                    place_of(json.loads(files.record.read_text(encoding="utf-8")))
                    if files.answer.exists()
                    else ""
                )

    def _is_done(self) -> bool:
        with suppress(FileNotFoundError):
            rows = (self.bench / "validity.csv").read_text(encoding="utf-8").splitlines()[1:]
            return len(rows) == len(self.runs) and all(row.split(",")[3] == "valid" for row in rows)
        return False

    def left_files(self) -> tuple[list[str], list[str]]:
        """Temporary files, locks and workspaces that should have been removed: lensbench's, and Snakemake's."""
        ours = [path for path in self.bench.rglob("*") if path.name.endswith(".tmp")]
        places = (self.folder / "tmp", self.bench / ".gate")
        ours += [path for place in places if place.exists() for path in place.iterdir()]
        state = self.folder / ".snakemake"
        ours += [
            path
            for name in ("locks", "incomplete")
            for path in (state / name).rglob("*")
            if path.is_file()
        ]
        shown = sorted(str(path.relative_to(self.folder)) for path in ours)
        # no start reads marks of unfinished jobs, and none can be deleted in a read-only folder
        its_own = [
            path for path in shown if path.startswith(("tmp/snakemake", ".snakemake/incomplete"))
        ]
        return [path for path in shown if path not in its_own], its_own


def became(soak: Soak, accounts: Accounts) -> dict[str, tuple[int, Counter[str]]]:
    """How often each fault was injected, and the outcomes of the affected attempts."""
    attempts = sorted(soak.injector.attempts.values(), key=lambda attempt: attempt.first_seen)
    found: dict[str, tuple[int, Counter[str]]] = defaultdict(lambda: (0, Counter()))
    for line in (soak.log.parent / "journal.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        if entry["what"] != "injected":
            continue
        hit = [entry["place"]] if "place" in entry else []
        for stem in entry.get("runs", ()):
            before = [
                each.place
                for each in attempts
                if each.stem == stem and each.first_seen <= entry["at"]
            ]
            hit += before[-1:]
        number, fates = found[entry["fault"]]
        found[entry["fault"]] = number + 1, fates + Counter(accounts.fates[place] for place in hit)
    return found


def show(soak: Soak, accounts: Accounts, seconds: float) -> bool:
    """Prints the tables; True when every aim is met."""
    print("| injected | times | what became of the attempts that it hit |\n|---|--:|---|")
    for fault, (number, fates) in sorted(became(soak, accounts).items()):
        print(
            f"| {fault} | {number} | {', '.join(f'{fate} {count}' for fate, count in fates.most_common()) or '-'} |"
        )
    given = [attempt for attempt in soak.injector.attempts.values() if attempt.given]
    good = [attempt for attempt in given if attempt.is_good]
    files, its_own = soak.left_files()
    counted = sum(fate == "counts" for fate in accounts.fates.values())
    figures: dict[str, object] = {
        "runs planned / counted": f"{len(soak.runs)} / {counted}",
        "starts of Snakemake": soak.starts,
        "attempts that reached the service or a server": len(soak.injector.attempts),
        "whole answers given / good ones": f"{len(given)} / {len(good)}",
        "good ones discarded": ", ".join(f"{why} {n}" for why, n in accounts.spared.items()) or 0,
        "good ones in flight when something was killed, full or read-only": sum(
            accounts.fates[each.place] == "in flight, made again" for each in good
        ),
        "temporary folders left by Snakemake itself": len(its_own),
        "minutes": round(seconds / 60, 1),
    }
    aims = {
        "lost": accounts.lost,
        "doubled": accounts.doubled,
        "wrongly counted": accounts.wrongly_counted,
        "processes that did not end after a start": ["see the journal"] * soak.left,
        "processes left at the end": [str(process) for process in living(soak.machine.mark)],
        "temporary files and locks left": files,
    }
    print("\n| | |\n|---|--:|")
    for name, figure in {
        **figures,
        **{f"**{aim}**": len(found) for aim, found in aims.items()},
    }.items():
        print(f"| {name} | {figure} |")
    for aim, found in aims.items():
        for each in found[:10]:
            print(f"{aim}: {each}")
    return not any(aims.values())


def enter_namespace(base: Path) -> None:
    """Starts this program again in its own mount namespace, if possible, so that its mounts disappear with it."""
    words = [
        "unshare",
        *(["--map-root-user"] if os.getuid() else []),
        "--mount",
        "--propagation",
        "private",
    ]
    allowed = (
        shutil.which("unshare")
        and not subprocess.run(
            [*words, "mount", "-t", "tmpfs", "soak", base], capture_output=True
        ).returncode
    )
    if allowed:
        base.rmdir()
        os.environ[NAMESPACE] = "1"
        os.execvp(words[0], [*words, sys.executable, *sys.argv])
    print("Mounting is not allowed here: disk full and read-only folder are skipped.\n")


def main() -> None:
    """Prints the outcomes of the runs."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--agent", choices=("claude-code", "command"), default="claude-code")
    parser.add_argument(
        "--share", type=float, default=0.35, help="share of the attempts with a fault"
    )
    parser.add_argument("--minutes", type=float, default=45, help="time limit of the soak test")
    options = parser.parse_args()
    base = Path(tempfile.mkdtemp(prefix="soak-"))
    if NAMESPACE not in os.environ:
        enter_namespace(base)
    began = time.monotonic()
    with served(Injector(options.seed, options.share, base / "journal.jsonl")) as injector:
        assert isinstance(injector, Injector)
        soak = Soak(options, base, injector)
        soak.write_project()
        is_done = soak.run()
        if not is_done:
            print(f"given up after {soak.starts} starts; see {soak.log}")
        soak.machine.stop_daemon()
        accounts = (
            settle(soak.bench, soak.runs, injector, soak.machine.disruptions, soak.stood)
            if is_done
            else None
        )
        if accounts and show(soak, accounts, time.monotonic() - began):
            subprocess.run(
                ["umount", "--recursive", soak.folder], capture_output=True
            )  # where it was mounted
            shutil.rmtree(base)
            sys.exit(0)
    shutil.copytree(soak.folder, base / "kept", symlinks=True)
    sys.exit(f"an aim was missed; everything is kept in {base}")


if __name__ == "__main__":
    main()
