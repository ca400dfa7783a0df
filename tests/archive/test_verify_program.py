"""`lensbench verify` as a program."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_verify_of_a_file_that_is_no_archive_fails_and_names_it(tmp_path: Path) -> None:
    (tmp_path / "r.zip").write_bytes(b"no zip file")
    command = [sys.executable, "-m", "lensbench_archive.verify", "r.zip"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=120, check=False)
    assert done.returncode == 1
    assert "r.zip" in done.stdout + done.stderr
