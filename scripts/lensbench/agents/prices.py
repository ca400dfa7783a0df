"""The least that an agent's tokens cost, for agents and runs that report no cost: a budget must hold for them too.

List prices of genai-prices 0.2.3 (2026-11), without the surcharge for long contexts; a gateway may ask for more.
"""

from __future__ import annotations

import re
from operator import mul

from lensbench.core.records import Outcome

KINDS = ("input", "output", "cache_read", "cache_write")

PRICES: tuple[tuple[str, tuple[float, float, float, float]], ...] = (
    (r"claude-(mythos-5|fable-5-2)", (8, 40, 0.2, 10)), (r"claude-fable-5", (10, 50, 0.25, 12.5)),
    (r"claude-opus-4-[01]\b", (15, 75, 1.5, 18.75)), (r"claude-opus-5-5", (4, 20, 0.2, 5)),
    (r"claude-opus-[45]", (5, 25, 0.5, 6.25)),
    (r"claude-sonnet-5-5", (2, 10, 0.1, 2.5)), (r"claude-sonnet-5", (2, 10, 0.2, 2.5)),
    (r"claude-sonnet-4", (3, 15, 0.3, 3.75)),
    (r"claude-haiku-5-5", (0.1, 0.5, 0.01, 0.125)), (r"claude-haiku-4-5", (1, 5, 0.1, 1.25)),
    (r"gpt-6(\.\d)?-luna", (0.1, 0.5, 0.01, 0.125)), (r"gpt-6\.1-terra", (1, 5, 0.05, 1.25)),
    (r"gpt-6\.1-sol", (2, 10, 0.1, 2.5)), (r"gpt-6-sol", (2, 10, 0.2, 2.5)), (r"gpt-6-astra", (10, 50, 1, 12.5)),
    (r"gpt-5\.6-luna", (0.2, 1.2, 0.02, 0.25)), (r"gpt-5\.6-terra", (2, 12, 0.2, 2.5)),
    (r"gpt-5\.6-sol", (4, 20, 0.4, 5)), (r"gpt-5\.5\b", (5, 30, 0.5, 5)),
    (r"gpt-5\.4-nano", (0.2, 1.25, 0.02, 0.2)), (r"gpt-5\.4-mini", (0.75, 4.5, 0.075, 0.75)),
    (r"gpt-5\.4", (2.5, 15, 0.25, 2.5)), (r"gpt-5\.[23]", (1.75, 14, 0.175, 1.75)),
    (r"gpt-5(\.1-codex)?-mini", (0.25, 2, 0.025, 0.25)), (r"gpt-5-nano", (0.05, 0.4, 0.005, 0.05)),
    (r"gpt-5(\.1)?(?![.\d])", (1.25, 10, 0.125, 1.25)), (r"o4-mini", (1.1, 4.4, 0.275, 1.1)),
    (r"gemini-3\.[678]-flash(?!-lite)", (1.5, 7.5, 0.15, 1.5)), (r"gemini-3\.5-flash-lite", (0.3, 2.5, 0.03, 0.3)),
    (r"gemini-3\.5-flash", (1.5, 9, 0.15, 1.5)), (r"gemini-3\.1-flash-lite", (0.25, 1.5, 0.025, 0.25)),
    (r"gemini-3(\.1)?-pro", (2, 12, 0.2, 2)), (r"gemini-3-flash", (0.5, 3, 0.05, 0.5)),
    (r"gemini-2\.5-pro", (1.25, 10, 0.125, 1.25)), (r"gemini-2\.5-flash-lite", (0.1, 0.4, 0.01, 0.1)),
    (r"gemini-2\.5-flash", (0.3, 2.5, 0.03, 0.3)),
    (r"glm-5\.3-flash", (0.15, 0.5, 0.03, 0.15)), (r"glm-5\.[123]", (1.4, 4.4, 0.26, 1.4)),
    (r"glm-5", (1, 3.2, 0.2, 1)), (r"glm-4\.[567](?!-|v)", (0.6, 2.2, 0.11, 0.6)),
    (r"glm-4\.5-air", (0.2, 1.1, 0.03, 0.2)),
)  # fmt: skip
"""Pattern of a model's name -> dollars per million tokens of each kind; the first that matches holds."""


def cost_of(outcome: Outcome) -> float:
    """The cost of a start of an agent in US dollars: what it reports, else the least that its tokens cost with one of
    the models that answered; 0 where no price is known."""
    if outcome.cost_usd is not None:
        return outcome.cost_usd
    names = [model.lower() for model in outcome.models or outcome.models_asked or ()]
    known = (next((price for pattern, price in PRICES if re.search(pattern, name)), None) for name in names)
    used = [(outcome.tokens or {}).get(kind, 0) / 1e6 for kind in KINDS]
    return min((sum(map(mul, price, used)) for price in known if price), default=0.0)
