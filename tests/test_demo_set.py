"""The demo set states facts that are true of the pinned sources, and asks for them fairly."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

import pytest

from facts import Fact, fact_problems, pattern_problems, unproven
from lensbench.core.tasks import Category, Pypi, Task
from lensbench.judging.judges import Verdict
from lensbench.judging.judges.mechanical import judge
from lensbench.judging.judges.normalising import normalise
from lensbench.plan.task_files import read_scenarios
from lensbench.repositories.prepare import prepare

ROOT = Path(__file__).parents[1]
TASKS = {task.id: task for task in read_scenarios([str(ROOT / "scenarios" / "demo.yaml")]).tasks}

CLICK, HTTPX, JINJA, TOMLKIT = "src/click/", "httpx/", "src/jinja2/", "tomlkit/"
FACTS = (
    Fact("click-exp-01", 1, CLICK + "core.py", r"self\._main_shell_completion\(", "Command.main"),
    Fact("click-exp-01", 1, CLICK + "core.py", r'f"_\{complete_name\}_COMPLETE"', "Command._main_shell_completion"),
    Fact("click-exp-01", 1, CLICK + "core.py", r"os\.environ\.get\(complete_var\)", "Command._main_shell_completion"),
    Fact(
        "click-exp-01", 2, CLICK + "shell_completion.py", r"comp_cls = get_completion_class\(shell\)", "shell_complete"
    ),
    Fact("click-exp-01", 2, CLICK + "shell_completion.py", r"return _available_shells\.get", "get_completion_class"),
    Fact("click-exp-01", 3, CLICK + "shell_completion.py", r'\["resilient_parsing"\] = True', "_resolve_context"),
    Fact("click-exp-01", 4, CLICK + "shell_completion.py", r"if _is_incomplete_option\(", "_resolve_incomplete"),
    Fact("click-exp-01", 4, CLICK + "shell_completion.py", r"if _is_incomplete_argument\(", "_resolve_incomplete"),
    Fact("click-exp-01", 4, CLICK + "shell_completion.py", r"return ctx\.command, incomplete", "_resolve_incomplete"),
    Fact("click-exp-01", 5, CLICK + "types.py", r"def shell_complete\(", "ParamType"),
    Fact("click-exp-01", 5, CLICK + "core.py", r"return self\.type\.shell_complete\(", "Parameter.shell_complete"),
    Fact("click-chg-01", 1, CLICK + "globals.py", r"color: bool \| None", "resolve_color_default"),
    Fact("click-chg-01", 2, CLICK + "globals.py", r"get_current_context\(silent=True\)", "resolve_color_default"),
    Fact("click-chg-01", 2, CLICK + "globals.py", r"return ctx\.color", "resolve_color_default"),
    Fact("click-chg-01", 3, CLICK + "utils.py", r"resolve_color_default\(color\)", "echo"),
    Fact("click-chg-01", 3, CLICK + "termui.py", r"resolve_color_default\(color\)", "echo_via_pager"),
    Fact("click-chg-01", 3, CLICK + "termui.py", r"resolve_color_default\(color\)", "progressbar"),
    Fact(
        "click-chg-01", 4, CLICK + "exceptions.py", r"self\.show_color.*= resolve_color_default\(\)", "ClickException"
    ),
    Fact(
        "click-chg-01", 5, CLICK + "testing.py", r"utils\.should_strip_ansi = should_strip_ansi", "CliRunner.isolation"
    ),
    Fact("click-tgt-01", 1, CLICK + "formatting.py", r"max_width = 80$", "HelpFormatter.__init__"),
    Fact("click-tgt-01", 1, CLICK + "formatting.py", r"columns, max_width\) - 2, 50\)$", "HelpFormatter.__init__"),
    Fact("click-tgt-01", 2, CLICK + "formatting.py", r"width = max\(min\(.*, 50\)$", "HelpFormatter.__init__"),
    Fact("click-tgt-01", 3, CLICK + "formatting.py", r"col_max: int = 30,", "HelpFormatter.write_dl"),
    Fact("click-tgt-01", 3, CLICK + "formatting.py", r"min\(widths\[0\], col_max\)", "HelpFormatter.write_dl"),
    Fact("click-tgt-01", 4, CLICK + "formatting.py", r"col_spacing: int = 2,", "HelpFormatter.write_dl"),
    Fact("click-tgt-01", 5, CLICK + "testing.py", r"formatting\.FORCED_WIDTH = 80$", "CliRunner.isolation"),
    Fact("httpx-exp-01", 1, HTTPX + "_utils.py", r"proxy_info = getproxies\(\)", "get_environment_proxies"),
    Fact(
        "httpx-exp-01", 2, HTTPX + "_utils.py", r'mounts\[f"all://\*\{hostname\}"\] = None', "get_environment_proxies"
    ),
    Fact("httpx-exp-01", 3, HTTPX + "_utils.py", r"return self\.priority < other\.priority", "URLPattern.__lt__"),
    Fact("httpx-exp-01", 3, HTTPX + "_utils.py", r"from most specific to least specific", "URLPattern.priority"),
    Fact("httpx-exp-01", 4, HTTPX + "_client.py", r"if pattern\.matches\(url\)", "Client._transport_for_url"),
    Fact("httpx-exp-01", 4, HTTPX + "_client.py", r"dict\(sorted\(self\._mounts\.items", "Client.__init__"),
    Fact("httpx-exp-01", 5, HTTPX + "_transports/default.py", r"httpcore\.SOCKSProxy\(", "HTTPTransport.__init__"),
    Fact("httpx-exp-01", 5, HTTPX + "_transports/default.py", r"import socksio", "HTTPTransport.__init__"),
    Fact(
        "httpx-dbg-01",
        1,
        HTTPX + "_client.py",
        r'codes\.MOVED_PERMANENTLY and method == "POST":\s+method = "GET"',
        "BaseClient._redirect_method",
    ),
    Fact(
        "httpx-dbg-01",
        2,
        HTTPX + "_client.py",
        r'method == "GET":\s+return None',
        "BaseClient._redirect_stream",
    ),
    Fact(
        "httpx-dbg-01",
        3,
        HTTPX + "_client.py",
        r'if not _same_origin\(url, request\.url\):\n.*_is_https_redirect.*\n(.*#.*\n)*.*pop\("Authorization"',
        "BaseClient._redirect_headers",
    ),
    Fact("httpx-dbg-01", 4, HTTPX + "_client.py", r"_port_or_default\(url\) == 80\b", "_is_https_redirect"),
    Fact("httpx-dbg-01", 4, HTTPX + "_client.py", r"_port_or_default\(location\) == 443\b", "_is_https_redirect"),
    Fact("httpx-dbg-01", 4, HTTPX + "_client.py", r"url\.host != location\.host", "_is_https_redirect"),
    Fact("httpx-dbg-01", 5, HTTPX + "_client.py", r'pop\("Content-Length"', "BaseClient._redirect_headers"),
    Fact("httpx-dbg-01", 5, HTTPX + "_client.py", r'pop\("Transfer-Encoding"', "BaseClient._redirect_headers"),
    Fact("httpx-tgt-01", 1, HTTPX + "_config.py", r"^DEFAULT_TIMEOUT_CONFIG = Timeout\(timeout=5\.0\)$"),
    Fact("httpx-tgt-01", 2, HTTPX + "_config.py", r"^DEFAULT_LIMITS = Limits\(max_connections=100, "),
    Fact("httpx-tgt-01", 3, HTTPX + "_config.py", r"^DEFAULT_LIMITS = .*max_keepalive_connections=20\)$"),
    Fact("httpx-tgt-01", 4, HTTPX + "_config.py", r"keepalive_expiry: float \| None = 5\.0,", "Limits.__init__"),
    Fact("httpx-tgt-01", 5, HTTPX + "_transports/default.py", r"retries: int = 0,", "HTTPTransport.__init__"),
    Fact(
        "jinja2-exp-01",
        1,
        JINJA + "environment.py",
        r"cache_key = \(weakref\.ref\(self\.loader\), name\)",
        "Environment._load_template",
    ),
    Fact("jinja2-exp-01", 2, JINJA + "environment.py", r"cache_size: int = 400,", "Environment.__init__"),
    Fact("jinja2-exp-01", 2, JINJA + "environment.py", r"return LRUCache\(size\)", "create_cache"),
    Fact("jinja2-exp-01", 2, JINJA + "utils.py", r"self\.capacity = capacity", "LRUCache"),
    Fact(
        "jinja2-exp-01",
        3,
        JINJA + "environment.py",
        r"not self\.auto_reload or template\.is_up_to_date",
        "Environment._load_template",
    ),
    Fact("jinja2-exp-01", 3, JINJA + "environment.py", r"return self\._uptodate\(\)", "Template.is_up_to_date"),
    Fact("jinja2-exp-01", 4, JINJA + "loaders.py", r"(?s)bcc\.get_bucket\(.*environment\.compile\(", "BaseLoader.load"),
    Fact("jinja2-exp-01", 5, JINJA + "bccache.py", r"return sha1\(source", "BytecodeCache.get_source_checksum"),
    Fact("jinja2-exp-01", 5, JINJA + "bccache.py", r"if self\.checksum != checksum:", "Bucket.load_bytecode"),
    Fact("jinja2-dbg-01", 1, JINJA + "sandbox.py", r"exc=SecurityError", "SandboxedEnvironment.unsafe_undefined"),
    Fact(
        "jinja2-dbg-01",
        1,
        JINJA + "sandbox.py",
        r"return self\.unsafe_undefined\(obj, attribute\)",
        "SandboxedEnvironment.getattr",
    ),
    Fact("jinja2-dbg-01", 2, JINJA + "runtime.py", r'return ""', "Undefined.__str__"),
    Fact("jinja2-dbg-01", 2, JINJA + "runtime.py", r"__getitem__ = _fail_with_undefined_error", "Undefined"),
    Fact(
        "jinja2-dbg-01",
        3,
        JINJA + "sandbox.py",
        r'not \(attr\.startswith\("_"\) or is_internal_attribute\(',
        "SandboxedEnvironment.is_safe_attribute",
    ),
    Fact("jinja2-dbg-01", 4, JINJA + "sandbox.py", r"^MAX_RANGE = 100000$"),
    Fact("jinja2-dbg-01", 4, JINJA + "sandbox.py", r"> MAX_RANGE:\s+raise OverflowError", "safe_range"),
    Fact(
        "jinja2-dbg-01",
        5,
        JINJA + "sandbox.py",
        r'"unsafe_callable", False\) or getattr\(obj, "alters_data", False',
        "SandboxedEnvironment.is_safe_callable",
    ),
    Fact("jinja2-chg-01", 1, JINJA + "utils.py", r"return obj\.jinja_pass_arg", "_PassArg.from_obj"),
    Fact("jinja2-chg-01", 2, JINJA + "compiler.py", r"_PassArg\.from_obj", "CodeGenerator._make_finalize"),
    Fact("jinja2-chg-01", 2, JINJA + "compiler.py", r"_PassArg\.from_obj", "CodeGenerator._filter_test_common"),
    Fact("jinja2-chg-01", 3, JINJA + "runtime.py", r"_PassArg\.from_obj", "Context.call"),
    Fact("jinja2-chg-01", 4, JINJA + "nodes.py", r"_PassArg\.from_obj", "_FilterTestCommon.as_const"),
    Fact("jinja2-chg-01", 5, JINJA + "environment.py", r"_PassArg\.from_obj", "Environment._filter_test_common"),
    Fact("jinja2-chg-01", 5, JINJA + "async_utils.py", r"_PassArg\.from_obj", "async_variant"),
    Fact("tomlkit-dbg-01", 1, TOMLKIT + "container.py", r"raise KeyAlreadyPresent\(key\)", "Container.append"),
    Fact(
        "tomlkit-dbg-01", 2, TOMLKIT + "parser.py", r"raise self\.parse_error\(ParseError, str\(e\)\)", "Parser.parse"
    ),
    Fact("tomlkit-dbg-01", 3, TOMLKIT + "source.py", r"line, col = self\._to_linecol\(\)", "Source.parse_error"),
    Fact("tomlkit-dbg-01", 3, TOMLKIT + "source.py", r"self\.splitlines\(\)", "Source._to_linecol"),
    Fact(
        "tomlkit-dbg-01",
        4,
        TOMLKIT + "parser.py",
        r"if not self\._merge_ws\(item, values\):\s+table\.raw_append\(_key, item\)",
        "Parser._parse_table",
    ),
    Fact("tomlkit-dbg-01", 5, TOMLKIT + "exceptions.py", r"^class KeyAlreadyPresent\(TOMLKitError\):$"),
    Fact("tomlkit-dbg-01", 5, TOMLKIT + "exceptions.py", r"^class ParseError\(ValueError, TOMLKitError\):$"),
    Fact("tomlkit-chg-01", 1, TOMLKIT + "_compat.py", r"^PY38 = sys\.version_info >= \(3, 8\)$"),
    Fact("tomlkit-chg-01", 1, TOMLKIT + "_compat.py", r"^def decode\("),
    Fact("tomlkit-chg-01", 2, TOMLKIT + "container.py", r"^from tomlkit\._compat import decode$"),
    Fact("tomlkit-chg-01", 2, TOMLKIT + "items.py", r"^from tomlkit\._compat import decode$"),
    Fact("tomlkit-chg-01", 2, TOMLKIT + "parser.py", r"^from tomlkit\._compat import decode$"),
    Fact("tomlkit-chg-01", 2, TOMLKIT + "_utils.py", r"^from tomlkit\._compat import decode$"),
    Fact("tomlkit-chg-01", 3, TOMLKIT + "items.py", r"if PY38:", "DateTime.__add__"),
    Fact("tomlkit-chg-01", 3, TOMLKIT + "items.py", r"if PY38:", "DateTime.__sub__"),
    Fact("tomlkit-chg-01", 3, TOMLKIT + "items.py", r"if PY38:", "DateTime.astimezone"),
    Fact("tomlkit-chg-01", 3, TOMLKIT + "items.py", r"if PY38:", "Date.__add__"),
    Fact("tomlkit-chg-01", 3, TOMLKIT + "items.py", r"if PY38:", "Date.__sub__"),
    Fact("tomlkit-chg-01", 4, "tests/test_toml_spec_tests.py", r"^from tomlkit\._compat import decode$"),
    Fact("tomlkit-chg-01", 4, "tests/test_toml_tests.py", r"^from tomlkit\._compat import decode$"),
    Fact("tomlkit-tgt-01", 1, TOMLKIT + "items.py", r'\+ " " \* 4$', "Array.as_string"),
    Fact("tomlkit-tgt-01", 2, TOMLKIT + "items.py", r'if sep is None:\s+sep = " = "$', "SingleKey.__init__"),
    Fact("tomlkit-tgt-01", 3, TOMLKIT + "items.py", r"type_=StringType\.SLB", "String.from_raw"),
    Fact("tomlkit-tgt-01", 3, TOMLKIT + "items.py", r"return String\.from_raw\(value\)", "item"),
    Fact(
        "tomlkit-tgt-01",
        4,
        TOMLKIT + "items.py",
        r'string\.ascii_letters \+ string\.digits \+ "-" \+ "_" for c in k\s+\):\s+t = KeyType\.Basic',
        "SingleKey.__init__",
    ),
    Fact("tomlkit-tgt-01", 5, TOMLKIT + "items.py", r'self\._trivia\.comment_ws = " "$', "Item.comment"),
)
DEPENDENTS = (  # change-impact tasks name all dependents: no other file has the text
    ("click-chg-01", r"resolve_color_default\(", "globals.py utils.py termui.py exceptions.py"),
    ("jinja2-chg-01", r"_PassArg\.from_obj\(", "async_utils.py compiler.py environment.py nodes.py runtime.py"),
    ("jinja2-chg-01", r"\bjinja_pass_arg\b", "utils.py"),
    ("tomlkit-chg-01", r"\bPY38\b", "_compat.py items.py"),
    (
        "tomlkit-chg-01",
        r"^from tomlkit\._compat import decode$",
        "_utils.py container.py items.py parser.py test_toml_spec_tests.py test_toml_tests.py",
    ),
)


@pytest.fixture(scope="session")
def trees() -> dict[str, Path]:
    """The sources of each task's repository, from the cache; fetched when they are not there yet."""
    cache = Path(os.environ.get("LENSBENCH_CACHE", ROOT / ".cache" / "repositories"))
    prepared = {
        source: prepare(source, cache).tree for source in {task.repository for task in TASKS.values()} if source
    }
    return {task.id: prepared[task.repository] for task in TASKS.values() if task.repository}


