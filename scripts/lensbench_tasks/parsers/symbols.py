"""The contents of one file: symbols, exports, docstring, sections and import statements."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from tree_sitter import Node, Query, QueryCursor

from lensbench_tasks.parsers.code import Definition, nested, text_of
from lensbench_tasks.parsers.grammars import grammar

MAX_PARSED_CHARS = 1_000_000
MAX_DEPTH = 200
MAX_BROKEN = 3_000
MAX_SYMBOLS = 5_000
MAX_SECTIONS = 1_000
_COMMENT = re.compile(r"^[ \t]*(?:/\*+!?|\*+/|//[/!]?|\*(?!/))|(?<!\*)\*+/$", re.MULTILINE)
MAX_DOCSTRING_CHARS = 200

MARKDOWN_HEADING = re.compile(r"^#{1,6}[ \t]+(\S.{0,200}?)[ \t#]*$", re.MULTILINE)
RST_HEADING = re.compile(
    r"^([^\s=~^\"'*#+.-][^\n]{0,200})\n([=~^\"'*#+-])\2{2,}[ \t]*$", re.MULTILINE
)
COMMENT_HEADING = re.compile(
    r"^[ \t]*(?:#|//)[ \t]*[-=*]{2,}[ \t]*(\w[^\n]{0,100}?)[ \t]*[-=*]*$", re.MULTILINE
)
HEADINGS = {"markdown": MARKDOWN_HEADING, "restructuredtext": RST_HEADING}


class Symbol(NamedTuple):
    """A named definition. `local`: inside a function, so not available to other files. `line` starts at 1."""

    name: str
    kind: str
    line: int
    exported: bool
    local: bool = False


class Import(NamedTuple):
    """An import as written: a module, and for Python the imported names."""

    module: str
    names: tuple[str, ...] = ()


class Facts(NamedTuple):
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
    known = everything or (set() if language == "python" else exports)
    symbols = [*islice(_symbols(captures, language, known), MAX_SYMBOLS)]
    definitions = {symbol.name for symbol in symbols if symbol.exported and symbol.kind != "method"}
    modules = [Import(f"mod {_field(node, 'name')}") for node in captures.get("module", ())]
    return Facts(
        symbols=tuple(symbols),
        exports=tuple(sorted(definitions | exports)),
        docstring=_docstring(tree.root_node, language),
        sections=sections,
        imports=tuple(
            dict.fromkeys(
                [_import(node, language) for node in captures.get("import", ())] + modules
            )
        ),
        package="".join(text_of(node) for node in captures.get("package", ()))
        .removeprefix("package")
        .strip(" ;\n\t"),
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


def _symbols(captures: dict[str, list[Node]], language: str, exports: set[str]) -> Iterator[Symbol]:
    for one in nested("", captures):
        kind = _exact_kind(one, language)
        is_exported = not one.local and _exported(one, kind, language, exports)
        yield Symbol(one.name, kind, one.line, is_exported, one.local)


def _exact_kind(one: Definition, language: str) -> str:
    """Distinguishes constants from variables: by the keyword, in Python by upper case."""
    if one.kind != "var":
        return one.kind
    if language == "python":
        return "const" if one.name.isupper() else "var"
    keyword = _field(one.node.parent, "kind") if one.node.parent else ""
    return keyword if keyword in ("const", "let") else "var"


def _exported(one: Definition, kind: str, language: str, exports: set[str]) -> bool:
    """True if other files can use the definition, by the rule of the language."""
    name, node = one.name, one.node
    if language == "python":
        return name in exports if exports and not one.owner else not name.startswith("_")
    if language == "go":
        return name[:1].isupper()
    if language == "rust":
        return any(child.type == "visibility_modifier" for child in node.children)
    if language in ("java", "csharp"):
        return any(
            "public" in text_of(child).split()
            for child in node.children
            if child.type.startswith("modifier")
        )
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
        names = [
            one.child_by_field_name("name") or one for one in node.children_by_field_name("name")
        ]
        return Import(module, tuple(text_of(one) for one in names))
    if language == "java":
        words = [
            word
            for word in text_of(node).replace(";", " ").split()
            if word not in ("import", "static")
        ]
        return Import("".join(words))
    if language == "rust":
        return Import(re.sub(r"\s+", " ", text_of(node))[:4000])
    return Import(_unquoted(node))


def _docstring(root: Node, language: str) -> str:
    """The first 200 characters of a Python module's docstring, or of the comment that opens a file."""
    texts: list[str] = []
    for node in root.named_children:
        if language == "python" and node.type == "expression_statement":
            inner = node.named_children[0] if node.named_children else None
            if inner is not None and inner.type == "string":
                texts = [text_of(inner).strip("rRbBuU").strip("\"'")]
            break
        if node.type == "hash_bang_line" or (language == "python" and node.type == "comment"):
            continue
        if "comment" not in node.type or len(texts) > 20:
            break
        texts.append(_COMMENT.sub("", text_of(node)))
    return " ".join(" ".join(texts).split())[:MAX_DOCSTRING_CHARS]


def _field(node: Node, name: str) -> str:
    return text_of(node.child_by_field_name(name))


def _unquoted(node: Node) -> str:
    return text_of(node).strip("\"'`")
