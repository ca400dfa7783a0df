"""How programs start and end: an expected error is one message and an exit code, not a traceback."""

from __future__ import annotations

import argparse
import errno
import gc
import locale
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from lensbench.core.errors import UserError, printable_lines
from lensbench.core.system.files import keep_from_others
from lensbench.core.system.processes import end_in_order

UNWRITABLE = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EROFS,
    errno.EACCES,
    errno.EEXIST,
    errno.EISDIR,
    errno.ENOTDIR,
}


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, with exit code 2."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"error: {message}; `{self.prog} --help` shows the options\n")


def positive(text: str) -> int:
    """The whole number of an option, at least 1."""
    if text.isdecimal() and int(text):
        return int(text)
    raise argparse.ArgumentTypeError(f"must be a whole number, at least 1, not {text!r}")


@contextmanager
def needs_extra(name: str) -> Iterator[None]:
    """Imports in this block belong to an extra of the installation: without it the program ends, and names it."""
    try:
        yield
    except ModuleNotFoundError as error:
        end(f"{error.name} is not installed; pip install 'lensbench[{name}]'")


def end(message: str, code: int = UserError.exit_code) -> NoReturn:
    """Ends this program with an error of one or more lines."""
    print(printable_lines(f"error: {message}"), file=sys.stderr)
    sys.exit(code)


def run_program(main: Callable[[], object]) -> None:
    """Runs `main`, and cleans up on signals. A UserError, or a full or read-only disk, is printed and ends with its
    exit code, or 2; a closed pipe (`| head`) is not an error."""
    use_utf8()
    end_in_order()
    keep_from_others()
    try:
        main()
        sys.stdout.flush()
    except UserError as error:
        end(str(error), error.exit_code)
    except BrokenPipeError:
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
        )  # or Python prints another error at exit
    except OSError as error:
        if error.errno not in UNWRITABLE:
            raise
        place = f"{error.filename}: " if error.filename else ""
        end(f"{place}{error.strerror}; fix that, then start again: what is finished is kept")


def use_utf8() -> None:
    """Starts this program again in Python's UTF-8 mode when its locale has another encoding: for file names, standard
    streams, and the Python programs that it starts."""
    if not sys.flags.utf8_mode and locale.getencoding().lower() not in ("utf-8", "utf8"):
        os.environ["PYTHONUTF8"] = "1"
        sys.stdout.flush()
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])


def collect_rarely() -> None:
    """Makes Python collect garbage less often: a stage creates millions of objects that live until it ends, and spent a
    fifth of its time on searching them for cycles."""
    gc.set_threshold(100_000, 50, 100)


STAGE_S = 3600.0
"""The longest time of a stage that starts no agents: thousands of runs take minutes."""


def run_stage(stage: Callable[[Path], object]) -> None:
    """The program of a stage that only needs the run folder: `python -m lensbench.<stage> --folder bench/<run_id>`. It
    ends with an error when it takes longer than STAGE_S."""
    folder = stage_parser(stage.__doc__).parse_args().folder
    collect_rarely()
    signal.signal(signal.SIGALRM, _take_too_long)
    signal.setitimer(signal.ITIMER_REAL, STAGE_S)
    run_program(lambda: stage(folder))


def _take_too_long(_number: int, _frame: object) -> NoReturn:
    limit = f"{STAGE_S / 60:g} minutes"
    end(f"{sys.argv[0]}: not done in {limit}; look for an answer or a file of unusual size")


def stage_parser(about: str | None) -> Parser:
    """The parser of this program, which works on a run folder."""
    spec = sys.modules["__main__"].__spec__
    parser = Parser(prog=f"python -P -m {spec.name}" if spec else None, description=about)
    parser.add_argument("--folder", required=True, type=Path, help="the run folder, bench/<run_id>")
    return parser


def run_parser(about: str | None) -> Parser:
    """The parser of this program, which works on one run."""
    parser = stage_parser(about)
    parser.add_argument("--task", required=True)
    parser.add_argument("--condition", required=True)
    parser.add_argument("--trial", type=int, default=1)
    return parser


def run_verb(verb: str, does: Callable[[Path], object]) -> None:
    """The program of a verb that only needs a run folder; by default the only one under bench/."""
    parser = Parser(prog=f"lensbench {verb}", description=does.__doc__)
    add_run_folder(parser)
    arguments = parser.parse_args()
    run_program(lambda: does(run_folder(arguments)))


def add_run_folder(parser: Parser) -> None:
    words = "the run id, or the run folder bench/<run_id>; not needed if there is only one"
    parser.add_argument("folder", nargs="?", type=benchmark, help=words)


def run_folder(arguments: argparse.Namespace) -> Path:
    """The given run folder, or the only one under bench/. Raises UserError when it is missing, or not the only one."""
    folder: Path | None = arguments.folder
    if folder and not folder.is_dir():
        raise UserError(f"{folder}: there is no such benchmark; name a run id, or bench/<run_id>")
    return (
        folder
        if folder and not any(folder.glob("*/plan.json"))
        else only_benchmark(folder or Path("bench"))
    )


def benchmark(name: str) -> Path:
    """The run folder of that path, or of that run id in bench/."""
    folder = Path("bench", name)
    return folder if not Path(name).is_dir() and folder.is_dir() else Path(name)


def configs(folder: Path) -> list[str]:
    """The names of the configs: config.yaml if it exists, else those that `lensbench init` wrote."""
    return (
        ["config.yaml"]
        if (folder / "config.yaml").exists()
        else sorted(p.name for p in folder.glob("config.*.yaml"))
    )


def only_config(folder: Path) -> str:
    """The name of the config in a folder, there or not. Raises UserError when there are several."""
    names = configs(folder)
    if len(names) > 1:
        raise UserError(
            f"there are {len(names)} configs here; name one: --configfile {' or '.join(names)}"
        )
    return names[0] if names else "config.yaml"


def only_benchmark(bench: Path) -> Path:
    """The only run folder under `bench`. Raises UserError when there are none or several."""
    folders = sorted(plan.parent for plan in bench.glob("*/plan.json"))
    if len(folders) == 1:
        return folders[0]
    if folders:
        raise UserError(
            f"{bench}/ has {len(folders)} benchmarks; name one of {', '.join(map(str, folders))}"
        )
    raise UserError(
        f"there is no benchmark in {bench}/; start one with `lensbench run`, or name its folder"
    )
