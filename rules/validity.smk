"""Decides which runs count, and files the others under discards/, where the next start finds them.

needs   plan.json, all records and answers
leaves  validity.csv, runs/timing.csv, discards/
"""


rule validity:
    input:
        rules.plan.output.plan,
        needed_runs,
    output:
        table=report(f"{BENCH}/validity.csv", caption="../report/validity.rst", category="Tables"),
        timing=f"{BENCH}/runs/timing.csv",
    log:
        f"{BENCH}/logs/validity.log",
    localrule: True
    message:
        "deciding which runs count"
    shell:
        "exec {PYTHON} lensbench.runs.validity --folder {BENCH:q} 2> {log:q}"
