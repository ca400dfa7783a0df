"""The model's service, with faults injected at random from the seed, and the journal of all injected faults.

MCP servers ask it at their start which fault they have. So only this process knows all faults, and it writes them
outside the run folder.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import threading
import time
from collections import Counter
from dataclasses import dataclass, replace
from email.message import Message
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from fakes.messages_api import Facts, Fake, MessagesApi, Reply

MODEL = "glm-5"
FOREVER = 99
FAULTY_ATTEMPTS = 2
"""Later attempts of a run get no fault, or a soak test would never end."""

REPORT = (
    "\n\n## Report\n\n- **Tool calls**: 1\n- **Tools used**: {tool}\n"
    "- **Files read**: 0\n- **Files used**: cart.py\n"
)
PROMPT = re.compile(r"Task (t-\d+): where")
PLACE = re.compile(r"/(lb-\w+)/repo")


@dataclass(frozen=True)
class Fault:
    """A fault of the service or the MCP server."""

    name: str
    weight: int
    reply: Reply | None = None
    """The service's reply; None when the MCP server has the fault."""
    times: int = FOREVER
    """The number of requests with the fault."""
    breaks_server: bool = False
    """The attempt loses its server and must not count."""
    server: str = ""
    """Arguments of the MCP server."""
    counts: bool = False
    """The answer counts despite the fault."""

    @property
    def shapes_answer(self) -> bool:
        """Whether the fault is in the answer itself, not before it."""
        return bool(
            self.reply
            and (self.reply.model or self.reply.stop_reason or self.reply.text in ("", "\0"))
        )


SLOW_S, NEVER_S = 2, 600
FAULTS = [
    Fault("429, pause of 1 s", 3, Reply(status=429, headers={"retry-after": "1"}), times=1),
    Fault("429, pause of 120 s", 1, Reply(status=429, headers={"retry-after": "120"})),
    Fault("500 once", 3, Reply(status=500), times=1),
    Fault("500", 3, Reply(status=500)),
    Fault("529", 4, Reply(status=529)),
    Fault("reset once", 3, Reply(breaks="reset"), times=1),
    Fault("reset", 3, Reply(breaks="reset")),
    Fault("cut off in the middle", 3, Reply(text="It", breaks="drop")),
    Fault("error in the stream", 2, Reply(text="It", breaks="error_event"), times=1),
    Fault("stall", 1, Reply(text="It", breaks="stall")),
    Fault("HTML", 3, Reply(raw="<html>busy</html>")),
    Fault("empty answer", 4, Reply(text="")),
    Fault("other model", 4, Reply(model="other-1")),
    Fault("output limit", 3, Reply(stop_reason="max_tokens"), counts=True),
    Fault("unknown stop reason", 3, Reply(stop_reason="network_error")),
    Fault("NUL in the answer", 3, Reply(text="\0"), counts=True),
    Fault("MCP server ends at start", 6, breaks_server=True, server="--exit"),
    Fault("MCP server breaks in a call", 6, breaks_server=True),
    Fault("MCP server slow", 4, server=f"--start-s {SLOW_S}"),
    Fault("log bomb", 4, server="--log-bomb", counts=True),
    Fault("MCP server too slow", 2, breaks_server=True, server=f"--start-s {NEVER_S}"),
]


@dataclass
class Attempt:
    """One start of the agent as seen by the service, identified by its private folder."""

    place: str
    task: str
    condition: str
    first_seen: float
    fault: Fault | None
    turn: int
    """The first request with the service's fault."""
    left: int
    injected: bool = False
    given: str = ""
    """The hash of the answer, if it was sent completely."""
    given_at: float = 0.0
    model: str = ""
    was_found: bool = False
    """The call of the treatment's tool was answered."""

    @property
    def stem(self) -> str:
        return f"{self.task}-{self.condition}"

    @property
    def is_good(self) -> bool:
        """Whether it got a complete answer by the right model, with its server running: only these may count."""
        fault = self.fault if self.injected else None
        broken = fault is not None and (
            fault.breaks_server or (fault.shapes_answer and not fault.counts)
        )
        has_tool = self.was_found or self.condition == "without"
        return bool(self.given) and self.model == MODEL and not broken and has_tool


