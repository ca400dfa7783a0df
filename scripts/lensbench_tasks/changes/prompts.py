"""Prompts of change tasks: the author's description and the failing tests, never the solution."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from lensbench.core.tasks import Category
from lensbench.repositories.sources.git_program import git

_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]{3,}")
_WORD = re.compile(r"[A-Za-z]{2,}")
_REPAIR = re.compile(
    r"(?i)\b(fix\w*|bug\w*|wrong\w*|error|crash\w*|regress\w*|broken|incorrect\w*|does not|doesn't)\b"
)
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*")
_NO_CODE = re.compile(
    r"""\"{3}.*?(?:\"{3}|\Z)|/\*.*?(?:\*/|\Z)|(["'`])(?:\\.|(?!\1)[^\\\n]){0,400}\1|(?<!\.)#[^\n]*|//[^\n]*""",
    re.DOTALL,
)
_SIGNATURE = (
    r"(?m)(?:(?:\bdef|\bfunction)\s+{0}\s*(?:<[^()]*>)?|\b{0}\s*=\s*(?:async\s*)?(?:function\s*\w*\s*)?"
    r"|^\s*(?:(?:async|static)\s+)*{0})\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)\s*(?:(?::|->)[^\n=]+)?(?::|\{{|=>)"
)
"""A function with the parameters in parentheses, in Python or JavaScript."""
_TEXT = re.compile(r"""(["'])((?!\s)(?:(?!\1)[^\\\n`]){6,100})\1""")
"""A text in quotes that is long enough not to be in two places by chance."""
_ASSERTED = re.compile(
    r"""(["'])([^"'`\\\n]{3,100})\1\s+in\b|\.(?:includes|toContain|toMatch)\((["'])([^"'`\\\n]{3,100})\3\)"""
)
"""A text that must be a part of another."""
_IMPORT = re.compile(
    r"""^[ \t]*from\s+([\w.]+)\s+import\s+(\([^()]*\)|[^\n(]*)"""
    r"""|\{([^{}]*)\}\s*(?:=\s*(?:await\s+import|require)\s*\(|from)\s*["']([^"'\n]+)["']""",
    re.MULTILINE,
)
"""An import of names from a module, in Python or JavaScript."""
_STRUCTURE = r"\b{0}(?:=|: )(\[[^\[\]\n]{{1,80}}\]|\{{[^{{}}\n]{{1,80}}\}})"
"""A list or mapping that is given by name."""
_REFERENCE = re.compile(r"\s?\(?(?:[Gg][Hh]-|#)\d+\)?")
SHOWN_TESTS, SHOWN_LINES = 8, 40


class HiddenNeeds(NamedTuple):
    """What the hidden tests need that only the reference has: an agent cannot guess it."""

    names: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()

    @property
    def own_names(self) -> set[str]:
        """The names without parameters and modules."""
        return {_IDENTIFIER.findall(name)[0] for name in self.names}


def added_lines(patch: str) -> list[str]:
    return [line[1:] for line in patch.split("\n") if line.startswith("+") and line[:3] != "+++"]


def needs(reference: str, tests: Sequence[str], tree: Path) -> HiddenNeeds:
    """What the reference adds, the tests use and `tree` lacks; texts that must be a part of another even where it has
    them."""
    corpus = git(tree, "grep", "-hIF", "-e", "", "--", ".").decode(errors="replace")
    additions = "\n".join(added_lines(reference))
    names = _names(additions) & {name for text in tests for name in _names(text)} - set(
        _IDENTIFIER.findall(corpus)
    )
    quotes = {quote for text in tests for _, quote in _TEXT.findall(text) if quote in additions}
    unknown = {quote for quote in quotes if quote not in corpus.replace(" ", "")}
    parts = {one or other for text in tests for _, one, _, other in _ASSERTED.findall(text)}
    messages = "\n".join(
        message for _, message in re.findall(r"""(["'])((?:(?!\1)[^\n])+)\1""", additions)
    )
    texts = sorted(unknown | {part for part in parts if part in messages})
    return HiddenNeeds(
        tuple(_described(name, additions, "\n".join(tests)) for name in sorted(names)), tuple(texts)
    )


def _described(name: str, additions: str, tests: str) -> str:
    """The name with its parameters or structure, and the module it is imported from."""
    match = re.search(_STRUCTURE.format(re.escape(name)), tests)
    modules = (
        one or other
        for one, names, others, other in _IMPORT.findall(tests)
        if name in _names(names or others)
    )
    module = next((f" from {module}" for module in modules), "")
    return f"{name}{_parameters(name, additions) or (f'={match[1]}' if match else '')}{module}"


def _names(text: str) -> set[str]:
    """The identifiers outside of comments and quotes."""
    return set(_IDENTIFIER.findall(_NO_CODE.sub(" ", text)))


def _parameters(name: str, additions: str) -> str:
    """A function's parameters and defaults, in parentheses; "" for anything else."""
    if not (match := re.search(_SIGNATURE.format(re.escape(name)), additions)):
        return ""
    inside = match[1].replace("=>", "\0")
    for _ in range(5):  # types and defaults, from the inside out
        inside = re.sub(r"[(\[<{][^()\[\]<>{}]*[)\]>}]", "", inside)
    given = re.findall(
        r"(?:^|,)\s*([*.]*[\w$]+|\*(?=,))[^,=]*(=?)\s*([\w.'\"…-]*(?=\s*(?:,|$)))?", inside
    )
    return (
        "("
        + ", ".join(f"{name}{sign}{sign and (default or '...')}" for name, sign, default in given)
        + ")"
    )


def write_prompt(message: str, failing: Sequence[str], terms: HiddenNeeds) -> str:
    """The prompt: the author's message without issue numbers, the names of the failing tests, and what these need."""
    tests = [f"- {test}" for test in failing[:SHOWN_TESTS]]
    more = [f"- and {len(failing) - SHOWN_TESTS} more"] if len(failing) > SHOWN_TESTS else []
    request = "\n".join(_REFERENCE.sub("", line).rstrip() for line in message.splitlines()).strip()
    return "\n".join(
        [
            request,
            "",
            "Change the source so that this holds. Tests that you cannot see decide, among them these, which fail now:",
            "",
            *tests,
            *more,
            *(
                ["", f"The tests use names that are new: {', '.join(terms.names)}."]
                if terms.names
                else []
            ),
            *(
                ["", "They compare with these texts:", "", *(f"- `{text}`" for text in terms.texts)]
                if terms.texts
                else []
            ),
        ]
    )


def says_too_little(message: str) -> bool:
    """True when the message does not describe the goal: it has two words at most."""
    return len(_WORD.findall(message)) < 3


def category_of(text: str) -> Category:
    return Category.DEBUG if _REPAIR.search(text) else Category.CHANGE_IMPACT


def entry_of(entries: Sequence[str], words: Iterable[str]) -> str:
    """The change log entry that shares most names (rare ones count more) with the `words` of the change and its tests;
    else a sentence that points to the tests."""
    names = {
        part.lower()
        for word in words
        for name in _NAME.findall(word)
        for part in (name, *name.split("_"))
    }
    overlaps = [{name.lower() for name in _NAME.findall(entry)} & names for entry in entries]
    scores = [
        sum(1 / sum(name in other for other in overlaps) for name in overlap)
        for overlap in overlaps
    ]
    best = max(range(len(entries)), key=lambda number: scores[number], default=None)
    if best is None or scores[best] < 1:
        return "Something that this project should do, it does not do yet, or does wrongly: see what fails."
    return entries[best]
