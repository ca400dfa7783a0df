"""Writes templates/prices.yaml from the list prices of the package genai-prices, installed by pip:

python tools/prices.py 2026-11
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[1] / "templates" / "prices.yaml"
MAKERS = {
    "anthropic": "claude",
    "openai": "",
    "google": "gem",
    "zai": "glm",
    "deepseek": "deepseek",
    "moonshotai": "kimi",
    "minimax": "minimax",
    "x-ai": "grok",
    "mistral": "",
    "openrouter": "qwen/",
}
"""Those who serve their own models -> how the names of these begin. For Qwen, the prices are OpenRouter's."""
HEAD = """\
# What models cost: US dollars per million tokens of each kind, without surcharges for long contexts; a gateway may
# ask for more. The first pattern that matches a model's name holds, and `changes` has prices that hold from a day on.
# `prices` in the config (docs/limits.md) has the same form and comes first. Written by tools/prices.py.
"""
_DATED = re.compile(r"^\^(.+)-\\d\{4\}-\\d\{2\}-\\d\{2\}\$$")


def amount(value: Any) -> float:
    """Dollars of the first tier."""
    return float(getattr(value, "base", value))


def amounts(prices: Any) -> str:
    """The price of each kind; what has no price of its own costs as much as other input."""
    inputs = amount(prices.input_mtok)
    output = amount(prices.output_mtok)
    read = prices.cache_read_mtok
    written = prices.cache_write_mtok
    kinds = {
        "input": inputs,
        "cache_read": inputs if read is None else amount(read),
        "cache_write": inputs if written is None else amount(written),
        "output": output,
    }
    return ", ".join(f"{kind}: {dollars:g}" for kind, dollars in kinds.items())


def all_prices(model: Any) -> list[Any]:
    entries = model.prices if isinstance(model.prices, list) else [model]
    return [entry.prices for entry in entries]


def steps(prices: Any) -> list[tuple[str, str]]:
    """The days from which prices hold, and the prices; the first day is "". Of prices by time of day, the highest."""
    if not isinstance(prices, list):
        return [("", amounts(prices))]
    dated = [entry for entry in prices if hasattr(entry.constraint, "start_date")]
    always = [entry for entry in prices if entry not in dated]
    dearest = max(always, key=lambda entry: amount(entry.prices.output_mtok))
    return [
        ("", amounts(dearest.prices)),
        *((entry.constraint.start_date.isoformat(), amounts(entry.prices)) for entry in dated),
    ]


def patterns(clause: Any) -> Iterator[str]:
    """The names that a clause matches, as patterns with `*`; a date at the end of a name needs none."""
    for part in getattr(clause, "or_", ()):
        yield from patterns(part)
    if hasattr(clause, "equals"):
        yield clause.equals
    elif hasattr(clause, "starts_with"):
        yield f"{clause.starts_with}*"
    elif hasattr(clause, "ends_with"):
        yield f"*{clause.ends_with}"
    elif hasattr(clause, "contains"):
        yield f"*{clause.contains}*"
    elif hasattr(clause, "regex") and (name := _DATED.match(clause.regex)):
        yield name[1].replace("\\", "")


def models(providers: Any) -> Iterator[tuple[str, Any]]:
    """The makers' own models that have a price for input and output."""
    by_id = {provider.id: provider for provider in providers}
    for maker, beginning in MAKERS.items():
        for model in by_id[maker].models:
            has_prices = all(
                prices.input_mtok is not None and prices.output_mtok is not None
                for prices in all_prices(model)
            )
            if model.id.lower().startswith(beginning) and ":" not in model.id and has_prices:
                yield maker, model


def on_day(model: Any, day: str) -> str:
    """The prices of a month such as `2026-11`."""
    return [text for start, text in steps(model.prices) if start[: len(day)] <= day][-1]


def rows(providers: Any, day: str) -> dict[str, str]:
    """The lines by pattern, in the order in which they are tried."""
    found: dict[str, str] = {}
    for _, model in models(providers):
        to_come = [
            f"{start}: {{{text}}}" for start, text in steps(model.prices) if start[: len(day)] > day
        ]
        line = on_day(model, day)
        line += f", changes: {{{', '.join(to_come)}}}" if to_come else ""
        for pattern in (model.id, *patterns(model.match)):
            found.setdefault(pattern.rpartition("/")[2].lower(), line)
    return found


def main() -> None:
    from genai_prices.data import providers

    day = sys.argv[1]
    source = f"source: genai-prices {version('genai-prices')}, date: {day}"
    lines = [f'  "{name}": {{{line}, {source}}}\n' for name, line in rows(providers, day).items()]
    FILE.write_text(f"{HEAD}prices:\n{''.join(lines)}", encoding="utf-8")


if __name__ == "__main__":
    main()
