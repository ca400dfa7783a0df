"""Makes settings portable: without the folders of a machine, so that records can be archived unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

_PLACES = ("/", "./", "~/", "outside/", "<python>/", "<tmp>/")


def portable(settings: Any) -> Any:
    """The settings with each path reduced to its last name, as in archives."""
    if isinstance(settings, Mapping):
        return {key: portable(value) for key, value in settings.items()}
    if isinstance(settings, (list, tuple)):
        return [portable(value) for value in settings]
    if isinstance(settings, str) and settings.startswith(_PLACES) and "\n" not in settings:
        return PurePosixPath(settings).name
    return settings
