"""What a customer wants to buy."""

from shop.prices import price_of

MOST_ITEMS = 40


class CartFull(Exception):
    """There are more items than a parcel can take."""


def add(cart: list[str], item: str) -> list[str]:
    """The cart with one item more; raises CartFull above MOST_ITEMS."""
    if len(cart) >= MOST_ITEMS:
        raise CartFull(item)
    return [*cart, item]


def total(cart: list[str]) -> int:
    """Cents."""
    return sum(price_of(item) for item in cart)
