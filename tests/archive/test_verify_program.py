"""`lensbench verify` as a program."""

from pathlib import Path

from programs import run_module


def test_verify_of_a_file_that_is_no_archive_fails_and_names_it(tmp_path: Path) -> None:
    (tmp_path / "r.zip").write_bytes(b"no zip file")
    done = run_module("lensbench_archive.verify", "r.zip", cwd=tmp_path)
    assert done.returncode == 1
    assert "r.zip" in done.stdout + done.stderr
