"""Freezes the experiment into the run folder.

needs   the config, the task sets, the MCP files
leaves  plan.json, prompts/ (what every run reads), protocol.md, config.yaml, scenarios.md (what people read)
"""


rule plan:
    input:
        SCHEDULE.inputs,
    output:
        plan=f"{BENCH}/plan.json",
        prompts=directory(f"{BENCH}/prompts"),
        protocol=f"{BENCH}/protocol.md",
        config=update(f"{BENCH}/config.yaml"),
        scenarios=f"{BENCH}/scenarios.md",
        mark=SCHEDULE.plan_mark,
    log:
        f"{BENCH}/logs/plan.log",
    localrule: True
    params:
        settings=lambda wildcards: SCHEDULE.settings,
        accepted=lambda wildcards: SCHEDULE.accepted_json,
    message:
        "freezing the experiment in {BENCH}"
    shell:
        "exec {PYTHON} lensbench.plan.freeze --settings {params.settings:q} --accepted {params.accepted:q}"
        " --folder {BENCH:q} 2> {log:q}"
