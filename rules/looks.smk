"""Looks at the results after each wave of runs but the last: the next wave is made only if it is needed.

needs   the runs of the waves so far
leaves  looks/<look>.json (is the next wave open, and why), looks/<look>/ (the tables that this rests on)

A checkpoint per look, not per run. `--config 'gate={looks: 1}'` makes all runs.
"""


def files_of(runs):
    """The answers and records of runs."""
    return [run_files(SCHEDULE.folder, run)[part].as_posix() for run in runs for part in (0, 1)]


checkpoint look:
    input:
        rules.plan.output.plan,
        lambda wildcards: files_of(SCHEDULE.runs_of_waves(int(wildcards.look))),
    output:
        f"{BENCH}/looks/{{look}}.json",
    log:
        f"{BENCH}/logs/look-{{look}}.log",
    localrule: True
    threads: SCHEDULE.judges_at_a_time
    message:
        "looking at the results after wave {wildcards.look}"
    shell:
        "exec {PYTHON} lensbench.workflow.look --folder {BENCH:q} --look {wildcards.look} --parallel {threads} 2> {log:q}"


def needed_runs(wildcards):
    """The files of all runs that the looks so far ask for; asks for the next look while the gate is open."""
    for look in SCHEDULE.looks:
        checkpoints.look.get(look=look)
        if SCHEDULE.opened() <= look:
            return files_of(SCHEDULE.runs_of_waves(look))
    return files_of(SCHEDULE.runs)
