"""Fuzzes the parsers of untrusted input, guided by coverage (atheris on libFuzzer; `make fuzz` installs it).

    make fuzz ARGS="--target report --seconds 600"

It starts with the corpora in tests/fuzz/<target>/ and of earlier runs (.cache/fuzz/<target>/corpus). A finding is an
input that fails a check in inputs/fuzz_targets.py, or takes more than 20 s or 500 MB. Each kind is stored once
in .cache/fuzz/<target>/findings; add fixed ones to tests/fuzz/<target>/. Exit code 1 when there is a finding.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / each) for each in ("benchmarks/inputs", "tests/support")]
SEEDS = ROOT / "tests" / "fuzz"
MAX_S, MAX_MB, MAX_BYTES = 20, 500, 20_000
MAX_STARTS = 50
TARGETS = sorted(path.name for path in SEEDS.iterdir())
_DEEP = "[" * 400 + "]" * 400
_ODD: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1.5,
    1e308,
    10**400,
    float("nan"),
    float("inf"),
    "",
    "x",
    "=1",
    "../x",
    "a\x00b",
    "\x1b[2J",
    "\ud800",
    "9" * 5000,
    [],
    {},
    [[]],
    {"type": 1},
    json.loads(_DEEP),
)


def fuzz(target: str, seconds: int) -> int:
    """Fuzzes a target in separate processes until the time is up; returns the number of kinds of findings."""
    place = ROOT / ".cache" / "fuzz" / target
    for folder in ("corpus", "findings"):
        (place / folder).mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + seconds
    executions = 0
    coverage = 0
    memory = 0
    for _ in range(MAX_STARTS):
        left = round(end - time.monotonic())
        if left <= 0:
            break
        said = subprocess.run(
            [
                sys.executable,
                __file__,
                "--inside",
                target,
                f"-max_total_time={left}",
                f"-timeout={MAX_S}",
                f"-report_slow_units={MAX_S}",
                f"-rss_limit_mb={MAX_MB}",
                f"-max_len={MAX_BYTES}",
                f"-artifact_prefix={place}/findings/",
                "-print_final_stats=1",
                str(place / "corpus"),
                str(SEEDS / target),
            ],
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
        ).stderr
        (place / "last.log").write_text(said, encoding="utf-8")
        counts = [int(count) for count in re.findall(r"^#(\d+)\s", said, re.MULTILINE)]
        executions += max(counts, default=0)
        coverage = max([coverage, *map(int, re.findall(r"cov: (\d+)", said))])
        memory = max([memory, *map(int, re.findall(r"rss: (\d+)Mb", said))])
        if not counts:
            sys.exit(f"{target}: could not start:\n{said[-3000:]}")
    findings = sorted(path.name for path in (place / "findings").iterdir() if path.suffix != ".txt")
    measured = (
        f"{seconds} s, {executions} executions, {coverage} branches reached, at most {memory} MB"
    )
    print(f"{target}: {measured}, {len(findings)} kinds of findings", flush=True)
    print(*(f"  {place}/findings/{name}" for name in findings), sep="\n")
    return len(findings)


def inside(target: str, arguments: list[str]) -> None:
    """The fuzzed process: records an exception once per place that raised it, and continues."""
    import atheris

    with atheris.instrument_imports(include=["lensbench", "bagit"]):
        from fuzz_targets import TARGETS as FUNCTIONS
    findings = ROOT / ".cache" / "fuzz" / target / "findings"
    function = FUNCTIONS[target]

    def test(data: bytes) -> None:
        try:
            function(data)
        except Exception as error:
            frames = [
                frame
                for frame in traceback.extract_tb(error.__traceback__)
                if str(ROOT) in frame.filename
            ]
            where = f"{type(error).__name__} {[(frame.name, frame.line) for frame in frames[-2:]]}"
            name = hashlib.sha256(where.encode()).hexdigest()[:10]
            if not (findings / name).exists():
                (findings / name).write_bytes(data)
                (findings / f"{name}.txt").write_text(
                    traceback.format_exc()[-4000:], encoding="utf-8"
                )

    def mutate(data: bytes, size: int, seed: int) -> bytes:
        chance = random.Random(seed)
        changed = _mutate_json(data, chance) if chance.random() < 0.5 else None
        return (
            changed if changed is not None and len(changed) <= size else atheris.Mutate(data, size)
        )

    atheris.Setup([sys.argv[0], *arguments], test, custom_mutator=mutate)
    atheris.Fuzz()


def _mutate_json(data: bytes, chance: random.Random) -> bytes | None:
    """The bytes with one value changed in a line of JSON, which may follow other bytes; None when there is none."""
    lines = data.split(b"\n")
    for index in chance.sample(range(len(lines)), min(len(lines), 5)):
        start = min(
            (at for at in (lines[index].find(b"{"), lines[index].find(b"[")) if at >= 0), default=-1
        )
        try:
            value = json.loads(lines[index][start:]) if start >= 0 else None
            if isinstance(value, (dict, list)):
                lines[index] = lines[index][:start] + json.dumps(_changed(value, chance)).encode()
                return b"\n".join(lines)
        except (ValueError, RecursionError):
            continue
    return None


def _changed(value: Any, chance: random.Random) -> Any:
    if not isinstance(value, (dict, list)) or not value or chance.random() < 0.1:
        return chance.choice(_ODD)
    key = chance.choice(list(value) if isinstance(value, dict) else range(len(value)))
    action = chance.random()
    if action < 0.1:
        del value[key]
    elif action < 0.15 and isinstance(value, list):
        value.insert(key, value[key])
    elif action < 0.2 and isinstance(value, dict):
        value[str(chance.choice(_ODD[10:16]))] = value[key]
    else:
        value[key] = _changed(value[key], chance)
    return value


def main() -> None:
    """Fuzzes one target, or all of them in turn."""
    if sys.argv[1:2] == ["--inside"]:
        inside(sys.argv[2], sys.argv[3:])
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--target", choices=TARGETS, help="default: all")
    parser.add_argument("--seconds", type=int, default=600, help="for each target; default: 600")
    given = parser.parse_args()
    os.chdir(ROOT)
    found = [
        fuzz(target, given.seconds) for target in ([given.target] if given.target else TARGETS)
    ]
    sys.exit(any(found))


if __name__ == "__main__":
    main()
