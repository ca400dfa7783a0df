"""Every regular expression that meets foreign text takes linear time: each is tried with texts made of its own parts."""

import ast
import itertools
import re
import time
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"
METHODS = {"search", "match", "fullmatch", "findall", "finditer", "sub", "split"}
CHARACTERS = "a0 -./_\"'\n:,<>[](){}`=*#|\\\x1b\t@~!+%$&;?^A"
SHORT, LONG = 1_000, 4_000
NOISE_S, MOST = 0.003, 8
"""The time of a text four times as long is four times as long, or sixteen times when it grows with the square."""


def written(file: Path) -> Iterator[tuple[str, re.Pattern[str], set[str]]]:
    """The patterns of a module: where, what, and the methods that are called."""
    nodes = list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
    calls: list[Any] = [
        node
        for node in nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    ]
    calls = [call for call in calls if isinstance(call.func.value, ast.Name)]
    names = {
        id(node.value): node.targets[0].id
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    used: dict[str, set[str]] = {}
    for call in calls:
        used.setdefault(call.func.value.id, set()).add(call.func.attr)
    for call in calls:
        given = call.args[0] if call.args else None
        if call.func.value.id != "re":
            continue
        name = names.get(id(call), "")
        place = file.relative_to(SCRIPTS)
        methods = ({call.func.attr} | used.get(name, set())) & METHODS or {"search"}
        if isinstance(given, ast.Constant) and isinstance(given.value, str):
            flags = sum(
                getattr(re, flag) for flag in re.findall(r"\bre\.([A-Z]+)", ast.unparse(call))
            )
            yield f"{place}:{call.lineno}", re.compile(given.value, flags), methods
        elif name:  # it is put together from others
            made = getattr(import_module(".".join(place.with_suffix("").parts)), name, None)
            if isinstance(made, re.Pattern) and isinstance(made.pattern, str):
                yield f"{place}:{call.lineno}", made, methods


def literals(item: Any) -> list[int]:
    """The characters that one item of a parsed pattern names, of a range its first."""
    kind = str(item[0])
    given = item[1]
    if kind == "IN":
        return [code for part in given for code in literals(part)]
    return [given] if kind == "LITERAL" else [given[0]] if kind == "RANGE" else []


def samples(items: Iterable[Any], state: Any) -> list[str]:
    """Texts that a parsed pattern fits."""
    texts = [""]
    for item in items:
        kind = str(item[0])
        given = item[1]
        if kind.endswith("REPEAT"):
            parts = [part * max(given[0], 1) for part in samples(given[2], state)]
        elif kind == "BRANCH":
            parts = [part for branch in given[1] for part in samples(branch, state)]
        elif kind == "SUBPATTERN":
            parts = samples(given[3], state)
        elif kind in ("LITERAL", "NOT_LITERAL", "ANY", "IN"):
            one = re._compiler.compile(re._parser.SubPattern(state, [item]), state.flags)
            own = "".join(map(chr, literals(item)))
            every = map(chr, (*range(0x3100), 0xE0001))
            parts = [next(filter(one.match, (*CHARACTERS, *own, *every)))]
        else:
            parts = [""]
        texts = [text + part for text, part in itertools.islice(itertools.product(texts, parts), 8)]
    return texts


def hostile(pattern: re.Pattern[str]) -> list[tuple[str, str]]:
    """What stands before, and what is repeated: the beginnings of texts that fit, also as lines; the rest of one line."""
    tree = re._parser.parse(pattern.pattern, pattern.flags)
    fitting = samples(tree, tree.state)
    begun = {text[:length] for text in fitting for length in range(1, len(text) + 1)}
    alone = sorted(
        {*begun, *(f"{text}\n" for text in begun), "a", " ", "\n"},
        key=lambda text: (len(text), text),
    )
    return [
        *(("", text) for text in alone),
        *itertools.product(sorted({*fitting}), (" ", " (", "a")),
    ]


def seconds(pattern: re.Pattern[str], method: str, text: str) -> float:
    began = time.process_time()
    for _ in (
        pattern.finditer(text)
        if method in METHODS - {"match", "fullmatch"}
        else [getattr(pattern, method)(text)]
    ):
        pass
    return time.process_time() - began


PATTERNS = [entry for file in sorted(SCRIPTS.rglob("*.py")) for entry in written(file)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pattern", "methods"), [pytest.param(*rest, id=place) for place, *rest in PATTERNS]
)
def test_a_pattern_takes_linear_time(pattern: re.Pattern[str], methods: set[str]) -> None:
    for (begin, part), end, method in itertools.product(hostile(pattern), ("", "\0"), methods):
        short, long = (begin + part * (size // len(part)) + end for size in (SHORT, LONG))
        took = seconds(pattern, method, long)
        if took > NOISE_S:
            ratio = min(
                seconds(pattern, method, long) / seconds(pattern, method, short) for _ in range(3)
            )
            assert ratio < MOST, (pattern.pattern, begin, part, method)


def test_a_pattern_that_takes_quadratic_time_is_seen() -> None:
    with pytest.raises(AssertionError):
        test_a_pattern_takes_linear_time(re.compile(r"\d+\.\d+"), {"search"})
