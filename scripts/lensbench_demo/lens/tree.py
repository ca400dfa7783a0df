"""The state of the served folder at one time, as the tools show it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cached_property

from lensbench_demo.lens.texts import Texts
from lensbench_demo.lens.words import squeeze
from lensbench_tasks.survey import Survey

HUB_IMPORTERS = 5


class Tree(Survey):
    """The survey of the folder, with an index of its texts."""

    @cached_property
    def index(self) -> Texts:
        """The full-text index."""
        return Texts(
            (path, text, self.languages[path], self.facts[path])
            for path, text in self.texts.items()
        )

    @cached_property
    def spellings(self) -> Mapping[str, str]:
        """Path -> all its symbol names, in lower case and squeezed, to skip files without a match: symbols are only
        searched one by one for a term that is part of this text."""
        spellings = {}
        for path, facts in self.facts.items():
            names = "\n".join([symbol.name for symbol in facts.symbols])
            spellings[path] = f"{names.lower()}\n{squeeze(names)}"
        return spellings

    @cached_property
    def _most_importers(self) -> int:
        return max(map(len, self.importers.values()), default=0)

    def is_hub(self, path: str) -> bool:
        """True if at least five files import this one."""
        return len(self.importers.get(path, ())) >= HUB_IMPORTERS

    def hub_score(self, path: str) -> float:
        """The number of importers, divided by that of the most imported file; 0 to 1."""
        return (
            round(len(self.importers.get(path, ())) / self._most_importers, 4)
            if self._most_importers
            else 0.0
        )

    def partners(self, path: str) -> list[tuple[str, int]]:
        """The files that changed in the same commits, with the number of these commits, most first."""
        return sorted(
            self.history.partners.get(path, Counter()).items(), key=lambda item: (-item[1], item[0])
        )
