"""Which facts a result with a kind of agent can have, as `lensbench agent-check` finds them, and what is installed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping

from lensbench.agents import programs

_CALLS = ("called, worked", "tokens")
_END = ("version", "end")
SHOWN_BY_KIND: Mapping[str, tuple[str, ...]] = {
    "claude-code": ("offered", *_CALLS, "cost", "model", *_END),
    "codex": (*_CALLS, *_END),
    "gemini": (*_CALLS, "model", *_END),
    "opencode": (*_CALLS, *_END),
    "offline": ("offered", "called, worked", "model", *_END),
    "acp": _END,
    "command": (),
}
"""The facts that the agent itself shows; what was offered and called, the tee sees of all."""
BY_ACP = {"claude-agent-acp": "", "codex-acp": "", "qwen": " --acp"}
"""Programs of kind `acp` and their arguments; those with a kind of their own are no part of it."""


def shows(kind: str) -> str:
    """What a result with it has, for people."""
    if kind not in SHOWN_BY_KIND:
        return f"`lensbench agent-check {kind}` says what a result has"
    return f"shows {', '.join(SHOWN_BY_KIND[kind])}"


def installed() -> Iterator[tuple[str, str, str]]:
    """The agents that are on PATH: program, kind, and the command of one of kind `acp`."""
    for kind, program in programs().items():
        if shutil.which(program.name):
            yield program.name, kind, ""
    for name, arguments in BY_ACP.items():
        if shutil.which(name):
            yield name, "acp", name + arguments
