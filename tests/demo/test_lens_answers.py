"""What the four tools answer."""

import json
from pathlib import Path
from typing import Any

import pytest
from lens_client import Answer, ask, ask_service, commit

from lensbench_demo.lens.service import Service
from stock import write

PYTHON = {
    "src/shop/__init__.py": "",
    "src/shop/pricing.py": '"""Prices and discounts."""\nMAX_DISCOUNT = 30\n\n\nclass PriceRule:\n    def apply(self): ...\n',
    "src/shop/cart.py": "from .pricing import PriceRule\nfrom shop import taxes\n\n\ndef total_amount():\n"
    "    def helper(): ...\n    # gift vouchers are free of charge\n",
    "src/shop/taxes.py": "import json\nimport shop.pricing\n\n\ndef vat_rate():\n    return 19\n",
    "tests/test_cart.py": "from shop.cart import total_amount\n",
    "README.md": "# The Shop\n\nSelect * from the shelf.\n",
    "notes.bin": "a\0b",
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Service:
    root = write(tmp_path_factory.mktemp("shop"), PYTHON)
    commit(root)
    write(
        root,
        PYTHON
        | {".gitignore": "ignored.py\n", "ignored.py": "secret_name = 1\n", "new.py": "fresh = 1"},
    )
    return Service(root)


def one(service: Service, tool: str, **arguments: Any) -> Answer:
    return ask_service(service, (tool, arguments))[0]


def paths(answer: Answer, term: str) -> list[str]:
    return [hit["path"] for hit in answer.json["results"][term]]


def test_grep_finds_the_definition_first_with_every_field(shop: Service) -> None:
    hit = one(shop, "lens_grep", query="PriceRule").json["results"]["PriceRule"][0]
    assert hit["path"] == "src/shop/pricing.py"
    assert hit["matches"][0] == {
        "kind": "symbol",
        "value": "PriceRule",
        "symbolKind": "class",
        "line": 5,
    }
    assert hit["importers"] == ["src/shop/cart.py", "src/shop/taxes.py"]
    assert (hit["language"], hit["isHub"], hit["hubScore"]) == ("python", False, 1.0)


@pytest.mark.parametrize("query", ["price rule", "price_rule", "pricerule", "PRICE RULE"])
def test_an_identifier_is_found_in_any_style(shop: Service, query: str) -> None:
    assert paths(one(shop, "lens_grep", query=query), query)[0] == "src/shop/pricing.py"


def test_several_words_are_found_with_the_line(shop: Service) -> None:
    hit = one(shop, "lens_grep", query="gift vouchers").json["results"]["gift vouchers"][0]
    line = {"kind": "line", "value": "# gift vouchers are free of charge", "line": 7}
    assert hit["matches"] == [line]


def test_names_with_digits_are_found_in_the_text(tmp_path: Path) -> None:
    root = write(tmp_path, {"a.py": "x = hashlib.sha256()\n", "b.py": "y = Größe\n"})
    for query, path in (("sha256", "a.py"), ("hashlib.sha256", "a.py"), ("größe", "b.py")):
        assert paths(ask(root, "lens_grep", query=query), query) == [path]


def test_terms_are_split_at_bars_matched_as_written_and_limited_each(shop: Service) -> None:
    assert paths(one(shop, "lens_grep", query="* from"), "* from")[0] == "README.md"
    assert "src/shop/cart.py" in paths(one(shop, "lens_grep", query="():"), "():")
    answer = one(shop, "lens_grep", query=" shop | vat_rate ||shop", limit=1).json
    assert answer["terms"] == ["shop", "vat_rate"]
    assert [len(hits) for hits in answer["results"].values()] == [1, 1]
    assert one(shop, "lens_grep", query="zzznothing").json["results"] == {"zzznothing": []}
    for query in ('"', "a AND", "NEAR(", "path:x", "*", "^x", "')--", "🦊", "\x00", "a" * 1000):
        assert not one(shop, "lens_grep", query=query).is_error


def test_new_files_are_indexed_and_ignored_or_binary_ones_are_not(shop: Service) -> None:
    answer = one(shop, "lens_grep", query="fresh|secret_name|notes.bin").json["results"]
    assert [hit["path"] for hit in answer["fresh"]] == ["new.py"]
    assert [hit["path"] for hit in answer["secret_name"]] == []
    assert answer["notes.bin"] == []


def test_the_map_and_the_neighbors_have_clusters_and_edges_of_both_sides(
    shop: Service,
) -> None:
    answer = one(shop, "lens_graph").json
    assert {"key": "src/shop", "fileCount": 4} in answer["clusters"]
    assert {"key": "README.md", "fileCount": 1} in answer["clusters"]
    assert answer["edges"] == [{"source": "tests/test_cart.py", "target": "src/shop", "weight": 1}]
    answer = one(shop, "lens_graph", dir="./src/shop/").json
    assert {file["path"] for file in answer["files"]} == {
        path for path in PYTHON if path.startswith("src/")
    }
    assert {"source": "tests/test_cart.py", "target": "src/shop/cart.py"} in answer["edges"]
    assert {"source": "src/shop/cart.py", "target": "src/shop/pricing.py"} in answer["edges"]
    cart = next(file for file in answer["files"] if file["path"] == "src/shop/cart.py")
    assert cart["symbols"] == [{"name": "total_amount", "kind": "function", "line": 5}]
    cart = one(shop, "lens_graph_neighbors", path="src/shop/cart.py").json
    assert cart["imports"] == ["src/shop/pricing.py", "src/shop/taxes.py"]
    assert cart["importers"] == ["tests/test_cart.py"]


def test_a_folder_of_the_root_narrows_the_answer_and_an_empty_dir_is_the_whole_repository(
    shop: Service,
) -> None:
    assert len(one(shop, "lens_graph", dir="").json["files"]) == len(PYTHON) + 1
    for name in ("tests", str(shop.root / "tests")):
        assert paths(
            one(shop, "lens_grep", query="total_amount", repoPath=name), "total_amount"
        ) == ["tests/test_cart.py"]
    assert (
        one(shop, "lens_graph_neighbors", repoPath="src", path="shop/cart.py").json["file"][
            "language"
        ]
        == "python"
    )
    assert one(shop, "lens_graph", repoPath="src").json["edges"][0]["source"] == "src/shop/cart.py"


def test_a_folder_whose_name_begins_with_a_dot_is_a_folder_like_others(tmp_path: Path) -> None:
    root = write(tmp_path, {".ci/run.py": "alpha = 1\n", "ci/run.py": "alpha = 2\n"})
    found = ask(root, "lens_grep", query="alpha", repoPath=".ci")
    assert paths(found, "alpha") == [".ci/run.py"]
    assert (
        ask(root, "lens_graph_neighbors", path="./.ci/run.py").json["file"]["path"] == ".ci/run.py"
    )


def test_mistakes_are_errors_that_say_what_to_do(shop: Service) -> None:
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("lens_grep", {"query": " | "}, "names no search term"),
        ("lens_grep", {"query": "|".join("abcdefghijk")}, "at most 10"),
        ("lens_grep", {"query": "x", "repoPath": "/etc"}, "is outside the folder"),
        ("lens_grep", {"query": "x", "repoPath": "../.."}, "is outside the folder"),
        ("lens_grep", {"query": "x", "repoPath": "nowhere"}, "Omit it"),
        ("lens_graph", {"dir": "nowhere"}, "without dir"),
        ("lens_graph", {"dir": "../x"}, "is outside the folder"),
        ("lens_graph_neighbors", {"path": "cart.py"}, "Did you mean src/shop/cart.py?"),
        ("lens_graph_neighbors", {"path": "/etc/passwd"}, "is outside the folder"),
        ("lens_graph_neighbors", {"path": "a\0b"}, "is not a valid path"),
        ("lens_reindex", {"repoPath": "/"}, "is outside the folder"),
    ]
    answers = ask_service(shop, *[(tool, arguments) for tool, arguments, _ in cases])
    for (tool, arguments, text), answer in zip(cases, answers, strict=True):
        assert answer.is_error, (tool, arguments)
        assert text in answer.text


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("lens_grep", {}),
        ("lens_grep", {"query": "x", "limit": 0}),
        ("lens_grep", {"query": "x", "limit": 51}),
        ("lens_graph_neighbors", {}),
        ("lens_reindex", {"force": "perhaps"}),
        ("lens_nothing", {}),
    ],
)
def test_arguments_beyond_bounds_and_unknown_tools_fail(
    shop: Service, tool: str, arguments: dict[str, Any]
) -> None:
    assert one(shop, tool, **arguments).is_error


