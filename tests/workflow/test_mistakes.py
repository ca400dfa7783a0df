"""Typical mistakes, each really made, and the one line that answers it: the table of docs/reference/messages.md.

python tests/workflow/test_mistakes.py        prints the table
"""

import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from lensbench.core.errors import UserError, printable_lines
from lensbench.core.system.places import ROOT
from lensbench.plan.reading import insist_on_config, load_config
from lensbench.plan.task_files import read_scenarios
from programs import run_module

PAGE = ROOT / "docs" / "reference" / "messages.md"
SHOWN = "/projects/shop"
"""The folder in the messages, wherever they were made."""

CONFIG = """\
run_id: shop
scenarios: tasks.yaml
repository: {path: repo}
conditions:
  without: {}
  with: {mcp: mcp.json}
agent:
  kind: offline
"""
TASKS = """\
name: shop
repositories:
  shop: {path: repo}
tasks:
  - id: cart
    category: Targeted
    repository: shop
    prompt: Where is the cart?
    criteria:
      - {text: names the class, all_of: Cart}
      - {text: names the file, all_of: shop.py}
"""
MCP = '{"mcpServers": {"lens": {"command": "lens", "args": []}}}\n'
FILES = {"config.yaml": CONFIG, "tasks.yaml": TASKS, "mcp.json": MCP, "repo/shop.py": "class Cart: ...\n"}

SECRET = "sk-live-0123456789abcdef"

