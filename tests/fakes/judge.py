"""A judge that tests script: reads a request, replies as JSON, and notes that it was asked.

    python judge.py <prompt file> <control folder>

`<control>/judge.json` maps a word that stands in the request (or `*`) to a behaviour, or to a list of them, one per
request. Without one it is honest: a fact is Met when the words of the fact in backticks, or after the colon, stand in
the answer.
"""

import json
import re
import sys
import time
from pathlib import Path


def said(prompt: str, control: Path) -> str:
    nonce = re.search(r"<fact-(\w+)>", prompt)
    assert nonce
    fact, answer = (part(prompt, name, nonce[1]) for name in ("fact", "answer"))
    behaves = behaviour(prompt, control)
    with (control / "asked").open(
        "a"
    ) as asked:  # once the script is written: a test may kill what has asked
        asked.write(json.dumps(fact) + "\n")
    return reply(behaves, nonce[1], fact, answer)


def part(prompt: str, name: str, nonce: str) -> str:
    found = re.search(rf"<{name}-{nonce}>\n(.*)\n</{name}-{nonce}>", prompt, re.DOTALL)
    assert found, name
    return found[1]


def behaviour(prompt: str, control: Path) -> str:
    path = control / "judge.json"
    scripted = json.loads(path.read_text()) if path.exists() else {}
    for word, behaviours in scripted.items():
        if word == "*" or word in prompt:
            if isinstance(behaviours, str):
                return behaviours
            if behaviours:
                path.write_text(json.dumps(scripted | {word: behaviours[1:]}))
                return str(behaviours[0])
    return "honest"


def reply(what: str, nonce: str, fact: str, answer: str) -> str:
    honest = judged(fact, answer)
    said = {
        "id": nonce,
        "verdict": "Met" if honest else "Missed",
        "evidence": honest or fact,
        "reason": "as it stands",
    }
    match what.partition(":"):
        case ("says", _, text):
            return text.replace("NONCE", nonce)
        case ("sleeps", _, _):
            time.sleep(60)
        case ("crashes", _, _):
            sys.exit(3)
        case ("met", _, evidence):
            said |= {"verdict": "Met", "evidence": evidence or answer[:40]}
        case ("missed", _, _):
            said |= {"verdict": "Missed", "evidence": fact}
        case ("verdict", _, verdict):
            said |= {"verdict": verdict}
    return json.dumps(said)


def judged(fact: str, answer: str) -> str:
    """The words of the fact as they stand in the answer; "" when they do not."""
    wanted = (
        re.search(r"`([^`]+)`", fact)
        if "`" in fact and ": " not in fact
        else re.search(r": (.*)", fact, re.S)
    )
    words = (wanted[1] if wanted else fact).split()
    found = re.search(r"\s+".join(map(re.escape, words)), answer)
    return found[0] if found else ""


if __name__ == "__main__":
    print(said(Path(sys.argv[1]).read_text(encoding="utf-8"), Path(sys.argv[2])))
