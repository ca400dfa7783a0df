"""Settings as records keep them: without the folders of a machine, so that archives take records as they are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

_PLACES = ("/", "./", "~/", "outside/", "<python>/", "<tmp>/")


def portable(settings: Any) -> Any:
    """The settings with the last name of each path in its place, as archives shorten the paths of a plan."""
    if isinstance(settings, Mapping):
        return {key: portable(value) for key, value in settings.items()}
    if isinstance(settings, (list, tuple)):
        return [portable(value) for value in settings]
    if isinstance(settings, str) and settings.startswith(_PLACES) and "\n" not in settings:
        return PurePosixPath(settings).name
    return settings
