"""Prices in cents, with what is taken off."""

PRICES = {"apple": 40, "bread": 310, "cheese": 890}
REBATE_FROM = 500


def price_of(item: str) -> int:
    """The price; from REBATE_FROM cents on, a tenth less."""
    price = PRICES[item]
    return price - price // 10 if price >= REBATE_FROM else price
