"""What a server's first start is tried with."""

from pathlib import Path

import pytest

from lensbench_demo.server_starts import _real_program


@pytest.mark.parametrize(
    ("name", "text", "real"),
    [
        ("python3", "#!/bin/sh\necho /real/python3\n", "/real/python3"),
        ("python3", "#!/bin/sh\n", "python3"),
        ("python3", "\x7fELF", "python3"),
        ("server", "#!/bin/sh\necho /real/server\n", "server"),
        ("absent", None, "absent"),
    ],
)
def test_the_script_of_a_version_manager_is_asked_for_its_interpreter(
    name: str, text: str | None, real: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    if text is not None:
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    assert _real_program(name) == real
