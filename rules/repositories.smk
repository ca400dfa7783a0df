"""Fetches and cleans the repositories that the tasks are about.

needs   plan.json
leaves  repositories.json: the path of each cleaned tree and the hash of its content; the trees in the cache
"""


rule repositories:
    input:
        plan=lambda wildcards: trigger(rules.plan.output.plan, SCHEDULE.lacks_repositories),
    output:
        f"{BENCH}/repositories.json",
    log:
        f"{BENCH}/logs/repositories.log",
    localrule: True
    params:
        cache=lambda wildcards, output: SCHEDULE.config.cache,
    message:
        "fetching the repositories under test"
    shell:
        f"exec {PYTHON} lensbench.repositories.prepare --plan {{input.plan:q}} --cache {{params.cache:q}} --output {{output:q}} 2> {{log:q}}"
