"""numpy, imported when one of its names is first used: it takes longer than a stage that computes nothing with it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["Bools", "Floats", "Ints", "np"]


class _AtFirstUse:
    def __getattr__(self, name: str) -> Any:
        return getattr(import_module("numpy"), name)


if TYPE_CHECKING:
    import numpy as np

    Floats = np.typing.NDArray[np.float64]
    Ints = np.typing.NDArray[np.int64]
    Bools = np.typing.NDArray[np.bool_]
else:
    Floats = Ints = Bools = np = _AtFirstUse()