Change = tuple[str, str, str]
IN_FILES: dict[str, Change] = {
    "a tab as indent": ("config.yaml", "  kind: offline", "\tkind: offline"),
    "a wrong indent": ("config.yaml", "  with: {mcp", "   with: {mcp"), "an empty config": ("config.yaml", CONFIG, ""),
    "a list instead of keys": ("config.yaml", CONFIG, "- run_id: shop\n"), "a misspelt key": ("config.yaml", "scenarios:", "scenario:"),
    "a misspelt agent": ("config.yaml", "kind: offline", "kind: claude"),
    "a baseline that is no condition": ("config.yaml", "run_id: shop", "run_id: shop\nbaseline: witout"),
    "one condition only": ("config.yaml", "  with: {mcp: mcp.json}\n", ""),
    "no task set of that name": ("config.yaml", "tasks.yaml", "task.yaml"),
    "no MCP file of that name": ("config.yaml", "mcp.json}", "mpc.json}"),
    "no repository there": ("config.yaml", "{path: repo}", "{path: repos}"),
    "a number as run_id": ("config.yaml", "run_id: shop", "run_id: 7"),
    "`no` as run_id": ("config.yaml", "run_id: shop", "run_id: no"),
    "a run_id with a blank": ("config.yaml", "run_id: shop", "run_id: my shop"),
    "1e3 as a number": ("config.yaml", "run_id: shop", "run_id: shop\ntrials: 1e3"),
    "a word as a number": ("config.yaml", "run_id: shop", "run_id: shop\ntrials: three"),
    "no trials": ("config.yaml", "run_id: shop", "run_id: shop\ntrials: 0"),
    "a misspelt judge": ("config.yaml", "run_id: shop", "run_id: shop\njudges: [mechanicl]"),
    "a limit on a server that nobody uses": ("config.yaml", "run_id: shop", "run_id: shop\nlimits: {clients: {lense: 2}}"),
    "a command agent without a command": ("config.yaml", "kind: offline", "kind: command"),
    "a key of a section at the top": ("config.yaml", "run_id: shop", "run_id: shop\nmax_usd: 5"),
    "a key of the top in a section": ("config.yaml", "kind: offline", "kind: offline\n  sandbox: none"),
    "a name where a kind is wanted": ("config.yaml", "kind: offline", "name: claude-code"),
    "a key of the agent in a condition": ("config.yaml", "{mcp: mcp.json}", "{mcp: mcp.json, pass_env: [KEY]}"),
    "a quote of a web page": ("config.yaml", "run_id: shop", "run_id: “shop”"),
    "a blank of a web page": ("config.yaml", "scenarios: ", "scenarios:\u00a0"),
    "a blank of a web page as indent": ("config.yaml", "  kind", "\u00a0 kind"),
    "a quote of a web page in an MCP file": ("mcp.json", '"lens": {', "“lens”: {"),
    "a dash of a web page in an MCP file": ("mcp.json", '"args": []', '"args": ["\u2013stdio"]'),
    "no conditions": ("config.yaml", "conditions:\n  without: {}\n  with: {mcp: mcp.json}", "conditions:"),
    "a condition without braces": ("config.yaml", "without: {}", "without:"),
    "no server in any condition": ("config.yaml", "{mcp: mcp.json}", "{}"),
    "the same server in both conditions": ("config.yaml", "without: {}", "without: {mcp: mcp.json}"),
    "a file in place of a condition": ("config.yaml", "{mcp: mcp.json}", "mcp.json"),
    "a judge without a list": ("config.yaml", "run_id: shop", "run_id: shop\njudges: mechanical"),
    "one of several choices": ("config.yaml", "run_id: shop", "run_id: shop\nsandbox: no"),
    "a budget as an amount": ("config.yaml", "run_id: shop", "run_id: shop\nbudget: $5"),
    "a budget with its unit": ("config.yaml", "run_id: shop", "run_id: shop\nbudget: {max_usd: 5 USD}"),
    "minutes for seconds": ("config.yaml", "kind: offline", "kind: offline\n  timeout_s: 10m"),
    "no blank after a colon": ("config.yaml", "kind: offline", "kind:offline"),
    "a mapping in place of a path": ("config.yaml", "scenarios: tasks.yaml", "scenarios: {file: tasks.yaml}"),
    "a merge key": ("config.yaml", "{mcp: mcp.json}", "{<<: {mcp: mcp.json}}"),
    "a value that begins with @": ("config.yaml", "run_id: shop", "run_id: @shop"), "a path with ~": ("config.yaml", "mcp.json}", "~/mcp.json}"),
    "a number in a server's environment": ("mcp.json", '"args": []', '"env": {"PORT": 80}'),
    "an agent without its key": ("config.yaml", "agent:\n  kind: offline", "agent: claude-code"),
    "a command line as text": ("config.yaml", "kind: offline", "kind: command\n  command: my-agent --quiet"),
    "a key in place of its variable": ("config.yaml", "kind: offline", f"kind: offline\n  pass_env: [{SECRET}]"),
    "a key in place of a list": ("config.yaml", "kind: offline", f"kind: offline\n  pass_env: {SECRET}"),
    "an empty repository": ("repo/shop.py", "class Cart: ...\n", ""),
    "a key twice": ("config.yaml", "run_id: shop", "run_id: shop\nrun_id: two"),
    "an MCP file that is no JSON": ("mcp.json", MCP, '{"mcpServers": {'),
    "an MCP file without servers": ("mcp.json", MCP, '{"servers": {}}'),
    "a misspelt key in the MCP file": ("mcp.json", '"args"', '"arg"'),
    "a task without criteria": ("tasks.yaml", "\n      - {text: names the class, all_of: Cart}\n      - {text: names the file, all_of: shop.py}", " []"),
    "a task with one criterion": ("tasks.yaml", "      - {text: names the file, all_of: shop.py}\n", ""),
    "a number as a pattern": ("tasks.yaml", "all_of: shop.py", "all_of: [5.0]"),
    "`yes` as a pattern": ("tasks.yaml", "all_of: shop.py", "all_of: [yes]"),
    "a misspelt repository": ("tasks.yaml", "repository: shop", "repository: shp"),
    "a misspelt category": ("tasks.yaml", "category: Targeted", "category: Target"),
    "an id with a capital letter": ("tasks.yaml", "id: cart", "id: Cart"),
}  # fmt: skip
"""What is changed: file, old text, new text."""

