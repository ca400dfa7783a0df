"""What five ablations of real servers say: `lensbench run` with the members of planted.py, of known worth.

    python benchmarks/real_ablations.py [--keep FOLDER]

A row has the word that was expected before any run, and the one of each seed. docs/measured/ablations.md is its output.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import planted

EXPECTED = {
    "needed": "earns",
    "misleading": "costs",
    "idle": "costs",
    "twin": "cannot tell",
    "other-twin": "cannot tell",
}
"""Leaving out `needed` loses 19 points and `misleading` gains 36; `idle` is 38% of the tokens; one twin is enough."""
SEEDS = (1, 2, 3, 4, 5)
TASKS = 24
PROGRAM = [sys.executable, "-IS", planted.__file__]


def write_project(folder: Path, seed: int) -> None:
    """The tasks, their repository, the servers and the config of an ablation."""
    program, *arguments = PROGRAM
    servers = {}
    for member in planted.TELLS:
        servers[member] = {"command": program, "args": [*arguments, "serve", member]}
    (folder / "repo" / "src").mkdir(parents=True)
    rows: list[dict[str, Any]] = []
    for number in range(TASKS):
        task = f"t{number:02}"
        criteria = []
        text = ""
        for fact in planted.FACTS:
            file = f"src/{fact}_{task}.py"
            criteria.append({"text": f"names {file}", "all_of": file})
            if fact in planted.READ:
                text += f"{fact}: {file}\n"
        (folder / "repo" / "src" / f"{task}.py").write_text(text, encoding="utf-8")
        rows.append(
            {
                "id": task,
                "category": "Debug",
                "prompt": f"Task {task}: where are its {', '.join(planted.FACTS)}?",
                "criteria": criteria,
            }
        )
    asked = ["ask", "{seed}", "{prompt_file}", "{workspace}", "{mcp_file}"]
    config = {
        "run_id": "planted",
        "seed": seed,
        "scenarios": "tasks.yaml",
        "repository": {"path": "repo"},
        "ablate": {"mcp": "mcp.json"},
        "sandbox_visible": [planted.__file__],
        "agent": {"kind": "command-events", "command": [*PROGRAM, *asked]},
    }
    files = {
        "mcp.json": {"mcpServers": servers},
        "tasks.yaml": {"name": "planted", "tasks": rows},
        "config.yaml": config,
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")


def results_of(folder: Path) -> dict[str, Any]:
    """results.json of a project, after a start of all that is missing."""
    start = [sys.executable, "-m", "lensbench", "run", "--configfile", "config.yaml"]
    done = subprocess.run(start, cwd=folder, capture_output=True, text=True, check=False)
    path = folder / "bench" / "planted" / "results.json"
    if not path.exists():
        sys.exit(f"{done.stdout}{done.stderr}{folder} has no results")
    results: dict[str, Any] = json.loads(path.read_bytes())
    return results


def cell(row: Mapping[str, Any]) -> str:
    """The word of a member, what leaving it out changes, and how many more tasks would tell."""
    parts = [row["word"], row["changes"]["Score without it"]]
    if row["needs"]:
        parts.append(row["needs"].split(":")[0].split(" up to")[0].lower())
    return "; ".join(parts)


def main() -> None:
    """Prints a row for each member."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--keep", type=Path, help="where the projects stay, one a seed")
    keep = parser.parse_args().keep
    rows = {member: [member, word] for member, word in EXPECTED.items()}
    right = 0
    sentences = []
    with tempfile.TemporaryDirectory() as temporary:
        for seed in SEEDS:
            folder = (keep or Path(temporary)) / str(seed)
            if not folder.exists():
                write_project(folder, seed)
            results = results_of(folder)
            for row in results["ablation"]:
                rows[row["member"]].append(cell(row))
                right += row["word"] == EXPECTED[row["member"]]
            sentences.append(f"- seed {seed}: {' '.join(results['ablation_says'])}")
    print(f"| member | expected | {' | '.join(f'seed {seed}' for seed in SEEDS)} |")
    print("|---|---|" + "---|" * len(SEEDS))
    for cells in rows.values():
        print(f"| {' | '.join(cells)} |")
    print(f"\nAs expected: {right} of {len(rows) * len(SEEDS)}.\n")
    print("\n".join(sentences))


if __name__ == "__main__":
    main()
