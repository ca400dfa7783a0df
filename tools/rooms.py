"""Prints the package's rooms, their weight, imports and import cycles; exit code 1 for a forbidden import, a cycle, or
a room that has more tokens, or more tokens a line, than its budget.

    python tools/rooms.py           rooms, arrows (imports between them), circles (import cycles), weights, budget
    python tools/rooms.py --lower   today's weights become the budget, where they are less
    python tools/rooms.py --paths   names of files in a run folder that are literals outside core/run_folder.py

A room is a package of `scripts/lensbench`, the engine, or a package beside it, which imports the engine and is never
imported by it; of these only the demo imports another, the tasks. CONTRIBUTING.md describes them.
"""

from __future__ import annotations

import ast
import csv
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from weight import NOTHING, Weight, weigh

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = ROOT / "scripts"
PACKAGE = SCRIPTS / "lensbench"
BELOW_RUNS = {"core", "agents", "repositories", "changes", "plan"}
BELOW_SCORES = BELOW_RUNS | {"runs", "judging"}
ALLOWED: dict[str, set[str]] = {
    "core": set(),
    "agents": {"core"},
    "repositories": {"core"},
    "changes": {"core", "agents", "repositories"},
    "plan": {"core", "agents", "repositories", "changes"},
    "runs": BELOW_RUNS,
    "judging": BELOW_RUNS | {"runs"},
    "scores": BELOW_SCORES,
    "results": BELOW_SCORES | {"scores"},
    "workflow": BELOW_SCORES | {"scores", "results"},
    "lensbench_archive": BELOW_SCORES | {"scores", "results"},
    "lensbench_tasks": BELOW_SCORES | {"scores"},
    "lensbench_demo": BELOW_SCORES | {"scores", "results", "workflow", "lensbench_tasks"},
}
"""Room -> the rooms that it may import."""
KNOWS_SNAKEMAKE = "workflow"
"""The only room that may import Snakemake."""
KNOWS_PLACES = "core/run_folder.py"
"""The only file with the names of files in a run folder."""
OTHER_FOLDERS = {"agents", "repositories", "lensbench_tasks", "lensbench_demo"}
"""Rooms that work in other folders: workspaces, caches, repositories."""


BUDGET = ROOT / "tools" / "budget.csv"
"""The most tokens, and tokens a line, that each room may have (`weight.py`). Both only fall: features pay with
deletions, and nothing is gained by packing. What moves between rooms moves its budget."""
OTHER_ROOMS = ("rules", "templates", "tests", "benchmarks", "tools")
CODE = (".py", ".smk", ".j2", ".js")


def room_of(file: Path) -> str:
    """The room of a file; the package's own name for a package beside the engine, and for the files at its top."""
    package, *inside = file.relative_to(SCRIPTS).parts
    return inside[0] if package == PACKAGE.name and len(inside) > 1 else package


def module_of(file: Path) -> str:
    """The dotted name of a file's module."""
    return ".".join(file.relative_to(SCRIPTS).with_suffix("").parts).removesuffix(".__init__")


def modules_of_rooms() -> list[Path]:
    """The modules of the engine and of the packages beside it, without those that extend Snakemake."""
    return sorted(
        file
        for file in SCRIPTS.rglob("*.py")
        if file.relative_to(SCRIPTS).parts[0].startswith(PACKAGE.name)
    )


def imported(file: Path) -> Iterator[str]:
    """Dotted names that a file imports, `from a import b` as `a.b`."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def arrows(files: dict[str, Path]) -> dict[str, set[str]]:
    """Module -> the modules of the package that it imports."""
    found: dict[str, set[str]] = {}
    for name, file in files.items():
        targets = {each if each in files else each.rpartition(".")[0] for each in imported(file)}
        found[name] = {
            target for target in targets if target in files and target not in (name, PACKAGE.name)
        }
    return found


def circle(graph: dict[str, set[str]]) -> list[str]:
    """A cycle of the graph; empty when there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def texts(tree: ast.AST) -> Iterator[ast.Constant]:
    """The string constants of a tree, without docstrings and the ends of f-strings."""
    nodes = list(ast.walk(tree))
    left_out = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    left_out |= {
        id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values[1:]
    }
    for node in nodes:
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in left_out
        ):
            yield node


