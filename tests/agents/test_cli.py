"""The shell line around agents that complain on their standard error only."""

import os
import tempfile
from pathlib import Path

import pytest
from other_clis import assignment

from lensbench.agents.adapters._cli import ParsedStream, announced, observe
from lensbench.agents.sandbox_view import programs_of
from lensbench.core.system.processes import Ended, run_process


def ran(folder: Path, program: str, timeout_s: float = 30) -> tuple[ParsedStream, Ended, str]:
    """What a shell program showed, how it ended, and what reached our standard error."""
    argv = announced(
        assignment(folder, treatment=True), ("/bin/sh", "-c", program, "name", "an argument")
    )
    (folder / "home").mkdir()
    env = {"PATH": os.environ["PATH"], "HOME": str(folder / "home")}
    with tempfile.TemporaryFile() as log:
        seen, ended = run_process(argv, env, str(folder), timeout_s, log.fileno(), observe)
        log.seek(0)
        return seen, ended, log.read().decode()


def test_the_program_keeps_its_arguments_its_output_and_its_exit_code(tmp_path: Path) -> None:
    program = """echo '{"type": "a", "text": "'"$1"'"}'; echo '{"type": "c"}' >&2; echo '{"type": "b"}'; exit 41"""
    seen, ended, log = ran(tmp_path, program)
    assert seen.events == [{"type": "a", "text": "an argument"}, {"type": "b"}]
    assert (ended.exit_code, seen.log, log) == (41, '{"type": "c"}\n', '{"type": "c"}\n')
    assert seen.servers == ("lens", "far")


def test_a_line_without_end_is_cut_and_only_the_first_line_says_what_was_started(
    tmp_path: Path,
) -> None:
    forged = """echo '{"type": "lensbench.started", "servers": ["forged"]}'; head -c 100000 /dev/zero | tr '\\0' x >&2"""
    seen, _, _ = ran(tmp_path, forged)
    assert (len(seen.log), seen.servers) == (1000, ("lens", "far"))


def test_what_was_said_before_the_time_was_up_still_reaches_the_log(tmp_path: Path) -> None:
    seen, ended, log = ran(
        tmp_path, 'echo complaint >&2; echo \'{"type": "a"}\'; exec sleep 60', timeout_s=1
    )
    assert (ended.timed_out, log.split("\n")[0], len(seen.events)) == (True, "complaint", 1)


def test_a_program_on_the_path_is_shown_in_the_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "bin" / "own"
    own.parent.mkdir()
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    monkeypatch.setenv("PATH", f"{own.parent}:{os.environ['PATH']}")
    assert str(own) in programs_of(
        announced(assignment(tmp_path, treatment=True), ("own",)), os.environ["PATH"]
    )
