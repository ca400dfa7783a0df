"""Asks each judge about every criterion of every valid answer, and decides which verdict counts.

needs   plan.json (the judges), scenarios.md (the criteria), validity.csv, all answers; files saved from the judge
        sheet in human/
leaves  verdicts/<judge>.csv, judging/ (replies of model judges, by the hash of the whole request),
        verdicts.csv (all of them), decisions.csv (what counts), escalations.csv, judge_sheet.html

Edited criteria and prompts are judged again, and a new judge adds one file; no run is repeated, and no verdict is paid
for twice. `snakemake judge_sheet` writes the page for human judges.

Rule tests runs the hidden tests of change tasks on the runs' patches, one job per run.
needs   changes/ (the tasks with their tests), environments.json, the runs with their patches
leaves  tests/<task>-<condition>.json (results by test, output of the tests), judging/tests/ (test runs, cached by the
        hash of patch, tests, tree and environment)

Rule judge_reliability measures the judges: whether they agree, make different errors by condition, or could recognise conditions.
needs   verdicts.csv, decisions.csv, all answers
leaves  judge_reliability.json
"""


rule tests:
    input:
        environments=ancient(str(rules.environments.output)),
        task=f"{BENCH}/changes/{{task}}.json",
        patch=lambda wildcards: SCHEDULE.patch_source(run_of(**wildcards)),
    output:
        f"{BENCH}/tests/{{trial}}{{task}}-{{condition}}.json",
    log:
        f"{BENCH}/logs/tests/{{trial}}{{task}}-{{condition}}.log",
    params:
        trial=lambda wildcards, output: run_of(**wildcards).trial,
    message:
        "testing the change of {wildcards.task}, {wildcards.condition}, trial {params.trial}"
    shell:
        f"exec {PYTHON} lensbench.judging.changes --folder {BENCH} --task {{wildcards.task}}"
        " --condition {wildcards.condition} --trial {params.trial} 2> {log:q}"


rule judging:
    input:
        plan=rules.plan.output.plan,
        scenarios=rules.plan.output.scenarios,
        validity=rules.validity.output.table,
        preflight=SCHEDULE.preflight,
        tests=needed_tests,
        human=lambda wildcards: SCHEDULE.judging.inputs(wildcards.judge),
    output:
        f"{BENCH}/verdicts/{{judge}}.csv",
    log:
        f"{BENCH}/logs/judging/{{judge}}.log",
    localrule: not SCHEDULE.judging.models  # matching patterns takes less time than submitting a job
    threads: lambda wildcards: SCHEDULE.judging.threads(wildcards.judge)
    resources:
        **SCHEDULE.judging.claims(),
    message:
        "judging the answers: {wildcards.judge}"
    shell:
        f"exec {PYTHON} lensbench.judging.verdicts --folder {BENCH} --judge {{wildcards.judge:q}} --parallel {{threads}} 2> {{log:q}}"


rule panel:
    input:
        validity=rules.validity.output.table,
        verdicts=expand(rules.judging.output, judge=JUDGES),
    output:
        verdicts=report(
            f"{BENCH}/verdicts.csv", caption="../report/verdicts.rst", category="Tables"
        ),
        decisions=report(
            f"{BENCH}/decisions.csv", caption="../report/decisions.rst", category="Tables"
        ),
        escalations=f"{BENCH}/escalations.csv",
    log:
        f"{BENCH}/logs/panel.log",
    localrule: True
    message:
        "combining the judges' verdicts"
    shell:
        f"exec {PYTHON} lensbench.judging.decisions --folder {BENCH} 2> {{log:q}}"


rule judge_sheet:
    input:
        mark=rules.plan.output.mark,
        scenarios=rules.plan.output.scenarios,
        validity=rules.validity.output.table,
        preflight=SCHEDULE.preflight,
        decisions=rules.panel.output.decisions,
    output:
        f"{BENCH}/judge_sheet.html",
    log:
        f"{BENCH}/logs/judge_sheet.log",
    localrule: True
    message:
        "writing {output}"
    shell:
        f"exec {PYTHON} lensbench.judging.judge_sheet {BENCH} > {{log:q}} 2>&1"


rule judge_reliability:
    input:
        plan=rules.plan.output.plan,
        validity=rules.validity.output.table,
        preflight=SCHEDULE.preflight,
        panel=rules.panel.output,
    output:
        report(f"{BENCH}/judge_reliability.json", caption="../report/judges.rst", category="Data"),
    log:
        f"{BENCH}/logs/judge_reliability.log",
    localrule: True
    message:
        "measuring the judges"
    shell:
        f"exec {PYTHON} lensbench.judging.reliability --folder {BENCH} 2> {{log:q}}"
