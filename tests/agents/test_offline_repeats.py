"""The offline agent gives the same answer each time: equals are ordered by its seed, and not by the process."""

import os
import subprocess
import sys
from pathlib import Path

NAMES = [
    ["alpha", "bravo", "charlie", "delta", "echo"],
    ["fox", "golf", "hotel", "india", "juliet"],
]


def write_repository(folder: Path) -> None:
    """Two modules of equal worth, and the names of each in 1 to 5 other modules, so that their weights differ."""
    folder.mkdir()
    for index, names in enumerate(NAMES):
        lines = "\n".join(f"    call_{name}()" for name in names)
        (folder / f"part{index}.py").write_text(f"def run_it():\n{lines}\n")
        for more, name in enumerate(names):
            for copy in range(more):
                (folder / f"other_{name}_{copy}.py").write_text(
                    f"def other():\n    call_{name}()\n"
                )


def test_the_answer_does_not_depend_on_how_the_process_hashes(tmp_path: Path) -> None:
    write_repository(tmp_path / "repo")
    asked = " and ".join(f"`call_{name}`" for names in NAMES for name in names)
    (tmp_path / "prompt.md").write_text(f"Which functions call {asked}?\n")
    command = [sys.executable, "-P", "-m", "lensbench_demo.offline", "--prompt-file"]
    command += [str(tmp_path / "prompt.md"), "--workspace", str(tmp_path / "repo")]
    outputs = set()
    for hashing in range(8):
        environment = {**os.environ, "PYTHONHASHSEED": str(hashing)}
        outputs.add(subprocess.run(command, env=environment, stdout=-1, check=True).stdout)
    assert len(outputs) == 1
