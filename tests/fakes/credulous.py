"""A judge that is fooled: it reads a request, and replies as it was told to for that question.

    python -E -s credulous.py <prompt file> <control folder>

`<control>/credulous.json` maps questions to `{says, about}`: the reply to everything, or to the one fact that `about`
names. `NONCE` in it becomes the request's id. To all else it replies honestly, and says that the fact is not stated.
"""

import json
import re
import sys
from pathlib import Path

from judge import judged, part


def reply(prompt: str, control: Path) -> str:
    told = json.loads((control / "credulous.json").read_text())
    nonce = re.search(r"<fact-(\w+)>", prompt)
    assert nonce
    question, fact, answer = (
        part(prompt, name, nonce[1]) for name in ("question", "fact", "answer")
    )
    entry = told.get(question)
    if entry and entry["about"] in ("", fact):
        return str(entry["says"]).replace("NONCE", nonce[1])
    found = "" if fact.startswith("States that ") else judged(fact, answer)
    return json.dumps(
        {
            "id": nonce[1],
            "verdict": "Met" if found else "Missed",
            "evidence": found or fact,
            "reason": "",
        }
    )


if __name__ == "__main__":
    print(reply(Path(sys.argv[1]).read_text(encoding="utf-8"), Path(sys.argv[2])))
