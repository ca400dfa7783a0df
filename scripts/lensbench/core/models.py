"""Compares names of models: the requested one, and the one that answered."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase


def is_served(served: str, wanted: str) -> bool:
    """True when a model matches `agent.served`, a name or a pattern (`*` for anything)."""
    return fnmatchcase(served, wanted)


def is_same_model(asked: str, served: str) -> bool:
    """True when the served name is the requested one, ignoring a provider prefix and a date suffix: `glm-5` and
    `z-ai/glm-5-20260101`."""
    name = re.escape(asked.rpartition("/")[2].removesuffix("[1m]"))
    return bool(re.fullmatch(rf"{name}([-@](20\d{{6}}|20\d\d-\d\d-\d\d))?", served.rpartition("/")[2]))


def unexpected(asked: Iterable[str], served: Iterable[str], mapping: Mapping[str, str]) -> list[str]:
    """The models that answered although they were not requested, given the provider's declared mapping."""
    meant = {mapping.get(name, name) for name in asked}
    return sorted(name for name in set(served) if meant and not any(is_same_model(each, name) for each in meant))