class Injector(Fake):
    """Answers according to `FAULTS` and the seed; records every attempt."""

    def __init__(self, seed: int, share: float, journal: Path) -> None:
        super().__init__(MessagesApi())
        self.attempts: dict[str, Attempt] = {}
        self.asked = threading.Condition()
        self._seed = seed
        self._share = share
        self._journal = journal
        self._counts: Counter[str] = Counter()
        self._answers: dict[str, Attempt] = {}

    def note(self, what: str, **facts: Any) -> None:
        """Adds a line to the journal."""
        with self._journal.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"at": round(time.time(), 3), "what": what, **facts}) + "\n")

    def take(
        self, method: str, path: str, headers: Message, body: dict[str, Any]
    ) -> tuple[Reply, Facts]:
        """Finds the answer to a request of an agent, or of an MCP server that starts."""
        nobody = Facts(0, (), "", False, "", "")
        with self.asked:
            self.asked.notify_all()
            if path.startswith("/server?"):
                return Reply(raw=self._for_server(dict(parse_qsl(urlsplit(path).query)))), nobody
            facts = self.api.facts(path, body)
            if not facts:
                return Reply(status=404), nobody
            task = PROMPT.search(facts.text)
            place = PLACE.search(facts.text)
            if not task or not place:
                return Reply(text="ok"), facts  # the preflight
            return self._answer(self._attempt(place[1], task[1], "without"), facts), facts

    def _attempt(self, place: str, task: str, condition: str) -> Attempt:
        """The attempt in this place. In a WITH run, the server's request comes before the agent's."""
        if place not in self.attempts:
            stem = f"{task}-{condition}"
            self._counts[stem] += 1
            number = self._counts[stem]
            rng = random.Random(f"{self._seed} {stem} {number}")
            menu = [fault for fault in FAULTS if fault.reply or condition == "with"]
            is_faulty = number <= FAULTY_ATTEMPTS and rng.random() < self._share
            fault = rng.choices(menu, [each.weight for each in menu])[0] if is_faulty else None
            turn = rng.choice((1, 2)) if fault and fault.reply and not fault.shapes_answer else 1
            self.attempts[place] = Attempt(
                place, task, condition, time.time(), fault, turn, fault.times if fault else 0
            )
        return self.attempts[place]

    def _inject(self, attempt: Attempt) -> None:
        attempt.left -= 1
        if not attempt.injected and attempt.fault:
            attempt.injected = True
            self.note("injected", fault=attempt.fault.name, run=attempt.stem, place=attempt.place)

    def _for_server(self, asked: dict[str, str]) -> str:
        """The arguments for the server of an attempt."""
        attempt = self._attempt(asked["place"], asked["task"], "with")
        if not attempt.fault or not attempt.fault.server:
            return ""
        self._inject(attempt)
        return attempt.fault.server

    def _answer(self, attempt: Attempt, facts: Facts) -> Reply:
        fault = attempt.fault
        uses_server = "mcp__soak__find" in facts.tools
        last = facts.turn > 1 or not (uses_server or "Bash" in facts.tools)
        if fault and fault.reply and attempt.left > 0 and (last or facts.turn >= attempt.turn):
            if not fault.shapes_answer or fault.reply.text == "":
                self._inject(attempt)
                broken = (
                    fault.reply.breaks and not facts.stream
                )  # only a stream can break in the middle
                return replace(fault.reply, breaks="reset") if broken else fault.reply
            if last:
                self._inject(attempt)
                return self._last(attempt, facts, fault.reply)
        if last:
            return self._last(attempt, facts, Reply())
        if not uses_server:
            command = {
                "command": "setsid sleep 600 >&- 2>&- & ls",
                "description": "leaves a process behind",
            }
            return Reply(tools=({"name": "Bash", "input": command},), model=MODEL)
        name = "find"
        if fault and fault.name == "MCP server breaks in a call":
            name = "crash"
            self._inject(attempt)
        server = "daemon" if name == "find" and int(attempt.task.rpartition("-")[2]) % 2 else "soak"
        return Reply(
            tools=({"name": f"mcp__{server}__{name}", "input": {"query": "cart"}},), model=MODEL
        )

    def _last(self, attempt: Attempt, facts: Facts, shape: Reply) -> Reply:
        """The answer, which names the attempt, so that each is unique."""
        found = "An index said so. " if facts.tool_result.startswith("found") else ""
        attempt.was_found = bool(found)
        tool = "mcp__soak__find" if found else "Bash"
        nul = shape.text or ""
        text = f"{attempt.task}, {attempt.place}: `Cart` is in cart.py. {nul}{found}{REPORT.format(tool=tool)}".strip()
        self._answers[text] = attempt
        return Reply(text=text, model=shape.model or MODEL, stop_reason=shape.stop_reason)

    def gave(self, reply: Reply) -> None:
        """Called when the last byte of a reply was sent."""
        attempt = self._answers.get(reply.text or "")
        if attempt:
            attempt.given, attempt.given_at = (
                hashlib.sha256((reply.text or "").encode()).hexdigest(),
                time.time(),
            )
            attempt.model = reply.model
            self.note(
                "gave",
                run=attempt.stem,
                place=attempt.place,
                sha256=attempt.given,
                model=reply.model,
            )
