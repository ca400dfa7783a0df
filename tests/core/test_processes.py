import math
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

import small_benchmark
from lensbench.core.system import processes
from lensbench.core.system.processes import Ended, run_process
from small_benchmark import wait_for

SCRIPTS = Path(__file__).parents[2] / "scripts"
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-IS", "-c", textwrap.dedent(code), *arguments]


def run(
    argv: list[str], timeout_s: float = 30, env: dict[str, str] | None = None
) -> tuple[list[str], Ended]:
    return run_process(argv, env or {}, "/", timeout_s, subprocess.DEVNULL, list)


def living(mark: str) -> list[int]:
    return [pid for pid, _ in small_benchmark.living(mark)]


@pytest.fixture
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "TERM_GRACE_S", 0.2)
    monkeypatch.setattr(processes, "CHILDREN_GRACE_S", 0.2)


@pytest.fixture
def mark(tmp_path: Path) -> Iterator[str]:
    """An argument that only the processes of this test have; those that are left are ended."""
    yield str(tmp_path)
    for pid in living(str(tmp_path)):
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize(
    ("output", "lines"),
    [
        (b"", []),
        (b"\n", ["\n"]),
        (b"one\ntwo\n", ["one\n", "two\n"]),
        (b"one\r\nno newline at the end", ["one\r\n", "no newline at the end"]),
        (b"\n\n x\x0b\x0c\x1d\xc2\x85y \n", ["\n", "\n", " x\x0b\x0c\x1d\x85y \n"]),
        (b"not utf-8: \xff\n", ["not utf-8: \ufffd\n"]),
        (b"x" * 300_000 + b"\nend", ["x" * 300_000 + "\n", "end"]),
    ],
)
def test_output_arrives_line_by_line_with_its_newlines(
    output: bytes, lines: list[str], tmp_path: Path
) -> None:
    (tmp_path / "output").write_bytes(output)
    assert run(["/bin/cat", str(tmp_path / "output")])[0] == lines


def test_a_letter_that_arrives_in_two_pieces_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "DRAIN_S", 0.01)  # only after the end is silence short
    code = "import os, time; os.write(1, b'\\xc3'); time.sleep(0.2); os.write(1, b'\\xa4\\n')"
    assert run(python(code))[0] == ["ä\n"]


def test_a_program_has_its_environment_alone_an_exit_code_and_no_standard_input() -> None:
    assert run(python("raise SystemExit(3)"))[1].exit_code == 3
    assert run(python("import os; os.kill(os.getpid(), 9)"))[1].exit_code == -9
    assert not run(python("raise SystemExit(3)"))[1].timed_out
    code = "import os, sys; print(sorted(os.environ)); print(repr(sys.stdin.read())); print(os.getcwd())"
    lines, _ = run(python(code), env={"ONE": "1", "LC_ALL": "C.UTF-8"})
    assert lines == ["['LC_ALL', 'ONE']\n", "''\n", "/\n"]
    with pytest.raises(FileNotFoundError):
        run(["/nowhere/agent"])


@pytest.mark.slow
@pytest.mark.usefixtures("short_grace")
def test_at_the_time_limit_the_whole_tree_is_ended_whatever_it_does_against_it(mark: str) -> None:
    code = f"""
        import signal, subprocess, sys, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        for session in (False, True):
            child = [sys.executable, "-IS", "-c", {STUBBORN!r}, sys.argv[1]]
            subprocess.Popen(child, start_new_session=session, stdout=subprocess.PIPE).stdout.readline()
        print("ready", flush=True)
        time.sleep(60)
    """
    seen: list[int] = []

    def read(lines: Iterator[str]) -> list[str]:
        first = next(lines)
        seen.extend(living(mark))
        return [first, *lines]

    processes.adopt_orphans()  # as the runner does: only then can it find those in sessions of their own
    lines, ended = run_process(python(code, mark), {}, "/", 2, subprocess.DEVNULL, read)
    assert (lines, ended.exit_code, ended.timed_out) == (["ready\n"], None, True)
    assert len(seen) == 3
    assert living(mark) == []


@pytest.mark.slow
@pytest.mark.usefixtures("short_grace")
def test_a_program_that_ends_well_leaves_no_children_and_is_not_waited_for_because_of_them(
    mark: str,
) -> None:
    code = f"""
        import subprocess, sys
        for session in (False, True):
            subprocess.Popen([sys.executable, "-IS", "-c", {STUBBORN!r}, sys.argv[1]], start_new_session=session)
        print("answer")
    """
    processes.adopt_orphans()
    lines, ended = run(python(code, mark), timeout_s=60)
    assert "answer\n" in lines
    assert (ended.exit_code, ended.timed_out) == (0, False)
    assert living(mark) == []


