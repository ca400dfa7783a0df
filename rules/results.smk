"""Writes what people and programs read.

needs   all tables, instrument.json, estimates.json, the plan, the records, templates/results.md.j2
leaves  results.json, results.md, summary.md (GitHub), junit.xml (other CI services)
"""


rule results:
    input:
        rules.plan.output.plan,
        rules.repositories.output,
        rules.scores.output,
        rules.panel.output,
        rules.instrument.output,
        rules.estimates.output,
        rules.reports.output,
        rules.validity.output.table,
        templates=[
            workflow.source_path("../templates/results.md.j2"),
            workflow.source_path("../templates/summary.md.j2"),
        ],
    output:
        data=report(f"{BENCH}/results.json", caption="../report/results.rst", category="Data"),
        page=report(f"{BENCH}/results.md", caption="../report/results.rst", category="Results"),
        summary=f"{BENCH}/summary.md",
        junit=f"{BENCH}/junit.xml",
    log:
        f"{BENCH}/logs/results.log",
    localrule: True
    message:
        "writing {output.page}"
    shell:
        "exec {PYTHON} lensbench.results.results --folder {BENCH:q} 2> {log:q}"
