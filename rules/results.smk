"""Writes the results for people and for programs: two stages, one program (results/results.py).

needs   all tables, judge_reliability.json, estimates.json, citations.json, the plan, the records, all answers, the templates
leaves  results.json, results.md, summary.md (GitHub), junit.xml (other CI services), report.html, answers/

Rule citations stores the cited source lines, because archives do not contain the repositories.
needs   validity.csv, the answers, repositories.json and the repositories
leaves  citations.json

Outputs marked with `report` are also included in Snakemake's report (`snakemake --report`).

Rule fail_on fails if the gate's verdict is listed in the config (`--config fail_on=HARM`); no rule depends on it.
A failed job is rerun at every start, so a second start fails as well.
leaves  .passed/<verdicts>, when none of them occurred
"""


rule citations:
    input:
        validity=rules.validity.output.table,
        repositories=ancient(str(rules.repositories.output)),
    output:
        f"{BENCH}/citations.json",
    log:
        f"{BENCH}/logs/citations.log",
    localrule: True
    message:
        "looking up the lines that answers cite"
    shell:
        f"exec {PYTHON} lensbench.results.citations --folder {BENCH} 2> {{log:q}}"


rule results:
    input:
        plan=rules.plan.output.plan,
        repositories=rules.repositories.output,
        scores=rules.scores.output,
        panel=rules.panel.output,
        judge_reliability=rules.judge_reliability.output,
        validity=rules.validity.output,
        citations=rules.citations.output,
        preflight=SCHEDULE.preflight,
        requests=SCHEDULE.requests,
        templates=[
            workflow.source_path(f"../templates/{name}.j2")
            for name in (
                "results.md",
                "ablation.md",
                "changes.md",
                "checked.md",
                "discards.md",
                "figures.md",
                "groups.md",
                "trust.md",
                "warnings.md",
                "ladder.md",
                "pairwise.md",
                "rests_on.md",
                "tools_by_run.md",
                "summary.md",
                "report.html",
                "page_parts.html",
                "pair.html",
                "run.html",
            )
        ],
        style=workflow.source_path("../templates/report.css"),
    output:
        data=report(f"{BENCH}/results.json", caption="../report/results.rst", category="Data"),
        text=report(f"{BENCH}/results.md", caption="../report/results.rst", category="Results"),
        summary=f"{BENCH}/summary.md",
        junit=f"{BENCH}/junit.xml",
        page=report(f"{BENCH}/report.html", caption="../report/page.rst", category="Results"),
        answers=report(
            directory(f"{BENCH}/answers"),
            patterns=[r"{task,(t\d+/)?[^/]+}.html"],
            caption="../report/answers.rst",
            category="Answers",
            labels={"task": "{task}"},
        ),
    log:
        f"{BENCH}/logs/results.log",
    localrule: True
    message:
        "writing {output.text} and {output.page}"
    shell:
        f"exec {PYTHON} lensbench.results.results --folder {BENCH} 2> {{log:q}}"


rule fail_on:
    input:
        results=rules.results.output,
    output:
        touch(f"{BENCH}/.passed/{'-'.join(SCHEDULE.config.fail_on)}"),
    log:
        f"{BENCH}/logs/fail_on.log",
    localrule: True
    params:
        verdicts=lambda wildcards, output: list(SCHEDULE.config.fail_on),
    message:
        "comparing the verdict with fail_on"
    shell:
        f"exec {PYTHON} lensbench.results.fail_on --folder {BENCH} --verdicts {{params.verdicts:q}} 2> {{log:q}}"
