"""Asks for the runs, wave by wave, and asks one question at once.

Checkpoint look: after each wave of runs but the last, is the next one needed? One per look, not per run;
`--config 'gate={looks: 1}'` makes all runs.
needs   the runs of the waves so far
leaves  looks/<look>.json (is the next wave open, and why), looks/<look>/ (the tables that this rests on)

Rule eval, asked for by name (`snakemake eval`): one question in every condition, side by side; nothing is scored, and
no run of a benchmark is made.
needs   --config 'prompt=how does auth work?' and, for another folder than the current one, repo=<path>
leaves  bench/evals/<question>-<hash>/eval.html
"""


checkpoint look:
    input:
        rules.plan.output.plan,
        lambda wildcards: SCHEDULE.files_of_waves(int(wildcards.look)),
        lambda wildcards: SCHEDULE.tests_of_waves(int(wildcards.look)),
    output:
        f"{BENCH}/looks/{{look}}.json",
    log:
        f"{BENCH}/logs/look-{{look}}.log",
    localrule: True
    threads: SCHEDULE.judging.at_a_time
    message:
        "looking at the results after wave {wildcards.look}"
    shell:
        "exec {PYTHON} lensbench.workflow.look --folder {BENCH:q} --look {wildcards.look} --parallel {threads} 2> {log:q}"


# An input that makes a job anew only when it asks for that. (`str`: `ancient` marks the very object that it is given.)
trigger = lambda path, asks: str(path) if asks else ancient(str(path))
needed_runs = lambda wildcards: SCHEDULE.needed_files(checkpoints.look)
missing_runs = lambda wildcards: SCHEDULE.missing_files(checkpoints.look)
needed_tests = lambda wildcards: SCHEDULE.needed_tests(wildcards.judge, checkpoints.look)


rule eval:
    log:
        "bench/evals/eval.log",
    localrule: True
    params:
        prompt=lambda wildcards: targets.question(SCHEDULE.config),
        repo=SCHEDULE.config.repo,
        settings=lambda wildcards: SCHEDULE.settings,
    message:
        "asking once in every condition"
    shell:
        "exec {PYTHON} lensbench.workflow.ask --repo={params.repo:q} --settings {params.settings:q} -- {params.prompt:q}"
        " 2> {log:q}"