@pytest.mark.usefixtures("short_grace")
def test_a_reader_that_fails_and_a_program_that_another_thread_waits_for_leave_nothing_running(
    mark: str,
) -> None:
    def fail(lines: Iterator[str]) -> None:
        next(lines)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        run_process(python(STUBBORN, mark), {}, "/", 60, subprocess.DEVNULL, fail)
    assert living(mark) == []
    with ThreadPoolExecutor(1) as pool:
        pool.submit(subprocess.run, python(STUBBORN, mark))
        wait_for(lambda: living(mark))
        processes.end_children()
        assert living(mark) == []


@pytest.mark.slow
@pytest.mark.usefixtures("short_grace")
@pytest.mark.parametrize(
    ("limit", "most", "line"),
    [
        ("MAX_OUTPUT", 1_000_000, "y"),
        *(("MAX_OUTPUT_PIECES", 20_000, piece * 300) for piece in ("", "[],", "{}")),
    ],
)
def test_what_prints_without_end_is_ended(
    monkeypatch: pytest.MonkeyPatch, mark: str, limit: str, most: int, line: str
) -> None:
    monkeypatch.setattr(processes, limit, most)
    lines, ended = run(["/bin/sh", "-c", f"yes '{line}'", mark], timeout_s=1.5)
    assert 0 < len(lines) < 2**19
    assert ended.timed_out
    assert living(mark) == []


RUNNER = """
    import os, subprocess, sys, tempfile
    from lensbench.core.system import processes
    from lensbench.core.system.processes import adopt_orphans, run_process
    from lensbench.core.system.program import run_program

    def read(lines):
        print(next(lines), end="", flush=True)
        return list(lines)

    def main():
        processes.TERM_GRACE_S = float(os.environ.get("GRACE_S", processes.TERM_GRACE_S))
        adopt_orphans()
        with tempfile.TemporaryDirectory(dir=sys.argv[1]):
            run_process([sys.executable, "-IS", "-c", sys.argv[2], sys.argv[1]], {}, "/", 60, subprocess.DEVNULL, read)

    run_program(main)
"""
WITH_CHILD = f"""
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen([sys.executable, "-IS", "-c", {STUBBORN!r}, sys.argv[1]], start_new_session=True)
time.sleep(60)
"""


