import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import warm_snakemake
from lensbench.core.errors import UserError
from lensbench.core.records import Outcome, RunId, from_json
from lensbench.core.store import run_files
from lensbench.core.system.program import run_program
from lensbench.core.tables import Row, read_table
from lensbench_archive.finished_runs import Timed, find_conditions, match_repositories, parse_timing
from lensbench_archive.import_runs import fit_run_id, import_run, main
from programs import run_module
from stock import write

REPOSITORIES = yaml.safe_load(
    Path(__file__).with_name("repositories.yaml").read_text(encoding="utf-8")
)


ROWS = yaml.safe_load(Path(__file__).with_name("conditions.yaml").read_text(encoding="utf-8"))


ROOT = Path(__file__).resolve().parents[2]


def task(name: str, criteria: int = 2, category: str = "Exploratory") -> str:
    prompt = f"- **Category**: {category}\n- **Prompt**:\n  `How does {name} work?`\n- **Judge Criteria**:\n"
    facts = "".join(
        f"  {number}. Must mention `fact_{number}`\n" for number in range(1, criteria + 1)
    )
    return f"#### {name}\n{prompt}{facts}\n"


def answer(calls: int, files: str, tools: str = "Grep, Read") -> bytes:
    fields = f"- **Tool calls**: {calls}\n- **Tools used**: {tools}\n- **Files read**: 2\n- **Files used**: {files}\n"
    return f"It states fact_1.\r\n\n## Report\n\n{fields}- **Key findings**:\n  - one\n\n---\n\n# More\n".encode()


TIDY: dict[str, str | bytes] = {
    "scenarios.md": "# Scenarios\n\n" + task("app-exp-01") + task("app-chg-01", 3, "Change-Impact"),
    "results.md": "# Theirs\n\n**Repo**: /srv/My Code\n**Model**: glm-5\n",
    "runs/app-exp-01-with.md": answer(
        21, "`/srv/My Code/web apps/a.cs`, b.cs", "mcp__lens__lens_grep, Read"
    ),
    "runs/app-exp-01-without.md": answer(25, "web apps/a.cs, ./b.cs"),
    "runs/app-chg-01-with.md": answer(38, "a.cs, b.cs"),
    "runs/app-chg-01-without.md": answer(36, "a.cs, c.cs"),
    "runs/timing.csv": "model_mapping,sonnet=glm-5,opus=glm-5\nmodel_mapping,sonnet=glm-5,opus=glm-5\n"
    "app-exp-01,without,160,attempt=1\napp-chg-01,without,201,attempt=1\n"
    "app-exp-01,with,211,attempt=1\napp-chg-01,with,301,attempt=2\n",
}
MESSY: dict[str, str | bytes] = {
    "scenarios-one.md": f"Boss, here they are.\n\n{task('one-tgt-01', 6, 'Targeted')}---\n{task('one-dbg-01')}",
    "scenarios-two.md": task("two-exp-01") + task("two-exp-02"),
    "runs/one-tgt-01-with.md": answer(8, "a.cs"),
    "runs/one-tgt-01-without.md": "There is no report here.",
    "runs/one-dbg-01-without.md": answer(4, "/home/ann/repo/src/a.cs"),
    "runs/one-dbg-01-with.md": answer(4, "src/a.cs"),
    "runs/two-exp-01-with.md": answer(5, "b.cs"),
    "runs/one-tgt-01-glob.md": answer(1, "a.cs"),
    "runs/two-exp-01-glob.md": b" \n",
    "runs/gone-exp-01-with.md": answer(2, "b.cs"),
    "runs/timing.csv": "\ufefftask,condition,seconds,attempt\r\n"
    "model_mapping,sonnet=glm-5\r\nmodel_mapping,sonnet=glm-4.7\r\n"
    "one-tgt-01,with,900,attempt=1\r\none-tgt-01,with,154.5,attempt=2\r\none-tgt-01,without,NaN,attempt=1\r\n"
    "one-dbg-01,with,10,attempt=1\r\ntwo-exp-02,with,30,attempt=1\r\n",
}


