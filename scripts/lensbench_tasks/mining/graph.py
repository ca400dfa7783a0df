"""Which function calls which: the calls that names make certain, and those that names allow."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import PurePosixPath
from typing import NamedTuple

from lensbench_tasks.parsers.code import CALLABLES, CodeCall, Definition
from lensbench_tasks.survey import Survey

MIN_LENGTH = 4
MAX_STEPS = 50_000
"""A function from which more may be called is not followed: one among so many ways is rarely the only one."""
_IMPLICIT = frozenset({"java", "csharp"})
"""Languages in which a bare name may be a method of the class around it."""

_CONSTRUCTORS = ("__init__", "__new__", "constructor")


class CallSite(NamedTuple):
    """A function that calls another one, with the text of the call up to the bracket."""

    caller: Definition
    callee: Definition
    quote: str


class CallGraph:
    """The calls in the project's own code."""

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self.callees: dict[Definition, list[CallSite]] = defaultdict(list)
        self.callers: dict[Definition, list[CallSite]] = defaultdict(list)
        self._known_possible: dict[Definition, frozenset[Definition]] = {}
        self._unknown: set[str] = set()
        """Names with a call that may or may not be one of the definition."""
        for path in survey.code:
            for call in survey.codes[path].calls:
                self._add(path, call)

    def _add(self, path: str, call: CodeCall) -> None:
        callee = self._callee(path, call)
        caller = call.caller if call.is_direct else None
        if callee is None or caller is None or not self._is_single(caller):
            self._unknown.add(call.name)
            return
        earlier = self.callees[caller]
        if callee is not caller and all(site.callee is not callee for site in earlier):
            site = CallSite(caller, callee, f"{call.name}(")
            earlier.append(site)
            self.callers[callee].append(site)

    def _is_single(self, one: Definition) -> bool:
        """True when no other definition in the file has the same name and owner."""
        return self._homonyms[one.path, one.shown] == 1

    @cached_property
    def _homonyms(self) -> Counter[tuple[str, str]]:
        """File, and name with owner -> how many definitions it stands for."""
        groups = self.survey.by_name.values()
        return Counter((one.path, one.shown) for group in groups for one in group)

    def is_complete(self, callee: Definition) -> bool:
        """True when every call by this name is certain, so that all callers are known."""
        return callee.name not in self._unknown

    def _callee(self, path: str, call: CodeCall) -> Definition | None:
        """The definition that is called, if names make it certain."""
        callee = self.survey.only(call.name) if len(call.name) >= MIN_LENGTH else None
        if callee is None or callee.kind not in CALLABLES:
            return None
        if self.survey.languages[path] != self.survey.languages[callee.path]:
            return None
        is_certain = (
            self._is_member(call, callee) if callee.owner else self._is_visible(path, call, callee)
        )
        return callee if is_certain else None

    def _is_visible(self, path: str, call: CodeCall, callee: Definition) -> bool:
        """True when the call can only mean a function at the top level of its file."""
        if call.of:
            module = _last(call.of)
            if "::" in call.of and module == PurePosixPath(callee.path).stem:
                return True
            files = self._origins(path).get(module, ())
            return callee.path in files
        if path == callee.path:
            return True
        if self.survey.languages[path] == "go":
            return PurePosixPath(path).parent == PurePosixPath(callee.path).parent
        return bool(self._origins(path).get(call.name))

    def _is_member(self, call: CodeCall, callee: Definition) -> bool:
        """True when the call can only mean a method: of the object itself, or of a class that is named."""
        caller = call.caller
        if caller is not None and caller.owner == callee.owner and call.of in caller.selves:
            return True
        if not call.of:
            is_implicit = self.survey.languages[callee.path] in _IMPLICIT
            return is_implicit and caller is not None and caller.path == callee.path
        path = callee.path if caller is None else caller.path
        types = self.survey.codes[path].types
        owner = types.get(call.of, _last(call.of))
        return callee.owner in self._ancestors(owner)

    def _ancestors(self, name: str) -> Iterator[str]:
        """A class and those that it extends, as far as each is the only one with its name."""
        seen: set[str] = set()
        while name not in seen and len(self.survey.by_name.get(name, ())) == 1:
            seen.add(name)
            yield name
            path = self.survey.by_name[name][0].path
            name = self.survey.codes[path].bases.get(name, "")

    def _origins(self, path: str) -> Mapping[str, tuple[str, ...]]:
        """Name in a file -> the files that it is imported from."""
        if path not in self._imported:
            names: dict[str, tuple[str, ...]] = {}
            for one in self.survey.found[path]:
                imported = one.statement.part or one.statement.module
                names[_last(imported)] = one.files
            self._imported[path] = names
        return self._imported[path]

    @cached_property
    def _imported(self) -> dict[str, Mapping[str, tuple[str, ...]]]:
        return {}

    def _possible(self, caller: Definition) -> frozenset[Definition]:
        """All that a function may call, by name alone where names are not certain."""
        if caller not in self._known_possible:
            found = set[Definition]()
            for call in self._calls_of.get(caller, ()):
                found.update(self._may_be(caller.path, call))
            self._known_possible[caller] = frozenset(found)
        return self._known_possible[caller]

    @cached_property
    def _calls_of(self) -> Mapping[Definition, Sequence[CodeCall]]:
        """The calls in each function."""
        calls: dict[Definition, list[CodeCall]] = defaultdict(list)
        for path in self.survey.code:
            for call in self.survey.codes[path].calls:
                if call.caller is not None:
                    calls[call.caller].append(call)
        return calls

    def _may_be(self, path: str, call: CodeCall) -> Iterator[Definition]:
        """The functions that a call may mean; for a class, those that make its objects."""
        callee = self._callee(path, call)
        if callee is not None:
            yield callee
            return
        origins = self._origins(path)
        package = re.split(r"::|[./]", call.of)[0]
        if call.of and origins.get(package) == ():
            return  # something of an installed package
        is_alone = not call.of and self.survey.languages[path] not in _IMPLICIT
        for one in self.survey.by_name.get(call.name, ()):
            if one.kind in CALLABLES and not (is_alone and one.owner):
                yield one
            if one.kind == "class":
                yield from self._makers.get(one.name, ())

    @cached_property
    def _makers(self) -> Mapping[str, Sequence[Definition]]:
        """Class -> the functions that make its objects."""
        makers: dict[str, list[Definition]] = defaultdict(list)
        for name, group in self.survey.by_name.items():
            for one in group:
                if name in (*_CONSTRUCTORS, one.owner):
                    makers[one.owner].append(one)
        return makers

    @cached_property
    def called(self) -> frozenset[str]:
        """All names that are called somewhere in the code, also by tests or outside of functions."""
        codes = self.survey.codes
        return frozenset(call.name for path in self.survey.code for call in codes[path].calls)

    def ways(self, start: Definition, most: int) -> Counter[Definition] | None:
        """Function -> in how many ways up to `most` calls may lead to it; None for a start with too many to follow."""
        ways = Counter({start: 1})
        last = ways
        steps = 0
        for _ in range(most):
            level: Counter[Definition] = Counter()
            for one, count in last.items():
                callees = self._possible(one)
                steps += len(callees)
                if steps > MAX_STEPS:
                    return None
                for other in callees:
                    level[other] += count
            ways = ways + level
            last = level
        return ways


def _last(text: str) -> str:
    """The last name of a dotted path."""
    return re.split(r"::|[./]", text)[-1]
