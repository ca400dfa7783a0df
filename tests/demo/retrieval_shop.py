"""A small shop to ask about, and the agent as a process."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from stock import write

SCRIPTS = Path(__file__).parents[2] / "scripts"
SHOP = {
    "src/shop/__init__.py": "from .cart import Cart\n",
    "src/shop/cart.py": (
        '"""The cart."""\n\nfrom .errors import EmptyCartError\n\nDEFAULT_MAX_ITEMS = 40  # (for one customer\n\n\nclass Cart:\n'
        '    """Items that a customer wants."""\n\n'
        "    def __init__(self, max_items: int = DEFAULT_MAX_ITEMS) -> None:\n"
        "        self.items: list[str] = []\n        self.max_items = max_items\n\n    def checkout(self) -> str:\n"
        '        if not self.items:\n            raise EmptyCartError("nothing to pay for")\n        return "paid"\n'
    ),
    "src/shop/errors.py": "class ShopError(Exception):\n    pass\n\n\nclass EmptyCartError(ShopError):\n    pass\n",
    "src/shop/cli.py": "from shop.cart import Cart\n\n\ndef main() -> None:\n    Cart().checkout()\n",
    "src/shop/broken.py": "def (:\n  cart cart\n",
    "tests/test_cart.py": "from shop import cart\n\n\ndef test_checkout():\n    cart.Cart().checkout()\n",
    "CHANGES.md": "# Changes\n\nThe cart now raises EmptyCartError at checkout.\n",
}
SUFFIX = "\n\n---\n\nEnd with a `## Report` section: zebra, giraffe, tool calls.\n"


@dataclass(frozen=True)
class Run:
    """What one start of the agent gave."""

    exit_code: int
    stderr: str
    events: list[dict[str, Any]]
    answer: str

    def inputs(self, tool: str) -> list[dict[str, Any]]:
        return [
            event["input"]
            for event in self.events
            if event["type"] == "tool_call" and event["name"] == tool
        ]


Ask = Callable[..., Run]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return write(tmp_path / "shop", SHOP)


PROXIES = {"HTTP_PROXY": "http://127.0.0.1:9", "ALL_PROXY": "socks5://127.0.0.1:9"}
"""Those of a company, which do not reach this machine."""


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    def ask(
        prompt: str, workspace: Path, servers: dict[str, Any] | None = None, *arguments: str
    ) -> Run:
        prompt_file = tmp_path / "prompt.md"
        config = tmp_path / "mcp.json"
        prompt_file.write_text(prompt + SUFFIX, encoding="utf-8")
        config.write_text(json.dumps({"mcpServers": servers or {}}), encoding="utf-8")
        argv = [
            sys.executable,
            "-P",
            "-m",
            "lensbench_demo.offline",
            "--prompt-file",
            str(prompt_file),
        ]
        argv += ["--workspace", str(workspace), "--mcp-config", str(config), *arguments]
        env = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(SCRIPTS),
            "HOME": str(tmp_path),
            **PROXIES,
        }
        done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60)
        events = [json.loads(line) for line in done.stdout.splitlines()]
        answers = [event["text"] for event in events if event["type"] == "answer"]
        return Run(done.returncode, done.stderr, events, answers[0] if answers else "")

    return ask
