"""Scores the runs, compares the two runs of each pair, and estimates the differences.

needs   decisions.csv, validity.csv, reports.csv, the records
leaves  scores.csv (one row per run), pairs.csv (one row per task, trial and treatment)

Rule estimates: the differences with their intervals, and what the gate says about them.
needs   scores.csv, pairs.csv, reports.csv, the records, instrument.json (a voided judge forbids a verdict)
leaves  estimates.json
"""


rule scores:
    input:
        rules.panel.output.decisions,
        rules.validity.output.table,
        rules.reports.output,
        SCHEDULE.preflight,
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


rule estimates:
    input:
        rules.plan.output.plan,
        rules.validity.output.table,
        rules.reports.output,
        rules.scores.output,
        rules.instrument.output,
    output:
        report(f"{BENCH}/estimates.json", caption="../report/estimates.rst", category="Data"),
    log:
        f"{BENCH}/logs/estimates.log",
    localrule: True
    message:
        "estimating the differences"
    shell:
        "exec {PYTHON} lensbench.scores.estimates --folder {BENCH:q} 2> {log:q}"
