"""Reads what the agents say about themselves in their `## Report` sections.

needs   validity.csv (it says which runs there are), all answers
leaves  reports.csv
"""


rule reports:
    input:
        rules.validity.output.table,
    output:
        report(f"{BENCH}/reports.csv", caption="../report/reports.rst", category="Tables"),
    log:
        f"{BENCH}/logs/reports.log",
    localrule: True
    message:
        "reading the reports"
    shell:
        "exec {PYTHON} lensbench.runs.reports --folder {BENCH:q} 2> {log:q}"
