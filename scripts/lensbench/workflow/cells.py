"""Runs a benchmark with several agents and models, one after the other: `lensbench run --matrix agent=codex model=a,b`.

A cell is a benchmark like any other, in a folder of its own that is named by what was asked for, so that a second start
continues all of them and pays for nothing twice. At the end stands one table of all cells (docs/comparing.md).
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import yaml

from lensbench.__main__ import module_of
from lensbench.core.errors import UserError
from lensbench.core.handed_over import read_handed_over
from lensbench.core.names import plain_name
from lensbench.core.records import sha256
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.processes import die_with_parent
from lensbench.core.system.program import only_config

LONGEST_RUN_ID = 64
"""Characters of a run id."""
INTERRUPTED = 128 + signal.SIGINT


class MatrixCell(NamedTuple):
    """One benchmark of a matrix."""

    run_id: str
    agent: Mapping[str, str]
    """Keys of the config's `agent`."""

    @property
    def folder(self) -> Path:
        return Path("bench", self.run_id)

    @property
    def name(self) -> str:
        return ", ".join(self.agent.values())

    @property
    def settings(self) -> list[str]:
        """What this cell has in the config, for Snakemake's `--config`."""
        return [f"run_id={self.run_id}", f"agent={json.dumps(self.agent)}"]


def cells_of(products: Sequence[Sequence[str]], run_id: str) -> list[MatrixCell]:
    """The cells of several products of `KEY=VALUE,VALUE`, each once. Raises UserError for a text that is none, and when
    two cells have one name."""
    cells: dict[str, MatrixCell] = {}
    for product in products:
        values = [_values(text) for text in product]
        for pairs in itertools.product(*values):
            agent = dict(pairs)
            cell = MatrixCell(_cell_id(run_id, agent), agent)
            other = cells.setdefault(cell.run_id, cell)
            if other != cell:
                raise UserError(
                    f"--matrix: {other.name} and {cell.name} are both named {cell.run_id}; start one of them by itself"
                )
    return [*cells.values()]


def _values(text: str) -> list[tuple[str, str]]:
    """`model=sonnet,opus` -> the key with each value."""
    key, _, values = text.partition("=")
    name = "kind" if key == "agent" else key
    pairs = [(name, value) for value in values.split(",") if value]
    if not key or not pairs:
        raise UserError(
            f"--matrix {text}: write KEY=VALUE,VALUE with keys of agent, such as agent=claude-code model=sonnet,opus"
        )
    return pairs


def _cell_id(run_id: str, agent: Mapping[str, str]) -> str:
    name = "-".join([run_id, *map(plain_name, agent.values())])
    if len(name) <= LONGEST_RUN_ID:
        return name
    mark = sha256(name.encode())[:8]
    return f"{name[: LONGEST_RUN_ID - 9]}-{mark}"


def run_cells(products: Sequence[Sequence[str]], options: Sequence[str]) -> int:
    """Runs `lensbench run` for every cell, and writes their table. Returns the exit code: 2 when a cell could not run,
    1 when one failed a check; Control-C and SIGTERM end it at once."""
    if any(option.startswith("agent=") for option in options):
        raise UserError("--matrix: it says which agents run; take agent=... out of --config")
    given = [option for option in options if not option.startswith("run_id=")]
    run_id = _run_id(options)
    cells = cells_of(products, run_id)
    codes: list[int] = []
    for number, cell in enumerate(cells, 1):
        print(f"\n{number} of {len(cells)}: {cell.name} ({cell.folder})", flush=True)
        code = _run("run", *with_settings(given, cell.settings))
        if code >= INTERRUPTED or code < 0:
            return code
        codes.append(code)
    for cell, code in zip(cells, codes, strict=True):
        if code:
            print(f"{cell.name}: ended with exit code {code}", file=sys.stderr)
    done = [str(cell.folder) for cell in cells if RunFolder(cell.folder).results_json.exists()]
    if done:
        print(flush=True)
        _run("table", *done, "--output", f"bench/{run_id}-table")
    return max(codes)


def with_settings(options: Sequence[str], settings: Sequence[str]) -> list[str]:
    """The options with further settings of the config."""
    if "--config" not in options:
        return [*options, "--config", *settings]
    place = options.index("--config") + 1
    return [*options[:place], *settings, *options[place:]]


def _run_id(options: Sequence[str]) -> str:
    """The run id of `--config`, else that of the config. Raises UserError without one of the user's."""
    given = [option for option in options if option.startswith("run_id=")]
    if given:
        return given[-1].partition("=")[2]
    files = [*_config_files(options)] or [only_config(Path.cwd())]
    found = ""
    for file in files:
        settings = yaml.safe_load(read_handed_over(Path(file)))
        if isinstance(settings, dict):
            found = str(settings.get("run_id", found))
    if found in ("", "auto"):
        raise UserError(
            f"--matrix: {files[-1]} names no run_id, by which a second start continues; add --config run_id=NAME"
        )
    return found


def _config_files(options: Sequence[str]) -> Iterator[str]:
    for option, following in itertools.pairwise((*options, "")):
        if option.startswith("--configf"):
            yield option.partition("=")[2] or following


def _run(verb: str, *arguments: str) -> int:
    """Runs a verb to its end and returns its exit code. Signals that end this program end the verb, once each."""
    command = [sys.executable, "-P", "-m", module_of(verb), *arguments]
    die = partial(die_with_parent, os.getpid(), signal.SIGTERM)
    process = subprocess.Popen(command, process_group=0, preexec_fn=die)

    def forward(number: int, _frame: FrameType | None) -> None:
        process.send_signal(number)

    former = {number: signal.signal(number, forward) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        return process.wait()
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
