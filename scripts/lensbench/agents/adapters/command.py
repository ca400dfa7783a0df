"""Any program as an agent: its standard output, or the file that it writes, is the answer.

| promise of the protocol | how it is kept |
|---|---|
| same prompt in both conditions | `{prompt_file}`, the same bytes |
| MCP servers WITH, none WITHOUT | `{mcp_file}`: the condition's servers, or an empty `mcpServers` |
| fresh session | HOME and TMPDIR are new and empty, the environment is cleared but for `agent.pass_env` |
| tool calls, MCP status | seen by the tee, as such a program prints text only; the model is not shown |
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from lensbench.agents import Assignment, Invocation, base_environment
from lensbench.core.error_texts import KNOWN_ERRORS, ErrorTexts
from lensbench.core.records import Outcome

COST = "nothing"
TEE = True


def command(run: Assignment) -> Invocation:
    """`agent.command` with {prompt_file}, {workspace}, {mcp_file}, {answer_file}, {model} and {seed} put in."""
    places = {
        "prompt_file": run.prompt_file,
        "workspace": run.workspace,
        "mcp_file": run.mcp_file,
        "answer_file": run.answer_file,
        "model": run.settings["model"],
        "seed": str(run.seed),
    }
    parts = run.settings["command"]
    answer_file = run.answer_file if "{answer_file}" in "".join(parts) else ""
    argv = tuple(
        re.sub(r"\{(\w+)\}", lambda match: places.get(match[1], match[0]), part) for part in parts
    )
    return Invocation(argv, base_environment(run), answer_file=answer_file)


def read(lines: Iterable[str], *, errors: ErrorTexts = KNOWN_ERRORS) -> Outcome:
    """The outcome: the whole output is the answer; its ending is not shown."""
    return Outcome(answer="".join(lines))