def test_the_set_has_three_tasks_of_each_category_over_pinned_packages() -> None:
    assert Counter(task.category for task in TASKS.values()) == dict.fromkeys(Category, 3)
    sources = {task.repository for task in TASKS.values()}
    assert all(isinstance(source, Pypi) for source in sources)
    assert len(sources) >= 3


def test_an_id_tells_project_and_category() -> None:
    short = {"Exploratory": "exp", "Debug": "dbg", "Change-Impact": "chg", "Targeted": "tgt"}
    for task in TASKS.values():
        assert isinstance(task.repository, Pypi)
        project = task.repository.pypi.partition("==")[0]
        assert task.id.startswith(f"{project}-{short[task.category.value]}-")


def test_each_criterion_can_be_judged_mechanically() -> None:
    assert all(3 <= len(task.criteria) <= 5 for task in TASKS.values())
    assert all(criterion.mechanical for task in TASKS.values() for criterion in task.criteria)


def test_what_the_patterns_name_is_in_the_sources(trees: dict[str, Path]) -> None:
    assert [problem for task in TASKS.values() for problem in pattern_problems(task, trees[task.id])] == []


def test_each_criterion_has_a_proof() -> None:
    assert unproven(TASKS.values(), FACTS) == []


def test_each_proof_holds_in_the_sources(trees: dict[str, Path]) -> None:
    assert [problem for fact in FACTS for problem in fact_problems(fact, TASKS[fact.task], trees[fact.task])] == []


