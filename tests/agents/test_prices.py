"""The list prices, against the package that they come from."""

import sys
from pathlib import Path

import pytest
import yaml

from lensbench.agents.prices import TOKEN_KINDS, listed, price_of

ROWS = yaml.safe_load(Path(__file__).with_name("prices.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("model", "day", "dollars"), ROWS)
def test_a_model_has_the_price_of_its_own_name_and_day(
    model: str, day: str, dollars: list[float]
) -> None:
    price = price_of(model, {}, day)
    assert price is not None
    assert [price[kind] for kind in TOKEN_KINDS] == dollars


def test_a_name_that_only_begins_like_another_has_no_price() -> None:
    assert price_of("claude-fable-5-nano", {}) is None
    assert price_of("glm-5.3-flash-huge", {}) is None


@pytest.mark.parametrize(
    "maker", ["deepseek", "kimi", "minimax", "qwen", "grok", "mistral", "claude", "gpt", "glm"]
)
def test_every_maker_is_listed(maker: str) -> None:
    assert any(pattern.startswith(maker) for pattern in listed())


def test_no_pattern_covers_a_model_of_another_price() -> None:
    data = pytest.importorskip("genai_prices.data", reason="pip install genai-prices")
    sys.path.append(str(Path(__file__).parents[2] / "tools"))
    import prices as tool

    day = next(iter(listed().values()))["date"]
    differences = []
    names = 0
    for maker, model in tool.models(data.providers):
        right = tool.on_day(model, day)
        price = price_of(model.id, {}, f"{day}-28")
        names += 1
        shown = price and ", ".join(f"{kind}: {price[kind]:g}" for kind in TOKEN_KINDS)
        if shown != right:
            differences.append((maker, model.id, right, shown))
    assert names > 300
    assert differences == []


@pytest.mark.parametrize("between", ["", "-0"])
def test_every_listed_name_and_alias_has_the_price_of_its_own_row(between: str) -> None:
    others = {}
    for pattern, own in listed().items():
        found = price_of(pattern.replace("*", between), {}, "2000-01-01")
        if found is None or any(found[kind] != own[kind] for kind in TOKEN_KINDS):
            others[pattern] = found
    assert len(listed()) > 300
    assert others == {}
