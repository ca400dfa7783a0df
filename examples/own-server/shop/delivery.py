"""Parcels."""

from shop.cart import total

FREE_FROM = 5000
FEE = 490


def fee(cart: list[str]) -> int:
    """What delivery costs, in cents."""
    return 0 if total(cart) >= FREE_FROM else FEE
