"""Labelled data for judges: answers that are known to state a criterion or not.

An answer is generated from the criterion's patterns (`say`), formatted as people and models write (`dressed`), and
changed in one place (`corrupted`). `mined` extracts further criteria from sources, for more names, paths and numbers
than in one task set; each is true of the tree that it is extracted from.
"""

from __future__ import annotations

import ast
import random
import re
import string
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from re import _constants as op
from re import _parser as sre
from typing import Any, NamedTuple

from lensbench.core.tasks import Criterion, Pattern, Regex, Task


class Triple(NamedTuple):
    """An answer, and whether it states the criterion: only `gold` does."""

    kind: str
    criterion: Criterion
    answer: str


class Mined(NamedTuple):
    """A fact that was extracted from a source, as a task's author could have written it."""

    criterion: Criterion
    prompt: str
    file: str
    name: str
    denial: str
    """The fact with a negation; "" when it has no `must_not`."""


# --- what an answer says ---------------------------------------------------------------------------------------------

_FILLERS = (" ", " = ", ": ", " -> ", ", ", " ... ")


def say(pattern: Pattern, rng: random.Random) -> str:
    """A text that states `pattern`."""
    if not isinstance(pattern, Regex):
        return pattern
    # RE2 takes flags anywhere, Python's parser at the start only; an example is the same without them
    return _sample(sre.parse(re.sub(r"\(\?[is]+\)", "", pattern.regex)), rng)


def _sample(tokens: Iterable[tuple[Any, Any]], rng: random.Random) -> str:
    return "".join(_sample_one(kind, value, rng) for kind, value in tokens)


def _sample_one(kind: Any, value: Any, rng: random.Random) -> str:
    match kind:
        case op.LITERAL:
            return chr(value)
        case op.AT:
            return ""
        case op.ANY:
            return " "
        case op.SUBPATTERN:
            return _sample(value[-1], rng)
        case op.BRANCH:
            return _sample(rng.choice(value[1]), rng)
        case op.IN:
            return _member(value)
        case op.MAX_REPEAT | op.MIN_REPEAT:
            least, most, inner = value
            if _is_gap(inner[0]):
                return rng.choice([text for text in _FILLERS if least <= len(text) <= most])
            return "".join(
                _sample(inner, rng) for _ in range(rng.randint(least, min(most, least + 1)))
            )
    raise AssertionError(f"no text is known for {kind}")


def _is_gap(token: tuple[Any, Any]) -> bool:
    kind, value = token
    anything = ((op.NEGATE, None), (op.CATEGORY, op.CATEGORY_NOT_WORD))
    return kind in (op.NOT_LITERAL, op.ANY) or (kind is op.IN and value[0] in anything)


_EXAMPLES = {
    op.CATEGORY_WORD: "x",
    op.CATEGORY_DIGIT: "1",
    op.CATEGORY_SPACE: " ",
    op.CATEGORY_NOT_WORD: " ",
    op.CATEGORY_NOT_DIGIT: " ",
    op.CATEGORY_NOT_SPACE: "x",
}


def _member(choices: Sequence[tuple[Any, Any]]) -> str:
    kind, value = choices[0]
    if kind is op.NEGATE:
        return " "
    if kind is op.CATEGORY:
        return _EXAMPLES[value]
    return chr(value if kind is op.LITERAL else value[0])


def stated(criterion: Criterion, rng: random.Random) -> list[str]:
    """The pieces of an answer that states the criterion: all of `all_of`, and one of `any_of`."""
    chosen = [*criterion.all_of, *([rng.choice(criterion.any_of)] if criterion.any_of else [])]
    return [say(pattern, rng) for pattern in chosen]


# --- how it looks ----------------------------------------------------------------------------------------------------

_NAME = re.compile(r"[\w./@-]+")
_FILE = re.compile(r"[\w./-]+\.(?:py|toml|md)")
_DRESSES = (
    "{}",
    "`{}`",
    "**{}**",
    "**`{}`**",
    "*{}*",
    "\u201c{}\u201d",
    "({})",
    "``{}``",
    "\u2018{}\u2019",
    "<b>{}</b>",
)
_FILE_DRESSES = (
    "{}:12",
    "`{}:12-40`",
    "`{}#L7`",
    "{}(12)",
    "`./{}`",
    "[`{}`](https://example.org/x)",
    "`/work/tree/{}`",
)
_JOINS = (
    ", ",
    " and ",
    "; see ",
    " \u2014 ",
    " in ",
    " with ",
    "\u00a0and ",
    ".\nIt is about ",
    " (as in ",
)
_FRAMES = (
    "It comes from {}.",
    "- The place is {}.",
    "1. {}, as the code shows.",
    "* **Answer**: {}",
    "| what | {} |\n|---|---|",
    "> {}",
    "### {}\n\nThat is all.",
    "I looked at it. It turns out: {}, so nothing else is needed.",
    "```\n{}\n```",
    "<details>\n{}\n</details>",
    "\u2022 {}\u2026",
)
_OPENINGS = (
    "",
    "Here is what I found.\n\n",
    "# Answer\n\n",
    "Let me sum up \u2013 briefly:\n\n",
    "\ufeff",
)
_CLOSINGS = (
    "",
    "\n\n## Report\n\n- **Tool calls**: 3\n- **Files used**: setup.cfg\n",
    "\n\nHope this helps!",
)
_TYPOGRAPHY = str.maketrans({"-": "\u2011"})