@pytest.mark.parametrize(("task", "regex", "names"), DEPENDENTS)
def test_the_dependents_that_a_task_asks_for_are_all_there_are(
    task: str, regex: str, names: str, trees: dict[str, Path]
) -> None:
    files = (path for path in trees[task].rglob("*.py") if re.search(regex, path.read_text("utf-8"), re.MULTILINE))
    assert sorted(path.name for path in files) == sorted(names.split())


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_repeating_the_question_earns_nothing(task: Task) -> None:
    prompt = normalise(task.prompt)
    assert {judge(criterion, prompt).verdict for criterion in task.criteria} == {Verdict.MISSED}


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_a_fact_in_the_words_of_its_author_is_met(task: Task) -> None:
    # `States that` is an order to a judge: an answer states the fact itself.
    facts = [re.sub("^(States|Says) that ", "", criterion.text) for criterion in task.criteria]
    verdicts = [judge(criterion, normalise(fact)).verdict for criterion, fact in zip(task.criteria, facts, strict=True)]
    assert verdicts == [Verdict.MET] * len(task.criteria)


def test_no_criterion_is_met_by_the_facts_of_the_other_tasks() -> None:
    for task in TASKS.values():
        others = [criterion.text for other in TASKS.values() if other is not task for criterion in other.criteria]
        answer = normalise("\n".join(others))
        assert Verdict.MET not in {judge(criterion, answer).verdict for criterion in task.criteria}


