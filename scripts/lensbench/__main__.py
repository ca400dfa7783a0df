"""The `lensbench` command: `lensbench <program> ...` is `python -P -m lensbench.<program> ...`."""

from __future__ import annotations

import ast
import difflib
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from lensbench import __version__
from lensbench.errors import UserError
from lensbench.house import PACKAGE, ROOT
from lensbench.program import run_program

IS_PROGRAM = 'if __name__ == "__main__":'


def programs() -> dict[str, Path]:
    """The source file of every module, or package, that can be started; by name."""
    files = {file.stem: file for file in sorted(PACKAGE.glob("[a-z]*.py"))}
    files |= {file.parent.name: file for file in sorted(PACKAGE.glob("*/__main__.py"))}
    return {name: file for name, file in sorted(files.items()) if IS_PROGRAM in file.read_text()}


def stages() -> list[str]:
    """The programs that the workflow starts, in the order in which its Snakefile includes the rules."""
    snakefile = (ROOT / "Snakefile").read_text()
    included = re.findall(r'^include: "(.+)"$', snakefile, re.MULTILINE)
    text = "".join([*((ROOT / name).read_text() for name in included), snakefile])
    return list(dict.fromkeys(re.findall(r"\{PYTHON\} lensbench\.(\w+)", text)))


def overview() -> str:
    """All programs with the first line of what they say about themselves."""
    found, of_workflow = programs(), stages()
    groups = {
        "What you start:": [name for name in found if name not in of_workflow],
        "What the workflow starts, in its order (each also by hand, on one run folder):": of_workflow,
    }
    lines = [f"lensbench {__version__}: does an MCP server help a coding agent?", ""]
    lines += ["usage: lensbench <program> ...      lensbench <program> --help      lensbench run --cores 2"]
    for title, names in groups.items():
        lines += ["", title, *(f"  {name:13} {_first_line(found[name])}" for name in names)]
    return "\n".join(lines)


def _first_line(file: Path) -> str:
    return (ast.get_docstring(ast.parse(file.read_text())) or "").partition("\n")[0]


def _start(name: str, arguments: Sequence[str]) -> None:
    """Becomes the program. Raises UserError when there is none of that name."""
    found = programs()
    if name not in found:
        near = difflib.get_close_matches(name, found, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else "lensbench --help lists them"
        raise UserError(f"there is no program {name!r}; {hint}")
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-P", "-m", f"lensbench.{name}", *arguments])


def main() -> None:
    """Starts the program that the first argument names."""
    match sys.argv[1:]:
        case [] | ["-h" | "--help" | "help", *_]:
            print(overview())
        case ["--version", *_]:
            print(f"lensbench {__version__}")
        case [name, *arguments]:
            run_program(lambda: _start(name, arguments))


if __name__ == "__main__":
    main()
