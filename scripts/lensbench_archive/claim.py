"""A claim to paste into a README, and its check: `lensbench claim bench/mine` (docs/claims.md).

A claim names what was measured: server and version, agent, model, tasks, day, and the hash of the archive. The check
makes the same block of the benchmark again and compares it line by line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from lensbench.core.errors import CheckFailed, UserError, printable
from lensbench.core.handed_over import read_handed_over
from lensbench.core.numbers import MISSING, points
from lensbench.core.records import sha256
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import write_atomic
from lensbench.core.system.places import template_environment
from lensbench.core.system.program import Parser, benchmark, run_program
from lensbench.results.markdown import render
from lensbench_archive.table import read_archive
from lensbench_archive.table_rows import NO_VERDICT, TableRow, read_rows

LETTER = 7
ROOM = 12
LEFT = 70
"""Of the badge: pixels of a letter, around a text, and of the name."""
COLOURS = {"GO": "#1a7f37", "SAVES": "#1a7f37", "HARM": "#b3261e", "COSTS": "#9a5b00"}
GREY = "#6e7781"
"""Of other verdicts, and of a claim about another version."""

_BLOCK = re.compile(
    r"^<!-- lensbench claim (?P<benchmark>\S+) (?P<treatment>\S+) -->\n"
    r"(?:(?!<!-- lensbench claim |<!-- end of the claim ).*\n)*<!-- end of the claim -->$",
    re.MULTILINE,
)
_BADGE = re.compile(r"\]\((?P<path>[^()\s]{0,400})\)")
_HASH = re.compile(r"^Archive: sha256 `(?P<digest>[0-9a-f]{64})`\.$", re.MULTILINE)
_COMMAND = "Check it: "
"""The line that may name other paths."""


class Pasted(NamedTuple):
    """A block in a file."""

    place: str
    line: int
    benchmark: str
    treatment: str
    text: str

    @property
    def digest(self) -> str:
        """The hash of the archive in it; "" when it was removed."""
        found = _HASH.search(self.text)
        return found["digest"] if found else ""


def archive_of(bench: Path) -> Path:
    """The archive of a run folder, or the archive itself. Raises UserError without one."""
    archive = bench.with_name(f"{bench.name}.zip") if bench.is_dir() else bench
    if not archive.is_file():
        raise UserError(f"{archive}: is missing; write it with `lensbench archive {bench}`")
    return archive


def block(row: TableRow, digest: str) -> str:
    """The Markdown of a claim, at most 12 lines. `digest`: the hash of the archive."""
    if row.verdict == NO_VERDICT:
        raise UserError(
            f"{row.benchmark}: a search program answered, so there is nothing to claim; use a model"
        )
    efforts = {name: row.cells[name] for name in row.efforts}
    facts = {
        "row": row,
        "badge": badge_text(row),
        "score": row.score.shown(points) or MISSING,
        "efforts": efforts,
        "made_with": _made_with(row),
        "repositories": len(set(row.repositories.values())),
        "digest": digest,
    }
    return render(facts, "claim.md.j2")


def _made_with(row: TableRow) -> list[str]:
    """Agent and model, server, day: those that are known."""
    cells = row.cells
    answered = [cells[name] for name in ("agent", "model") if cells[name] != MISSING]
    parts = [", ".join(answered), cells["server"], cells["date"]]
    return [part for part in parts if part not in ("", MISSING)]


def badge_text(row: TableRow) -> str:
    return f"{row.verdict}, {points(row.score.value)}"


def badge(text: str, colour: str) -> str:
    """The picture: an SVG with its own text, for light and dark pages."""
    template = template_environment(html=True).get_template("badge.svg.j2")
    return template.render(text=text, colour=colour, left=LEFT, right=LETTER * len(text) + ROOM)


def claims_in(path: Path) -> list[Pasted]:
    """The blocks in a file. Raises UserError without any."""
    text = read_handed_over(path).replace("\r\n", "\n")
    found = []
    for match in _BLOCK.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        found.append(Pasted(str(path), line, match["benchmark"], match["treatment"], match[0]))
    if not found:
        raise UserError(f"{path}: has no claim; paste what `lensbench claim` prints")
    return found


def check(readme: Path, bench: Path, version: str, update: bool) -> Iterator[str]:
    """A sentence on each claim in a file about this benchmark. Raises CheckFailed for one that is not the benchmark's,
    or is about another version of the server; with `update` the badge of the latter becomes grey."""
    archive = archive_of(bench)
    digest = sha256(archive.read_bytes())
    claims = claims_in(readme)
    rows = {row.treatment: row for row in _rows(bench)}
    names = {row.benchmark for row in rows.values()}
    own = [claim for claim in claims if claim.benchmark in names]
    if not own:
        raise CheckFailed(
            f"{readme}: has no claim about {bench}; paste the block of this benchmark"
        )
    for claim in own:
        if claim.digest != digest:
            raise CheckFailed(
                f"{readme}:{claim.line}: names the archive {claim.digest[:12] or 'of no hash'}, and {archive} is"
                f" {digest[:12]}; paste the block of this benchmark, or get the archive that it names"
            )
        if claim.treatment not in rows:
            raise CheckFailed(f"{readme}:{claim.line}: {bench} has no treatment {claim.treatment}")
        row = rows[claim.treatment]
        _compare(claim, block(row, digest))
        path = readme.parent / _badge_path(claim.text)
        if not version or row.version == version:
            yield f"ok: {readme}:{claim.line}: {row.verdict} is what {archive} says"
            continue
        old = f"measured with {row.version or 'an unknown version'}"
        if not update:
            raise CheckFailed(
                f"{readme}:{claim.line}: {old}, and the server is {version}; measure again, or grey the badge: --update"
            )
        write_atomic(path, badge(old, GREY))
        yield f"{path}: grey, {old}; the server is {version}"


def _rows(bench: Path) -> Sequence[TableRow]:
    if bench.is_dir():
        return read_rows(bench)
    try:
        return read_archive(bench).rows
    except UserError as error:
        raise CheckFailed(str(error)) from None


def _badge_path(text: str) -> str:
    found = _BADGE.search(text)
    return found["path"] if found else RunFolder.badge


def _compare(claim: Pasted, expected: str) -> None:
    """Raises CheckFailed for the first line that differs; where the badge is, and what is checked, may differ."""
    wanted = expected.splitlines()
    lines = claim.text.splitlines()
    if len(lines) != len(wanted):
        raise CheckFailed(
            f"{claim.place}:{claim.line}: the claim has {len(lines)} lines, not {len(wanted)}; paste it again"
        )
    for number, (line, want) in enumerate(zip(lines, wanted, strict=True)):
        own = _BADGE.sub("]", line.rstrip())
        meant = _BADGE.sub("]", want)
        if own != meant and not line.startswith(_COMMAND):
            said, meant = _difference(own, meant)
            raise CheckFailed(
                f"{claim.place}:{claim.line + number}: says {said!r}, and the benchmark {meant!r}; paste it again"
            )


def _difference(line: str, want: str) -> tuple[str, str]:
    """The first words that differ; the whole lines where one is the beginning of the other."""
    for said, meant in zip(line.split(), want.split(), strict=False):
        if said != meant:
            return said, meant
    return line, want


def write_claim(bench: Path) -> str:
    """The blocks of all treatments; writes the badge of the first into the run folder, or beside the archive."""
    digest = sha256(archive_of(bench).read_bytes())
    rows = _rows(bench)
    blocks = [block(row, digest) for row in rows]
    first = rows[0]
    place = bench if bench.is_dir() else bench.parent
    write_atomic(RunFolder(place).badge, badge(badge_text(first), COLOURS.get(first.verdict, GREY)))
    return "\n".join(blocks)


def main() -> None:
    """Print a claim about a benchmark to paste into a README, or check the claims in one."""
    parser = Parser(prog="lensbench claim", description=main.__doc__)
    parser.add_argument(
        "folder", type=benchmark, nargs="?", help="the run id, the run folder, or its archive"
    )
    parser.add_argument("--check", type=Path, metavar="FILE", help="the file with the claims")
    parser.add_argument(
        "--bench", type=benchmark, help="with --check: the run folder, or its archive"
    )
    parser.add_argument(
        "--server-version", default="", metavar="VERSION", help="with --check: the server's now"
    )
    parser.add_argument(
        "--update", action="store_true", help="with --check: grey the badge of another version"
    )
    arguments = parser.parse_args()
    if arguments.check and arguments.bench:
        version = arguments.server_version
        update = arguments.update
        for sentence in check(arguments.check, arguments.bench, version, update):
            print(printable(sentence))
    elif arguments.folder and not arguments.check:
        print(write_claim(arguments.folder), end="")
    else:
        parser.error("name a run folder or an archive, or --check FILE --bench FOLDER")


if __name__ == "__main__":
    run_program(main)
