"""Fixtures of these tests; what they are made of stands in `retrieval_shop.py`, which has a name of its own."""

from retrieval_shop import ask, shop

__all__ = ["ask", "shop"]
