"""Archives: whole, the same bytes each time, and without anything that is nobody else's business."""

import getpass
import gzip
import json
import shutil
import socket
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import bagit
import pytest
import yaml
from hypothesis import given as drawn
from hypothesis import strategies

from archived import make_benchmark, pack
from handmade import Bench
from lensbench.core.errors import UserError
from lensbench.core.records import from_json, to_json
from lensbench.core.system.files import write_atomic
from lensbench_archive.machine import Machine, Trace, this_machine, trace_id
from lensbench_archive.rebuilding import rebuild
from lensbench_archive.secrets import find_secrets, secret_values
from lensbench_archive.unpacking import unpack
from stock import write

ANNA = "anna-schmidt"
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
MODEL_KEY = "sk-" + "ant-" + "api03-" + "a1B2c3D4e5F6g7H8i9J0"


@pytest.fixture(autouse=True)
def somebody(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user and the host of these tests."""
    monkeypatch.setattr(getpass, "getuser", lambda: ANNA)
    monkeypatch.setattr(socket, "gethostname", lambda: "thinkpad-7")
    monkeypatch.setenv("HOME", f"/home/{ANNA}")


@pytest.fixture(scope="module")
def benchmark_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run folder, which the tests copy."""
    project = tmp_path_factory.mktemp("project")
    write(
        project,
        {"repo/a.py": "x = 1\n", "lens.json": '{"mcpServers": {"lens": {"command": "lens"}}}'},
    )
    conditions = {"without": {}, "with": {"mcp": "lens.json"}}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        return make_benchmark(
            project, {"run_id": "r", "scenarios": "set.yaml", "conditions": conditions}
        )


@pytest.fixture
def benchmark(project: Path, benchmark_once: Path) -> Path:
    """A finished run folder."""
    shutil.copy(benchmark_once.parents[1] / "set.yaml", project)
    return Path(shutil.copytree(benchmark_once, project / "bench" / "r"))


@pytest.fixture(scope="module")
def packed(benchmark_once: Path) -> Path:
    """An archive of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(benchmark_once.parents[1])
        return pack(benchmark_once)


def members(archive: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(archive) as zipped:
        return {name.partition("/")[2]: zipped.read(name) for name in zipped.namelist()}


def whole_text(archive: Path) -> str:
    """Everything in an archive, unpacked, as one text."""
    contents = members(archive)
    texts = (
        gzip.decompress(value) if name.endswith(".gz") else value
        for name, value in contents.items()
    )
    return "\n".join([*contents, *(text.decode() for text in texts)])


@pytest.mark.slow
def test_an_archive_holds_everything_and_is_the_same_bytes_when_made_elsewhere(
    benchmark: Path, packed: Path
) -> None:
    archive = pack(benchmark)
    assert archive.read_bytes() == packed.read_bytes()
    held = {name for name in members(archive) if name.startswith("data/run/")}
    on_disk = {
        f"data/run/{path.relative_to(benchmark)}" for path in benchmark.rglob("*") if path.is_file()
    }
    assert {name for name in on_disk if "/." not in name and "/attempts/plan-" not in name} == held
    project = {name.removeprefix("data/project/") for name in members(archive)}
    assert {
        "Snakefile",
        "rules/archive.smk",
        "requirements.lock",
        "templates/results.md.j2",
    } <= project
    assert {"set.yaml", "lens.json"} <= project


def test_an_archive_is_a_valid_bag(packed: Path, tmp_path: Path) -> None:
    assert bagit.Bag(str(unpack(packed, tmp_path / "unpacked"))).is_valid()


def test_it_has_the_date_of_the_last_run_or_a_fixed_one_and_its_code_s_versions(
    benchmark: Path, packed: Path
) -> None:
    assert b"Bagging-Date: 2026-01-02\n" in members(packed)["bag-info.txt"]
    for path in benchmark.glob("attempts/*/*/record.json"):
        record = from_json(path.read_text(encoding="utf-8"))
        write_atomic(
            path,
            to_json(
                replace(record, source="imported", attempt=replace(record.attempt, started_at=""))
            ),
        )
    rebuild(benchmark)
    assert b"Bagging-Date: 1980-01-01\n" in members(pack(benchmark))["bag-info.txt"]
    told = json.loads(members(packed)["data/versions.json"])
    assert told.keys() >= {"lensbench", "commit", "code_sha256", "python", "snakemake", "numpy"}
    assert all(told.values())


def test_what_no_number_rests_on_is_rewritten(benchmark: Path) -> None:
    text = f'{{"cwd": "/home/{ANNA}/x", "tree": "{Path.cwd()}/repo", "ls": "-rw- {ANNA} 1\\n{ANNA}@thinkpad-7"}}'
    names = (
        "logs/one-with.log",
        "preflight.json",
        "looks/1/plan.json",
        "environments.json",
        "attempts/one-with/1/transcript.jsonl.gz",
    )
    write(
        benchmark,
        {name: gzip.compress(text.encode()) if name.endswith(".gz") else text for name in names},
    )
    archive = pack(benchmark)
    rewritten = json.dumps({"cwd": "~/x", "tree": "./repo", "ls": "-rw- <user> 1\n<user>@<host>"})
    assert whole_text(archive).count(rewritten) == len(names)
    for word in (ANNA, "thinkpad-7", str(Path.cwd())):
        assert word not in whole_text(archive)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (f"it is in /home/{ANNA}/a.py", "the home folder"),
        (f"ask {ANNA} x", "the user's name"),
        ("on thinkpad-7 x", "the host's name"),
        ("in {cwd}/repo", "the project's folder"),
        (f"{TOKEN}", "possible secret (GitHub Token)"),
        (MODEL_KEY, "possible secret (key of a model service)"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----", "possible secret (Private Key)"),
    ],
)
def test_an_answer_that_tells_too_much_stops_the_archive_unshown(
    benchmark: Path, text: str, what: str
) -> None:
    told = text.format(cwd=Path.cwd())
    Bench(benchmark).run("one", "with", answer=f"first line\n{told} x in a.py\n")
    with pytest.raises(UserError) as caught:
        pack(benchmark)
    message = str(caught.value)
    assert f"run/runs/one-with.md:2: {what}, id " in message
    assert not {ANNA, "thinkpad-7", str(Path.cwd()), TOKEN} & set(message.split())
    assert TOKEN[:12] not in message
    assert MODEL_KEY[:10] not in message
    assert not benchmark.with_suffix(".zip").exists()


def test_what_was_found_may_leave_when_its_id_is_allowed(benchmark: Path) -> None:
    told = f"{ANNA} has {TOKEN}"
    rerun(benchmark, f"{told}, x in a.py\n")
    pack(benchmark, allowed=(ANNA, TOKEN))
    assert told in whole_text(benchmark.with_suffix(".zip"))


def rerun(benchmark: Path, answer: str) -> None:
    """Makes the run again with another answer, and all that follows from it."""
    Bench(benchmark).run("one", "with", answer=answer)
    rebuild(benchmark)


def test_the_value_of_an_agent_s_variable_does_not_leave(
    project: Path, given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_TOKEN", "correct horse")
    benchmark = make_benchmark(
        project, {**given, "agent": {"kind": "offline", "pass_env": ["MY_TOKEN"]}}
    )
    (benchmark / "logs" / "one-with.log").write_text("said: correct horse\n")
    with pytest.raises(
        UserError, match=r"run/logs/one-with\.log:1: possible secret \(the value of a var"
    ):
        pack(benchmark)


@pytest.mark.parametrize(
    "server",
    [
        {"url": "https://x.example/mcp", "headers": {"Authorization": "Bearer abcdefgh12345678"}},
        {"url": "https://anna:hunter22@x.example/mcp"},
        {"command": "lens", "env": {"LENS_TOKEN": "abcdefgh12345678"}},
        {"command": "lens", "env": {"PASSWORD": "hunter22"}},
    ],
)
def test_a_secret_in_an_mcp_file_stays_but_a_variable_s_name_leaves(
    benchmark: Path, server: dict[str, Any]
) -> None:
    text = json.dumps({"mcpServers": {"lens": server}})
    Path("lens.json").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=r"project/lens\.json:1: possible secret"):
        pack(benchmark)
    for secret in ("abcdefgh12345678", "anna:hunter22", "hunter22"):
        text = text.replace(secret, "${LENS_SECRET}")
    assert list(find_secrets(text, is_settings=True)) == []


def test_paths_in_settings_are_rewritten_and_numbers_hold(
    project: Path, given: dict[str, Any], tmp_path: Path
) -> None:
    elsewhere = tmp_path.parent / f"{tmp_path.name}-elsewhere"
    elsewhere.mkdir()
    shutil.copy("lens.json", elsewhere / "my.json")
    conditions = {"without": {}, "with": {"mcp": str(elsewhere / "my.json")}}
    agent = {
        "kind": "command",
        "command": [str(project / "agent.py"), f"/home/{ANNA}/bin/x", "/usr/bin/env"],
    }
    benchmark = make_benchmark(project, {**given, "conditions": conditions, "agent": agent})
    archive = pack(benchmark)
    settings = yaml.safe_load(members(archive)["data/run/config.yaml"])
    assert settings["agent"]["command"] == ["./agent.py", "outside/x", "/usr/bin/env"]
    assert settings["conditions"]["with"]["mcp"] == "outside/my.json"
    assert "data/project/outside/my.json" in members(archive)
    assert (
        json.loads(members(archive)["data/run/results.json"])["agent"]["command"][0] == "./agent.py"
    )
    assert str(tmp_path) not in whole_text(archive)


def test_results_that_were_edited_are_not_archived(benchmark: Path) -> None:
    text = (benchmark / "results.md").read_text()
    (benchmark / "results.md").write_text(text.replace("with", "WITH", 1))
    with pytest.raises(UserError, match=r"results\.md does not follow from the runs"):
        pack(benchmark)
    assert not benchmark.with_suffix(".zip").exists()


def test_links_marks_and_half_files_stay_behind(benchmark: Path, tmp_path: Path) -> None:
    (tmp_path / "private.txt").write_text("private")
    (benchmark / "link.txt").symlink_to(tmp_path / "private.txt")
    (benchmark / "looks").mkdir()
    (benchmark / "looks" / "runs").symlink_to(benchmark / "runs")
    (benchmark / ".stopped").write_text("the budget is spent\n")
    rebuild(benchmark)
    held = members(pack(benchmark))
    assert not {
        name
        for name in held
        if any(part in name for part in ("link.txt", "run/looks", "/.gate", ".tmp"))
    }
    assert held["data/run/.stopped"] == b"the budget is spent\n"


def test_what_is_no_finished_benchmark_or_lacks_a_file_is_named(benchmark: Path) -> None:
    Path("lens.json").unlink()
    with pytest.raises(UserError, match=r"lens\.json: is missing, but the config names it"):
        pack(benchmark)
    (benchmark / "results.json").unlink()
    with pytest.raises(UserError, match="is not a finished benchmark"):
        pack(benchmark)


# What tells whose machine it is


def machine(*traces: Trace) -> Machine:
    return Machine(
        traces or (Trace("/home/anna", "home", "~"), Trace("anna", "name", "<user>", is_word=True))
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/home/anna/x", "~/x"),
        ("file:///home/anna", "file://~"),
        ("/home/annabel/x", "/home/annabel/x"),
        ("/home/anna-maria/x", "~-maria/x"),  # better one too many
        ("/home/anna.", "~."),
        ('"\\n/home/anna\\nanna\\tanna"', '"\\n~\\n<user>\\t<user>"'),
        ("anna anna_x xanna Anna anna's", "<user> anna_x xanna Anna <user>'s"),
    ],
)
def test_a_trace_is_found_where_it_ends(text: str, expected: str) -> None:
    assert (machine().rewritten(text), bool(list(machine().find(text)))) == (
        expected,
        text != expected,
    )


def test_what_is_allowed_may_stay_with_all_that_is_in_it() -> None:
    path = Trace("/home/anna/tool.py", "path", "outside/tool.py")
    allowing = machine(path, *machine().traces).allowing(frozenset({trace_id(path)}))
    assert allowing.rewritten("/home/anna/tool.py /home/anna/x") == "/home/anna/tool.py ~/x"
    assert [trace.text for _, trace in allowing.find("/home/anna/tool.py anna")] == ["anna"]


@pytest.mark.parametrize(
    "quoted",
    [
        json.dumps,
        lambda text: json.dumps(text, ensure_ascii=False),
        lambda text: yaml.safe_dump(text, allow_unicode=True),
    ],
    ids=["JSON", "JSON with letters as they are", "YAML"],
)
def test_a_path_is_found_however_it_is_quoted(quoted: Callable[[str], str]) -> None:
    text = quoted("- /home/anna/Grüße's: folder/x")
    rewritten = machine(Trace("/home/anna/Grüße's: folder", "path", "~")).rewritten(text)
    assert rewritten == f"{text[: text.index('/home')]}~{text[text.index('/x') :]}"


@drawn(
    strategies.lists(
        strategies.sampled_from(["/home/anna", "anna", "/", " ", "x", "\\n", "-", "~", "."])
    )
)
def test_nothing_is_found_in_what_was_rewritten(pieces: list[str]) -> None:
    assert list(machine().find(machine().rewritten("".join(pieces)))) == []


def test_root_common_paths_and_a_user_without_a_name_leave_no_traces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(getpass, "getuser", lambda: "root")
    monkeypatch.setattr(socket, "gethostname", lambda: "vm")
    monkeypatch.setenv("HOME", "/root")
    settings = {"command": ["/usr/bin/env", "/opt/agent", "relative/path"]}
    found = this_machine(settings, Path("/app"))
    assert {trace.text for trace in found.traces if trace.is_telling} <= {sys.prefix}
    assert found.rewritten("/app/x /root/y /usr/bin/env") == "./x ~/y /usr/bin/env"

    def fails() -> str:
        raise OSError

    monkeypatch.setattr(getpass, "getuser", fails)
    assert all(
        trace.what != "the user's name" for trace in this_machine({}, Path("/work/x")).traces
    )


# What looks like a secret


@pytest.mark.parametrize(
    "text", ["sha256: " + "0123456789abcdef" * 4, 'password = "hunter2"', "https://a:b@c.d"]
)
def test_answers_may_speak_of_hashes_and_passwords(text: str) -> None:
    assert list(find_secrets(text, is_settings=False)) == []


@pytest.mark.parametrize(
    "text", ["0123456789abcdef0123456789abcdef.ABCDEFGHIJKLMNOP", "AIza" + "x" * 35, TOKEN]
)
def test_keys_are_found_anywhere(text: str) -> None:
    [(place, _, secret)] = find_secrets(f"a\nb {text} c", is_settings=False)
    assert (place, secret) == (4, text)


def test_short_values_of_variables_are_no_secrets() -> None:
    assert secret_values(["A", "B", "C"], {"A": "none", "B": "long enough"}) == ["long enough"]