def runner(mark: str, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
    """A program of ours that runs a stubborn agent, which has a child that says `up`."""
    command = [sys.executable, "-P", "-c", textwrap.dedent(RUNNER), mark, WITH_CHILD]
    return subprocess.Popen(
        command,
        env={**os.environ, "PYTHONPATH": str(SCRIPTS), **(env or {})},
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(
            signal.SIGHUP, signal.SIG_DFL
        ),  # the tests themselves may run under nohup
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "signals", [[signal.SIGTERM], [signal.SIGINT], [signal.SIGHUP], [signal.SIGINT, signal.SIGTERM]]
)
def test_a_signal_ends_runner_agent_and_children_and_so_do_two(
    signals: list[signal.Signals], mark: str, tmp_path: Path
) -> None:
    process = runner(mark, {"GRACE_S": "0.7"})
    assert process.stdout
    assert process.stdout.readline() == "up\n"
    for number in signals:
        process.send_signal(number)
        time.sleep(0.3)
    assert process.wait(20) == 128 + signals[0]
    assert living(mark) == []
    assert list(tmp_path.iterdir()) == []


def test_a_runner_that_is_killed_takes_its_agent_with_it(mark: str) -> None:
    process = runner(mark)
    assert process.stdout
    assert process.stdout.readline() == "up\n"
    agent = [
        pid
        for pid in living(mark)
        if b"subprocess.Popen" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]
    process.kill()
    process.wait()
    assert wait_for(lambda: not set(agent) & set(living(mark)))


def test_a_program_whose_workflow_is_gone_before_it_looks_ends_at_once(mark: str) -> None:
    process = runner(mark, {processes.WORKFLOW: "1"})
    assert process.wait(20) == 128 + signal.SIGTERM
    assert living(mark) == []


@pytest.mark.slow
def test_a_program_that_its_workflow_started_ends_with_it(mark: str) -> None:
    workflow = f"""
        import os, subprocess, sys, textwrap
        os.environ["{processes.WORKFLOW}"] = str(os.getpid())
        subprocess.run([sys.executable, "-P", "-c", textwrap.dedent({RUNNER!r}), sys.argv[1], {WITH_CHILD!r}])
    """
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", textwrap.dedent(workflow), mark],
        env={**os.environ, "PYTHONPATH": str(SCRIPTS)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    assert process.stdout.readline() == "up\n"
    process.kill()
    assert wait_for(lambda: not living(mark), 5)


def test_signals_wait_until_what_must_not_be_interrupted_is_done() -> None:
    code = """
        import os, signal
        from lensbench.core.system.processes import held_signals
        from lensbench.core.system.program import run_program
        def main():
            with held_signals():
                os.kill(os.getpid(), signal.SIGTERM)
                print("written", flush=True)
            print("never")
        run_program(main)
    """
    command = [sys.executable, "-P", "-c", textwrap.dedent(code)]
    done = subprocess.run(command, env={"PYTHONPATH": str(SCRIPTS)}, capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("written\n", 128 + signal.SIGTERM)


def test_a_full_disk_is_one_clear_line() -> None:
    program = "from lensbench.core.system.program import run_program; run_program(lambda: open('/dev/full', 'w').write('x' * 99999))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 2
    assert (
        done.stderr
        == "error: No space left on device; fix that, then start again: what is finished is kept\n"
    )


STAYING = """
    import signal, sys, time
    for line in sys.argv[2:]:
        if line.replace('.', '').isdecimal():
            time.sleep(float(line))
        else:
            print(line, flush=True)
    time.sleep(60)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("printed", "lines", "exit_code", "timed_out"),
    [
        (["work", "end"], 2, None, False),
        (["end", "0.1", "further"], 2, None, False),
        (["end", "work"], 2, None, True),
        (["work"], 1, None, True),
        (["failed"], 1, None, False),
        (["end", "work", "end"], 3, None, False),
    ],
)
def test_a_program_that_stays_after_its_end_is_ended_and_has_not_timed_out(
    printed: list[str],
    lines: int,
    exit_code: int | None,
    timed_out: bool,
    mark: str,
    short_grace: None,
) -> None:
    silence = {"end\n": 0.5, "work\n": math.inf, "failed\n": 0.0}
    argv = python(STAYING, mark, *printed)
    read, ended = run_process(argv, {}, "/", 4, subprocess.DEVNULL, list, silence_s=silence.get)
    assert (len(read), ended.exit_code, ended.timed_out) == (lines, exit_code, timed_out)
    assert (ended.duration_s < 4) != timed_out
    assert wait_for(lambda: not living(mark))


HIDDEN = 'mount -t proc -o hidepid={} proc /proc && exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"'
IS_ROOT = os.geteuid() == 0 and shutil.which("unshare") and shutil.which("setpriv")


@pytest.mark.skipif(
    not IS_ROOT, reason="mounts a /proc of its own: needs root, unshare and setpriv"
)
@pytest.mark.parametrize("level", [0, 1, 2])
def test_what_an_agent_leaves_is_ended_where_other_users_processes_are_hidden(
    level: int, mark: str
) -> None:
    left = f"setsid sh -c 'sleep 60; : {mark}' & echo answer"
    code = f"""
        import sys
        sys.path.insert(0, {str(SCRIPTS)!r})
        sys.path.insert(0, {str(Path(psutil.__file__).parents[1])!r})
        from lensbench.core.system.processes import adopt_orphans, run_process
        adopt_orphans()
        print(run_process(["sh", "-c", {left!r}], {{"PATH": "/usr/bin:/bin"}}, "/", 15, 2, list))
    """
    command = ["unshare", "-m", "sh", "-c", HIDDEN.format(level), "sh", *python(code)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "answer" in done.stdout, done.stderr
    assert living(mark) == []


@pytest.mark.parametrize("work", ["time.sleep(60)", "re.match('(a*)*b', 'a' * 60)", "while_true()"])
def test_a_stage_that_reaches_its_bound_ends_with_one_line(work: str, tmp_path: Path) -> None:
    code = f"""
        import re, sys, time
        from lensbench.core.system import program

        def while_true():
            while True:
                pass

        program.STAGE_S = 0.3
        sys.argv[:] = ["stage.py", "--folder", "x"]
        program.run_stage(lambda folder: {work})
        """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert re.match("error: .*: not done in 0.005 minutes; look for an answer or a file", line)
