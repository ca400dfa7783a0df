"""What becomes of every row: valid, again, later or stop. Needs the proposed reasons.py."""

import pytest
from claude_code_rows import ROWS
from test_claude_code import stream

from lensbench.agents.adapters.claude_code import read
from lensbench.core.records import Attempt
from lensbench.runs.reasons import REASONS, Expectation, find_reason, stops

OUTCOMES = {
    "valid": "without with stock tool-search server-slow tool-not-there subagent-denied 429-short error-event drop " "max-turns too-long-answer refusal too-long-prompt",
    "again api_error": "413 500 502 529 reset html", "again rate_limited": "429-long",
    "again mcp_failed": "server-too-slow server-missing server-breaks", "again empty": "empty no-content", "later timed_out": "stall",
    "later model_changed": "other-model", "later call_denied": "call-denied", "later subagents": "subagent",
    "stop api_error": "400 400-credit 401 403 404 refused no-key",
}  # fmt: skip
ROWS_WITH_OUTCOME = {name: outcome for outcome, names in OUTCOMES.items() for name in names.split()}


@pytest.mark.parametrize("name", ROWS)
def test_every_row_has_its_outcome(name: str) -> None:
    row, outcome = ROWS[name], read(stream(name))
    attempt = Attempt(1, "", 1.0, 0.0, row.exit_code, row.exit_code is None)
    search = bool(row.settings.get("tool_search"))
    expected = Expectation(("lens",), (), search) if row.treatment else Expectation((), ("lens",), search)
    expected = expected._replace(is_stock=row.settings.get("profile") == "stock")
    reason, _ = find_reason(attempt, outcome, outcome.answer, expected)
    found = f"{'stop' if stops(outcome) else REASONS[reason].policy} {reason}" if reason else "valid"
    assert found == ROWS_WITH_OUTCOME[name]


def test_tools_that_had_to_be_searched_for_without_leave_were_not_offered() -> None:
    outcome = read(stream("tool-search"))
    attempt = Attempt(1, "", 1.0, 0.0, 0, False)
    assert find_reason(attempt, outcome, "x", Expectation(("lens",), ()))[0] == "mcp_not_offered"
    assert find_reason(attempt, read(stream("with")), "x", Expectation(("lens",), (), True))[0] == "mcp_not_offered"