def dressed(pieces: Sequence[str], rng: random.Random) -> str:
    """The pieces as an answer: with markup, in sentences or lists, with the blanks and line ends of editors."""
    shown = [_marked(piece, rng) for piece in pieces]
    joined = shown[0] + "".join(rng.choice(_JOINS) + piece for piece in shown[1:])
    if joined.count("(") > joined.count(")"):
        joined += ")"
    text = rng.choice(_OPENINGS) + rng.choice(_FRAMES).format(joined) + rng.choice(_CLOSINGS)
    match rng.randrange(6):
        case 0:
            return text.replace("\n", "\r\n")
        case 1:
            return text.replace(" ", "\u00a0")
        case 2:
            return text.translate(_TYPOGRAPHY)
        case 3:
            return text.replace(", ", ",\u200b ")
    return text


def _marked(piece: str, rng: random.Random) -> str:
    if not _NAME.fullmatch(piece):
        return piece.replace('"', rng.choice('"\u201c\u201d')).replace("'", rng.choice("'\u2019"))
    return rng.choice(_DRESSES + _FILE_DRESSES * bool(_FILE.fullmatch(piece))).format(piece)


# --- how it goes wrong -----------------------------------------------------------------------------------------------


def corrupted(pieces: Sequence[str], rng: random.Random) -> list[str]:
    """The pieces with all occurrences of one token changed: in a letter, a digit, or a path."""
    tokens = [token for piece in pieces for token in _tokens(piece)]
    token = rng.choice(tokens)
    wrong = _spoil(token, rng)
    whole = re.compile(rf"(?<!\w){re.escape(token)}(?!\w)")
    return [whole.sub(lambda _: wrong, piece) for piece in pieces]


def _tokens(piece: str) -> list[str]:
    """The significant tokens: names, files and numbers before plain words."""
    if _NAME.fullmatch(piece):
        return [piece]
    words = re.findall(r"\w+", piece)
    return [word for word in words if not word.isalpha() or word != word.lower()] or words


def _spoil(token: str, rng: random.Random) -> str:
    digits = [at for at, character in enumerate(token) if character.isdigit()]
    letters = [at for at, character in enumerate(token) if character.isalpha()]
    if token.replace(".", "").isdigit() or (digits and rng.random() < 0.3):
        return _put(token, rng.choice(digits), string.digits, rng)
    if _FILE.fullmatch(token) and rng.random() < 0.5:
        stem, ending = token.rsplit(".", 1)
        return rng.choice(
            (
                f"{stem}s.{ending}",
                f"{stem}.{ending}i",
                f"{stem}_old.{ending}",
                f"{stem}/main.{ending}",
            )
        )
    return _put(token, rng.choice(letters), string.ascii_lowercase, rng) if letters else token + "x"


def _put(token: str, at: int, alphabet: str, rng: random.Random) -> str:
    other = rng.choice([character for character in alphabet if character != token[at].lower()])
    return token[:at] + (other.upper() if token[at].isupper() else other) + token[at + 1 :]


# --- facts from sources ----------------------------------------------------------------------------------------------


