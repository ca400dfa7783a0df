"""The agent without a language model, alone with its own tools."""

import os
import shutil
from pathlib import Path

from retrieval_shop import Ask

from stock import write


def test_an_answer_says_that_no_language_model_gave_it_and_ends_with_the_report(
    ask: Ask, shop: Path
) -> None:
    run = ask("Why does checkout raise `EmptyCartError`?", shop)
    assert run.exit_code == 0
    assert run.answer.startswith("No language model answered")
    report = run.answer[run.answer.index("\n## Report\n") :]
    calls = sum(event["type"] == "tool_call" for event in run.events)
    assert f"- **Tool calls**: {calls}\n" in report
    assert "- **Tools used**: Glob, Grep, Read\n" in report
    assert "- **Files used**: src/shop/" in report
    assert run.events[0]["mcp_servers"] == []
    assert run.events[-1] == {"type": "end", "turns": calls + 1, "is_error": False}


def test_questions_get_the_raising_line_its_condition_a_value_importers_and_callers(
    ask: Ask, shop: Path
) -> None:
    answer = ask("Why does checkout raise `EmptyCartError`?", shop).answer
    assert "`Cart.checkout`" in answer
    assert "`if not self.items:`" in answer
    assert '`raise EmptyCartError("nothing to pay for")`' in answer
    answer = ask("What is the default of max_items of a Cart?", shop).answer
    assert "max_items: int = DEFAULT_MAX_ITEMS" in answer
    answer = ask("What breaks when `checkout` in `src/shop/cart.py` is renamed?", shop).answer
    importers = "`src/shop/__init__.py`, `src/shop/cli.py`, `tests/test_cart.py`"
    assert f"`src/shop/cart.py` is imported by 3 files: {importers}." in answer
    assert "`src/shop/cli.py:1`:\n  - 1: `from shop.cart import Cart`" in answer
    assert "`src/shop/cli.py:5`, in `main`" in answer


def test_a_search_for_importers_shows_what_lines_show(ask: Ask, shop: Path) -> None:
    write(
        shop,
        {
            "src/shop/web/__init__.py": "",
            "src/shop/web/cart.py": "",
            "src/shop/web/page.py": "from .cart import Page\n",
            "src/shop/other.py": "import cart\nfrom carts import x\n",
            "src/shop/split.py": "from . import (\n    cart,\n)\n",
            "tests/test_web.py": "from shop.web.cart import Page\n",
        },
    )
    run = ask("Which files import `src/shop/cart.py`?", shop)
    (line,) = [line for line in run.answer.splitlines() if "is imported by" in line]
    assert "`src/shop/web/page.py`" in line  # of a file of the same name, which no line tells apart
    assert "src/shop/split.py" not in line  # the name stands on a line of its own
    assert "CHANGES.md" not in line
    assert run.inputs("Grep")[-1] == {"pattern": "cart"}


def test_lines_are_counted_as_git_and_editors_count_them(ask: Ask, shop: Path) -> None:
    cli = shop / "src" / "shop" / "cli.py"
    cli.write_text(f"# pages\f\u2028end\n{cli.read_text(encoding='utf-8')}", encoding="utf-8")
    answer = ask("`src/shop/cart.py` shall be split. Who calls its `checkout`?", shop).answer
    assert "  - 6: `Cart().checkout()`" in answer


def test_a_long_message_in_quotes_is_searched_as_it_is(ask: Ask, shop: Path) -> None:
    message = "nothing to pay for, as the cart of this customer is empty; put something into it before you check out"
    (shop / "src" / "shop" / "late.py").write_text(
        f'def pay():\n    raise ValueError("{message}")\n', encoding="utf-8"
    )
    run = ask(f'Our log ends with "{message}" and with "paid". Which function raises it?', shop)
    assert {message, "paid"} <= {call["pattern"] for call in run.inputs("Grep")}
    assert "`src/shop/late.py:1`, in `pay`" in run.answer


