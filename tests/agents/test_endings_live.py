"""What docs/reference/endings.md says about endings holds with the real programs (endings_table.py), for every kind.

`ALL_ROWS=1` tries every row; `RECORD_STREAMS=1` also writes tests/agents/endings/ again, which test_endings.py reads.
"""

import json
import os
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from endings_table import BY_NAME, QUICK, STREAMS
from live_agents import CLIS, KEY, Cli, ask, ending_of, recorded

AT_A_TIME = 8
"""Most of the time the programs wait before they try again."""
RECORD = os.environ.get("RECORD_STREAMS")
TRIED = BY_NAME if RECORD or os.environ.get("ALL_ROWS") else sorted(QUICK)
pytestmark = [pytest.mark.timeout(1200), pytest.mark.xdist_group("endings")]


def becomes(kind: str, what: str, folder: Path) -> tuple[str, dict[str, Any]]:
    """What becomes of a run to which this happens, and what it printed. In a process of its own: a run ends all
    children of its process."""
    os.environ["LIVE_TEST_KEY"] = KEY
    cli = CLIS[kind]
    row = BY_NAME[what]
    command = (*row.launcher, *cli.argv)
    ran = ask(
        cli, folder, row.rules, row.server, timeout_s=row.timeout_s, command=command, **row.settings
    )
    end = ran.said.ended
    shown = {
        "end": [end.exit_code, end.timed_out, 1.0],
        "output": recorded(ran.said.transcript, folder),
    }
    return ending_of(ran.said, ran.expected), shown


@pytest.fixture(scope="module")
def endings(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[Any, Future[Any]]]:
    """The endings of all rows that are tested, by the id of the test, while they are found out side by side."""
    with ProcessPoolExecutor(AT_A_TIME, get_context("spawn")) as pool:
        asked = [
            item.callspec
            for item in request.session.items
            if "endings" in getattr(item, "fixturenames", ())
        ]
        pairs = [(spec.params["cli"].kind, spec.params["what"]) for spec in asked]
        yield (
            found := {
                pair: pool.submit(becomes, *pair, tmp_path_factory.mktemp("run")) for pair in pairs
            }
        )
    for kind, cli in CLIS.items() if RECORD else ():
        rows = {what: found[kind, what].result()[1] for what in BY_NAME}
        (STREAMS / f"{kind}.json").write_text(
            json.dumps({"version": cli.version, "rows": rows}, indent=1) + "\n"
        )


@pytest.mark.parametrize("cli", [cli.param for cli in CLIS.values()])
@pytest.mark.parametrize("what", TRIED)
def test_it_is_documented(cli: Cli, what: str, endings: dict[Any, Future[Any]]) -> None:
    assert endings[cli.kind, what].result()[0] == BY_NAME[what].outcome(cli.kind)
