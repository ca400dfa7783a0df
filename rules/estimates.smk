"""Estimates the differences, with their intervals, and what the gate says about them.

needs   scores.csv, pairs.csv, reports.csv, the records, instrument.json (a voided judge forbids a verdict)
leaves  estimates.json
"""


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
