"""Symbols and import edges, language by language."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lens_client import write_tree

from lensbench_demo.lens.texts import Texts
from lensbench_demo.lens.tree import Tree, scan
from lensbench_demo.lens.words import camel_case, words
from lensbench_tasks.parsers.grammars import SOURCES
from lensbench_tasks.parsers.symbols import read_facts

TREES = {
    "python": (
        {
            "src/app/__init__.py": "", "src/app/core/__init__.py": "",
            "src/app/core/run.py": "from ..models import user\nfrom . import helpers as h\nfrom app.core.helpers import x\n",
            "src/app/core/helpers.py": "import os, json\n", "src/app/models/__init__.py": "",
            "src/app/models/user.py": "if True:\n    from app.core import run, missing\n",
            "libs/other/src/other/__init__.py": "from app.models.user import *\n",
            "scripts/tool.py": "import near\nimport other\n", "scripts/near.py": "", "tests/email/__init__.py": "",
            "tests/json.py": "",
        },
        {
            ("src/app/core/run.py", "src/app/models/user.py"), ("src/app/core/run.py", "src/app/core/helpers.py"),
            ("src/app/models/user.py", "src/app/core/run.py"), ("src/app/models/user.py", "src/app/core/__init__.py"),
            ("libs/other/src/other/__init__.py", "src/app/models/user.py"), ("scripts/tool.py", "scripts/near.py"),
            ("scripts/tool.py", "libs/other/src/other/__init__.py"),
        },
    ),
    "typescript": (
        {
            "apps/web/a.ts": "import { b } from './b.js';\nexport * from './dir';\nimport x from '@org/lib';\nimport 'react';\n",
            "apps/web/b.ts": "const c = require('../c');\nawait import('@org/lib/deep');\n",
            "apps/web/dir/index.tsx": "export const View = () => <p/>;\n", "apps/c.js": "",
            "lib/package.json": '{"name": "@org/lib"}', "lib/src/index.ts": "", "lib/src/deep.ts": "",
            "broken/package.json": "{",
        },
        {
            ("apps/web/a.ts", "apps/web/b.ts"), ("apps/web/a.ts", "apps/web/dir/index.tsx"),
            ("apps/web/a.ts", "lib/src/index.ts"), ("apps/web/b.ts", "apps/c.js"), ("apps/web/b.ts", "lib/src/deep.ts"),
        },
    ),
    "go": (
        {
            "go.mod": "module example.com/shop\n",
            "main.go": 'package main\nimport (\n "fmt"\n s "example.com/shop/store"\n)\n',
            "store/store.go": "package store\n",
            "store/more.go": "package store\n",
            "store/store_test.go": "package store\n",
        },
        {("main.go", "store/store.go"), ("main.go", "store/more.go")},
    ),
    "rust": (
        {
            "core/Cargo.toml": '[package]\nname = "shop-core"\n', "core/src/lib.rs": "pub mod store;\nmod util;\n",
            "core/src/store/mod.rs": "mod item;\nuse crate::util::{log, text::Text};\n",
            "core/src/store/item.rs": "use super::Shelf;\nuse std::io;\n", "core/src/util.rs": "pub fn log() {}\n",
            "cli/Cargo.toml": '[package]\nname = "cli"\n',
            "cli/src/main.rs": "use shop_core::store::item::Item as I;\n",
        },
        {
            ("core/src/lib.rs", "core/src/store/mod.rs"), ("core/src/lib.rs", "core/src/util.rs"),
            ("core/src/store/mod.rs", "core/src/store/item.rs"), ("core/src/store/mod.rs", "core/src/util.rs"),
            ("core/src/store/item.rs", "core/src/store/mod.rs"), ("cli/src/main.rs", "core/src/store/item.rs"),
        },
    ),
    "java": (
        {
            "src/main/java/a/b/Shop.java": "package a.b;\nimport a.c.Item;\nimport static a.c.Tax.rate;\nimport java.util.*;\n",
            "src/main/java/a/c/Item.java": "package a.c;\npublic class Item {}\n",
            "src/main/java/a/c/Tax.java": "package a.c;\npublic class Tax {}\n",
        },
        {
            ("src/main/java/a/b/Shop.java", "src/main/java/a/c/Item.java"),
            ("src/main/java/a/b/Shop.java", "src/main/java/a/c/Tax.java"),
        },
    ),
}  # fmt: skip

SYMBOLS = {
    "python": ("class A:\n  def m(self):\n    def i(): ...\nX = 1\n_y = 2\n", "A:class+ m:method+ i:function- X:const+ _y:var-"),
    "javascript": ("export class A { m() {} }\nconst f = () => 1;\nmodule.exports = { f };\n", "A:class+ m:method+ f:function+"),
    "typescript": ("export interface I {}\ntype T = 1;\nexport { T };\nenum E { A }\nexport const k = 1;\n", "I:interface+ T:type+ E:enum- k:const+",),
    "tsx": ("export function View() { return <p/>; }\n", "View:function+"),
    "go": ("package p\ntype S struct{}\nfunc (s S) M() {}\nfunc f() {}\nconst A, b = 1, 2\n", "S:class+ M:method+ f:function- A:const+ b:const-"),
    "rust": ("pub struct S;\nimpl S { pub fn n() {} }\nfn f() {}\npub trait T {}\n", "S:class+ n:method+ f:function- T:interface+"),
    "java": ("public class C { public void m() {} int p() {} }\nenum E {}\n", "C:class+ m:method+ p:method- E:enum-"),
    "csharp": ("namespace N { public class C { public void M() {} } struct S {} }\n", "N:namespace- C:class+ M:method+ S:class-"),
}  # fmt: skip


@pytest.mark.parametrize("language", TREES)
def test_imports_become_directed_edges_between_files(tmp_path: Path, language: str) -> None:
    files, expected = TREES[language]
    texts = Texts()
    tree = scan(write_tree(tmp_path, files), texts, Tree(), lambda: False)
    texts.close()
    assert {(path, target) for path, targets in tree.imports.items() for target in targets} == expected


@pytest.mark.parametrize("language", SYMBOLS)
def test_symbols_have_kind_and_visibility(language: str) -> None:
    text, expected = SYMBOLS[language]
    found = read_facts(text, language).symbols
    assert " ".join(f"{one.name}:{one.kind}{'+' if one.exported else '-'}" for one in found) == expected


def test_a_list_of_all_names_decides_what_python_exports() -> None:
    facts = read_facts('__all__ = ["A", "later"]\nclass A: ...\nclass B: ...\n', "python")
    assert facts.exports == ("A", "later")
    assert [one.exported for one in facts.symbols if one.kind == "class"] == [True, False]


@pytest.mark.parametrize(("language", "text", "docstring"), [
    ("python", '#!/usr/bin/python\n# licence\n"""What it\n  does."""\n', "What it does."),
    ("javascript", "#!/usr/bin/env node\n/**\n * What it\n * does.\n */\nx()\n", "What it does."),
    ("go", "// Package p\n// does.\npackage p\n", "Package p does."), ("rust", "//! What it\n//! does.\n", "What it does."),
])  # fmt: skip
def test_the_docstring_is_what_opens_the_file(language: str, text: str, docstring: str) -> None:
    assert read_facts(text, language).docstring == docstring


def test_headings_are_sections_with_lines() -> None:
    assert read_facts("# One\ntext\n## Two ##\n", "markdown").sections == (("One", 1), ("Two", 3))
    assert read_facts("One\n===\n\nTwo\n---\n", "restructuredtext").sections == (("One", 1), ("Two", 4))
    assert read_facts("x = 1\n# --- Helpers ---\n", "python").sections == (("Helpers", 2),)


@settings(max_examples=60)
@given(
    text=st.text(alphabet="ab_ .:,;(){}[]<>=\"'`*/#\n\tdefclasimportuse@$\u00e9\ud83e", max_size=200),
    language=st.sampled_from(sorted(SOURCES)),
)
def test_no_text_breaks_the_reader(text: str, language: str) -> None:
    for symbol in read_facts(text, language).symbols:
        assert 1 <= symbol.line <= text.count("\n") + 1


@pytest.mark.parametrize(
    ("language", "text"), [("javascript", "("), ("typescript", "{[<"), ("java", "class A{"), ("go", "func f(){")]
)
def test_absurd_nesting_is_given_up_instead_of_searched_for_hours(language: str, text: str) -> None:
    assert len(read_facts(text * 100_000, language).symbols) <= 5_000


def test_identifiers_fall_into_words() -> None:
    assert words("OptionParser parse_args HTTPServer2 größe") == [
        "option", "parser", "parse", "args", "http", "server", "2", "größe",
    ]  # fmt: skip
    assert camel_case("OptionParser plain CONST getHTTP OptionParser") == "option parser get http"
