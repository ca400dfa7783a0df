"""What a service or a server bears is not a number of cores: a real one that says 429, and real Snakemake."""

import sys
from typing import Any

from fakes.limited_api import LimitedApi, limited
from small_benchmark import FAKES, Project

NAMES = ("anna", "bert", "carl")
CORES = 16


def configure(
    project: Project, api: LimitedApi, requests: tuple[int, int], retries: int = 1, **limits: Any
) -> None:
    """All runs ask the service, so many times in the conditions `with` and `without`."""
    command = [
        sys.executable,
        "-I",
        str(FAKES / "asking_agent.py"),
        "{mcp_file}",
        api.address,
        *map(str, requests),
    ]
    agent = {
        "command": command,
        "base_url": f"http://{api.address}",
        "retries": retries,
        "pass_env": [],
    }
    project.configure(agent, limits=limits)
    project.write_tasks(NAMES)


def test_a_server_limited_to_one_client_has_one_and_pairs_still_start_together(
    project: Project,
) -> None:
    with limited(1) as server:
        configure(project, server, (2, 0), clients={"fake": 1})
        project.start(target="validity", cores=CORES)
    assert (server.refused, project.reasons()) == (0, {})
    for name in NAMES:
        pair = [project.record(f"{name}-{condition}") for condition in ("with", "without")]
        assert max(run["arrived_at"] for run in pair) <= min(run["opened_at"] for run in pair)
    configure(
        project, server, (2, 0), clients={"fake": 2}
    )  # another limit is no change of the experiment
    assert "Nothing to be done" in project.start("-n", target="validity")


def test_no_more_agents_ask_a_service_than_its_requests_a_minute_allow(project: Project) -> None:
    with limited(4) as service:
        configure(project, service, (1, 1), requests_per_minute={service.address: 48})
        project.start(target="validity", cores=CORES)
    assert (service.answered, service.refused) == (6, 0)
    assert 1 < service.most <= 4


def test_who_is_refused_tells_the_others_who_wait_and_then_finish(project: Project) -> None:
    program = project.copy_program()
    module = program / "scripts" / "lensbench" / "agents" / "services.py"
    module.write_text(module.read_text().replace("FIRST_S = 30.0", "FIRST_S = 1.0"))
    with limited(2) as service:
        configure(project, service, (2, 2), retries=10)
        project.start(target="validity", cores=CORES)
    assert service.refused > 0
    assert project.reasons() == {}
    logs = [path.read_text() for path in (project.bench / "logs").glob("*-with*.log")]
    assert any(
        f"{service.address} asked for a pause or is overloaded: waiting" in log for log in logs
    )
    waited = [project.record(f"{name}-with")["attempt"]["waited_s"] for name in NAMES]
    assert max(waited) >= 1
    assert len(list((project.folder / "bench" / ".services").glob("*.json"))) == 1
