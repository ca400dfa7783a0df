"""The contents of one file: symbols, exports, docstring, sections and import statements."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from tree_sitter import Node, Query, QueryCursor

from lensbench_tasks.parsers.grammars import KINDS, grammar

MAX_PARSED_CHARS = 1_000_000
MAX_DEPTH = 200
MAX_BROKEN = 3_000
MAX_SYMBOLS = 5_000
MAX_SECTIONS = 1_000
_COMMENT = re.compile(r"^[ \t]*(?:/\*+!?|\*+/|//[/!]?|\*(?!/))|(?<!\*)\*+/$", re.MULTILINE)
MAX_DOCSTRING_CHARS = 200
TYPES = frozenset({"class", "interface", "enum", "scope"})
CALLABLES = frozenset({"function", "method"})

NAME = re.compile(r"[\w$#.]{1,200}")
MARKDOWN_HEADING = re.compile(r"^#{1,6}[ \t]+(\S.{0,200}?)[ \t#]*$", re.MULTILINE)
RST_HEADING = re.compile(r"^([^\s=~^\"'*#+.-][^\n]{0,200})\n([=~^\"'*#+-])\2{2,}[ \t]*$", re.MULTILINE)
COMMENT_HEADING = re.compile(r"^[ \t]*(?:#|//)[ \t]*[-=*]{2,}[ \t]*(\w[^\n]{0,100}?)[ \t]*[-=*]*$", re.MULTILINE)
HEADINGS = {"markdown": MARKDOWN_HEADING, "restructuredtext": RST_HEADING}


@dataclass(frozen=True, slots=True)
class Symbol:
    """A named definition. `local`: inside a function, so not available to other files. `line` starts at 1."""

    name: str
    kind: str
    line: int
    exported: bool
    local: bool = False


@dataclass(frozen=True, slots=True)
class Import:
    """An import as written: a module, and for Python the imported names."""

    module: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts about a file from its own text. `exports`: the names that other files can import, sorted."""

    symbols: tuple[Symbol, ...] = ()
    exports: tuple[str, ...] = ()
    docstring: str = ""
    sections: tuple[tuple[str, int], ...] = ()
    imports: tuple[Import, ...] = ()
    package: str = ""


def read_facts(text: str, language: str | None) -> Facts:
    """The facts of one file: for broken code, those that can be parsed; for unknown languages, only sections."""
    heading = HEADINGS.get(language or "", COMMENT_HEADING)
    sections = tuple(_sections(heading, text))
    syntax = grammar(language) if language and len(text) <= MAX_PARSED_CHARS else None
    if language is None or syntax is None:
        return Facts(sections=sections)
    tree = syntax.parser.parse(text.encode("utf-8", "replace"))
    captures = _captures(syntax.query, tree.root_node)
    everything = {_unquoted(node) for node in captures.get("all", ())}
    exports = everything or {_unquoted(node) for node in captures.get("export", ())}
    symbols = _symbols(captures, language, everything or (set() if language == "python" else exports))
    definitions = {symbol.name for symbol in symbols if symbol.exported and symbol.kind != "method"}
    modules = [Import(f"mod {_field(node, 'name')}") for node in captures.get("module", ())]
    return Facts(
        symbols=tuple(symbols),
        exports=tuple(sorted(definitions | exports)),
        docstring=_docstring(tree.root_node, language),
        sections=sections,
        imports=tuple(dict.fromkeys([_import(node, language) for node in captures.get("import", ())] + modules)),
        package="".join(_text(node) for node in captures.get("package", ())).removeprefix("package").strip(" ;\n\t"),
    )


def _sections(heading: re.Pattern[str], text: str) -> Iterator[tuple[str, int]]:
    """The first 1,000 headings of a text with their lines."""
    line, position = 1, 0
    for match in islice(heading.finditer(text), MAX_SECTIONS):
        line, position = line + text.count("\n", position, match.start()), match.start()
        yield match[1], line


def _captures(query: Query, root: Node) -> dict[str, list[Node]]:
    """The matches of the query. The search is quadratic in the depth and in the width of an error; both are limited."""
    if _is_too_broken(root):
        return {}
    cursor = QueryCursor(query)
    cursor.set_max_start_depth(MAX_DEPTH)
    return cursor.captures(root)


def _is_too_broken(root: Node) -> bool:
    """True if a syntax error gives a node with thousands of children, or if there are very many syntax errors."""
    nodes, count = [root] if root.has_error else [], 0
    while nodes:
        node, count = nodes.pop(), count + 1
        if node.child_count > MAX_BROKEN or count > MAX_BROKEN:
            return True
        nodes += [child for child in node.children if child.has_error]
    return False


