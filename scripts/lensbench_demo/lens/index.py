"""The served folder at one time: its survey, and what searching it needs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property

from lensbench_tasks.survey import Survey

HUB_IMPORTERS = 5


def squeeze(name: str) -> str:
    """A name in lower case without separators: OptionParser, option_parser and "option parser" are the same."""
    return re.sub(r"[\s_-]", "", name).lower()


class Index(Survey):
    """The survey of the folder, with its names and texts in the form in which they are compared."""

    @cached_property
    def lower(self) -> Mapping[str, str]:
        """The text of each file in lower case."""
        return {path: text.lower() for path, text in self.texts.items()}

    @cached_property
    def symbol_names(self) -> Mapping[str, frozenset[str]]:
        """The names of each file's symbols, squeezed."""
        return {
            path: frozenset(squeeze(one.name) for one in code.definitions)
            for path, code in self.codes.items()
        }

    @cached_property
    def _most_importers(self) -> int:
        return max(map(len, self.importers.values()), default=0)

    def is_hub(self, path: str) -> bool:
        """True if at least five files import this one."""
        return len(self.importers.get(path, ())) >= HUB_IMPORTERS

    def hub_score(self, path: str) -> float:
        """The number of importers, divided by that of the most imported file; 0 to 1."""
        if not self._most_importers:
            return 0.0
        return round(len(self.importers.get(path, ())) / self._most_importers, 4)
