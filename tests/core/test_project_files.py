"""Which files of a project are tests."""

import csv
from pathlib import Path

import pytest

from lensbench.core.project_files import is_test, is_test_program

ROWS = list(csv.DictReader(Path(__file__).with_name("project_files.csv").open(encoding="utf-8")))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["path"])
def test_a_file_is_a_test_by_its_path(row: dict[str, str]) -> None:
    assert is_test(row["path"]) == (row["is_test"] == "yes")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["path"])
def test_runners_start_a_file_by_its_name(row: dict[str, str]) -> None:
    assert is_test_program(row["path"]) == (row["is_program"] == "yes")
