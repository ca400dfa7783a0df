"""`lensbench try`: a text is judged at once, as the patterns judge answers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lensbench_tasks.try_answer import main
from programs import refusal, run_here

SET = """\
tasks:
  - id: cart
    category: Debug
    prompt: Where does the shop limit a cart?
    criteria:
      - {text: "Says that `Cart.limit` is 40", all_of: [Cart.limit, '40']}
      - {text: "Names the file shop.py", all_of: shop.py}
      - {text: "Names the exception", all_of: FullCart}
"""
REPORT = "\n## Report\n\n- **Tool calls**: 3\n- **Tools used**: Bash\n- **Files read**: 2\n- **Files used**: FullCart.py\n"
ANSWER = f"It is simple:\n`Cart.limit` is 40,\nin shop.py.\n{REPORT}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "set.yaml").write_text(SET)
    (tmp_path / "answer.md").write_text(ANSWER)
    return tmp_path


@pytest.mark.parametrize("module", [("lensbench", "try"), ("lensbench_tasks.try_answer",)])
def test_a_locale_without_utf_8_changes_nothing(folder: Path, module: tuple[str, ...]) -> None:
    (folder / "größe.yaml").write_text(SET.replace("FullCart", "VolleGröße"), encoding="utf-8")
    command = [sys.executable, "-P", "-m", *module, "cart", "--set", "größe.yaml", "-"]
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0"}
    done = subprocess.run(
        command, input="VolleGröße, 日本".encode(), capture_output=True, check=False, env=env
    )
    assert done.returncode == 0, done.stderr
    assert 'line 1: "VolleGröße, 日本"' in done.stdout.decode()


@pytest.mark.usefixtures("folder")
def test_each_verdict_is_shown_with_its_evidence_and_the_report_is_not_part_of_the_answer() -> None:
    lines = [
        " ".join(line.split())
        for line in run_here(main, "cart", "answer.md", "--set", "set.yaml").splitlines()
    ]
    assert (lines[0], lines[1]) == (
        "cart: score 65%, 3 criteria",
        "1 Met Says that `Cart.limit` is 40",
    )
    assert lines[2].startswith('line 2: "')
    assert lines[4].startswith('line 3: "')
    assert lines[5:7] == ["3 Missed Names the exception", "'FullCart' is missing"]
    assert lines[7] == "The report is present."


@pytest.mark.usefixtures("folder")
def test_an_answer_comes_from_standard_input_too() -> None:
    said = run_here(main, "cart", "--set", "set.yaml", "-", given="Nothing.")
    assert said.startswith("cart: score 0%, 3 criteria")
    assert "The report is missing" in said


def test_the_set_of_the_config_is_the_default_and_without_an_answer_the_prompt_is_shown(
    folder: Path,
) -> None:
    (folder / "mcp.json").write_text('{"mcpServers": {"lens": {"command": "lens"}}}')
    text = "run_id: r\nscenarios: set.yaml\nconditions: {without: {}, with: {mcp: mcp.json}}\n"
    (folder / "config.mine.yaml").write_text(text)
    said = run_here(main, "cart")
    (folder / "config.more.yaml").write_text(text)
    assert "name one: --configfile config.mine.yaml or" in refusal(main, "cart")
    assert run_here(main, "cart", "--configfile", "config.more.yaml") == said
    assert said.startswith("Where does the shop limit a cart?\n")
    assert "## Report" in said


def test_a_criterion_without_patterns_has_no_verdict_and_the_answer_no_score(folder: Path) -> None:
    (folder / "set.yaml").write_text(SET.replace(", all_of: FullCart", ""))
    said = run_here(main, "cart", "answer.md", "--set", "set.yaml")
    assert said.startswith("cart: score none, 3 criteria, 1 without a verdict")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("card", "answer.md", "--set", "set.yaml"),
            "there is no task 'card'; did you mean 'cart'?",
        ),
        (
            ("cart", "none.md", "--set", "set.yaml"),
            "none.md: cannot be read (No such file or directory)",
        ),
        (("cart", "answer.md", "--set", "none.yaml"), "none.yaml"),
        (("cart", "answer.md"), "config.yaml"),
    ],
)
def test_a_mistake_is_one_line(arguments: tuple[str, ...], words: str) -> None:
    assert words in refusal(main, *arguments)
