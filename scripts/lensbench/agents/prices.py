"""Names of models, and what their tokens cost where an agent reports no cost: an estimate by the user's prices
(`prices` in the config), else by the list prices of templates/prices.yaml."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, Literal

from lensbench.core.frozen_plan import ModelPrice
from lensbench.core.records import Outcome
from lensbench.core.system.places import TEMPLATES

Prices = Mapping[str, ModelPrice]
TokenKind = Literal["input", "cache_read", "cache_write", "output"]
TOKEN_KINDS: tuple[TokenKind, ...] = ("input", "cache_read", "cache_write", "output")


HOUR = 2.0
"""Times the price of input."""


@cache
def listed() -> Prices:
    """The list prices, in the form of the user's."""
    import yaml  # most runs need no price

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    text = (TEMPLATES / "prices.yaml").read_text(encoding="utf-8")
    prices: Prices = yaml.load(text, loader)["prices"]
    return prices


_BEFORE_NAME = re.compile(r"^.*(?:/|\banthropic\.)")
_DATE = re.compile(r"[-@]20\d\d-?\d\d-?\d\d$")


def price_of(model: str, own: Prices, day: str = "") -> ModelPrice | None:
    """The price of a model on a day (today): the first of `own` whose pattern matches, else its list price, for which
    a provider before the name and a date after it do not matter; None where none is known."""
    name = _BEFORE_NAME.sub("", model.lower())
    price = _first(model.lower(), own)
    price = price or _first(name, listed())
    price = price or _first(_DATE.sub("", name), listed())
    if price is None:
        return None
    day = day or datetime.now(UTC).date().isoformat()
    for start, change in sorted(price.get("changes", {}).items()):
        if str(start) <= day:
            price = {**price, **change}
    return price


def _first(name: str, prices: Prices) -> ModelPrice | None:
    for pattern, price in prices.items():
        if fnmatchcase(name, pattern.lower()):
            return price
    return None


def in_words(model: str, price: ModelPrice) -> str:
    amounts = []
    for kind in TOKEN_KINDS:
        amounts.append(f"${price[kind]:g} {kind.replace('_', ' ')}")
    listing = [text for text in (price["source"], price["date"]) if text]
    source = ", ".join(listing) or "`prices` in the config"
    return f"{model}: {', '.join(amounts)} per million tokens ({source})"


def priced(outcome: Outcome, own: Prices, day: str = "") -> Outcome:
    """The outcome with an estimated cost where the agent reports none, guesses it or was cut off, and the model's price
    is known: the least that the tokens cost if several models may have answered. `day`: of the run; today."""
    is_known = outcome.cost_usd is not None and not outcome.cost_is_guess
    if outcome.tokens is None or (is_known and not outcome.tokens_at_least):
        return outcome
    costs = {}
    for model in outcome.models or outcome.models_asked or ():
        price = price_of(model, own, day)
        if price:
            costs[in_words(model, price)] = _cost(outcome, price)
    if not costs:
        return outcome
    basis = min(costs, key=lambda label: costs[label])
    if is_known and (outcome.cost_usd or 0.0) >= costs[basis]:
        return outcome
    return replace(outcome, cost_usd=round(costs[basis], 9), cost_is_guess=True, cost_basis=basis)


def _cost(outcome: Outcome, price: ModelPrice) -> float:
    """US dollars. What stays in the cache for an hour costs twice the input to write."""
    tokens = outcome.tokens or {}
    dollars = sum(price[kind] * tokens.get(kind, 0) for kind in TOKEN_KINDS)
    for_an_hour = min(outcome.cache_write_1h or 0, tokens.get("cache_write", 0))
    dollars += (HOUR * price["input"] - price["cache_write"]) * for_an_hour
    return dollars / 1e6


def is_same_model(request: str, answer: str) -> bool:
    """True when the served name is the requested one but for a provider prefix and a date suffix."""
    requested = request.rpartition("/")[2].removesuffix("[1m]")
    served = answer.rpartition("/")[2]
    pattern = rf"{re.escape(requested)}([-@](20\d{{6}}|20\d\d-\d\d-\d\d))?"
    return re.fullmatch(pattern, served) is not None


def unexpected(outcome: Outcome, agent: Mapping[str, Any]) -> list[str]:
    """The models that answered although they were not requested, given the agent's settings; none where these name the
    model that must answer."""
    if agent.get("served"):
        return []
    mapping = agent.get("models") or {}
    asked = outcome.models_asked or filter(None, [agent.get("model", "")])
    wanted = {mapping.get(name, name) for name in asked}
    if not wanted:
        return []
    others = []
    for answer in set(outcome.models or ()):
        if not any(is_same_model(model, answer) for model in wanted):
            others.append(answer)
    return sorted(others)
