"""Names of models: which one was meant, and which one answered."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase


def is_served(served: str, wanted: str) -> bool:
    """True when a model is the one that `agent.served` names, or fits its pattern (`*` for anything)."""
    return fnmatchcase(served, wanted)


def is_same_model(asked: str, served: str) -> bool:
    """True when a service answers by the name that was asked for; a provider before it and a date after it are no
    difference: `glm-5` and `z-ai/glm-5-20260101`."""
    name = re.escape(asked.rpartition("/")[2].removesuffix("[1m]"))
    return bool(re.fullmatch(rf"{name}([-@](20\d{{6}}|20\d\d-\d\d-\d\d))?", served.rpartition("/")[2]))


def unexpected(asked: Iterable[str], served: Iterable[str], mapping: Mapping[str, str]) -> list[str]:
    """The models that answered and are none of those that were asked for, by the provider's declared mapping."""
    meant = {mapping.get(name, name) for name in asked}
    return sorted(name for name in set(served) if meant and not any(is_same_model(each, name) for each in meant))