def literal_places(file: Path, names: set[str]) -> Iterator[str]:
    """`<line>: <name>` of each literal path in a run folder: `plan.json`, `folder / "runs"`, `runs/x.md`."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    joined = {
        id(node.right)
        for node in ast.walk(tree)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)
    }
    for text in texts(tree):
        folder, slash, _ = text.value.partition("/")
        is_name = text.value in names and ("." in text.value or id(text) in joined)
        if is_name or (slash and folder in names and " " not in text.value):
            yield f"{text.lineno}: {text.value}"


def print_paths() -> None:
    """Prints the literals that should be names of `core/run_folder.py`, and their number."""
    calls = (
        node
        for node in ast.walk(ast.parse((PACKAGE / KNOWS_PLACES).read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
    )
    places = (
        call.args[0]
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id == "_Place"
    )
    names = {place.value for place in places if isinstance(place, ast.Constant)}
    files = (file for file in modules_of_rooms() if room_of(file) not in OTHER_FOLDERS)
    found = [
        f"{file.relative_to(SCRIPTS).as_posix().removeprefix(f'{PACKAGE.name}/')}:{place}"
        for file in files
        if file != PACKAGE / KNOWS_PLACES
        for place in literal_places(file, names)
    ]
    print(
        *found,
        f"{len(found)} literal paths of run folders in {len({each.split(':')[0] for each in found})} files",
        sep="\n",
    )


def weights() -> dict[str, Weight]:
    """Room or folder -> its weight; `all` is everything together."""
    files: dict[str, list[Path]] = {}
    for file in sorted(SCRIPTS.rglob("*.py")):
        files.setdefault(room_of(file), []).append(file)
    for folder in OTHER_ROOMS:
        found = (file for file in sorted((ROOT / folder).rglob("*")) if file.suffix in CODE)
        files[folder] = [file for file in found if "node_modules" not in file.parts]
    files["rules"].append(ROOT / "Snakefile")
    rooms = {room: sum(map(weigh, own), NOTHING) for room, own in files.items()}
    return {**rooms, "all": sum(rooms.values(), NOTHING)}


def read_budget() -> dict[str, tuple[int, float]]:
    """Room -> the most tokens and tokens a line that it may have."""
    with BUDGET.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        return {row["room"]: (int(row["tokens"]), float(row["density"])) for row in rows}


def over_budget(found: dict[str, Weight]) -> Iterator[str]:
    """Yields how rooms exceed the budget."""
    budget = read_budget()
    for room, weight in found.items():
        if room not in budget:
            yield f"{room} has no budget: add its row to {BUDGET.relative_to(ROOT)}"
            continue
        tokens, density = budget[room]
        if weight.tokens > tokens:
            yield f"{room}: {weight.tokens - tokens:,} tokens above the budget: delete what is no longer needed"
        if _rounded(weight.density) > density:
            yield f"{room}: {weight.density:.2f} tokens a line, at most {density}: unfold what is packed"


def _rounded(density: float) -> float:
    return round(density, 1)


def lower_budget() -> None:
    """Writes what each room weighs now into the budget where that is less, and drops rooms that are gone."""
    budget = read_budget()
    with BUDGET.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("room", "tokens", "density"))
        for room, weight in weights().items():
            density = _rounded(weight.density)
            tokens, most = budget.get(room, (weight.tokens, density))
            writer.writerow((room, min(tokens, weight.tokens), min(most, density)))


def print_weights(found: dict[str, Weight]) -> None:
    """Prints a row for each room."""
    shapes = ("comprehension", "conditional", "tuple", "walrus")
    titles = (
        "tokens",
        "lines",
        "t/line",
        "comp",
        "cond",
        "tuple",
        "walrus",
        "p90",
        "text*n",
        "skip",
    )
    print(f"{'room':38}" + "".join(f"{title:>8}" for title in titles))
    for room, weight in found.items():
        cells = [f"{weight.tokens}", f"{weight.lines}", f"{weight.density:.1f}"]
        cells += [f"{weight.per_thousand(shape):.1f}" for shape in shapes]
        cells.append(f"{weight.p90}")
        cells += [f"{weight.shapes[shape]}" for shape in ("text times number", "fmt: skip")]
        print(f"{room:38}" + "".join(f"{cell:>8}" for cell in cells))


def public_names(file: Path) -> int:
    """The number of a module's functions, classes and constants without an underscore."""
    names = (
        name
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        for name in (
            [node.name] if isinstance(node, ast.FunctionDef | ast.ClassDef) else _targets(node)
        )
    )
    return sum(not name.startswith("_") for name in names)


def _targets(node: ast.stmt) -> list[str]:
    targets = (
        node.targets
        if isinstance(node, ast.Assign)
        else [node.target]
        if isinstance(node, ast.AnnAssign)
        else []
    )
    return [target.id for target in targets if isinstance(target, ast.Name)]


def main() -> None:
    """Prints rooms, their size, arrows between them and circles, and the size of all code."""
    files = {module_of(file): file for file in modules_of_rooms()}
    modules = arrows(files)
    rooms: dict[str, set[str]] = {room: set() for room in ALLOWED}
    wrong: list[str] = []
    for name, targets in modules.items():
        room = room_of(files[name])
        if room == PACKAGE.name:
            continue
        for target in sorted(targets):
            other = room_of(files[target])
            if other not in (room, PACKAGE.name):
                rooms.setdefault(room, set()).add(other)
                if other not in ALLOWED.get(room, set()):
                    wrong.append(f"{name} imports {target}: {room} may not import {other}")
        if room != KNOWS_SNAKEMAKE and any(
            each.split(".")[0] == "snakemake" for each in imported(files[name])
        ):
            wrong.append(f"{name} imports snakemake: only {KNOWS_SNAKEMAKE} may")
    for room, others in rooms.items():
        own = [file for file in files.values() if room_of(file) == room]
        lines = sum(file.read_text(encoding="utf-8").count("\n") for file in own)
        names = sum(map(public_names, own))
        print(
            f"{room:18}{lines:6} lines {len(own):4} modules {names:4} public names   imports"
            f" {', '.join(sorted(others)) or 'no other room'}"
        )
    engine = [file for file in files.values() if file.is_relative_to(PACKAGE)]
    lines = sum(file.read_text(encoding="utf-8").count("\n") for file in engine)
    print(
        f"{PACKAGE.name:18}{lines:6} lines {len(engine):4} modules: the engine, all rooms but the packages beside it"
    )
    circles = [found for graph in (rooms, modules) if (found := circle(graph))]
    wrong += [f"a circle: {' -> '.join(found)}" for found in circles]
    print(f"{len(rooms)} rooms, {sum(map(len, rooms.values()))} arrows, {len(circles)} circles")
    found = weights()
    print_weights(found)
    wrong += over_budget(found)
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    if "--paths" in sys.argv:
        print_paths()
    elif "--lower" in sys.argv:
        lower_budget()
    else:
        main()
