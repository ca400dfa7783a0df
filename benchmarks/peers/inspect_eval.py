"""The benchmark for Inspect AI; runs in its own environment, in the folder of its logs.

python inspect_eval.py run <agent.sh> <ledger> <seconds> <tasks>    runs or resumes it
python inspect_eval.py rows                                        prints the content of the logs
"""

from __future__ import annotations

import sys

from inspect_ai import Task, eval_set, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import list_eval_logs, read_eval_log
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import CORRECT, INCORRECT, Score, accuracy, scorer
from inspect_ai.solver import solver
from inspect_ai.util import subprocess


@solver
def null_agent(command, condition):
    async def solve(state, generate):
        ended = await subprocess([*command, condition, state.input_text])
        state.output = ModelOutput.from_content("mockllm/model", ended.stdout)
        return state

    return solve


@scorer(metrics=[accuracy()])
def says(text):
    async def score(state, target):
        return Score(value=CORRECT if text in state.output.completion else INCORRECT)

    return score


@task
def facts(condition, command, tasks):
    samples = [
        Sample(id=f"t-{number}", input=f"t-{number}: What is fact {number}?")
        for number in range(tasks)
    ]
    checks = [says("forty-two"), says("a.py")]
    return Task(
        dataset=MemoryDataset(samples), solver=null_agent(command, condition), scorer=checks
    )


def run(agent, ledger, seconds, tasks):
    """Both conditions, two agents at a time."""
    arms = [
        facts(condition, [agent, ledger, seconds], int(tasks)) for condition in ("without", "with")
    ]
    is_whole, _ = eval_set(
        arms,
        log_dir="logs",
        model="mockllm/model",
        max_tasks=1,
        max_samples=2,
        max_subprocesses=2,
        display="none",
    )
    sys.exit(0 if is_whole else 1)


def rows():
    """A line per sample: the status of its log, task and condition, and whether it was scored."""
    for place in list_eval_logs("logs"):
        log = read_eval_log(place)
        for sample in log.samples or []:
            answer = "scored" if sample.scores else "unscored"
            print(log.status, sample.id, log.eval.task_args["condition"], answer)


if __name__ == "__main__":
    {"run": run, "rows": rows}[sys.argv[1]](*sys.argv[2:])
