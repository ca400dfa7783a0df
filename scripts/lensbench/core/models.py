"""Compares names of models: the requested one, and the one that answered."""

import re
from collections.abc import Iterable, Mapping


def is_same_model(request: str, answer: str) -> bool:
    """True when the served name is the requested one, ignoring a provider prefix and a date suffix: `glm-5` and
    `z-ai/glm-5-20260101`."""
    name = re.escape(request.rpartition("/")[2].removesuffix("[1m]"))
    return bool(re.fullmatch(rf"{name}([-@](20\d{{6}}|20\d\d-\d\d-\d\d))?", answer.rpartition("/")[2]))


def unexpected(requests: Iterable[str], answers: Iterable[str], mapping: Mapping[str, str]) -> list[str]:
    """The models that answered although they were not requested, given the provider's declared mapping."""
    models = {mapping.get(name, name) for name in requests}
    return sorted(name for name in set(answers) if models and not any(is_same_model(model, name) for model in models))
