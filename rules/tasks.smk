"""Writes a task set about a repository: `snakemake scenarios --config repo=<git url or path> tasks=12` (docs/generating.md).

needs   the repository, at its newest commit when the set is written
leaves  scenarios/<name>.yaml, <name>.review.html (what was kept, repaired and dropped, and why)

It reads and writes no run folder. An existing set is kept until it is deleted or the settings change.
"""

TASK_SET = targets.task_set(SCHEDULE.config)


rule scenarios:
    output:
        tasks=f"{TASK_SET}.yaml",
        review=f"{TASK_SET}.review.html",
    log:
        f"{TASK_SET}.log",
    localrule: True
    params:
        repo=lambda wildcards: targets.repository(SCHEDULE.config),
        tasks=SCHEDULE.config.tasks,
        writer=lambda wildcards: targets.writer(SCHEDULE.config, SCHEDULE.plan),
    message:
        "writing {params.tasks} tasks"
    shell:
        f"exec {PYTHON} lensbench_tasks.generate --repo={{params.repo:q}} --count {{params.tasks:q}} --settings {{params.writer:q}}"
        " --output {output.tasks:q} 2> {log:q}"
