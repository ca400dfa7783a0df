"""Resolves import statements to files of the tree: Python, JavaScript and TypeScript, Go, Rust and Java."""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from posixpath import dirname, join, normpath

from lensbench_tasks.parsers.symbols import Facts, Import

JS_ENDINGS = (".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts", ".json")
JS_ENTRIES = ("src/index", "index", "src/main", "main", "lib/index")
PYTHON_FILES = (".py", "/__init__.py", ".pyi", "/__init__.pyi")
MANIFESTS = ("package.json", "go.mod", "Cargo.toml")
MAX_RUST_PATHS = 200

Resolver = Callable[[str, Import], Iterable[str]]


def resolve_imports(
    facts: Mapping[str, Facts], languages: Mapping[str, str | None], manifests: Mapping[str, str]
) -> dict[str, list[str]]:
    """The files that each file imports, sorted, without itself.

    `facts` and `languages` are by path; `manifests` holds the text of the package.json, go.mod and Cargo.toml files.
    Imports from outside the tree (the standard library, installed packages) are skipped.
    """
    paths = frozenset(facts)
    script = _script_resolver(paths, manifests)
    resolvers: dict[str | None, Resolver] = {
        "python": _python_resolver(paths),
        "javascript": script,
        "typescript": script,
        "tsx": script,
        "go": _go_resolver(paths, manifests),
        "rust": _rust_resolver(paths, manifests),
        "java": _java_resolver(facts),
    }
    edges: dict[str, list[str]] = {}
    for path, file_facts in facts.items():
        resolve = resolvers.get(languages[path])
        if resolve is not None:
            targets = {target for one in file_facts.imports for target in resolve(path, one)}
            edges[path] = sorted(targets - {path})
    return edges


def _python_resolver(paths: frozenset[str]) -> Resolver:
    """Relative imports from the file's folder; absolute ones from the folder that holds its package, then others."""
    packages = {dirname(path) for path in paths if path.endswith(("/__init__.py", "/__init__.pyi"))}
    roots: dict[str, set[str]] = defaultdict(
        set
    )  # name of a top-level package -> the folders that hold one
    for package in packages:
        root = _package_root(package, packages)
        roots[package[len(root) :].lstrip("/").split("/")[0]].add(root)

    def module(base: str) -> str | None:
        return next((base + ending for ending in PYTHON_FILES if base + ending in paths), None)

    def bases(path: str, name: str) -> Iterator[str]:
        if name.startswith("."):
            folder = dirname(path)
            for _ in range(len(name) - len(name.lstrip(".")) - 1):
                folder = dirname(folder)
            yield join(folder, *filter(None, name.lstrip(".").split(".")))
            return
        first = name.split(".")[0]
        others = set() if first in sys.stdlib_module_names else roots[first]
        near = [_package_root(dirname(path), packages), "", "src"]
        for root in dict.fromkeys(
            [*near, *sorted(others, key=lambda root: (root.count("/"), root))]
        ):
            yield join(root, *name.split("."))

    def resolve(path: str, one: Import) -> Iterable[str]:
        for base in bases(path, one.module):
            parent = module(base)
            inside = [module(join(base, name)) or parent for name in one.names] or [parent]
            if any(inside):
                return [target for target in inside if target]
        return ()

    return resolve


def _package_root(folder: str, packages: set[str]) -> str:
    """The nearest parent folder that is not a package, where absolute imports of this file start."""
    while folder in packages and folder:
        folder = dirname(folder)
    return folder


def _script_resolver(paths: frozenset[str], manifests: Mapping[str, str]) -> Resolver:
    """Relative imports with extensions and index files, `.js` for `.ts`, and packages of the same workspace."""
    workspace = dict(_named_packages(manifests))

    def file(base: str) -> str | None:
        stem = re.sub(r"\.([cm]?)jsx?$", "", base)
        names = [
            base,
            *(base + ending for ending in JS_ENDINGS),
            *(stem + ending for ending in JS_ENDINGS),
        ]
        names += [join(base, "index" + ending) for ending in JS_ENDINGS]
        return next((name for name in names if name in paths), None)

    def candidates(path: str, target: str) -> Iterator[str]:
        if target.startswith("."):
            yield normpath(join(dirname(path), target))
            return
        parts = target.split("/")
        size = 2 if target.startswith("@") else 1
        folder = workspace.get("/".join(parts[:size]))
        if folder is None:
            return
        rest = "/".join(parts[size:])
        for entry in [rest, join("src", rest)] if rest else JS_ENTRIES:
            yield normpath(join(folder, entry))

    def resolve(path: str, one: Import) -> Iterator[str]:
        targets = (file(candidate) for candidate in candidates(path, one.module))
        yield from [target for target in targets if target][:1]

    return resolve