def _symbols(captures: dict[str, list[Node]], language: str, exports: set[str]) -> list[Symbol]:
    """All definitions in the order of the file; those in a type are methods, those in a function are local."""
    nodes: dict[int, tuple[str, Node]] = {}
    for kind in sorted(KINDS | {"scope"}, key=lambda kind: kind in ("type", "var")):  # the general kinds come last
        for node in captures.get(kind, ()):
            nodes.setdefault(node.id, (kind, node))
    symbols: list[Symbol] = []
    around: list[tuple[int, str, bool]] = []  # (end, kind, local) of the definitions that are open
    for kind, node in sorted(nodes.values(), key=lambda item: (item[1].start_byte, -item[1].end_byte)):
        while around and around[-1][0] <= node.start_byte:
            around.pop()
        _, outer, inside = around[-1] if around else (0, "", False)
        local = inside or outer in CALLABLES
        kind = "method" if kind == "function" and outer in TYPES else kind
        around.append((node.end_byte, kind, local))
        if kind == "scope":
            continue
        if len(symbols) >= MAX_SYMBOLS:
            break
        for name in _names(node):
            exact = _exact_kind(kind, name.text, node, language)
            is_exported = not local and _exported(name.text, exact, node, language, exports, outer)
            symbols.append(Symbol(name.text, exact, name.row + 1, is_exported, local))
    return symbols


@dataclass(frozen=True, slots=True)
class _Name:
    text: str
    row: int


def _names(node: Node) -> list[_Name]:
    """The names in a definition: one, or several in `var a, b int`; `left` is Python's assignment."""
    fields = node.children_by_field_name("name") or node.children_by_field_name("left")
    return [_Name(_text(one), one.start_point.row) for one in fields if NAME.fullmatch(_text(one))]


def _exact_kind(kind: str, name: str, node: Node, language: str) -> str:
    """Distinguishes constants from variables: by the keyword, in Python by upper case."""
    if kind != "var":
        return kind
    if language == "python":
        return "const" if name.isupper() else "var"
    keyword = _field(node.parent, "kind") if node.parent else ""
    return keyword if keyword in ("const", "let") else "var"


def _exported(name: str, kind: str, node: Node, language: str, exports: set[str], outer: str) -> bool:
    """True if other files can use the definition, by the rule of the language."""
    if language == "python":
        if exports and kind != "method" and not outer:
            return name in exports
        return not name.startswith("_") and outer in {"", "class"}
    if language == "go":
        return name[:1].isupper()
    if language == "rust":
        return any(child.type == "visibility_modifier" for child in node.children)
    if language in ("java", "csharp"):
        return any("public" in _text(child).split() for child in node.children if child.type.startswith("modifier"))
    if kind == "method":
        return not name.startswith(("_", "#"))
    above = node.parent
    if above is not None and above.type in ("lexical_declaration", "variable_declaration"):
        above = above.parent
    return name in exports or (above is not None and above.type == "export_statement")


def _import(node: Node, language: str) -> Import:
    """One import statement, reduced to module and names."""
    if node.type == "import_from_statement":
        module = _field(node, "module_name").replace(" ", "")
        names = [one.child_by_field_name("name") or one for one in node.children_by_field_name("name")]
        return Import(module, tuple(_text(one) for one in names))
    if language == "java":
        words = [word for word in _text(node).replace(";", " ").split() if word not in ("import", "static")]
        return Import("".join(words))
    if language == "rust":
        return Import(re.sub(r"\s+", " ", _text(node))[:4000])
    return Import(_unquoted(node))


def _docstring(root: Node, language: str) -> str:
    """The first 200 characters of a Python module's docstring, or of the comment that opens a file."""
    texts: list[str] = []
    for node in root.named_children:
        if language == "python" and node.type == "expression_statement":
            inner = node.named_children[0] if node.named_children else None
            if inner is not None and inner.type == "string":
                texts = [_text(inner).strip("rRbBuU").strip("\"'")]
            break
        if node.type == "hash_bang_line" or (language == "python" and node.type == "comment"):
            continue
        if "comment" not in node.type or len(texts) > 20:
            break
        texts.append(_COMMENT.sub("", _text(node)))
    return " ".join(" ".join(texts).split())[:MAX_DOCSTRING_CHARS]


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _field(node: Node, name: str) -> str:
    child = node.child_by_field_name(name)
    return "" if child is None else _text(child)


def _unquoted(node: Node) -> str:
    return _text(node).strip("\"'`")
