"""Decides which runs count, and files the others under discards/, where the next start finds them.

needs   plan.json, all records and answers
leaves  validity.csv, runs/timing.csv, discards/
"""


rule validity:
    input:
        rules.plan.output.plan,
        expand(rules.run.output, zip, **RUN_WILDCARDS),
    output:
        table=f"{BENCH}/validity.csv",
        timing=f"{BENCH}/runs/timing.csv",
    log:
        f"{BENCH}/logs/validity.log",
    message:
        "deciding which runs count"
    shell:
        "exec {PYTHON} lensbench.validity --folder {BENCH:q} 2> {log:q}"
