"""Verbs that may take long say what they do."""

import threading
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from lensbench.core.system import progress
from lensbench_archive import archive, import_runs, verify
from programs import run_here


@pytest.mark.parametrize(
    ("module", "work", "result", "said"),
    [
        (archive, "make_archive", "written", "packing bench/a | 0 s"),
        (verify, "verify", (), "unpacking bench/a | 0 s"),
        (import_runs, "import_run", (Path("bench/a"), ()), "reading bench/a | 0 s"),
    ],
)
def test_a_verb_is_not_silent_while_it_works(
    module: ModuleType,
    work: str,
    result: Sequence[Any],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def slow(*_given: Any) -> Sequence[Any]:
        threading.Event().wait(0.3)
        return result

    monkeypatch.chdir(tmp_path)
    Path("bench/a").mkdir(parents=True)
    monkeypatch.setattr(progress, "SILENCE_S", 0.05)
    monkeypatch.setattr(module, work, slow)
    run_here(module.main, "bench/a")
    assert said in capfd.readouterr().err
