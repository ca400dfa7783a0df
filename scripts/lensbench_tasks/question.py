"""Extracts search terms and the kind of question from a prompt, without a language model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

MOST_TERMS = 14
MAX_PROMPT = 8_000

STOP_WORDS = frozenset(
    Path(__file__).with_name("stop_words.txt").read_text(encoding="utf-8").split()
)
_JOINING = (
    "base class code default error file function key line method module name source state value"
)
JOINING = frozenset(_JOINING.split())
"""Words that are meaningless alone but form a name with the next one: `default timeout`, `code generation`."""
IMPACT = re.compile(
    r"(?i)\b(break|breaks|impact\w*|affect\w*|depends? on|dependents?|import\w*|rely|relies|who uses|callers?"
    r"|(which|what) (other )?(files|modules|places|code)|would (have|need) to change|rename\w*|remov\w+|ripple)\b"
)
ABOUT_THE_ANSWER = re.compile(
    r"(?i)^\W*(your (final )?(answer|response|report|reply)\b|(finish|end|close|conclude|begin|start) (your|the|with)\b"
    r".*\b(answer|report|response|section)|(answer|respond|reply|report) (in|with|using|as)\b"
    r"|(use|follow) (this|the following) (format|template)|output format|format:)"
)
RULE_OR_HEADING = re.compile(r"^\s{0,3}(([-*_=])\s*(\2\s*){2,}|#{1,6}\s.*)$")

CODE_SPAN = re.compile(r"(?<!`)`+([^`\n]{1,120})`+")
QUOTED = re.compile(r"\"([^\"\n]{2,200})\"|“([^”\n]{2,200})”|(?<!\w)'([^'\n]{2,200})'(?!\w)")
FILE_PATH = re.compile(
    r"(?<![\w/])[\w.-]{1,200}(?:/[\w.-]+)+|\b[\w-]{1,200}\.(?:py|pyi|js|jsx|ts|tsx|go|rs|java|cs|toml|cfg|ini)\b"
)
CODE_WORD = re.compile(
    r"--[a-z][\w-]+|\b(?:\w{1,200}\.){1,20}[A-Za-z_]\w+(?:\(\))?|\b\w+\(\)|\b_*[A-Za-z0-9]+_\w+|\b[a-z]+[A-Z]\w*"
    r"|\b[A-Z]+[a-z]+[A-Z]\w*|\b[A-Z]{2,}[A-Z0-9]*\b"
)
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])")
WORD = re.compile(r"[A-Za-z][A-Za-z']+")
NAME = re.compile(r"[A-Za-z_]\w*")
SUFFIXES = (
    ("ations", "at", 4),
    ("ation", "at", 4),
    ("ators", "at", 4),
    ("ator", "at", 4),
    ("ings", "", 3),
    ("ing", "", 3),
    ("ies", "i", 4),
    ("ers", "e", 4),
    ("er", "e", 4),
    ("ed", "", 4),
    ("es", "", 4),
)
"""ending, what stands for it, and how many letters must be left."""
VOWEL, DOUBLED = re.compile(r"[aeiouy]"), re.compile(r"([bdgmnprt])\1$")


@dataclass(frozen=True)
class Term:
    """Something to look for."""

    text: str
    weight: float
    variants: tuple[str, ...]
    """Ways of writing it; lower-case unless `whole`."""
    whole: bool
    """A whole word in this very case; else the start of a word or of a part of an identifier in any case."""


@dataclass(frozen=True)
class Question:
    """The search terms of a prompt, and whether it asks about a change."""

    terms: tuple[Term, ...]
    """The heaviest first."""
    names: tuple[str, ...]
    """Identifiers that the prompt spells out; the name of a file only where there is nothing else."""
    impact: bool
    """True for a question about what a change touches."""


def read_question(prompt: str) -> Question:
    """The question in `prompt`, without what the prompt says about the form of the answer."""
    text = question_text(prompt)
    terms: dict[str, Term] = {}
    for term in _terms(text):
        key = term.text.lower()
        if key not in terms or terms[key].weight < term.weight:
            terms[key] = term
    heaviest = sorted(terms.values(), key=lambda term: -term.weight)[:MOST_TERMS]
    files = set()
    identifiers: dict[str, None] = {}
    for term in heaviest:
        if FILE_PATH.fullmatch(term.text):
            files.add(PurePosixPath(term.text).stem)
        elif term.whole and NAME.fullmatch(term.text):
            identifiers[term.text] = None
    names = [name for name in identifiers if name not in files] or list(identifiers)
    return Question(tuple(heaviest), tuple(names), impact=bool(IMPACT.search(text)))


def question_text(prompt: str) -> str:
    """The text before the first rule, heading or paragraph about the answer's form; all of it when that is nothing."""
    lines: list[str] = []
    for line in prompt.splitlines():
        has_text = any(earlier.strip() for earlier in lines)
        starts_paragraph = not lines or not lines[-1].strip()
        is_form = bool(RULE_OR_HEADING.match(line))
        if starts_paragraph and ABOUT_THE_ANSWER.match(line):
            is_form = True
        if has_text and is_form:
            break
        lines.append(line)
    return "\n".join(lines)[:MAX_PROMPT]


