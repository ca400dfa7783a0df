"""Packs a benchmark into one file that others can check with `lensbench verify`.

needs   the whole run folder, and the files that the config names
leaves  bench/<run_id>.zip

Run it by name: `snakemake archive`. Changing its settings reruns no other rule.
"""


rule archive:
    input:
        runs=needed_runs,
        results=rules.results.output,
        judge_sheet=rules.judge_sheet.output if SCHEDULE.judging.wants_sheet else [],
    output:
        f"{BENCH}.zip",
    log:
        f"{BENCH}/logs/archive.log",
    localrule: True
    params:
        allow=list(SCHEDULE.config.archive.allow),
    message:
        f"archiving {BENCH}"
    shell:
        f"exec {PYTHON} lensbench_archive.archive {BENCH} --output {{output:q}} --allow {{params.allow:q}}"
        " 2> {log:q}"
