"""What a later start makes again, and what it does not."""

import json
import os
import random
import re
import shutil

import pytest
import yaml

from lensbench.core.store import DISCARD
from lensbench.core.system.files import note_checksum
from small_benchmark import RUNS, SCORED, Files, Project

DERIVED = (
    "plan.json",
    "prompts/anna.md",
    "prompts/bert.md",
    "protocol.md",
    "config.yaml",
    "scenarios.md",
    "repositories.json",
    "validity.csv",
    "runs/timing.csv",
    "reports.csv",
    "citations.json",
    "verdicts/mechanical.csv",
    "verdicts.csv",
    "decisions.csv",
    "escalations.csv",
    "scores.csv",
    "pairs.csv",
    "judge_reliability.json",
    "estimates.json",
    "results.json",
    "results.md",
    "summary.md",
    "junit.xml",
    "report.html",
    "answers/anna.html",
    "answers/bert.html",
)
NOTHING = "Nothing to be done"


def bytes_of(files: Files) -> dict[str, bytes]:
    """Snakemake touches the outputs of every job, also of those that the runner kept as they were."""
    return {name: content for name, (content, _) in files.items()}


def visible(project: Project) -> Files:
    """All files but the notes of who is at work and what was checked."""
    return {
        name: content for name, content in project.files("").items() if not name.startswith(".")
    }


def contents(project: Project) -> dict[str, bytes]:
    return {name: (project.bench / name).read_bytes() for name in DERIVED}


def test_a_first_start_makes_everything_in_a_folder_with_blanks_and_quotes(
    finished_once: Project,
) -> None:
    assert finished_once.ledger() == ["anna-with", "anna-without", "bert-with", "bert-without"]
    assert all((finished_once.bench / name).is_file() for name in DERIVED)
    assert finished_once.reasons() == {}
    assert {row["delta"] for row in finished_once.table("pairs")} == {"0.5"}


def test_by_default_everything_that_is_written_and_each_missing_run_is_asked_for(
    finished: Project,
) -> None:
    """Runs that are there are asked for by the tables that are made from them."""

    def asked() -> set[str]:
        listed = finished.start("-n", "--forceall").splitlines()
        inputs = next(
            line
            for line in listed
            if "bench/r/results.md" in line and line.startswith("    input:")
        )
        found = set(inputs.removeprefix("    input: ").split(", "))
        marks = {name for name in found if name.startswith("bench/r/.plan/settings-")}
        assert len(marks) == 1
        return found - marks

    derived = {
        f"bench/r/{name}" for name in DERIVED if not name.startswith(("prompts/", "answers/"))
    }
    derived |= {"bench/r/prompts", "bench/r/answers"}
    assert asked() == derived
    gone = {"bench/r/runs/anna-with.md", "bench/r/runs/bert-with.md"}
    for name in gone:
        (finished.folder / name).unlink()
    assert asked() == derived | gone


def test_a_moved_folder_has_nothing_to_do_and_a_run_lost_in_the_store_is_made_again_alone(
    finished: Project,
) -> None:
    assert NOTHING in finished.start()
    before = finished.files()
    derived = contents(finished)
    (finished.bench / "runs" / "anna-with.md").unlink()
    shutil.rmtree(finished.bench / "attempts" / "bert-without")
    said = finished.start(*SCORED)
    assert "bert-without: its answer does not count in bench/r/attempts; a start repeats it" in said
    assert (
        "from bench/r/attempts, without an agent: anna-with. To repeat a run: lensbench discard"
        in said
    )
    assert finished.ledger() == ["bert-without"]
    after = finished.files()
    repeated = {name for name in before if before[name] != after[name]} - {"runs/anna-with.md"}
    assert {re.split(r"[/.]", name)[1] for name in repeated} == {"bert-without"}
    assert bytes_of(after)["runs/anna-with.md"] == bytes_of(before)["runs/anna-with.md"]
    assert contents(finished)["verdicts.csv"] == derived["verdicts.csv"]
    assert finished.is_idle(*SCORED)
    shutil.rmtree(finished.folder / ".snakemake")
    assert finished.is_idle(*SCORED)


