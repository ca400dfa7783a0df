"""Judges every answer that counts, criterion by criterion. Edited criteria are judged anew; no run is repeated.

needs   scenarios.md (the criteria), validity.csv, all answers
leaves  verdicts.csv
"""


rule judging:
    input:
        rules.plan.output.scenarios,
        rules.validity.output.table,
    output:
        f"{BENCH}/verdicts.csv",
    log:
        f"{BENCH}/logs/judging.log",
    message:
        "judging the answers"
    shell:
        "exec {PYTHON} lensbench.judging --folder {BENCH:q} 2> {log:q}"