def _named_packages(manifests: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Name and folder of each valid package.json."""
    for path, text in sorted(manifests.items()):
        if path.rsplit("/", 1)[-1] == "package.json":
            try:
                content = json.loads(text)
            except (ValueError, RecursionError):
                continue
            if isinstance(content, dict) and isinstance(content.get("name"), str):
                yield content["name"], dirname(path)


def _go_resolver(paths: frozenset[str], manifests: Mapping[str, str]) -> Resolver:
    """Packages of modules in this tree: all their files except tests."""
    modules = {
        match[1]: dirname(path)
        for path, text in sorted(manifests.items())
        if path.endswith("go.mod")
        and (match := re.search(r"^module\s+\"?([^\s\"]+)", text, re.MULTILINE))
    }
    folders: dict[str, list[str]] = defaultdict(list)
    for path in paths:
        if path.endswith(".go") and not path.endswith("_test.go"):
            folders[dirname(path)].append(path)

    def resolve(path: str, one: Import) -> Iterable[str]:
        parts = one.module.split("/")
        for size in range(len(parts), 0, -1):
            folder = modules.get("/".join(parts[:size]))
            if folder is not None:
                return folders.get(join(folder, *parts[size:]), ())
        return ()

    return resolve


def _rust_resolver(paths: frozenset[str], manifests: Mapping[str, str]) -> Resolver:
    """`mod x;`, and `use` paths from crate, self, super or another crate of the workspace."""
    crates = {
        match[1].replace("-", "_"): join(dirname(path), "src")
        for path, text in sorted(manifests.items())
        if path.endswith("Cargo.toml")
        and (match := re.search(r"^name\s*=\s*\"([^\"]+)\"", text, re.MULTILINE))
    }

    def file(base: str) -> str | None:
        return next((name for name in (f"{base}.rs", f"{base}/mod.rs") if name in paths), None)

    def below(path: str) -> str:
        """The folder that holds the modules of this file."""
        name = path.rsplit("/", 1)[-1]
        return (
            dirname(path) if name in ("mod.rs", "lib.rs", "main.rs") else path.removesuffix(".rs")
        )

    def start(path: str, parts: list[str]) -> tuple[str, list[str]]:
        """The folder that a `use` path starts from, and the rest of the path."""
        own = [folder for folder in crates.values() if path.startswith(folder + "/")]
        if parts[0] == "crate":
            return (max(own, key=len) if own else "src"), parts[1:]
        if parts[0] in crates:
            return crates[parts[0]], parts[1:]
        folder = below(path)
        while parts and parts[0] in ("self", "super"):
            folder = dirname(folder) if parts[0] == "super" else folder
            parts = parts[1:]
        return folder, parts

    def resolve(path: str, one: Import) -> Iterator[str]:
        if one.module.startswith("mod "):
            yield from filter(None, [file(join(below(path), one.module[4:]))])
            return
        for parts in _rust_paths(one.module):
            folder, rest = start(path, parts)
            tries = (file(join(folder, *rest[:size])) for size in range(len(rest), 0, -1))
            entries = (f"{folder}/lib.rs", f"{folder}.rs", f"{folder}/mod.rs")
            entry = next((name for name in entries if name in paths), None)
            outside = parts[0] not in ("crate", "self", "super", *crates)
            target = next(filter(None, tries), None if outside else entry)
            if target:
                yield target

    return resolve


def _rust_paths(text: str) -> list[list[str]]:
    """The single paths of `a::{b, c::{d, e}}`, at most 200 of them."""
    prefixes: list[list[str]] = [[]]
    current: list[str] = []
    paths: list[list[str]] = []
    for token in re.findall(r"\w+|\{|\}|,", re.sub(r"\bas\s+\w+|\br#", "", text)):
        if token == "{":
            prefixes.append(prefixes[-1] + current)
            current = []
        elif token in ",}":
            if current:
                paths.append(prefixes[-1] + current)
            current = []
            if token == "}" and len(prefixes) > 1:
                prefixes.pop()
        else:
            current.append(token)
        if len(paths) >= MAX_RUST_PATHS or len(prefixes) > 50:
            break
    return [*paths, prefixes[-1] + current] if current else paths


def _java_resolver(facts: Mapping[str, Facts]) -> Resolver:
    """Classes by their full name, also for static imports and inner classes. Wildcards are not resolved."""
    classes = {
        f"{file_facts.package}.{path.rsplit('/', 1)[-1].removesuffix('.java')}": path
        for path, file_facts in sorted(facts.items())
        if path.endswith(".java") and file_facts.package
    }

    def resolve(path: str, one: Import) -> Iterator[str]:
        parts = one.module.split(".")
        names = (".".join(parts[:size]) for size in range(len(parts), 1, -1))
        yield from [classes[name] for name in names if name in classes][:1]

    return resolve
