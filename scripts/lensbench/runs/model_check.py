"""Asks the model one short question, through the agent and in the sandbox.

This is for agents whose service cannot be tested directly, because a launcher or the agent's own settings hold key and
address. It shows before the first run that the agent starts, finds its key and gets an answer.
"""

from __future__ import annotations

from lensbench.agents.prices import priced
from lensbench.agents.probe import BUSY
from lensbench.agents.sandbox import Place, Sandbox
from lensbench.agents.start import read_text, start_agent
from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import PlannedCondition
from lensbench.core.preflight_results import Check
from lensbench.core.system.private_folders import private_folder
from lensbench.core.system.redaction import Redactor
from lensbench.runs.attempt import Job, prepare
from lensbench.runs.budget import spend
from lensbench.runs.reasons import reason_of

QUESTION = "Reply with the word OK, and do nothing else."
LONGEST_S = 120.0


def ask_model(job: Job, sandbox: Sandbox, redact: Redactor) -> Check:
    """Starts the agent of `job` with `QUESTION` and without servers; returns a check with the model or the error.

    The cost is added to the amount spent.
    """
    conditions = {job.run.condition: PlannedCondition(mcp=None, mcp_sha256="", servers=())}
    asking = job._replace(prompt=QUESTION, plan={**job.plan, "conditions": conditions})
    with private_folder() as private:
        place = Place(sandbox, private)
        assignment = prepare(asking, place)
        try:
            reply = start_agent(assignment, place, min(LONGEST_S, job.agent["timeout_s"]), redact)
        except UserError as error:
            return Check("model", "failed", str(error))
        last = (read_text(f"{private}/stderr").strip().splitlines() or [""])[-1]
    job.folder.mkdir(parents=True, exist_ok=True)  # it does not exist before the first run
    spend(job.folder, usd=priced(reply.outcome, job.plan.get("prices", {})).cost_usd)
    reason, detail = reason_of(reply, asking.expected)
    if not reason:
        models = ", ".join(sorted(reply.outcome.models or ())) or "not shown"
        cost = "" if reply.outcome.cost_usd is None else f", {reply.outcome.cost_usd:.4f} USD"
        where = "in the sandbox" if sandbox.program else "without a sandbox"
        return Check("model", "ok", f"answered a short question {where}: {models}{cost}")
    why = "; ".join(filter(None, (reason, detail, last)))
    if reply.outcome.error_status in BUSY:
        return Check("model", "warning", f"the agent got no answer ({why}); runs will try again")
    advice = "; add the files and programs it needs to sandbox_visible, and its hosts to sandbox_hosts"
    inside = advice if sandbox.program else ""
    return Check("model", "failed", f"the agent gave no answer to a short question ({why}){inside}")
