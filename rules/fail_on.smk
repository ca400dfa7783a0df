"""Fails when the gate's verdict is one that the user named: `--config fail_on=HARM`. Nothing waits for it.

needs   everything else that is written
leaves  .passed/<verdicts>: they were not found

A failed job is made again at every start, so a second start fails as well.
"""


rule fail_on:
    input:
        rules.results.output,
        rules.page.output,
    output:
        touch(f"{BENCH}/.passed/{'-'.join(SCHEDULE.config.fail_on)}"),
    log:
        f"{BENCH}/logs/fail_on.log",
    localrule: True
    params:
        verdicts=list(SCHEDULE.config.fail_on),
    message:
        "comparing the verdict with fail_on"
    shell:
        "exec {PYTHON} lensbench.results.fail_on --folder {BENCH:q} --verdicts {params.verdicts:q} 2> {log:q}"
