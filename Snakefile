"""lensbench: task x condition x trial -> answer -> valid? -> report, verdicts -> score -> pair -> results.

The docstring of each file in rules/ lists the inputs (needs) and outputs (leaves) of its stage. You can run commands
from the log by hand.
"""

from snakemake.utils import min_version

from lensbench.workflow import start
from lensbench.workflow.schedule import run_of

min_version("9.27")

if start.reads_config(workflow, __name__, "config.yaml"):

    configfile: "config.yaml"


SCHEDULE = start.read_start(workflow, __name__, config)
JUDGES = (
    SCHEDULE.judging.names if workflow.is_main_process else []
)  # a job elsewhere needs no list of judges
BENCH, PYTHON = SCHEDULE.folder.as_posix(), start.PYTHON


wildcard_constraints:
    trial=r"(t\d+/)?",
    task=start.ANY_TASK,
    condition="|".join(SCHEDULE.plan["conditions"]),
    judge=r"[\w-]+",
    look=r"\d+",


report: "report/workflow.rst"


include: "rules/plan.smk"
include: "rules/repositories.smk"
include: "rules/workflow.smk"
include: "rules/runs.smk"
include: "rules/judging.smk"
include: "rules/scores.smk"
include: "rules/results.smk"
include: "rules/archive.smk"


rule all:
    default_target: __name__ is None  # Snakemake sets it to the name of a module
    input:
        missing_runs,
        rules.plan.output,
        rules.repositories.output,
        rules.validity.output,
        rules.citations.output,
        expand(rules.judging.output, judge=JUDGES),
        rules.panel.output,
        rules.judge_sheet.output if SCHEDULE.judging.wants_sheet else [],
        rules.scores.output,
        rules.judge_reliability.output,
        rules.results.output,
        rules.fail_on.output if SCHEDULE.config.fail_on else [],
    localrule: True


onstart:
    start.before_jobs(workflow, SCHEDULE)


onsuccess:
    start.after_jobs(SCHEDULE)


onerror:
    start.after_jobs(SCHEDULE, has_failed=True)