def test_everything_that_is_derived_comes_back_without_an_agent(finished: Project) -> None:
    before = finished.files()
    derived = contents(finished)
    for name in DERIVED:
        (finished.bench / name).unlink()
    finished.start()
    assert (contents(finished), bytes_of(finished.files())) == (derived, bytes_of(before))
    assert finished.ledger() == []


def test_a_copy_with_scrambled_times_runs_nothing_again(finished: Project) -> None:
    rng = random.Random(1)
    for path in finished.folder.rglob("*"):
        if ".snakemake" not in path.parts:
            moment = rng.randrange(10**9, 17 * 10**8)
            os.utime(path, (moment, moment))
    before = finished.files()
    finished.start()
    assert (finished.files(), finished.ledger()) == (before, [])
    assert NOTHING in finished.start("-n")


def test_criteria_templates_and_code_repeat_no_run_and_a_prompt_stops_unless_it_is_accepted(
    finished: Project,
) -> None:
    program = finished.copy_program()
    before = finished.files()
    for name, old, new in (
        ("templates/results.md.j2", "# Benchmark results", "# The benchmark's results"),
        ("scripts/lensbench/runs/run.py", '"""One run', '"""Another comment. One run'),
        ("rules/runs.smk", "Executes the runs", "Really executes the runs"),
        ("Snakefile", "SCHEDULE = ", "ANYTHING = 1\nSCHEDULE = "),
    ):
        text = (program / name).read_text()
        assert old in text
        (program / name).write_text(text.replace(old, new, 1))
    finished.write_tasks(wanted="Trolley")
    finished.start()
    assert finished.files() == before
    assert {row["verdict"] for row in finished.table("verdicts") if row["criterion"] == "1"} == {
        "Missed"
    }
    assert (finished.bench / "results.md").read_text().startswith("# The benchmark's results")

    everything = visible(finished)
    finished.write_tasks(suffix=" Be brief.")
    message = finished.start(fails=True)
    assert "task 'anna': its prompt (or the report suffix) changed" in message
    assert "--config run_id=<a new name>" in message
    assert "--config accept_changes=true" in message
    assert visible(finished) == everything

    finished.start("--config", "accept_changes=true")
    assert finished.files() == before
    assert (
        "Accepted change in the middle of this run: task 'anna'"
        in (finished.bench / "results.md").read_text()
    )
    assert finished.ledger() == []
    assert NOTHING in finished.start("-n", "--config", "accept_changes=true")


def test_dated_runs_go_on_until_the_experiment_is_another_one(project: Project) -> None:
    def dated() -> list[str]:
        return sorted(folder.name for folder in (project.folder / "bench").glob("2*"))

    project.configure(run_id="auto")
    project.start(*RUNS)
    (first,) = dated()
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}-\d{4}", first)
    assert (
        json.loads((project.folder / "bench" / first / "plan.json").read_text())["run_id"] == first
    )
    assert project.is_idle(*RUNS)
    project.configure(run_id="auto", gate={"effect": 10}, notes="one")
    project.start("--config", "accept_changes=true")
    assert dated() == [first]
    assert len(project.ledger()) == 4
    results = (project.folder / "bench" / first / "results.md").read_text()
    assert "## Changes this run\n\n- one\n" in results

    mcp = project.folder / "mcp.json"
    mcp.write_text(mcp.read_text().replace("{", "{ ", 1))
    project.start(*RUNS)
    assert len(dated()) == 2
    assert len(project.ledger()) == 8


def test_other_code_makes_everything_but_runs_anew(finished: Project) -> None:
    estimates = finished.bench / "estimates.json"
    before = finished.files()
    known = estimates.read_bytes()
    estimates.write_text("{}")  # as code of another version wrote it
    moment = (finished.bench / "results.json").stat().st_mtime - 0.001
    os.utime(estimates, (moment, moment))
    note_checksum(finished.bench, estimates.name, estimates.read_bytes())
    module = finished.copy_program() / "scripts" / "lensbench" / "scores" / "estimates.py"
    module.write_text(f"{module.read_text()}# another version\n")
    finished.start()
    assert (finished.files(), finished.ledger()) == (before, [])
    assert json.loads(estimates.read_text()).keys() == json.loads(known).keys()
    assert NOTHING in finished.start("-n")


