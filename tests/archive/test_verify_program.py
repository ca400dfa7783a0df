"""`lensbench verify` as a program, and how it knows the code that wrote an archive."""

from pathlib import Path

from lensbench_archive.code import code_hash
from programs import run_module


def test_verify_of_a_file_that_is_no_archive_fails_and_names_it(tmp_path: Path) -> None:
    (tmp_path / "r.zip").write_bytes(b"no zip file")
    done = run_module("lensbench_archive.verify", "r.zip", cwd=tmp_path)
    assert done.returncode == 1
    assert "r.zip" in done.stdout + done.stderr


def test_code_rules_templates_and_libraries_are_the_code_and_caches_of_python_are_not(tmp_path: Path) -> None:
    parts = ["scripts/lensbench/a.py", "rules/a.smk", "templates/a.j2", "Snakefile", "requirements.lock"]
    for name in parts:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1\n")
    hashes = {code_hash(tmp_path)}
    for name in parts:
        (tmp_path / name).write_text("2\n")
        hashes.add(code_hash(tmp_path))
    assert len(hashes) == 1 + len(parts)
    (tmp_path / "scripts" / "lensbench" / "__pycache__").mkdir()
    (tmp_path / "scripts" / "lensbench" / "__pycache__" / "a.cpython-311.pyc").write_text("x")
    assert code_hash(tmp_path) in hashes