def stem(word: str) -> str:
    """`word` without a grammatical ending, never shorter than three letters: `parsing`, `parses` and `parsed` agree."""
    word = word.lower()
    for ending, rest, least in SUFFIXES:
        root = word[: -len(ending)]
        is_word = len(root) >= least and VOWEL.search(root)
        if word.endswith(ending) and is_word and not word.endswith("ss"):
            if DOUBLED.search(root):
                return root[:-1]
            return root + rest
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 4:
        word = word[:-1]
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


def _terms(text: str) -> Iterator[Term]:
    for span in CODE_SPAN.findall(text):
        yield from _code_terms(span, 3.0)
    prose = CODE_SPAN.sub(" ; ", text)
    for groups in QUOTED.findall(prose):
        quote = next(group for group in groups if group).strip()
        yield Term(quote, 2.5, (quote,), True)
    for path in FILE_PATH.findall(prose):
        yield from _code_terms(path, 2.0)
    prose = FILE_PATH.sub(" ; ", prose)
    for identifier in CODE_WORD.findall(prose):
        yield from _code_terms(identifier, 2.5)
    prose = CODE_WORD.sub(" ; ", prose)
    for number in NUMBER.findall(prose):
        yield Term(number, 0.6, (number,), True)
    yield from _word_terms(prose)


def _code_terms(span: str, weight: float) -> Iterator[Term]:
    whole = span.strip().removesuffix("()")
    if whole:
        yield Term(whole, weight, (whole,), True)
    is_path = "/" in whole or FILE_PATH.fullmatch(whole)
    names = NAME.findall(PurePosixPath(whole).stem if is_path else whole)
    names = [name for name in names if len(name) > 1]
    for position, name in enumerate(names):
        last = position == len(names) - 1
        if name != whole and name.lower() not in STOP_WORDS:
            yield Term(name, weight * (0.8 if last else 0.6), (name,), True)


def _word_terms(prose: str) -> Iterator[Term]:
    """Content words, and neighbouring ones joined as an identifier would join them."""
    for clause in re.split(r"[^\w\s'-]+", prose):
        words = [word.removesuffix("'s") for word in WORD.findall(clause)]
        previous = ""
        for word in words:
            if word.lower() in STOP_WORDS or len(word) < 3:
                if word.lower() in JOINING:
                    previous = word
                elif word.lower() not in ("of", "the", "a", "an"):
                    previous = ""
                continue
            root = stem(word)
            proper = word[0].isupper() and not clause.lstrip().startswith(word)
            yield Term(root, 1.4 if proper else 1.0, (root,), False)
            if previous:
                first = previous.lower()
                spellings = (
                    f"{first}{root}",
                    f"{first}_{root}",
                    f"{first} {root}",
                )
                yield Term(f"{first} {root}", 0.9, spellings, False)
            previous = word
