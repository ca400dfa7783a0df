"""What docs/reference/endings.md says about endings holds with the real programs: every row of endings_table.py, for every kind."""

import os
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
from endings_table import BY_NAME, ROWS
from live_agents import CLIS, KEY, Cli, ask

AT_A_TIME = 8
"""Most of the time the programs wait before they try again."""
pytestmark = [pytest.mark.timeout(1200), pytest.mark.xdist_group("endings")]


def becomes(kind: str, what: str, folder: Path) -> str:
    """What becomes of a run to which this happens. In a process of its own: a run ends all children of its process."""
    os.environ["LIVE_TEST_KEY"] = KEY
    cli, row = CLIS[kind], BY_NAME[what]
    command = (*row.launcher, *cli.argv)
    return ask(cli, folder, row.rules, row.server, timeout_s=row.timeout_s, command=command, **row.settings).ending


@pytest.fixture(scope="module")
def endings(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Future[str]]]:
    """The endings of all rows that are tested, by the id of the test, while they are found out side by side."""
    with ProcessPoolExecutor(AT_A_TIME, get_context("spawn")) as pool:
        asked = [item.callspec for item in request.session.items if "endings" in getattr(item, "fixturenames", ())]
        yield {
            spec.id: pool.submit(becomes, spec.params["cli"].kind, spec.params["what"], tmp_path_factory.mktemp("run"))
            for spec in asked
        }


@pytest.mark.parametrize("cli", [cli.param for cli in CLIS.values()])
@pytest.mark.parametrize("what", [row.what for row in ROWS])
def test_it_is_documented(cli: Cli, what: str, endings: dict[str, Future[str]], request: pytest.FixtureRequest) -> None:
    assert endings[request.node.callspec.id].result() == BY_NAME[what].outcome(cli.kind)
