"""The source lines that answers cite: archives contain no repositories."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypedDict

from lensbench.core.frozen_plan import Repositories
from lensbench.core.handed_over import read_answer
from lensbench.core.names import LETTERS
from lensbench.core.records import from_json
from lensbench.core.rows import RunStatus, ValidityRow
from lensbench.core.run_folder import RunFolder
from lensbench.core.store import run_files
from lensbench.core.system.files import plain, read_json, write_json
from lensbench.core.system.program import run_stage
from lensbench.core.tables import read_table, run_of_row
from lensbench.plan.frozen import read_plan
from lensbench.runs.self_report import normalise_path

_MOST_CITATIONS = 40
"""Citations of an answer, at most."""
_MOST_LINES = 12
"""Lines of a citation, at most."""
_AROUND = 1
"""Lines shown before and after a citation."""
_LONGEST_LINE = 200
_LARGEST_FILE = 2_000_000
_PATH = (
    rf"(?<![{LETTERS}/:.])(?:\.{{{{0,2}}}}/){{{{0,9}}}}"
    rf"(?P<{{0}}>[{LETTERS}@+-][{LETTERS}@+./\\-]{{{{0,200}}}}\.[A-Za-z]\w{{{{0,9}}}})"
)
_SPAN = r"(?P<{0}>[1-9]\d{{0,6}})(?:\s?(?:-|\u2013|to|and)\s?(?:L|line )?(?P<{1}>[1-9]\d{{0,6}}))?"
_CITED = re.compile(
    "|".join(
        [
            _PATH.format("a") + r"(?:[:\uff1a]|#L)" + _SPAN.format("a1", "a2"),
            _PATH.format("b")
            + r"[`*\"')]{0,3},?\s{1,2}\(?(?:at |on |in )?(?:lines?|L)\s?"
            + _SPAN.format("b1", "b2"),
            _PATH.format("d")
            + r"[`*\"')]{0,3}[\u7684\u306e\uff0c\u3001, ]{0,2}\u7b2c? ?"
            + _SPAN.format("d1", "d2")
            + r" ?(?:\u884c|\ubc88\uc9f8 ?\uc904)",
            r"\b[Ll]ines?\s"
            + _SPAN.format("c1", "c2")
            + r"\s(?:of|in)\s[`*\"'(]{0,3}"
            + _PATH.format("c"),
        ]
    ),
    re.ASCII,  # for digits and endings: letters of scripts without blanks are no part of a path
)


class Citation(NamedTuple):
    """A place in a file that an answer names."""

    path: str
    """The path as in the answer, relative to the repository."""
    first: int
    last: int


class CitedSource(TypedDict):
    cited: str
    """The citation, such as `src/a.py:3-5`."""
    path: str
    """The cited file; empty when there is none, or several match."""
    first: int
    """The number of the first of `lines`."""
    lines: Sequence[str]
    problem: str
    """Why lines are missing; empty when all are there."""


def citations(answer: str, workspace: str = "") -> Iterator[Citation]:
    """The places in files that an answer names with line numbers, each once, in order."""
    former = set()
    for match in _CITED.finditer(answer):
        name = next(name for name in "abcd" if match[name])
        path = normalise_path(match[name], workspace)
        first = int(match[f"{name}1"])
        citation = Citation(path, first, max(first, int(match[f"{name}2"] or first)))
        if path and citation not in former:
            former.add(citation)
            yield citation


class RepositoryFiles:
    """The files of a repository under test."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @cached_property
    def _by_name(self) -> Mapping[str, list[str]]:
        paths: dict[str, list[str]] = defaultdict(list)
        for top, folders, names in os.walk(self._root):
            folders[:] = [name for name in folders if name != ".git"]
            for name in names:
                paths[name].append(Path(top, name).relative_to(self._root).as_posix())
        return paths

    def meant(self, path: str) -> list[str]:
        """The files that a cited path matches: that path itself, or all that end with it."""
        ends = self._by_name.get(path.rpartition("/")[2], [])
        if path in ends:
            return [path]
        return [file for file in ends if file.endswith(f"/{path}")]

    @cached_property
    def kinds(self) -> set[str]:
        return {name.rpartition(".")[2] for name in self._by_name}

    def lines(self, path: str) -> list[str]:
        """The lines of a file; none when it is not text or too large."""
        file = self._root / path
        if file.is_symlink() or not file.is_file() or file.stat().st_size > _LARGEST_FILE:
            return []
        try:
            text = file.read_text(encoding="utf-8")
            return text.removesuffix("\n").split("\n") if text else []
        except UnicodeDecodeError:
            return []

    def look_up(self, citation: Citation) -> CitedSource:
        """The lines at a citation, with those around it."""
        cited = f"{citation.path}:{citation.first}"
        if citation.last > citation.first:
            cited += f"-{citation.last}"
        found = CitedSource(cited=cited, path="", first=0, lines=[], problem="")
        files = self.meant(citation.path)
        if len(files) != 1:
            found["problem"] = f"{len(files)} files match" if files else "there is no such file"
            return found
        found["path"] = files[0]
        content = self.lines(files[0])
        if not content:
            found["problem"] = "the file is empty, too large, or not text"
        elif citation.last > len(content):
            found["problem"] = f"the file has {len(content)} lines"
        if citation.first <= len(content):
            begin = max(citation.first - _AROUND, 1)
            end = min(citation.last + _AROUND, len(content), begin + _MOST_LINES - 1)
            found["first"] = begin
            found["lines"] = [line[:_LONGEST_LINE] for line in content[begin - 1 : end]]
        return found


def write_citations(folder: Path) -> None:
    """Writes citations.json: the citations in the answers of valid runs whose repositories are here."""
    repositories: Repositories = read_json(RunFolder(folder).repositories)
    tasks = read_plan(folder)["tasks"]
    trees: dict[Path, RepositoryFiles] = {}
    sources: dict[str, list[CitedSource]] = {}
    for row in read_table(RunFolder(folder).validity, ValidityRow):
        root = Path(repositories.get(tasks[row["task"]]["repository"] or "", {}).get("tree", ""))
        if row["status"] != RunStatus.VALID or root == Path() or not root.is_dir():
            continue
        tree = trees.setdefault(root, RepositoryFiles(root))
        run = run_of_row(row)
        files = run_files(folder, run)
        workspace = from_json(files.record.read_text(encoding="utf-8")).workspace
        cited = []
        for place in citations(read_answer(files.answer), workspace):
            if place.path.rpartition(".")[2] in tree.kinds:  # not `example.com:80`
                cited.append(tree.look_up(place))
            if len(cited) == _MOST_CITATIONS:
                break
        if cited:
            sources[run.stem] = cited
    write_json(RunFolder(folder).citations, plain(sources))


if __name__ == "__main__":
    run_stage(write_citations)
