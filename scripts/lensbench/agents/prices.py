"""Names of models, and what their tokens cost where an agent reports no cost: an estimate by the user's prices
(`prices` in the config), else by the list prices of templates/prices.yaml."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache
from itertools import chain
from typing import Any, Literal

from lensbench.core.frozen_plan import ModelPrice
from lensbench.core.records import Outcome
from lensbench.core.system.places import TEMPLATES

Prices = Mapping[str, ModelPrice]
Kind = Literal["input", "cache_read", "cache_write", "output"]
KINDS: tuple[Kind, ...] = ("input", "cache_read", "cache_write", "output")


@cache
def listed() -> Prices:
    """The list prices, in the form of the user's."""
    import yaml  # most runs need no price

    prices: Prices = yaml.safe_load((TEMPLATES / "prices.yaml").read_text(encoding="utf-8"))[
        "prices"
    ]
    return prices


def price_of(model: str, own: Prices) -> ModelPrice | None:
    """The price of a model: the first of `own` whose pattern matches, else its list price; None where none is known."""
    prices = chain(own.items(), listed().items())
    return next(
        (price for pattern, price in prices if fnmatchcase(model.lower(), pattern.lower())), None
    )


def in_words(model: str, price: ModelPrice) -> str:
    amounts = ", ".join(f"${price[kind]:g} {kind.replace('_', ' ')}" for kind in KINDS)
    source = ", ".join(filter(None, (price["source"], price["date"]))) or "`prices` in the config"
    return f"{model}: {amounts} per million tokens ({source})"


def priced(outcome: Outcome, own: Prices) -> Outcome:
    """The outcome with an estimated cost where the agent reports none or guesses it, and the model's price is known:
    the least that the tokens cost if several models may have answered."""
    if outcome.tokens is None or (outcome.cost_usd is not None and not outcome.cost_is_guess):
        return outcome
    tokens, costs = outcome.tokens, {}
    for model in outcome.models or outcome.models_asked or ():
        if price := price_of(model, own):
            costs[in_words(model, price)] = (
                sum(price[kind] * tokens.get(kind, 0) for kind in KINDS) / 1e6
            )
    if not costs:
        return outcome
    basis = min(costs, key=lambda label: costs[label])
    return replace(outcome, cost_usd=round(costs[basis], 9), cost_is_guess=True, cost_basis=basis)


def is_same_model(request: str, answer: str) -> bool:
    """True when the served name is the requested one but for a provider prefix and a date suffix."""
    name = re.escape(request.rpartition("/")[2].removesuffix("[1m]"))
    return bool(
        re.fullmatch(rf"{name}([-@](20\d{{6}}|20\d\d-\d\d-\d\d))?", answer.rpartition("/")[2])
    )


def unexpected(outcome: Outcome, agent: Mapping[str, Any]) -> list[str]:
    """The models that answered although they were not requested, given the agent's settings; none where these name the
    model that must answer."""
    mapping = agent.get("models") or {}
    models = {
        mapping.get(name, name)
        for name in outcome.models_asked or filter(None, [agent.get("model", "")])
    }
    answers = () if agent.get("served") else outcome.models or ()
    return sorted(
        name
        for name in set(answers)
        if models and not any(is_same_model(model, name) for model in models)
    )
