"""Scores the runs, compares the two runs of each pair, and estimates the differences: two stages, one program
(scores/estimates.py).

needs   decisions.csv, validity.csv, reports.csv, the records, judge_reliability.json (no verdict with a voided judge)
leaves  scores.csv (one row per run), pairs.csv (one row per task, trial and treatment), estimates.json (the differences
        with their intervals and the gate's verdicts)
"""


rule scores:
    input:
        plan=rules.plan.output.plan,
        decisions=rules.panel.output.decisions,
        validity=rules.validity.output.table,
        reports=rules.validity.output.reports,
        judge_reliability=rules.judge_reliability.output,
        preflight=SCHEDULE.preflight,
    output:
        scores=report(f"{BENCH}/scores.csv", caption="../report/scores.rst", category="Tables"),
        pairs=report(f"{BENCH}/pairs.csv", caption="../report/pairs.rst", category="Tables"),
        estimates=report(
            f"{BENCH}/estimates.json", caption="../report/estimates.rst", category="Data"
        ),
    log:
        f"{BENCH}/logs/scores.log",
    localrule: True
    message:
        "scoring runs and pairs, and estimating the differences"
    shell:
        f"exec {PYTHON} lensbench.scores.estimates --folder {BENCH} 2> {{log:q}}"
