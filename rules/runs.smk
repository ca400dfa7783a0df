"""Executes the runs, decides which of them count, and reads the agents' reports.

Rule run executes one run per job: one task in one condition in one trial.

needs   plan.json, prompts/, repositories.json; the only triggers are discards that request another attempt
leaves  runs/<task>-<condition>.md, records/<task>-<condition>.json (trial 2 in t2/, and so on), transcripts/,
        patches/ (the agents' changes in change tasks)

A run that counts is never repeated, whatever else changes: all inputs except discards are `ancient`, the outputs are
kept until they are replaced, and the runner itself refuses to repeat a run that counts.
For a run that is due in this start, the plan is not `ancient`: while the plan is rebuilt, Snakemake would not see the
discard. (`ancient(str(...))`, because `ancient` marks the object itself, for all rules that use it.)

Runs that count are not in Snakemake's graph, unless another run of their task is wanted or one of their files is
requested by name.

Rule environments installs what the tests of change tasks need: once, with network access; read-only afterwards.
needs   plan.json, changes/ (the tasks with their tests), repositories.json
leaves  environments.json: the path of each task's environment; the environments in the cache

Rule citations stores the cited source lines, because archives do not contain the repositories.
needs   validity.csv, the answers, repositories.json and the repositories
leaves  citations.json

Rule validity decides which runs count and reads the agents' reports: two stages, one program (runs/stages.py).
needs   plan.json, all records and answers
leaves  validity.csv, runs/timing.csv, discards/ (the runs to repeat in the next start), reports.csv
"""

runs_at_once = lambda: start.runs_at_once(workflow)


rule environments:
    input:
        ancient(str(rules.plan.output.plan)),
        rules.plan.output.changes,
        ancient(str(rules.repositories.output)),
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
        "exec {PYTHON} lensbench.runs.environments --folder {BENCH:q} --cache {params.cache:q} 2> {log:q}"


rule run:
    input:
        lambda wildcards: [trigger(*each) for each in SCHEDULE.triggers(run_of(**wildcards))],
        ancient(str(rules.plan.output.prompts)),
        ancient(str(rules.repositories.output)),
        [ancient(str(rules.environments.output))] if SCHEDULE.change_tasks else [],
    output:
        answer=update(f"{BENCH}/runs/{{trial}}{{task}}-{{condition}}.md"),
        record=update(f"{BENCH}/records/{{trial}}{{task}}-{{condition}}.json"),
    log:
        f"{BENCH}/logs/{{trial}}{{task}}-{{condition}}.log",
    wildcard_constraints:
        task=start.tasks_to_run(workflow, SCHEDULE),
    priority: lambda wildcards: SCHEDULE.priority(run_of(**wildcards).stem)
    resources:
        **SCHEDULE.claims(runs_at_once),
        gate_s=lambda wildcards: SCHEDULE.gate_s(run_of(**wildcards), runs_at_once()),
        grace_s=2 if workflow.is_main_process else 120,  # the partner may have to wait for its node
        runtime=SCHEDULE.runtime_min,
    params:
        trial=lambda wildcards: run_of(**wildcards).trial,
    message:
        "{wildcards.task}, {wildcards.condition}, trial {params.trial}"
    shell:
        "exec {PYTHON} lensbench.runs.run --folder {BENCH:q} --task {wildcards.task} --condition {wildcards.condition}"
        " --trial {params.trial} --gate-s {resources.gate_s} --grace-s {resources.grace_s} 2> {log:q}"


rule validity:
    input:
        rules.plan.output.plan,
        needed_runs,
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
        "exec {PYTHON} lensbench.runs.stages --folder {BENCH:q} 2> {log:q}"


rule citations:
    input:
        rules.validity.output.table,
        ancient(str(rules.repositories.output)),
    output:
        f"{BENCH}/citations.json",
    log:
        f"{BENCH}/logs/citations.log",
    localrule: True
    message:
        "looking up the lines that answers cite"
    shell:
        "exec {PYTHON} lensbench.runs.citations --folder {BENCH:q} 2> {log:q}"