@pytest.mark.parametrize(
    ("fact", "problem"),
    [
        (
            Fact("httpx-tgt-01", 2, "httpx/_config.py", "max_connections=101"),
            "'max_connections=101' is not in the text",
        ),
        (Fact("httpx-tgt-01", 2, "httpx/_client.py", "DEFAULT_LIMITS"), "does not name httpx/_client.py"),
        (Fact("httpx-tgt-01", 4, "httpx/_config.py", "5", "Limit"), "Limit is not defined in httpx/_config.py"),
    ],
)
def test_a_wrong_proof_is_noticed(fact: Fact, problem: str, trees: dict[str, Path]) -> None:
    (found,) = fact_problems(fact, TASKS[fact.task], trees[fact.task])
    assert problem in found


@pytest.mark.parametrize(
    ("criterion", "problem"),
    [
        ({"text": "in a.py", "all_of": ["missing"]}, "'missing' is not in a.py"),
        ({"text": "in a.py", "all_of": ["11"]}, "'11' is not in a.py"),
        ({"text": "in a.py", "all_of": ["Known.other"]}, "'Known.other' is not in a.py"),
        ({"text": "in b.py", "all_of": ["Known"]}, "b.py fits 0 files"),
        ({"text": "in c.py", "all_of": ["Known"]}, "c.py fits 2 files"),
        ({"text": "somewhere", "all_of": ["Known"]}, "names no file"),
    ],
)
def test_a_pattern_that_names_nothing_is_noticed(criterion: dict[str, object], problem: str, tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    for name, text in {"a.py": "class Known:\n    member = 110\n", "c.py": "", "x/c.py": ""}.items():
        (tmp_path / name).write_text(text)
    fine = {"text": "in a.py", "all_of": ["a.py", "Known", "Known.member", "110"]}
    base = {"id": "t", "category": "Debug", "prompt": "?"}
    task = Task.model_validate({**base, "criteria": [fine, criterion]})
    assert any(problem in found for found in pattern_problems(task, tmp_path))
    assert pattern_problems(Task.model_validate({**base, "criteria": [fine, fine]}), tmp_path) == []
