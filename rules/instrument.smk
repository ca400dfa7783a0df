"""Measures the judges: how far they agree, err differently by condition, or can tell the conditions apart.

needs   verdicts.csv, decisions.csv, guesses/, scores.csv, all answers
leaves  instrument.json
"""


rule instrument:
    input:
        rules.plan.output.plan,
        rules.validity.output.table,
        rules.panel.output,
        rules.scores.output,
        expand(rules.guesses.output, judge=SCHEDULE.guessing_judges),
    output:
        report(f"{BENCH}/instrument.json", caption="../report/instrument.rst", category="Data"),
    log:
        f"{BENCH}/logs/instrument.log",
    localrule: True
    message:
        "measuring the judges"
    shell:
        "exec {PYTHON} lensbench.judging.instrument --folder {BENCH:q} 2> {log:q}"