ON_THE_COMMAND_LINE: dict[str, list[str]] = {
    "a misspelt verb": ["compair"], "the status of nothing": ["status"],
    "discarding where nothing was run": ["discard", "cart-with", "--reason", "x"], "`init` without a server": ["init", "--yes"],
    "`init` for an unknown agent": ["init", "--yes", "--mcp", "true", "--agent", "claude"],
}  # fmt: skip


def answer(change: Change, folder: Path) -> str:
    """What a start says when this is changed in a project that is in order; "" when it says nothing."""
    (folder / "repo").mkdir()
    for name, text in FILES.items():
        new = text.replace(change[1], change[2]) if name == change[0] else text
        assert new != text or name != change[0]
        if new or name == change[0] == "config.yaml":
            (folder / name).write_text(new)
    here = Path.cwd()
    os.chdir(folder)
    try:
        insist_on_config("config.yaml")
        config = load_config(yaml.safe_load(Path("config.yaml").read_text(encoding="utf-8")), ["config.yaml"])
        read_scenarios(config.scenario_files, config.repository, config.imported)
    except UserError as error:
        return shown(f"error: {error}", folder)
    finally:
        os.chdir(here)
    return ""


def said(arguments: list[str], folder: Path) -> str:
    """What the command says in an empty folder."""
    ended = run_module("lensbench", *arguments, cwd=folder)
    assert ended.returncode == 1
    return shown(ended.stderr.strip(), folder)


def shown(text: str, folder: Path) -> str:
    return printable_lines(text).replace(str(folder), SHOWN)


def row(mistake: str, message: str) -> str:
    lines = (f"`` {line} ``" if "`" in line else f"`{line}`" for line in message.replace("|", "&#124;").splitlines())
    return f"| {mistake} | {'<br>'.join(lines)} |"


def rows(make: Callable[[], Path]) -> list[str]:
    """All rows of the table; `make` gives a new empty folder."""
    found = [row(mistake, answer(change, make())) for mistake, change in IN_FILES.items()]
    return [*found, *(row(mistake, said(arguments, make())) for mistake, arguments in ON_THE_COMMAND_LINE.items())]


def documented(mistake: str) -> str:
    found = [line for line in PAGE.read_text().splitlines() if line.startswith(f"| {mistake} |")]
    return "\n".join(found)


@pytest.mark.parametrize("change", [
    ("config.yaml", "run_id: shop", "run_id: other"), ("config.yaml", "run_id: shop", "\ufeffrun_id: shop"),
    ("mcp.json", MCP, '\ufeff// mine\n{"mcpServers": {"lens": {"command": "lens", "args": [/* none */],},},}'),
])  # fmt: skip
def test_a_project_without_a_mistake_is_answered_with_nothing(change: Change, tmp_path: Path) -> None:
    assert answer(change, tmp_path) == ""


@pytest.mark.parametrize("mistake", IN_FILES)
def test_a_mistake_in_a_file_is_answered_as_documented(mistake: str, tmp_path: Path) -> None:
    message = answer(IN_FILES[mistake], tmp_path)
    assert re.match(r"error: (config|tasks)\.yaml(:\d+)?: ", message)
    assert "Traceback" not in message
    assert SECRET not in message
    assert documented(mistake) == row(mistake, message)


@pytest.mark.parametrize("mistake", ON_THE_COMMAND_LINE)
def test_a_mistake_on_the_command_line_is_answered_as_documented(mistake: str, tmp_path: Path) -> None:
    message = said(ON_THE_COMMAND_LINE[mistake], tmp_path)
    assert message.startswith("error: ")
    assert message.count("\n") == 0
    assert documented(mistake) == row(mistake, message)


if __name__ == "__main__":
    print(*rows(lambda: Path(tempfile.mkdtemp())), sep="\n")
