"""Executes the runs, decides which of them count, and reads the agents' reports.

Rule run executes one run per job: one task in one condition in one trial.

needs   plan.json, prompts/, repositories.json
leaves  runs/<task>-<condition>.md (trial 2 in t2/, and so on): a copy of the answer; the answer itself, with its record
        and transcript, in attempts/<task>-<condition>/<n>/, which no rule owns and no option of Snakemake deletes

Only missing answers are in Snakemake's graph. The runner asks an agent for a run that is not in the store or was
discarded there, and copies all others; at the end of a start the answers of discarded runs are taken back.

Rule environments installs what the tests of change tasks need: once, with network access; read-only afterwards.
needs   plan.json, changes/ (the tasks with their tests), repositories.json
leaves  environments.json: the path of each task's environment; the environments in the cache

Rule validity decides which runs count and reads the agents' reports: two stages, one program (runs/validity.py).
needs   plan.json, the missing answers, the journals of the store (attempts/made-<wave>.csv)
leaves  validity.csv, runs/timing.csv, reports.csv; a discard.json in the store for each run that must not count
"""

runs_at_once = lambda: start.runs_at_once(workflow)
RUN = (
    f"lensbench.runs.run --folder {BENCH} --task {{wildcards.task}} --condition {{wildcards.condition}}"
    " --trial {params.trial} --wave {params.wave} --gate-s {resources.gate_s} --grace-s {resources.grace_s}"
)


rule environments:
    input:
        plan=ancient(str(rules.plan.output.plan)),
        changes=rules.plan.output.changes,
        repositories=ancient(str(rules.repositories.output)),
    output:
        f"{BENCH}/environments.json",
    log:
        f"{BENCH}/logs/environments.log",
    localrule: True
    params:
        cache=SCHEDULE.config.cache,
    message:
        "installing what the tests need"
    shell:
        f"exec {PYTHON} lensbench.runs.environments --folder {BENCH} --cache {{params.cache:q}} 2> {{log:q}}"


rule run:
    input:
        plan=rules.plan.output.plan,
        prompts=rules.plan.output.prompts,
        mark=rules.plan.output.mark,
        repositories=rules.repositories.output,
        environments=rules.environments.output if SCHEDULE.change_tasks else [],
    output:
        f"{BENCH}/runs/{{trial}}{{task}}-{{condition}}.md",
    log:
        f"{BENCH}/logs/{{trial}}{{task}}-{{condition}}.log",
    priority: lambda wildcards: SCHEDULE.priority(run_of(**wildcards).stem)
    resources:
        **SCHEDULE.claims(runs_at_once),
        gate_s=lambda wildcards: SCHEDULE.gate_s(run_of(**wildcards), runs_at_once()),
        grace_s=2 if workflow.is_main_process else 120,  # the partner may have to wait for its node
        runtime=SCHEDULE.runtime_min,
    params:
        trial=lambda wildcards, output: run_of(**wildcards).trial,
        wave=lambda wildcards, output: SCHEDULE.wave_of(run_of(**wildcards)),
        program=lambda wildcards, output: RUN,  # the executor plug-in forks it
    message:
        "{wildcards.task}, {wildcards.condition}, trial {params.trial}"
    shell:
        f"exec {PYTHON} {RUN} 2> {{log:q}}"


rule validity:
    input:
        plan=rules.plan.output.plan,
        runs=needed_runs,
    output:
        table=report(f"{BENCH}/validity.csv", caption="../report/validity.rst", category="Tables"),
        timing=f"{BENCH}/runs/timing.csv",
        reports=report(f"{BENCH}/reports.csv", caption="../report/reports.rst", category="Tables"),
    log:
        f"{BENCH}/logs/validity.log",
    localrule: True
    message:
        "deciding which runs count"
    shell:
        f"exec {PYTHON} lensbench.runs.validity --folder {BENCH} 2> {{log:q}}"
