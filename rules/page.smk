"""Draws the page that people look at.

needs   results.json, estimates.json, instrument.json, the tables, all answers, the templates
leaves  report.html, answers/ (a page per pair)

What is marked with `report` stands in Snakemake's own page too (`snakemake --report`, docs/comparing.md).
"""


rule page:
    input:
        rules.results.output.data,
        rules.estimates.output,
        rules.instrument.output,
        rules.panel.output,
        [
            workflow.source_path("../templates/report.html.j2"),
            workflow.source_path("../templates/report_judges.html.j2"),
            workflow.source_path("../templates/page_parts.html.j2"),
            workflow.source_path("../templates/pair.html.j2"),
            workflow.source_path("../templates/report.css"),
        ],
    output:
        page=report(f"{BENCH}/report.html", caption="../report/page.rst", category="Results"),
        answers=report(
            directory(f"{BENCH}/answers"),
            patterns=["{task}.html"],
            caption="../report/answers.rst",
            category="Answers",
            labels={"task": "{task}"},
        ),
    log:
        f"{BENCH}/logs/page.log",
    localrule: True
    message:
        "writing {output.page}"
    shell:
        "exec {PYTHON} lensbench.results.page.page --folder {BENCH:q} 2> {log:q}"
