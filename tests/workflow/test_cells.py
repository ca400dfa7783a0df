"""`lensbench run --matrix`: which benchmarks it is, and what is refused."""

from pathlib import Path

import pytest

from lensbench.core.errors import UserError
from lensbench.workflow.cells import cells_of, run_cells
from lensbench.workflow.launch import matrix_of


def test_a_product_has_every_pair_once_and_several_are_joined() -> None:
    products = [["agent=claude-code", "model=opus,sonnet"], ["agent=codex", "model=gpt-5"]]
    cells = cells_of([*products, ["agent=codex", "model=gpt-5"]], "shop")
    assert [cell.run_id for cell in cells] == [
        "shop-claude-code-opus",
        "shop-claude-code-sonnet",
        "shop-codex-gpt-5",
    ]
    assert cells[2].settings == [
        "run_id=shop-codex-gpt-5",
        'agent={"kind": "codex", "model": "gpt-5"}',
    ]


def test_a_cell_keeps_its_name_whatever_stands_beside_it() -> None:
    alone = cells_of([["model=anthropic/claude-4.5"]], "shop")
    among = cells_of([["model=opus,anthropic/claude-4.5,x"]], "shop")
    assert alone[0] == among[1]
    assert alone[0].run_id == "shop-anthropic-claude-4-5"


def test_long_names_are_run_ids_that_differ() -> None:
    first, second = cells_of([[f"model={'a' * 80},{'a' * 81}"]], "shop")
    assert len(first.run_id) == len(second.run_id) == 64
    assert first.run_id != second.run_id


def test_two_cells_of_one_name_are_refused() -> None:
    with pytest.raises(UserError, match=r"claude-4.5 and claude-4-5 are both named shop-claude"):
        cells_of([["model=claude-4.5,claude-4-5"]], "shop")


@pytest.mark.parametrize("text", ["model", "model=", "=opus", "model=,"])
def test_a_text_that_is_no_key_with_values_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="write KEY=VALUE,VALUE"):
        cells_of([[text]], "shop")


def test_options_around_a_matrix_stay_where_they_are() -> None:
    given = ["-n", "--matrix", "model=a,b", "agent=c", "--cores", "2", "archive", "--config", "x=1"]
    products, rest = matrix_of(given)
    assert products == [["model=a,b", "agent=c"]]
    assert rest == ["-n", "--cores", "2", "archive", "--config", "x=1"]
    with pytest.raises(UserError, match="write KEY=VALUE,VALUE after it"):
        matrix_of(["--matrix", "archive"])


@pytest.mark.parametrize(
    ("config", "options", "message"),
    [
        ("run_id: auto\n", [], "config.yaml names no run_id"),
        ("trials: 2\n", [], "config.yaml names no run_id"),
        ("run_id: a\n", ["--config", "agent={model: b}"], "take agent=... out of --config"),
    ],
)
def test_what_a_second_start_could_not_continue_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    config: str,
    options: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config.yaml").write_text(config, encoding="utf-8")
    with pytest.raises(UserError, match=message):
        run_cells([["model=a"]], options)
    assert [path.name for path in tmp_path.iterdir()] == ["config.yaml"]