class Taken(NamedTuple):
    error: str
    warnings: str
    shown: str


Take = Callable[..., Taken]


@pytest.fixture
def take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Take:
    """The program, called in the temporary project."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str | Path) -> Taken:
        monkeypatch.setattr(sys, "argv", ["importing", *map(str, arguments)])
        failed = False
        try:
            run_program(main)
        except SystemExit as ended:
            failed = bool(ended.code)
        printed = capsys.readouterr()
        error = ""
        if failed:
            error = printed.err.rstrip("\n")
        return Taken(error, printed.err, printed.out)

    return call


def start(project: Path, run_id: str) -> str:
    options = ["-s", str(ROOT / "Snakefile"), "--cores", "2", "--verbose"]
    options += ["--configfile", f"bench/{run_id}/config.yaml"]
    code, said = warm_snakemake.run(options, project, PYTHONPATH=str(ROOT / "scripts"))
    assert code == 0, said
    return said


def planned_jobs(log: str) -> set[str]:
    table = log.partition("Job stats:")[2].partition("total")[0]
    return {line.split()[0] for line in table.splitlines()[3:] if line}


def rows(path: Path) -> dict[tuple[str, str], Row]:
    return {(row["task"], row["condition"]): row for row in read_table(path)}


@pytest.mark.slow
def test_a_tidy_run_is_rendered_without_an_agent(tmp_path: Path, take: Take) -> None:
    source = write(tmp_path / "2026 02 (copy)", TIDY)
    folder = tmp_path / "bench" / "2026-02-copy"
    done = take(source)
    assert done.error == ""
    assert (
        done.warnings
        == "warning: Runs whose answer came from a later attempt: app-chg-01-with (2).\n"
    )
    assert done.shown.endswith(
        "; next: lensbench run --configfile bench/2026-02-copy/config.yaml\n"
    )
    frozen = (folder / "config.yaml").read_bytes()
    jobs = planned_jobs(start(tmp_path, folder.name))
    assert jobs == {
        "validity",
        "citations",
        "judging",
        "panel",
        "scores",
        "judge_reliability",
        "results",
        "all",
    }
    assert (folder / "config.yaml").read_bytes() == frozen

    for name in TIDY:
        kept = (
            folder / name
            if name.endswith(("-with.md", "-without.md"))
            else folder / "imported" / Path(name).name
        )
        assert kept.read_bytes() == (source / name).read_bytes()
    assert (folder / "scenarios.md").read_bytes() == (source / "scenarios.md").read_bytes()

    results = json.loads((folder / "results.json").read_text())
    measures = results["comparisons"]["with"]["measures"]
    assert (measures["duration_s"]["treatment"], measures["duration_s"]["baseline"]) == (256, 180.5)
    assert (
        measures["tool_calls_reported"]["treatment"],
        measures["tool_calls_reported"]["baseline"],
    ) == (29.5, 30.5)
    assert results["comparisons"]["with"]["adoption"]["adopted"] == {"runs": 1, "of": 2}
    assert results["counts"] == {"scored": 0, "unjudged": 4, "discarded": 0, "missing": 0}
    assert results["model_mapping"] == "sonnet=glm-5,opus=glm-5"
    assert results["warnings"] == [
        "Runs whose answer came from a later attempt: app-chg-01-with (2)."
    ]
    assert "| 1.42 times; largest task " in (folder / "results.md").read_text()
    jaccard = {pair["task"]: pair["jaccard"] for pair in read_table(folder / "pairs.csv")}
    assert jaccard == {"app-exp-01": "1", "app-chg-01": "0.3333"}

    # criteria that get patterns afterwards are judged, and no run is asked for
    tasks = folder / "imported" / "scenarios.md"
    facts = r'\1     - facts: {"all_of": ["\2"]}\n'
    tasks.write_text(re.sub(r"(Must mention `(fact_\d)`\n)", facts, tasks.read_text()))
    assert "run" not in planned_jobs(start(tmp_path, folder.name))
    assert rows(folder / "scores.csv")["app-exp-01", "with"]["score"] == "0.5"


def test_a_record_of_an_imported_run_says_only_what_is_known(tmp_path: Path, take: Take) -> None:
    take(write(tmp_path / "theirs", TIDY))
    record = from_json(
        run_files(tmp_path / "bench" / "theirs", RunId("app-chg-01", "with")).record.read_text()
    )
    assert (record.source, record.attempt.duration_s, record.attempt.number) == ("imported", 301, 2)
    assert record.workspace == "/srv/My Code"
    assert (
        record.attempt.started_at,
        record.attempt.exit_code,
        record.prompt_sha256,
        record.revision,
    ) == (
        "",
        None,
        "",
        "",
    )
    assert record.outcome == Outcome()


def test_the_runner_keeps_an_imported_run_and_says_when_it_is_gone(
    tmp_path: Path, take: Take
) -> None:
    take(write(tmp_path / "theirs", TIDY))
    files = run_files(tmp_path / "bench" / "theirs", RunId("app-chg-01", "with"))
    run = ("--folder", "bench/theirs", "--task", "app-chg-01", "--condition", "with")

    def started() -> str:
        return run_module("lensbench.runs.run", *run).stderr

    before = (files.answer.stat().st_mtime_ns, files.record.stat().st_mtime_ns)
    assert started().startswith("app-chg-01-with: kept")
    assert (files.answer.stat().st_mtime_ns, files.record.stat().st_mtime_ns) == before
    files.answer.unlink()
    assert "app-chg-01-with: its answer is gone" in started()


@pytest.mark.slow
def test_what_breaks_the_rules_is_a_warning_in_the_results_and_nothing_is_to_do(
    tmp_path: Path, take: Take
) -> None:
    assert take(write(tmp_path / "messy", MESSY)).error == ""
    folder = tmp_path / "bench" / "messy"
    start(tmp_path, "messy")
    assert "Nothing to be done" in start(tmp_path, "messy")
    results = json.loads((folder / "results.json").read_text())
    assert results["warnings"] == [
        "The tasks come from several files: scenarios-one.md, scenarios-two.md.",
        "Answers ignored, because their names have no known task or condition: gone-exp-01-with.",
        "Tasks without any answer: two-exp-02.",
        "Runs without an answer, although another condition has one: one-dbg-01-glob, two-exp-01-without.",
        "Answers without a report: one-tgt-01-without, two-exp-01-glob.",
        "Runs whose answer came from a later attempt: one-tgt-01-with (2).",
        "Runs with several rows in timing.csv, of which the last one counts: one-tgt-01-with.",
        "Runs in timing.csv that have no answer: two-exp-02-with.",
        "Runs without a duration in timing.csv: one-dbg-01-without, one-tgt-01-glob, one-tgt-01-without, "
        "two-exp-01-glob, two-exp-01-with.",
        "timing.csv:1: ignored this line: 'task,condition,seconds,attempt'",
        "timing.csv:3: sonnet is glm-4.7 here, but glm-5 above",
        "timing.csv:6: ignored this line: 'one-tgt-01,without,NaN,attempt=1'",
        "bench/messy/imported/scenarios-one.md:3: task 'one-tgt-01' has 6 criteria; the protocol wants 2 to 5.",
    ]
    assert "- Tasks without any answer: two-exp-02." in (folder / "results.md").read_text()
    validity = rows(folder / "validity.csv")
    assert {run for run, row in validity.items() if row["status"] == "missing"} == {
        ("one-dbg-01", "glob"),
        ("two-exp-01", "without"),
        ("two-exp-02", "without"),
        ("two-exp-02", "with"),
        ("two-exp-02", "glob"),
    }
    empty = validity["two-exp-01", "glob"]
    assert (empty["status"], empty["reason"], empty["given_up"]) == ("discarded", "empty", "yes")
    scores = rows(folder / "scores.csv")
    assert scores["one-tgt-01", "with"]["duration_s"] == "154.5"
    assert scores["one-tgt-01", "without"]["duration_s"] == ""
    assert scores["one-tgt-01", "with"]["criteria"] == "6"
    assert rows(folder / "reports.csv")["one-tgt-01", "without"]["tool_calls"] == ""
    assert set(results["comparisons"]) == {"with", "glob", "with against glob"}
    timing = (folder / "runs" / "timing.csv").read_text()
    assert (
        timing
        == "model_mapping,sonnet=glm-5\none-dbg-01,with,10,attempt=1\none-tgt-01,with,154.5,attempt=2\n"
    )


SEVERAL: dict[str, str | bytes] = {
    "scenarios-shop.md": task("one-tgt-01") + task("one-tgt-02"),
    "scenarios-bank.md": task("two-tgt-01") + task("two-tgt-02"),
    **{
        f"runs/{name}-{condition}.md": answer(3, f"/srv/{place}/a.cs")
        for name, place in (
            ("one-tgt-01", "Web Shop"),
            ("one-tgt-02", "Web Shop"),
            ("two-tgt-01", "bank"),
            ("two-tgt-02", "bank"),
        )
        for condition in ("with", "without")
    },
}


THEIRS = (
    "**Date**: 2026-02-15\n**Mode**: MCP (on demand)\n\n## Changes This Run\n\n- **Description rewritten**: shorter\n"
    "- Tasks: new\n\n## Raw Results\n\n- none\n"
)


@pytest.mark.parametrize(
    "said",
    [
        "**Repos**: /srv/Web Shop (the shop), `/srv/bank`\n",
        "**Repositories**:\n\n- shop: `/srv/Web Shop`\n- bank: `/srv/bank` as of May\n",
    ],
)
def test_tasks_of_several_repositories_stay_apart(tmp_path: Path, take: Take, said: str) -> None:
    took = take(
        write(tmp_path / "several", {**SEVERAL, "results.md": f"# Theirs\n\n{said}{THEIRS}"})
    )
    folder = tmp_path / "bench" / "several"
    plan = json.loads((folder / "plan.json").read_text())
    assert {name: each["repository"] for name, each in plan["tasks"].items()} == {
        "one-tgt-01": "/srv/Web Shop",
        "one-tgt-02": "/srv/Web Shop",
        "two-tgt-01": "/srv/bank",
        "two-tgt-02": "/srv/bank",
    }
    assert "The date in results.md is 2026-02-15." in took.warnings
    assert plan["notes"] == [
        "Mode: MCP (on demand)",
        "Description rewritten: shorter",
        "Tasks: new",
    ]
    assert "which of them" not in took.warnings
    assert {
        from_json(path.read_text()).workspace
        for path in folder.glob("attempts/one-*/*/record.json")
    } == {"/srv/Web Shop"}


@pytest.mark.slow
def test_a_judge_can_be_added_to_an_import_whose_repositories_are_elsewhere(
    tmp_path: Path, take: Take
) -> None:
    take(
        write(
            tmp_path / "several", {**SEVERAL, "results.md": "**Repos**: /srv/Web Shop, /srv/bank\n"}
        )
    )
    folder = tmp_path / "bench" / "several"
    config = folder / "config.yaml"
    command = [
        sys.executable,
        "-I",
        str(ROOT / "tests" / "fakes" / "judge.py"),
        "{prompt_file}",
        str(tmp_path),
    ]
    judge = {"name": "first", "agent": {"kind": "command", "command": command}}
    changes = {"judges": ["mechanical", judge], "sandbox": "none"}
    config.write_text(yaml.safe_dump(yaml.safe_load(config.read_text()) | changes))
    assert {"judging", "results"} <= planned_jobs(start(tmp_path, "several"))
    assert {row["judge"] for row in read_table(folder / "verdicts.csv")} == {"mechanical", "first"}
    assert {row["score"] for row in rows(folder / "scores.csv").values()} == {"0.5"}
    results = json.loads((folder / "results.json").read_text())
    assert {key["key"] for key in results["repositories"]} == {"/srv/Web Shop", "/srv/bank"}


@pytest.mark.parametrize(("groups", "paths", "found"), REPOSITORIES)
def test_repositories_are_told_by_name_not_guessed(
    groups: list[str], paths: list[str], found: dict[str, str]
) -> None:
    assert match_repositories(groups, paths) == found


def test_a_run_without_timing_csv_has_no_durations_and_no_model(tmp_path: Path, take: Take) -> None:
    source = write(
        tmp_path / "theirs",
        {name: text for name, text in TIDY.items() if name != "runs/timing.csv"},
    )
    warnings = take(source).warnings
    assert (
        warnings
        == "warning: There is no timing.csv: no run has a duration, and the model is unknown.\n"
    )
    config = yaml.safe_load((tmp_path / "bench" / "theirs" / "config.yaml").read_text())
    assert (config["agent"]["kind"], config["agent"]["models"], config["imported"]) == (
        "none",
        {},
        True,
    )


def test_an_existing_run_folder_is_refused_and_only_an_import_can_be_replaced(
    tmp_path: Path, take: Take
) -> None:
    source = write(tmp_path / "theirs", TIDY)
    paid = write(tmp_path / "bench" / "paid", {"runs/x-with.md": "paid for"})
    assert take(source, "--run-id", "paid").error.startswith("error: bench/paid already exists; ")
    assert take(source, "--run-id", "paid", "--force").error.startswith(
        "error: bench/paid is not an import, "
    )
    assert (paid / "runs" / "x-with.md").read_text() == "paid for"

    assert take(source).error == ""
    (source / "runs" / "app-exp-01-with.md").unlink()
    assert "already exists" in take(source).error
    assert take(source, "--force").error == ""
    assert not (tmp_path / "bench" / "theirs" / "runs" / "app-exp-01-with.md").exists()
    assert "would replace" in take("bench/theirs", "--force").error


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "has no scenarios.md"),
        ({"scenarios.md": task("a-exp-01")}, "has no answer to a task of scenarios.md"),
        ({"scenarios.md": "nothing", "runs/a-with.md": "x"}, "scenarios.md:1: has no task"),
        ({"scenarios.md": b"\xff", "runs/a-with.md": "x"}, "scenarios.md:1: is not UTF-8 text"),
        ({"scenarios.md": task("A_1"), "runs/A_1-with.md": "x"}, "scenarios.md:1: task 'A_1'"),
        ({"scenarios.md": task("a", 0), "runs/a-with.md": "x"}, "task 'a' has 0 criteria"),
        ({"scenarios.md": task("a"), "scenarios-2.md": task("a")}, "task 'a' already exists"),
    ],
)
def test_what_cannot_be_read_is_one_message(
    tmp_path: Path, take: Take, files: Mapping[str, str | bytes], message: str
) -> None:
    (tmp_path / "theirs").mkdir()
    assert message in take(write(tmp_path / "theirs", files)).error
    assert not (tmp_path / "bench").exists()


def test_a_folder_that_is_not_there_and_a_bad_run_id_are_one_sentence(
    tmp_path: Path, take: Take
) -> None:
    assert (
        take("nowhere").error
        == "error: nowhere: is not a folder; give the folder of a finished run"
    )
    write(tmp_path / "theirs", TIDY)
    for name in ("../up", "-x", "a b", "", "x" * 65):
        error = take("theirs", f"--run-id={name}").error
        assert error == f"error: --run-id is {name!r}; use letters, digits and '-' only, at most 64"


def test_an_answer_whose_name_is_no_text_is_left_out_with_a_warning(
    tmp_path: Path, take: Take
) -> None:
    source = write(tmp_path / "theirs", TIDY)
    (source / "runs" / os.fsdecode(b"odd\xff\n-with.md")).write_bytes(b"an answer")
    assert "odd\\udcff" in take(source).warnings
    assert (
        "odd"
        in yaml.safe_load((tmp_path / "bench" / "theirs" / "config.yaml").read_text())["warnings"][
            0
        ]
    )


@pytest.mark.parametrize(("stems", "conditions"), ROWS)
def test_conditions_are_with_and_without_and_what_answers_share(
    stems: list[str], conditions: list[str]
) -> None:
    assert [*find_conditions(["a", "b", "a-b"], stems)] == conditions


@pytest.mark.parametrize(
    "line",
    [
        "a,with",
        "a,with,10",
        "a,with,10,attempt=0",
        "a,with,10,attempt=",
        "a,with,10s,attempt=1",
        "a,with,-1,attempt=1",
        "a,with,inf,attempt=1",
        "a,with,1e9,attempt=1",
        "a,with,1,5,attempt=1",
        ",with,1,attempt=1",
        "a,,1,attempt=1",
        "a,with,٣,attempt=1",
        "a;with;1;attempt=1",
        "a,with,10,attempt=1,x",
        "a,with," + "9" * 400 + ",attempt=1",
    ],
)
def test_a_timing_line_of_another_form_is_named_and_gives_no_number(line: str) -> None:
    timing = parse_timing(f"b,with,1.5,attempt=1\n{line}\n")
    assert timing.runs == {("b", "with"): Timed(1.5, 1)}
    assert [problem.partition(" ")[0] for problem in timing.problems] == ["timing.csv:2:"]


def test_model_mappings_of_several_launches_are_put_together_and_the_first_stands() -> None:
    launches = ["sonnet = glm-5 ,opus=glm-5", "opus=glm-4.7,haiku=glm-air", "x"]
    timing = parse_timing("".join(f"model_mapping,{launch}\n" for launch in launches))
    assert timing.models == {"sonnet": "glm-5", "opus": "glm-5", "haiku": "glm-air"}
    assert timing.problems == (
        "timing.csv:2: opus is glm-4.7 here, but glm-5 above",
        "timing.csv:3: ignored this model mapping: 'x'",
    )


@settings(max_examples=150)
@given(
    st.text(alphabet=st.sampled_from("a,=1.\n\r model_mapping,attempt=\x00٣\x85"), max_size=200)
    | st.text(max_size=200)
)
def test_any_text_is_a_timing_with_clean_numbers_or_a_named_problem(text: str) -> None:
    timing = parse_timing(text)
    assert all(0 <= timed.seconds < 1e9 and timed.attempt >= 1 for timed in timing.runs.values())
    assert len(timing.runs) + len(timing.problems) <= sum(
        len(line) > 0 for line in text.splitlines()
    ) + text.count(",")


@given(st.text(max_size=100))
def test_a_fitted_run_id_is_one_that_the_config_takes_and_fitting_it_again_changes_nothing(
    name: str,
) -> None:
    fitted = fit_run_id(name)
    assert fitted == "" or (fitted[0].isalnum() and fitted.isascii() and len(fitted) <= 64)
    assert fit_run_id(fitted) == fitted


def test_links_in_a_strangers_folder_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    theirs = write(tmp_path / "theirs", TIDY)
    (theirs / "runs" / "app-exp-01-with.md").unlink()
    (theirs / "runs" / "app-exp-01-with.md").symlink_to("/etc/passwd")
    with pytest.raises(UserError, match=r"app-exp-01-with\.md: is a link to /etc/passwd"):
        import_run(theirs, "theirs")
    assert not (tmp_path / "bench").exists()
