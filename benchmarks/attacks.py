"""Verdicts of judges on answers with attacks (from inputs/attack_cases.py): `python benchmarks/attacks.py`."""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
from collections import Counter
from contextlib import redirect_stderr
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / each) for each in ("benchmarks/inputs", "tests", "tests/support")]

from attack_cases import ATTACKS, fooled, lay_out, question, what_counts  # noqa: E402
from handmade import Bench  # noqa: E402


def main() -> None:
    """Prints, for each attack, the verdicts of the patterns, of an honest and of a credulous judge."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    columns = {}
    for kind in ("honest", "credulous"):
        with tempfile.TemporaryDirectory() as base:
            control = Path(base, "control")
            control.mkdir()
            says = {question(attack): fooled(attack) for attack in ATTACKS if kind == "credulous"}
            folder = lay_out(
                lambda base=base, **settings: Bench(Path(base, "bench", "r"), **settings),
                control,
                says,
            )
            with redirect_stderr(io.StringIO()):  # the progress
                columns[kind] = what_counts(folder, "model")
            columns["mechanical"] = what_counts(folder, "mechanical")
    print("| family | attack | mechanical | honest judge | credulous judge | is fooled about |")
    print("|---|---|---|---|---|---|")
    rows = zip(ATTACKS, columns["mechanical"], columns["honest"], columns["credulous"], strict=True)
    for attack, patterns, honest, credulous in rows:
        about = "the criterion" if attack.criterion_only else "everything"
        shown = f"**{credulous}**" if credulous == "Met" else credulous
        print(f"| {attack.family} | {attack.name} | {patterns} | {honest} | {shown} | {about} |")
    print(
        f"\n{len(ATTACKS)} attacks:",
        *(f"\n- {name}: {dict(Counter(found))}" for name, found in columns.items()),
    )


if __name__ == "__main__":
    main()
