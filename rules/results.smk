"""Writes what people and programs read.

needs   all tables, the plan, the records, templates/results.md.j2
leaves  results.json, results.md
"""


rule results:
    input:
        rules.plan.output.plan,
        rules.repositories.output,
        rules.scores.output,
        rules.judging.output,
        rules.reports.output,
        rules.validity.output.table,
        template=workflow.source_path("../templates/results.md.j2"),
    output:
        data=f"{BENCH}/results.json",
        page=f"{BENCH}/results.md",
    log:
        f"{BENCH}/logs/results.log",
    message:
        "writing {output.page}"
    shell:
        "exec {PYTHON} lensbench.results --folder {BENCH:q} 2> {log:q}"