def test_reindex_sees_changed_new_and_deleted_files(tmp_path: Path) -> None:
    service = Service(write(tmp_path, {"a.py": "alpha = 1\n", "b.py": "beta = 1\n"}))
    assert paths(one(service, "lens_grep", query="alpha"), "alpha") == ["a.py"]
    assert one(service, "lens_reindex").json["skipped"] is True
    (tmp_path / "b.py").unlink()
    write(tmp_path, {"a.py": "gamma = 12345\n", "c.py": "import a\n"})
    answer = one(service, "lens_reindex").json
    assert (answer["files_scanned"], answer["skipped"]) == (2, False)
    found = one(service, "lens_grep", query="alpha|beta|gamma").json["results"]
    assert [[hit["path"] for hit in hits] for hits in found.values()] == [[], [], ["a.py"]]
    assert one(service, "lens_graph_neighbors", path="a.py").json["importers"] == ["c.py"]
    assert one(service, "lens_graph_neighbors", path="b.py").is_error
    assert one(service, "lens_reindex", force=True).json["skipped"] is False


@pytest.mark.parametrize(
    ("tool", "arguments", "lists"),
    [
        ("lens_grep", {"query": "handler", "limit": 50}, {"handler"}),
        ("lens_graph", {}, {"clusters", "edges"}),
        ("lens_graph", {"dir": "."}, {"files", "edges"}),
        ("lens_graph_neighbors", {"path": "core.py"}, {"importers", "symbols"}),
    ],
)
def test_answers_are_capped_and_say_so(
    tmp_path: Path, tool: str, arguments: dict[str, Any], lists: set[str]
) -> None:
    many = {
        f"pkg{n}/sub/handler_{n}.py": f"import core\n\n\ndef handler_{n}(): ...\n"
        for n in range(300)
    }
    root = write(
        tmp_path, many | {"core.py": "".join(f"def function_{n}(): ...\n" for n in range(400))}
    )
    answer = ask(root, tool, **arguments)
    assert 15_000 < len(answer.text) <= 20_000
    omitted = answer.json["omitted"]
    assert set(omitted) == lists
    if tool == "lens_graph_neighbors":
        assert omitted["importers"] + len(answer.json["importers"]) == 300
    assert answer.text == json.dumps(answer.json, indent=2, ensure_ascii=False)


def test_the_same_folder_gives_the_same_bytes(tmp_path: Path) -> None:
    one_root = write(tmp_path / "a", PYTHON)
    other_root = write(tmp_path / "b", PYTHON)
    for tool, arguments in (
        ("lens_grep", {"query": "shop|total"}),
        ("lens_graph", {}),
        ("lens_graph", {"dir": ""}),
    ):
        assert ask(one_root, tool, **arguments) == ask(other_root, tool, **arguments)
