"""A fake agent: prints the event stream of docs/events.md and does what the test's control folder tells it.

    python -I fakes/agent.py <prompt file> <workspace> <mcp file>

The control folder, $FAKE_CONTROL, lies outside the run folder. Its `behaviours.json` names the behaviour of a run (`<task>-<condition>`,
or `*` for all others); a list is one behaviour per start, the last for all further ones. Every start is a line of
`ledger`, and so is every proper end.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

CONTROL = Path(os.environ["FAKE_CONTROL"])
PROMPT, WORKSPACE, MCP = (Path(argument) for argument in sys.argv[1:4])


def note(word: str) -> None:
    ledger = os.open(CONTROL / "ledger", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(ledger, f"{word} {RUN}\n".encode())
    os.close(ledger)


def started_before() -> int:
    try:
        return (CONTROL / "ledger").read_text().splitlines().count(f"start {RUN}")
    except FileNotFoundError:
        return 0


def say(**event: object) -> None:
    print(json.dumps(event), flush=True)


def leave_stubborn_children() -> None:
    """A child and a grandchild that ignore SIGTERM, the latter in a session of its own. Both hold our output open."""
    sleeper = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    starter = (
        "import signal, subprocess, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        f"subprocess.run([sys.executable, '-IS', '-c', {sleeper!r}], start_new_session=True)"
    )
    subprocess.Popen([sys.executable, "-IS", "-c", starter])
    subprocess.Popen([sys.executable, "-IS", "-c", sleeper])
    time.sleep(0.3)


SERVERS = sorted(json.loads(MCP.read_text())["mcpServers"])
TASK = PROMPT.read_text().split()[1].rstrip(":")
RUN = f"{TASK}-{'with' if SERVERS else 'without'}"
BEHAVIOURS = json.loads((CONTROL / "behaviours.json").read_text())
CHOSEN = BEHAVIOURS.get(RUN, BEHAVIOURS.get("*", "answer"))
BEHAVIOUR = CHOSEN if isinstance(CHOSEN, str) else CHOSEN[min(started_before(), len(CHOSEN) - 1)]
WORD, _, DETAIL = BEHAVIOUR.partition(" ")

note("start")
tools = ["Grep", "Read", *(f"mcp__{server}__search" for server in SERVERS)]
servers = [{"name": server, "status": "connected"} for server in SERVERS]
model = DETAIL if WORD == "model" else "fake-1"
if WORD == "offered":
    tools.append(DETAIL)
if WORD == "sleep":
    time.sleep(float(DETAIL))
if WORD == "await":  # until the test makes that file in the control folder
    while not (CONTROL / DETAIL).exists():
        time.sleep(0.05)
if WORD == "children":
    leave_stubborn_children()
    time.sleep(float(DETAIL or 0))
if WORD == "hang":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    leave_stubborn_children()
    time.sleep(600)
if WORD == "crash":
    sys.exit(3)
if WORD == "window":
    say(type="end", is_error=True, status=429, error=f"Claude AI usage limit reached|{DETAIL}")
    sys.exit(1)
if WORD == "change":
    (WORKSPACE / "new.py").write_text("x = 1\n")
if WORD == "spy":
    print("on stderr:", *os.environ.values(), file=sys.stderr)
    say(
        type="spy",
        env=dict(os.environ),
        stdin=sys.stdin.read(),
        home=os.listdir(os.environ["HOME"]),
    )
    say(type="spy", argv=sys.argv, cwd=os.getcwd(), mcp=MCP.read_text(), prompt=PROMPT.read_text())
    Path(os.environ["HOME"], "left.txt").write_text("left behind", encoding="utf-8")

say(type="start", agent="fake", version="7", model=model, tools=tools, mcp_servers=servers)
say(type="tool_call", id=1, name=DETAIL if WORD == "called" else "Grep", input={})
say(type="tool_result", id=1, is_error=False, size=3)
if WORD == "shell":
    done = subprocess.run(["/bin/sh", "-c", DETAIL], capture_output=True, text=True)
    say(type="tool_call", id=2, name="Bash", input={"command": DETAIL})
    say(
        type="tool_result",
        id=2,
        is_error=done.returncode != 0,
        size=len(done.stdout),
        text=done.stdout,
    )
files = sorted(path.name for path in WORKSPACE.glob("*.py"))
text = (
    ""
    if WORD == "empty"
    else "API Error: 529 overloaded"
    if WORD == "apitext"
    else (
        f"{TASK}: `Cart` is in shop.py, of {len(files)} files. {'An index said so.' if SERVERS else ''}\n"
        f"{os.environ.get('FAKE_SECRET', '')}\n"
        "\n## Report\n\n- **Tool calls**: 1\n- **Tools used**: Grep\n- **Files read**: 1\n- **Files used**: shop.py\n"
    )
)
say(type="answer", text=text)
failed = WORD == "apierror"
more = (
    {"error": DETAIL or "529 overloaded"} if failed else json.loads(DETAIL) if WORD == "end" else {}
)
say(type="end", turns=1, is_error=failed, **more)
note("end")
