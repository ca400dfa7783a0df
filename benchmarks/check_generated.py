"""Checks every criterion of a generated set: `python benchmarks/check_generated.py set.yaml tree`.

Shares no code with the generator: it reads the criterion's sentence, not its proofs, and checks the files with `ast`
(Python) or with regular expressions and braces (other languages). A sentence that it cannot parse counts as false.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import yaml

Check = Callable[..., bool]


def value_holds(tree: Path, kind: str, name: str, owner: str | None, path: str, value: str) -> bool:
    """A parameter, attribute or constant has this value."""
    text = read(tree, path)
    wanted = value.strip('"')
    if not path.endswith(".py"):
        shown = rf"\b{re.escape(name)}\b[^=,;\n]*=\s*[\"']?{re.escape(wanted)}\b"
        return any(
            re.search(shown, region) for region in (regions(text, owner) if owner else [text])
        )
    found: list[ast.expr | None] = []
    for node in named(ast.parse(text), owner) if owner else [ast.parse(text)]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            plain = [*node.args.posonlyargs, *node.args.args]
            pairs = [*zip(reversed(plain), reversed(node.args.defaults), strict=False)]
            pairs += [*zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)]
            found += [default for argument, default in pairs if argument.arg == name]
        else:
            found += [
                each.value
                for each in node.body
                if isinstance(each, ast.Assign | ast.AnnAssign) and name in targets(each)
            ]
    return any(isinstance(each, ast.Constant) and same(each.value, wanted) for each in found)


def message_holds(tree: Path, function: str, path: str, message: str) -> bool:
    """The function raises an error, warns or logs with this text in it."""
    text = read(tree, path)
    if not path.endswith(".py"):
        return any(message in region for region in regions(text, function))
    says = re.compile(r"(?:.*\.)?(?:warn|warning|error|exception|critical)$")
    return any(
        message in (ast.get_source_segment(text, inner) or "").replace('"\n', "")
        for node in named(ast.parse(text), function)
        for inner in ast.walk(node)
        if isinstance(inner, ast.Raise)
        or (isinstance(inner, ast.Call) and says.match(ast.unparse(inner.func)))
    )


def call_holds(tree: Path, caller: str, path: str, callee: str, where: str | None = None) -> bool:
    """The caller calls the callee, which is defined in the given file."""
    text = read(tree, path)
    if path.endswith(".py"):
        calls = any(
            isinstance(inner, ast.Call)
            and isinstance(inner.func, ast.Name)
            and inner.func.id == callee
            for node in named(ast.parse(text), caller)
            for inner in ast.walk(node)
        )
    else:
        calls = any(
            re.search(rf"(?<![\w$.]){re.escape(callee)}\s*\(", region)
            for region in regions(text, caller)
        )
    return calls and (where is None or place_holds(tree, callee, where))


def place_holds(tree: Path, name: str, path: str) -> bool:
    """The name is defined in the file."""
    words = (
        r"(?:def|class|function\*?|const|let|var|interface|type|enum|fn|struct|trait|func|record)"
    )
    own = rf"^\s*(?:[\w()]+\s+)*{words}\s+(?:\([^)]*\)\s*)?{re.escape(name)}\b"
    return bool(re.search(own, read(tree, path), re.MULTILINE))


def import_holds(tree: Path, importer: str, imported: str) -> bool:
    """The file has an import that ends with the other one's name, or its folder's."""
    parts = re.sub(r"\.\w+$", "", imported).split("/")
    stem = (
        parts[-2]
        if parts[-1] in ("__init__", "index", "mod", "lib") and len(parts) > 1
        else parts[-1]
    )
    lines = re.findall(
        r"^.*\b(?:import|from|require|use|mod)\b.*(?:\n[^()]*\))?",
        read(tree, importer),
        re.MULTILINE,
    )
    return any(re.search(rf"(?<!\w){re.escape(stem)}\b", line) for line in lines)


def together_holds(tree: Path, other: str, path: str, count: str) -> bool:
    """`count` commits changed both files."""
    log = subprocess.run(
        ["git", "log", "--no-merges", "--no-renames", "--format=%x01", "--name-only"],
        cwd=tree,
        capture_output=True,
        encoding="utf-8",
        check=True,
    ).stdout
    commits = [set(each.split("\n")) for each in log.split("\x01")]
    return sum({other, path} <= commit for commit in commits) >= int(count)


SENTENCES: tuple[tuple[str, Check], ...] = (
    (
        r"the (parameter|attribute|constant) `([^`]+)`(?: of `([^`]+)`)? in (\S+) is (.+)",
        value_holds,
    ),
    (r'`([^`]+)` in (\S+) gives the message "(.+)"', message_holds),
    (r"`([^`]+)` in (\S+) calls `([^`]+)`, defined in (\S+)", call_holds),
    (r"`([^`]+)` in (\S+) calls `([^`]+)`", call_holds),
    (r"`([^`]+)` is defined in (\S+)", place_holds),
    (r"(\S+) imports (\S+)", import_holds),
    (r"(\S+) changed together with (\S+), in (\d+) commits", together_holds),
)


def read(tree: Path, path: str) -> str:
    return (tree / path).read_text("utf-8")


def targets(node: ast.Assign | ast.AnnAssign) -> list[str]:
    return [
        each.id
        for each in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(each, ast.Name)
    ]


def same(value: object, wanted: str) -> bool:
    number = (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and re.fullmatch(r"[\d.]+", wanted)
    )
    return float(value) == float(wanted) if number else str(value) == wanted  # type: ignore[arg-type]


def named(
    tree: ast.AST, name: str
) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """The Python definitions of `name`, or of `Owner.name`."""
    owner, _, last = name.rpartition(".")
    for node in (
        ast.walk(tree)
        if not owner
        else (each for one in named(tree, owner) for each in ast.walk(one))
    ):
        if (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            and node.name == last
        ):
            yield node


def regions(text: str, name: str) -> Iterator[str]:
    """The text of everything in braces that is headed by `name`; of `Owner.name` those inside the owner's."""
    owner, _, last = name.rpartition(".")
    for outer in regions(text, owner) if owner else [text]:
        for head in re.finditer(rf"(?<![\w$.]){re.escape(last)}(?![\w$])", outer):
            after = outer[head.end() :].lstrip()
            at = head.end() + len(outer[head.end() :]) - len(after)
            at = closed(outer, at, "()") if after.startswith("(") else at
            if re.match(r"[^;{}]{0,200}\{", outer[at:]):
                yield outer[head.start() : closed(outer, outer.index("{", at), "{}")]


