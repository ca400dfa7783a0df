"""What an adapter writes for its program lies in the run's own HOME, and nowhere else on this machine."""

from pathlib import Path

import pytest
from other_clis import assignment

from lensbench.agents import Invocation
from lensbench.agents.sandbox import NO_SANDBOX, Place
from lensbench.agents.start import write_files
from lensbench.core.errors import UserError


@pytest.mark.parametrize("path", ["kit.ini", ".quill/kit.ini", "/etc/kit.ini", "{home}/../kit.ini"])
def test_a_file_outside_of_the_home_of_a_run_is_refused_and_nothing_is_written(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = assignment(tmp_path, treatment=False)
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    files = {f"{run.home}/good.ini": "a", path.format(home=run.home): "b"}
    with pytest.raises(UserError, match=r"of codex writes .*kit\.ini', which is not below"):
        write_files(Invocation(("quill",), {}, files), run, Place(NO_SANDBOX, str(tmp_path)))
    assert sorted(tmp_path.rglob("*")) == before


def test_a_file_in_the_home_of_a_run_is_written(tmp_path: Path) -> None:
    run = assignment(tmp_path, treatment=False)
    invocation = Invocation(("quill",), {}, {f"{run.home}/.quill/kit.ini": "a"})
    write_files(invocation, run, Place(NO_SANDBOX, str(tmp_path)))
    assert Path(run.home, ".quill", "kit.ini").read_text(encoding="utf-8") == "a"
