"""Schedules the runs in waves.

Checkpoint look decides after each wave of runs except the last whether the next one is needed. One job per look, not
per run; `--config 'gate={looks: 1}'` executes all runs.
needs   the runs of the waves so far
leaves  looks/<look>.json (whether the next wave is needed, and why), looks/<look>/ (the tables behind this decision)
"""


checkpoint look:
    input:
        plan=rules.plan.output.plan,
        runs=lambda wildcards: SCHEDULE.files_of_waves(int(wildcards.look)),
        tests=lambda wildcards: SCHEDULE.tests_of_waves(int(wildcards.look)),
    output:
        f"{BENCH}/looks/{{look}}.json",
    log:
        f"{BENCH}/logs/look-{{look}}.log",
    localrule: True
    threads: SCHEDULE.judging.limits.judges_at_a_time
    message:
        "looking at the results after wave {wildcards.look}"
    shell:
        f"exec {PYTHON} lensbench.workflow.look --folder {BENCH} --look {{wildcards.look}} --parallel {{threads}} 2> {{log:q}}"


# An input that reruns a job only if `is_active`. (`str`: `ancient` marks the object itself.)
trigger = lambda path, is_active: str(path) if is_active else ancient(str(path))
needed_runs = lambda wildcards: SCHEDULE.needed_files(checkpoints.look)
missing_runs = lambda wildcards: SCHEDULE.missing_files(checkpoints.look)
needed_tests = lambda wildcards: SCHEDULE.needed_tests(wildcards.judge, checkpoints.look)