def closed(text: str, start: int, braces: str) -> int:
    """Where the brace at `start` is closed; strings and comments do not count."""
    depth, at = 0, start
    pieces = (
        rf"//.*|/\*[\s\S]*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|[{re.escape(braces)}]"
    )
    for token in re.finditer(pieces, text[start:]):
        depth += {braces[0]: 1, braces[1]: -1}.get(token[0], 0)
        at = start + token.end()
        if depth == 0 and token[0] == braces[1]:
            break
    return at


def false_criteria(tasks: list[dict], tree: Path) -> list[str]:  # type: ignore[type-arg]
    """The criteria that do not hold in the tree or cannot be parsed."""
    return [
        f"{task['id']}: {each['text']}"
        for task in tasks
        for each in task["criteria"]
        if not holds(each["text"], tree)
    ]


def holds(text: str, tree: Path) -> bool:
    """Whether a sentence is true of the tree."""
    fact = text.removeprefix("States that ")
    return next(
        (
            check(tree, *found.groups())
            for form, check in SENTENCES
            if (found := re.fullmatch(form, fact))
        ),
        False,
    )


def main() -> None:
    """Checks a set against an unpacked repository; the exit code is 1 when a criterion is false."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("set", type=Path)
    parser.add_argument("tree", type=Path)
    arguments = parser.parse_args()
    tasks = yaml.safe_load(arguments.set.read_text(encoding="utf-8"))["tasks"]
    false = false_criteria(tasks, arguments.tree)
    print(
        f"{sum(len(task['criteria']) for task in tasks)} criteria, {len(false)} false",
        *false,
        sep="\n",
    )
    sys.exit(bool(false))


if __name__ == "__main__":
    main()
