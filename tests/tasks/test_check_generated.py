"""The independent check of benchmarks/check_generated.py finds mined facts true, and notices false ones."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

from check_generated import false_criteria, holds

from lensbench.core.tasks import Category, Folder
from lensbench_tasks.mining.writer import Miners
from lensbench_tasks.survey import Survey
from stock import with_history


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Survey:
    return Survey.read(with_history(tmp_path_factory.mktemp("stock")))


def test_all_that_is_mined_is_true(stock: Survey) -> None:
    proposals = Miners(stock, "stock", Folder(path="stock"), 1).write(dict.fromkeys(Category, 6))
    tasks = [proposal.task.model_dump() for proposal in proposals if proposal.task]
    assert len(tasks) >= 15
    assert false_criteria(tasks, stock.root) == []


@pytest.mark.parametrize(
    "false",
    [
        "the parameter `patience_cedar` of `CedarStore.fill_cedar` in stock/cedar.py is 32",
        "the attribute `batch_cedar` of `DuneStore` in stock/cedar.py is 93",
        "the constant `CEDAR_LIMIT` in stock/cedar.py is 31",
        '`weigh_dune` in stock/dune.py gives the message "nothing to put on shelf number 5"',
        "`weigh_dune` in stock/dune.py calls `note_arrival`",
        "`DuneStore.fill_dune` in stock/dune.py calls `note_arrival`, defined in stock/cedar.py",
        "`weigh_dune` is defined in stock/cedar.py",
        "stock/dune.py imports stock/amber.py",
        "stock/dune.py changed together with stock/amber.py, in 6 commits",
        "stock/dune.py is a good file",
    ],
)
def test_what_is_false_is_noticed(stock: Survey, false: str) -> None:
    assert not holds(f"States that {false}", stock.root)
