"""Asks one question in every condition, and shows the answers side by side; nothing is scored.

needs   --config 'prompt=how does auth work?' and, for another folder than the current one, repo=<path>
leaves  bench/evals/<question>-<hash>/eval.html

Asked for by name: `snakemake eval`. No run of a benchmark is made.
"""


rule eval:
    log:
        "bench/evals/eval.log",
    localrule: True
    params:
        prompt=lambda wildcards: SCHEDULE.question,
        repo=SCHEDULE.config.repo,
        settings=lambda wildcards: SCHEDULE.settings,
    message:
        "asking once in every condition"
    shell:
        "exec {PYTHON} lensbench.workflow.ask --repo={params.repo:q} --settings {params.settings:q} -- {params.prompt:q}"
        " 2> {log:q}"
