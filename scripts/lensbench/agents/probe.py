"""Tests the model's gateway and key with one request before a benchmark starts."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from fnmatch import fnmatchcase
from typing import Any

from lensbench.agents import Adapter, Probe
from lensbench.agents.prices import is_same_model
from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import AgentSettings
from lensbench.core.preflight_results import Check

REQUEST_S = 30.0
MAX_ANSWER = 1_000_000
BUSY = {408, 429, 500, 502, 503, 504, 529}
"""Temporary HTTP statuses; runs retry these by themselves."""
LOOK_AT = {
    400: "the model's name (agent.model, agent.models)",
    401: "the key in agent.token_env or agent.pass_env",
    402: "the account's credit",
    403: "the key's rights and quota",
    404: "agent.base_url, and the model's name (agent.model, agent.models)",
}


def check_gateway(adapter: Adapter, settings: AgentSettings, may_ask: bool) -> list[Check]:
    """One check, or none when the agent has no gateway to ask."""
    ask = getattr(adapter, "probe", None)
    if ask is None:
        return []
    if not may_ask:
        return [Check("gateway", "skipped", "preflight.request is false")]
    try:
        probe: Probe | None = ask(settings)
    except UserError as error:
        return [Check("gateway", "failed", str(error))]
    if probe is None:
        return []
    return [request(probe, any(name.lower().endswith("_proxy") for name in settings["pass_env"]), settings["served"])]


def request(probe: Probe, through_proxy: bool, pattern: str = "") -> Check:
    """Sends the request; `through_proxy`: whether the agent will see the user's proxy variables; `pattern`: the model
    that must answer (a name or a pattern with `*`; empty for the requested one)."""
    message = urllib.request.Request(
        probe.url, json.dumps(probe.body).encode(), {"Content-Type": "application/json", **probe.headers}
    )
    proxies = urllib.request.ProxyHandler(None if through_proxy else {})
    try:
        with urllib.request.build_opener(proxies).open(message, timeout=REQUEST_S) as response:
            content = response.read(MAX_ANSWER)
    except urllib.error.HTTPError as error:
        return _refused(probe.url, error.code, _words(error.read(MAX_ANSWER)))
    except (OSError, ValueError, http.client.HTTPException) as error:
        why = getattr(error, "reason", error)
        return Check("gateway", "failed", f"{probe.url}: no answer ({why}); check agent.base_url and the network")
    answer = _object(content)
    if answer is None:
        return Check("gateway", "failed", f"{probe.url}: its answer is not a JSON object; check agent.base_url")
    answerer, model = answer.get("model"), probe.body.get("model")
    if not isinstance(answerer, str):
        return Check("gateway", "ok", f"{probe.url}: answered")
    note = f"{probe.url}: answered, model {answerer}"
    if pattern and not fnmatchcase(answerer, pattern):
        return Check(
            "gateway", "failed", f"{note}; agent.served is {pattern}: check agent.model, or correct agent.served"
        )
    if not pattern and isinstance(model, str) and not is_same_model(model, answerer):
        return Check("gateway", "warning", f"{note}, but {model} was requested; if that is correct, set agent.served")
    return Check("gateway", "ok", note)


def _refused(url: str, status: int, words: str) -> Check:
    note = f"{url}: HTTP {status}" + (f", {words}" if words else "")
    if status in BUSY:
        return Check("gateway", "warning", f"{note}; runs will try again")
    return Check("gateway", "failed", f"{note}; check {LOOK_AT.get(status, 'agent.base_url and the key')}")


def _words(content: bytes) -> str:
    """The message of an error, on one line."""
    error = (_object(content) or {}).get("error")
    message = error.get("message") if isinstance(error, dict) else error
    text = message if isinstance(message, str) else content.decode(errors="replace")
    return " ".join(text.split())[:200]


def _object(content: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
