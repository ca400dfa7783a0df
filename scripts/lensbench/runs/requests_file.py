"""requests/requests.json: what each treatment adds to the first request of its agent, as it was measured."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from lensbench.core.preflight_results import BYTES_A_TOKEN
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import write_json

REQUESTS_FILE = "requests.json"


@dataclass(frozen=True)
class Addition:
    """What a treatment's first request has more than the baseline's."""

    bytes: int
    """Of the whole request; fewer than 0 where it is smaller."""
    changed: int
    """Parts of the baseline's request that it lacks."""

    @property
    def tokens(self) -> int:
        """Estimated."""
        return math.ceil(self.bytes / BYTES_A_TOKEN)


@dataclass(frozen=True)
class RequestFindings:
    """The file."""

    agent: str = ""
    """The agent's kind and version."""
    settings_sha256: str = ""
    """That of the plan with which the requests were sent."""
    additions: Mapping[str, Addition] = field(default_factory=dict)
    """By treatment."""

    def addition(self, treatment: str, settings_sha256: str) -> Addition | None:
        """What the treatment adds; None when it was not measured with these settings."""
        is_same = self.settings_sha256 == settings_sha256
        return self.additions.get(treatment) if is_same else None

    @classmethod
    def read(cls, folder: Path) -> RequestFindings:
        """Those of a run folder; empty without any."""
        try:
            value = json.loads(
                (RunFolder(folder).requests / REQUESTS_FILE).read_text(encoding="utf-8")
            )
            additions = {name: Addition(**row) for name, row in value.pop("additions").items()}
            return cls(**value, additions=additions)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return cls()

    def write(self, folder: Path) -> None:
        write_json(RunFolder(folder).requests / REQUESTS_FILE, asdict(self))
