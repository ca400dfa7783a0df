"""Prompts of change tasks: the author's description and the failing tests, never the solution."""

from __future__ import annotations

import re
from collections import Counter
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
    return re.findall(r"(?m)^\+(?!\+\+)(.*)$", patch)


def needs(reference: str, tests: Sequence[str], tree: Path) -> HiddenNeeds:
    """What the reference adds, the tests use and `tree` lacks; texts that must be a part of another even where it has
    them."""
    everything = git(tree, "grep", "-hIF", "-e", "", "--", ".")
    corpus = everything.decode(errors="replace")
    additions = "\n".join(added_lines(reference))
    compact = corpus.replace(" ", "")
    quoted = [message for _, message in re.findall(r"""(["'])((?:(?!\1)[^\n])+)\1""", additions)]
    messages = "\n".join(quoted)
    used = set[str]()
    texts = set[str]()
    for text in tests:
        used |= _names(text)
        for _, quote in _TEXT.findall(text):
            if quote in additions and quote not in compact:
                texts.add(quote)
        for _, sought, _, wanted in _ASSERTED.findall(text):
            if (sought or wanted) in messages:
                texts.add(sought or wanted)
    known = _IDENTIFIER.findall(corpus)
    names = sorted((_names(additions) & used).difference(known))
    described = (_described(name, additions, "\n".join(tests)) for name in names)
    return HiddenNeeds(tuple(described), tuple(sorted(texts)))


def _described(name: str, additions: str, tests: str) -> str:
    """The name with its parameters or structure, and the module it is imported from."""
    form = _parameters(name, additions)
    match = re.search(_STRUCTURE.format(re.escape(name)), tests)
    if match and not form:
        form = f"={match[1]}"
    for python, of_python, of_javascript, javascript in _IMPORT.findall(tests):
        if name in _names(of_python or of_javascript):
            return f"{name}{form} from {python or javascript}"
    return f"{name}{form}"


def _names(text: str) -> set[str]:
    """The identifiers outside of comments and quotes."""
    return set(_IDENTIFIER.findall(_NO_CODE.sub(" ", text)))


def _parameters(name: str, additions: str) -> str:
    """A function's parameters and defaults, in parentheses; "" for anything else."""
    signature = _SIGNATURE.format(re.escape(name))
    match = re.search(signature, additions)
    if not match:
        return ""
    inside = match[1].replace("=>", "\0")
    for _ in range(5):  # types and defaults, from the inside out
        inside = re.sub(r"[(\[<{][^()\[\]<>{}]*[)\]>}]", "", inside)
    given = re.findall(
        r"(?:^|,)\s*([*.]*[\w$]+|\*(?=,))[^,=]*(=?)\s*([\w.'\"…-]*(?=\s*(?:,|$)))?", inside
    )
    parameters = []
    for parameter, sign, default in given:
        if sign:
            parameter += f"={default or '...'}"
        parameters.append(parameter)
    return f"({', '.join(parameters)})"


def write_prompt(message: str, failing: Sequence[str], terms: HiddenNeeds) -> str:
    """The prompt: the author's message without issue numbers, the names of the failing tests, and what these need."""
    request = [_REFERENCE.sub("", line).rstrip() for line in message.splitlines()]
    lines = [
        "\n".join(request).strip(),
        "",
        "Change the source so that this holds. Tests that you cannot see decide, among them these, which fail now:",
        "",
    ]
    lines += [f"- {test}" for test in failing[:SHOWN_TESTS]]
    if len(failing) > SHOWN_TESTS:
        lines.append(f"- and {len(failing) - SHOWN_TESTS} more")
    if terms.names:
        lines += ["", f"The tests use names that are new: {', '.join(terms.names)}."]
    if terms.texts:
        lines += ["", "They compare with these texts:", ""]
        lines += [f"- `{text}`" for text in terms.texts]
    return "\n".join(lines)


def says_too_little(message: str) -> bool:
    """True when the message does not describe the goal: it has two words at most."""
    return len(_WORD.findall(message)) < 3


def category_of(text: str) -> Category:
    return Category.DEBUG if _REPAIR.search(text) else Category.CHANGE_IMPACT


def entry_of(entries: Sequence[str], words: Iterable[str]) -> str:
    """The change log entry that shares most names (rare ones count more) with the `words` of the change and its tests;
    else a sentence that points to the tests."""
    names = set[str]()
    for name in _NAME.findall(" ".join(words)):
        names |= {name.lower(), *name.lower().split("_")}
    overlaps = [names.intersection(_NAME.findall(entry.lower())) for entry in entries]
    frequency = Counter(name for overlap in overlaps for name in overlap)
    chosen = "Something that this project should do, it does not do yet, or does wrongly: see what fails."
    best = 0.0
    for entry, overlap in zip(entries, overlaps, strict=True):
        score = sum(1 / frequency[name] for name in overlap)
        if score >= 1 and score > best:
            chosen = entry
            best = score
    return chosen
