"""lensbench: task x condition x trial -> answer -> valid? -> report, verdicts -> score -> pair -> results.

What each stage needs and leaves stands at the top of its file in rules/.
"""

import os
import shlex
import sys
from subprocess import CalledProcessError

from snakemake.utils import min_version
from snakemake_logger_plugin_lensbench import catch_up, says_when_nothing_is_to_be_done

from lensbench.core.errors import UserError
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import keep_from_others
from lensbench.core.system.processes import WORKFLOW
from lensbench.core.system.terminal import printable_lines
from lensbench.plan.reading import insist_on_config
from lensbench.runs import stopping
from lensbench.workflow import begin, snakemake_inside, targets
from lensbench.workflow.schedule import frozen_schedule, read_schedule, run_of

min_version("9.27")
keep_from_others()

SETTINGS = f"LENSBENCH_SETTINGS_{workflow.modifier.namespace or ''}"  # for the jobs on other machines

if workflow.is_main_process and not workflow.overwrite_configfiles and not workflow.modifier.skip_configfile:
    try:
        insist_on_config("config.yaml")  # Snakemake's own message names neither line nor remedy
    except UserError as error:
        sys.exit(printable_lines(f"error: {error}"))

    configfile: "config.yaml"


try:
    if workflow.is_main_process:
        prepare = begin.foretell if workflow.output_settings.dryrun else begin.begin
        SCHEDULE = read_schedule(config, workflow.configfiles, prepare)
        if SCHEDULE.config.makes_benchmark and not workflow.output_settings.dryrun:
            SCHEDULE.outdate_plan()
        JUDGES = SCHEDULE.judging.names
    else:  # one job, on another machine: its rule asks for no list of judges
        SCHEDULE, JUDGES = frozen_schedule(os.environ.get(SETTINGS)), []
except UserError as error:
    sys.exit(printable_lines(f"error: {error}"))

MAKES_BENCHMARK = SCHEDULE.config.makes_benchmark
FOLDER = RunFolder(SCHEDULE.folder)
BENCH = SCHEDULE.folder.as_posix()
if MAKES_BENCHMARK:
    says_when_nothing_is_to_be_done(SCHEDULE.folder)
    snakemake_inside.forbid_deleting(workflow, SCHEDULE.why_not_deleted)
PYTHON = f"{shlex.quote(sys.executable)} -P -m"
os.environ[SETTINGS] = SCHEDULE.config.model_dump_json(exclude_defaults=True)
os.environ[WORKFLOW] = str(os.getpid())  # every program ends with the Snakemake that started it, so `exec` it
snakemake_inside.add_resources(workflow, SCHEDULE.resources)
snakemake_inside.share_names(workflow, BENCH=BENCH, PYTHON=PYTHON)
snakemake_inside.trust_the_clock()


wildcard_constraints:
    trial=r"(t\d+/)?",
    task=r"[a-z0-9][a-z0-9-]*",
    condition="|".join(SCHEDULE.plan["conditions"]),
    judge=r"[\w-]+",
    look=r"\d+",


report: "report/workflow.rst"


include: "rules/plan.smk"
include: "rules/repositories.smk"
include: "rules/lens.smk"
include: "rules/workflow.smk"
include: "rules/runs.smk"
include: "rules/judging.smk"
include: "rules/scores.smk"
include: "rules/results.smk"
include: "rules/archive.smk"
include: "rules/scenarios.smk"


rule all:
    default_target: workflow.modifier.is_main_snakefile()
    input:
        needed_runs,
        rules.plan.output,
        rules.repositories.output,
        rules.validity.output,
        rules.reports.output,
        expand(rules.judging.output, judge=JUDGES),
        expand(rules.guesses.output, judge=SCHEDULE.judging.guessing),
        rules.panel.output,
        rules.judge_sheet.output if SCHEDULE.judging.wants_sheet else [],
        rules.scores.output,
        rules.instrument.output,
        rules.estimates.output,
        rules.results.output,
        rules.page.output,
        rules.fail_on.output if SCHEDULE.config.fail_on else [],
    localrule: True


onstart:
    snakemake_inside.lift_rate_limit(workflow)
    if problem := targets.misused(SCHEDULE.config, snakemake_inside.rules_to_run(workflow)):
        sys.exit(f"error: {problem}")
    if MAKES_BENCHMARK:
        stopping.clear(SCHEDULE.folder)
        FOLDER.refused.unlink(missing_ok=True)
    catch_up()
    if SCHEDULE.starts_agents and not workflow.touch:
        try:
            shell("exec {PYTHON} lensbench.judging.readers --settings {SCHEDULE.settings:q}")
            shell("exec {PYTHON} lensbench.runs.preflight --settings {SCHEDULE.settings:q} --folder {BENCH:q}")
        except (CalledProcessError, KeyboardInterrupt):
            sys.exit(1)  # what is wrong stands on the terminal; any other exception would add a traceback


onsuccess:
    catch_up()
    if MAKES_BENCHMARK and FOLDER.results_json.exists():
        shell("exec {PYTHON} lensbench.workflow.finish --folder {BENCH:q}")


onerror:
    catch_up()
    if FOLDER.refused.exists():
        shell("exec {PYTHON} lensbench.workflow.finish --folder {BENCH:q}")
        print("error:", FOLDER.refused.read_text().strip(), file=sys.stderr)
    elif MAKES_BENCHMARK and FOLDER.plan.exists():
        shell("exec {PYTHON} lensbench.workflow.render --folder {BENCH:q}")