def mined(tree: Path, count: int, rng: random.Random) -> list[Mined]:
    """`count` facts about the Python files of `tree`, sampled evenly from all kinds; names that are defined twice are
    skipped, because a fact about them would not be unique."""
    parsed = {
        path.relative_to(tree).as_posix(): ast.parse(path.read_text("utf-8"))
        for path in _modules(tree)
    }
    names = Counter(
        node.name
        for module in parsed.values()
        for node in ast.walk(module)
        if isinstance(node, _Definition)
    )
    facts: dict[str, list[Mined]] = {}
    for file, module in parsed.items():
        for kind, fact in _facts(file, module):
            if names[fact.name] <= 1 and len(fact.name) > 3:
                facts.setdefault(kind, []).append(fact)
    drawn = [
        rng.sample(found, min(len(found), -(-count // len(facts)))) for found in facts.values()
    ]
    return [fact for found in drawn for fact in found][:count]


_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def _modules(tree: Path) -> list[Path]:
    paths = (
        path
        for path in tree.rglob("*.py")
        if not {"tests", "docs", "examples", ".git"} & set(path.relative_to(tree).parts)
    )
    return sorted(path for path in paths if path.stat().st_size > 200)


def _facts(file: str, module: ast.Module) -> Iterator[tuple[str, Mined]]:
    for node in ast.walk(module):
        match node:
            case ast.ImportFrom(module=str(module_name), names=[ast.alias(name=name)]) if (
                len(name) > 3
            ):
                text = f"{file} imports {name} from {module_name}"
                yield "import", _fact(file, f"import {name}", text, [file, name, module_name])
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                if isinstance(node, ast.ClassDef):
                    yield from _class_facts(file, node)
                text = f"{name} is defined in {file}"
                no = rf"{name}\W+(is not|isn't|is never) defined"
                denial = f"`{name}` is not defined in `{file}`."
                yield "definition", _fact(file, name, text, [name, file], no, denial)
                if isinstance(node, ast.FunctionDef):
                    yield from _function_facts(file, node)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=int(value))) if (
                name.isupper()
            ):
                text = f"{name} in {file} is {value}"
                close = {"regex": rf"\b{name}\b[^\n]{{0,40}}\b{value}\b"}
                no = rf"{name}\W+(is not|isn't)\W+{value}\b"
                denial = f"**{name}** isn\u2019t {value}."
                yield "constant", _fact(file, name, text, [close], no, denial)


def _class_facts(file: str, node: ast.ClassDef) -> Iterator[tuple[str, Mined]]:
    name = node.name
    for base in (base.id for base in node.bases if isinstance(base, ast.Name) and len(base.id) > 3):
        text = f"{name} in {file} derives from {base}"
        no = rf"{name}\W+(does not|doesn't) derive from\W+{base}"
        yield (
            "base",
            _fact(file, name, text, [name, base], no, f"`{name}` does not derive from `{base}`."),
        )
    for method in (child for child in node.body if isinstance(child, ast.FunctionDef)):
        text = f"{name}.{method.name} is a method in {file}"
        yield "method", _fact(file, name, text, [f"{name}.{method.name}", file.rsplit("/", 1)[-1]])


def _function_facts(file: str, node: ast.FunctionDef) -> Iterator[tuple[str, Mined]]:
    arguments = [*node.args.posonlyargs, *node.args.args]
    pairs = zip(arguments[::-1], node.args.defaults[::-1], strict=False)
    for argument, default in pairs:
        match default:
            case ast.Constant(value=bool() | int() | float() as value):
                text = f"{argument.arg} of {node.name} in {file} is {value} by default"
                close = {
                    "regex": rf"\b{argument.arg}\b[^\n]{{0,40}}[^\w.]{re.escape(str(value))}\b"
                }
                yield "default", _fact(file, node.name, text, [node.name, close])
    for child in ast.walk(node):
        match child:
            case ast.Raise(exc=ast.Call(func=ast.Name(id=error))):
                text = f"{node.name} in {file} raises {error}"
                no = rf"{node.name}\W+(never|does not) raises?\W+{error}"
                denial = f"_{file}_: `{node.name}` never raises `{error}`"
                yield "raise", _fact(file, node.name, text, [node.name, error], no, denial)


def _fact(
    file: str, name: str, text: str, all_of: list[Any], no: str = "", denial: str = ""
) -> Mined:
    criterion = {
        "text": f"States that {text}",
        "all_of": all_of,
        "must_not": [{"regex": no}] if no else [],
    }
    return Mined(
        Criterion.model_validate(criterion),
        f"What is to be said about `{name}`?",
        file,
        name,
        denial,
    )


# --- answers with their labels ---------------------------------------------------------------------------------------


def triples_of_set(tasks: Sequence[Task], rng: random.Random, times: int) -> Iterator[Triple]:
    """The triples of a task set, `times` of each kind for each criterion; its prompt once."""
    for task in tasks:
        others = [criterion for other in tasks if other is not task for criterion in other.criteria]
        for criterion in task.criteria:
            yield from _spoken(criterion, rng, times)
            yield Triple("prompt", criterion, task.prompt)
            for _ in range(times):
                pieces = [piece for other in rng.sample(others, 4) for piece in stated(other, rng)]
                yield Triple("foreign", criterion, dressed(pieces, rng))


def triples_of_facts(facts: Sequence[Mined], rng: random.Random, times: int) -> Iterator[Triple]:
    """The triples of facts that were mined from one tree."""
    for fact in facts:
        yield from _spoken(fact.criterion, rng, times)
        yield Triple("prompt", fact.criterion, fact.prompt)
        others = [other for other in facts if other.file != fact.file and other.name != fact.name]
        for _ in range(times):
            pieces = [
                piece for other in rng.sample(others, 4) for piece in stated(other.criterion, rng)
            ]
            yield Triple("foreign", fact.criterion, dressed(pieces, rng))
            if fact.denial:
                yield Triple("negated", fact.criterion, dressed([fact.denial], rng))


def _spoken(criterion: Criterion, rng: random.Random, times: int) -> Iterator[Triple]:
    for _ in range(times):
        pieces = stated(criterion, rng)
        yield Triple("gold", criterion, dressed(pieces, rng))
        yield Triple("corrupted", criterion, dressed(corrupted(pieces, rng), rng))
        for forbidden in criterion.must_not:
            yield Triple("negated", criterion, dressed([*pieces, say(forbidden, rng)], rng))
