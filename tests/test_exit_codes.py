"""The exit codes that CI tells apart, for every verb."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from lensbench.__main__ import HIDDEN, all_verbs
from programs import run_module
from stock import write

ROWS = yaml.safe_load(Path(__file__).with_name("exit_codes.yaml").read_text(encoding="utf-8"))
SET = """\
repositories: {{shop: {{path: .}}}}
tasks:
  - id: cart
    category: Targeted
    repository: shop
    prompt: Which class?
    criteria:
      - {{text: It is in cart.py, all_of: {pattern}}}
      - {{text: It is Cart, all_of: Cart}}
"""
FILES = {
    "good.yaml": SET.format(pattern="cart.py"),
    "dead.yaml": SET.format(pattern="basket.py"),
    "given.csv": "task,condition,score\na,without,0\na,with,1\nb,without,0\nb,with,1\n",
    "config.broken.yaml": "run_id: r\nscenario: set.yaml\n",
}


def test_every_verb_has_a_row() -> None:
    verbs = {name for title, group in all_verbs().items() if title != HIDDEN for name in group}
    assert {row["verb"] for row in ROWS} == verbs


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['verb']}-{row['code']}")
def test_the_exit_code_says_whether_it_was_done_failed_or_could_not_run(
    row: dict[str, Any], tmp_path: Path
) -> None:
    write(tmp_path, FILES)
    ended = run_module("lensbench", row["verb"], *row["arguments"], cwd=tmp_path)
    assert ended.returncode == row["code"], ended.stdout + ended.stderr
