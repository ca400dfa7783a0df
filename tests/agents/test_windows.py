"""When a plan's used-up window resets, in the words of the programs."""

import json
import time
from datetime import datetime
from pathlib import Path

import pytest
import yaml

from lensbench.agents.adapters.claude_code import read
from lensbench.agents.refusals import refusal, reset_in

NOW = datetime.fromisoformat("2026-11-25T12:00:00+00:00").timestamp()


@pytest.mark.parametrize(
    ("error", "resets"),
    [
        ("You've hit your session limit · resets 4pm (UTC)", "2026-11-25T16:00+00:00"),
        ("You've hit your session limit · resets 4:30am (UTC)", "2026-11-26T04:30+00:00"),
        ("You've hit your limit · resets 11:58am (UTC)", "2026-11-25T11:58+00:00"),
        (
            "You've hit your weekly limit · resets Nov 28 at 4pm (Europe/Berlin)",
            "2026-11-28T16:00+01:00",
        ),
        ("You've hit your Opus limit · resets Jan 2, 12am (UTC)", "2027-01-02T00:00+00:00"),
        ("Claude AI usage limit reached|1764086400", "2025-11-25T16:00+00:00"),
        (
            "You've hit your usage limit. Upgrade to Pro (https://x/pro) or try again in 1 day 4 hours 12 minutes.",
            "2026-11-26T16:12+00:00",
        ),
        (
            "You have exhausted your capacity on this model. Your quota will reset after 2h30m15s.",
            "2026-11-25T14:30:15+00:00",
        ),
        (
            "Usage limit reached for 5 hour. Your limit will reset at 2026-11-25 23:10:00",
            "2026-11-25T23:10+08:00",
        ),
    ],
)
def test_the_reset_is_read_from_the_words_of_each_program(error: str, resets: str) -> None:
    assert reset_in(error, NOW) == datetime.fromisoformat(resets).timestamp()


@pytest.mark.parametrize("zone", ["Z", " UTC", " GMT", "+00:00"])
def test_a_time_of_utc_is_one_on_a_machine_elsewhere(
    zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    error = f"Usage limit reached. Your limit will reset at 2026-11-25 23:10:00{zone}"
    found = reset_in(error, NOW)
    monkeypatch.undo()
    time.tzset()
    assert found == datetime.fromisoformat("2026-11-25T23:10+00:00").timestamp()


def test_codex_names_a_time_of_the_machines_zone() -> None:
    found = reset_in("You've hit your usage limit. Or try again at Nov 28th, 2026 3:45 PM.", NOW)
    assert found == datetime(2026, 11, 28, 15, 45).astimezone().timestamp()


@pytest.mark.parametrize(
    "error",
    [
        "You've hit your usage limit for gpt-5.",
        "You've hit your limit · resets Feb 31, 4pm (UTC)",
        "You've hit your limit · resets 4pm (Nowhere/X)",
    ],
)
def test_a_window_without_a_readable_reset_is_one_nevertheless(error: str) -> None:
    assert reset_in(error, NOW) == 0


@pytest.mark.parametrize(
    "error",
    [
        "Rate limit reached for gpt-5 in organization x on tokens per min (TPM): try again in 20s. It will reset soon",
        "You've hit your org's monthly spend limit · resets Dec 1 (UTC)",
        "429 overloaded",
        "prompt too long|1764086400",
    ],
)
def test_other_refusals_are_no_used_up_window(error: str) -> None:
    assert reset_in(error, NOW) is None


def test_claude_code_tells_the_reset_of_a_rejected_request_only() -> None:
    def resets(status: str, **result: object) -> float | None:
        limit = {
            "type": "rate_limit_event",
            "rate_limit_info": {"status": status, "resetsAt": 1893456000},
        }
        return read(
            map(
                json.dumps,
                [{"type": "system", "subtype": "init"}, limit, {"type": "result", **result}],
            )
        ).resets_at

    failed = {
        "is_error": True,
        "api_error_status": 429,
        "result": "You've hit your session limit · resets 4pm (UTC)",
    }
    assert resets("rejected", **failed) == 1893456000
    assert resets("allowed_warning", **failed) is None
    assert resets("rejected", result="It is in cart.py.") is None


REFUSALS = yaml.safe_load(Path(__file__).with_name("refusals.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("status", "error", "action", "resets"), REFUSALS)
def test_one_table_tells_pauses_windows_and_ends(
    status: int | None, error: str, action: str, resets: str | datetime | int
) -> None:
    found = refusal(error, status, NOW)
    if action == "none":
        assert found is None
        return
    assert found is not None
    assert found.action == action
    at = f"{resets}"
    moment = None if at == "none" else 0 if at == "0" else datetime.fromisoformat(f"{at}+00:00")
    assert found.resets_at == (moment.timestamp() if isinstance(moment, datetime) else moment)
