"""Freezes the experiment into the run folder.

needs   the config, the task sets, the MCP files
leaves  plan.json, prompts/ (read by every run), protocol.md, config.yaml, scenarios.md (for people), changes/ (change
        tasks with their tests); a user's file with such a name is kept, and the tasks are frozen in
        scenarios.frozen.md
"""

import json


rule plan:
    input:
        files=SCHEDULE.inputs,
    output:
        plan=f"{BENCH}/plan.json",
        prompts=directory(f"{BENCH}/prompts"),
        protocol=f"{BENCH}/protocol.md",
        config=update(f"{BENCH}/config.yaml") if "config.yaml" not in SCHEDULE.own else [],
        scenarios=SCHEDULE.frozen_tasks,
        mark=SCHEDULE.plan_mark,
        changes=[update(f"{BENCH}/changes/{task}.json") for task in SCHEDULE.change_tasks],
    log:
        f"{BENCH}/logs/plan.log",
    localrule: True
    params:
        # Functions of `output` are no triggers (`mark` is one): Snakemake would import pandas to compare them.
        settings=lambda wildcards, output: SCHEDULE.settings,
        accepted=lambda wildcards, output: json.dumps(SCHEDULE.accepted, ensure_ascii=False),
        own=lambda wildcards, output: sorted(SCHEDULE.own),
        dealt=lambda wildcards, output: list(SCHEDULE.plan.get("dealt", ())),  # tasks of waves before others were added
    message:
        f"freezing the experiment in {BENCH}"
    shell:
        f"exec {PYTHON} lensbench.plan.freeze --settings {{params.settings:q}} --accepted {{params.accepted:q}}"
        f" --folder {BENCH} --own {{params.own:q}}"
        " --dealt {params.dealt:q} 2> {log:q}"