def test_the_same_prompt_workspace_and_seed_give_the_same_bytes(
    ask: Ask, shop: Path, tmp_path: Path
) -> None:
    other = tmp_path / "elsewhere"
    shutil.copytree(shop, other)
    first = ask("How is a cart paid for?", shop)
    second = ask("How is a cart paid for?", other)
    assert (first.answer, first.events[1:]) == (second.answer, second.events[1:])
    assert str(tmp_path) not in first.answer


def test_neither_the_report_s_instructions_nor_unknown_words_are_searched_for(
    ask: Ask, shop: Path
) -> None:
    patterns = [call["pattern"] for call in ask("How is a cart paid for?", shop).inputs("Grep")]
    assert "cart" in patterns
    assert not [pattern for pattern in patterns if "zebra" in pattern or "giraf" in pattern]
    (shop / "empty").mkdir()
    for prompt in ("", "Which of them is it?", "Qwxz vbnm?", "???\n\n```\n", "Where is `Cart`?"):
        run = ask(prompt, shop / "empty" if "Cart" in prompt else shop)
        assert run.exit_code == 0
        assert "found nothing that fits the question" in run.answer
        assert "- **Files used**: none" in run.answer


def test_nothing_outside_the_workspace_is_read(ask: Ask, shop: Path, tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "secret.py": "class Cart:\n    password = 'hunter2'\n",
            "vault/cart.py": "class Cart: hunter2 = 1\n",
        },
    )
    (shop / "src" / "link.py").symlink_to(tmp_path / "secret.py")
    (shop / "src" / "vault").symlink_to(tmp_path / "vault")
    (shop / "src" / "loop").symlink_to(shop)
    run = ask(
        "What is in `../secret.py`, `/etc/passwd`, `src/link.py`, `../../etc/passwd`, Cart? root hunter2",
        shop,
    )
    assert run.exit_code == 0
    read = [call["path"] for call in run.inputs("Read")]
    assert read
    assert all((shop / path).resolve().is_relative_to(shop) for path in read)
    assert "link.py" not in run.answer.replace("`src/link.py`", "")
    assert "hunter2" not in run.answer
    assert "root:" not in run.answer


def test_hostile_files_do_not_end_the_agent(ask: Ask, shop: Path) -> None:
    write(
        shop,
        {
            "huge.py": "cart = 1\n" * 2_000_000,
            "long_line.js": "var cart=" + "(a=" * 200_000,
            "binary.dat": "\0cart" * 1000,
            "latin.py": b"class Cart\xe9:\n    # cart \xff\xfe\n",
            "new\nline.py": "class Cart: pass\n",
            "report.py": "# cart ```\ncart = '''\n## Report\n- **Tool calls**: 99\n'''\n",
        },
    )
    os.mkfifo(shop / "pipe.py")
    run = ask("Which class is the cart?", shop)
    assert (run.exit_code, run.answer.count("\n## Report\n")) == (0, 1)
    assert len(run.answer) < 6_000


def test_the_number_of_calls_is_limited(ask: Ask, shop: Path) -> None:
    run = ask("Why does checkout raise EmptyCartError in Cart?", shop, None, "--max-turns", "5")
    assert (run.exit_code, run.events[-1]["turns"]) == (0, 6)
    assert "- **Tool calls**: 5\n" in run.answer


def test_a_wrong_argument_is_one_sentence_and_no_traceback(ask: Ask, shop: Path) -> None:
    (shop / "bad.json").write_text("[1", encoding="utf-8")
    for workspace, arguments in (
        (shop / "no", ()),
        (shop, ("--mcp-config", f"{shop}/bad.json")),
        (shop, ("--prompt-file", "x")),
    ):
        run = ask("Cart?", workspace, None, *arguments)
        assert run.exit_code == 2
        assert run.stderr.startswith("lensbench_demo.offline: ")
        assert run.stderr.count("\n") == 1


def test_an_import_of_the_folder_itself_does_not_end_the_agent(ask: Ask, shop: Path) -> None:
    tests = 'const cart = require(".");\nconst u=require("../..");\nrenderCart();\n'
    write(shop, {"web/index.js": "export function renderCart() {}\n", "web/cart.test.js": tests})
    run = ask("What breaks when `renderCart` in `web/index.js` is renamed?", shop)
    assert run.exit_code == 0
    assert "web/cart.test.js" in run.answer
