"""Scores the runs and compares the two runs of each pair.

needs   verdicts.csv, validity.csv, reports.csv, the records
leaves  scores.csv (one row per run), pairs.csv (one row per task, trial and treatment)
"""


rule scores:
    input:
        rules.judging.output,
        rules.validity.output.table,
        rules.reports.output,
    output:
        scores=f"{BENCH}/scores.csv",
        pairs=f"{BENCH}/pairs.csv",
    log:
        f"{BENCH}/logs/scores.log",
    message:
        "scoring runs and pairs"
    shell:
        "exec {PYTHON} lensbench.scores --folder {BENCH:q} 2> {log:q}"
