"""Nothing that others wrote speaks to the terminal."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from handmade import Bench
from lensbench.core.errors import UserError, printable, printable_lines
from lensbench.core.preflight_results import Check, table
from lensbench.core.system.program import run_program
from lensbench.workflow.finish import print_headline
from lensbench.workflow.status import print_status

HOSTILE = "\x1b]0;title\x07\x1b[2J\x9b2J\r\x00\u202e\u200b\u2028"


def test_hostile_texts_and_messages_are_harmless_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert printable(f"a{HOSTILE}\nb ü 漢").isprintable()
    assert printable("a\nok: b ü 漢") == "a ok: b ü 漢"
    assert printable_lines(f"a\n{HOSTILE}b").split("\n")[0] == "a"
    assert all(line.isprintable() for line in printable_lines(f"a\n{HOSTILE}b").split("\n"))

    def fail() -> None:
        raise UserError(f"task {HOSTILE}\nsecond line")

    with pytest.raises(SystemExit) as end:
        run_program(fail)
    assert end.value.code == 2
    shown = capsys.readouterr().err.rstrip("\n").split("\n")
    assert (len(shown), shown[1]) == (2, "second line")
    assert shown[0].isprintable()


def test_what_others_say_is_printed_harmless(
    tmp_path: Path, bench: Callable[..., Bench], capsys: pytest.CaptureFixture[str]
) -> None:
    made = bench()
    made.run("a", "with", reason="mcp_failed", detail=HOSTILE)
    made.build()
    print_status(made.folder)
    (made.folder / "results.json").write_text(json.dumps(made.json | {"headlines": [HOSTILE]}))
    print_headline(made.folder)
    lines = [*capsys.readouterr().out.split("\n"), *table([Check(HOSTILE, "ok", HOSTILE)])]
    assert all(line.isprintable() for line in lines)
    assert "discarded: a-with-1" in "\n".join(lines)


def test_nobody_else_can_write_what_a_program_makes(tmp_path: Path) -> None:
    program = (
        "import os; from pathlib import Path; from lensbench.core.system.files import write_atomic;"
        "from lensbench.core.system.program import run_program; os.umask(0);"
        "run_program(lambda: write_atomic(Path('a/b/c.json'), 'x'))"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    made = [tmp_path / "a", tmp_path / "a" / "b", tmp_path / "a" / "b" / "c.json"]
    assert [path.stat().st_mode & 0o002 for path in made] == [0, 0, 0]


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash")
def test_a_reader_that_has_seen_enough_is_no_mistake() -> None:
    command = f"set -o pipefail; {sys.executable} -P -m lensbench_archive.sample_size --sd 20 --effect 10 | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
