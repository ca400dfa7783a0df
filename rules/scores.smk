"""Scores the runs and compares the two runs of each pair.

needs   decisions.csv, validity.csv, reports.csv, the records
leaves  scores.csv (one row per run), pairs.csv (one row per task, trial and treatment)
"""


rule scores:
    input:
        rules.panel.output.decisions,
        rules.validity.output.table,
        rules.reports.output,
    output:
        scores=report(f"{BENCH}/scores.csv", caption="../report/scores.rst", category="Tables"),
        pairs=report(f"{BENCH}/pairs.csv", caption="../report/pairs.rst", category="Tables"),
    log:
        f"{BENCH}/logs/scores.log",
    localrule: True
    message:
        "scoring runs and pairs"
    shell:
        "exec {PYTHON} lensbench.scores.scores --folder {BENCH:q} 2> {log:q}"