def test_more_trials_add_their_runs_only_and_new_tasks_theirs_with_their_repository(
    finished: Project,
) -> None:
    before = finished.files()
    shutil.rmtree(
        finished.folder / ".snakemake"
    )  # settings reach the plan although Snakemake's memory is lost
    finished.configure(trials=2)
    finished.start(*SCORED)
    assert [row["status"] for row in finished.table("scores")] == ["scored"] * 8
    again = {name.replace("/", "/t2/", 1) for name in before}
    after = finished.files()
    assert set(after) == set(before) | again
    assert {name: after[name] for name in before} == before
    assert finished.ledger() == ["anna-with", "anna-without", "bert-with", "bert-without"]

    finished.clear_ledger()
    tasks = yaml.safe_load((finished.folder / "tasks.yaml").read_text())
    shutil.copytree(finished.folder / "repo", finished.folder / "other")
    new = {
        **tasks["tasks"][0],
        "id": "carl",
        "repository": {"path": "other"},
        "prompt": "Task carl: where?",
    }
    (finished.folder / "tasks.yaml").write_text(
        json.dumps({**tasks, "tasks": [*tasks["tasks"], new]})
    )
    finished.start(*RUNS)
    assert finished.ledger() == ["carl-with", "carl-with", "carl-without", "carl-without"]
    assert {name: finished.files()[name] for name in before} == before

    finished.configure(trials=1)
    finished.start(*RUNS)
    assert json.loads((finished.bench / "plan.json").read_text())["trials"] == 1


def test_a_new_run_id_starts_anew_and_on_one_core_the_order_inside_pairs_is_balanced(
    finished: Project,
) -> None:
    before = finished.files()
    finished.start("--config", "run_id=other", target="bench/other/validity.csv", cores=1)
    assert finished.files() == before
    starts = [
        line.split()[1]
        for line in (finished.control / "ledger").read_text().splitlines()
        if "start" in line
    ]
    assert [name.partition("-")[0] for name in starts] == ["anna", "anna", "bert", "bert"]
    assert {starts[0].partition("-")[2], starts[2].partition("-")[2]} == {"with", "without"}
    assert not list((finished.folder / "bench" / "other").rglob(DISCARD))


def test_a_finished_run_that_snakemake_wants_again_is_copied_and_not_paid_twice(
    finished: Project,
) -> None:
    before = finished.files()
    assert "Nothing to be done" in finished.start(target="bench/r/runs/anna-with.md")
    finished.start("-R", "run", target="bench/r/validity.csv")
    assert not (finished.bench / "logs" / "anna-with.log").read_text().startswith("anna-with: kept")
    finished.start("-R", "run", target="bench/r/runs/anna-with.md")
    assert (bytes_of(finished.files()), finished.ledger()) == (bytes_of(before), [])
    assert "kept" in (finished.bench / "logs" / "anna-with.log").read_text()


@pytest.mark.parametrize("target", ["validity.csv", "runs/anna-with.md"])
def test_a_single_file_as_target_buys_no_run_under_an_old_plan(
    finished: Project, target: str
) -> None:
    old = finished.record("anna-with")["agent_sha256"]
    shutil.rmtree(finished.attempt("anna-with"))
    finished.configure({"timeout_s": 50}, accept_changes=True)
    finished.start(target=f"bench/r/{target}")
    new = json.loads((finished.bench / "plan.json").read_text())["agent_sha256"]
    assert finished.record("anna-with")["agent_sha256"] == new != old
    assert finished.ledger() == ["anna-with"]


def test_the_runs_of_one_task_are_made_alone_and_the_others_later(project: Project) -> None:
    said = project.start("--config", "only=[anna]", target="scores")
    assert project.ledger() == ["anna-with", "anna-without"]
    assert len(project.table("pairs")) >= 1
    assert "Traceback" not in said
    assert "did you mean 'anna'?" in project.start("--config", "only=[ana]", fails=True)
    project.start(*RUNS)
    assert len(project.ledger()) == len(set(project.ledger())) > 2
