"""Change tasks from task folders of Harbor (task.toml) and Terminal-Bench (task.yaml).

The container's working folder becomes the repository. Its paths in prompts and scripts are rewritten to paths on this
machine, whose programs run the tests; where these do not suffice, an image is fetched or built.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from lensbench.agents.sandbox import WORKSPACE
from lensbench.changes.environment import Environment
from lensbench.changes.images import pinned_image
from lensbench.changes.patches import make_patch
from lensbench.changes.task import (
    EXIT,
    EXIT_ID,
    IMAGE,
    PYTEST,
    Binary,
    ChangeTask,
    Content,
    FromSource,
    Tests,
)
from lensbench.core.errors import UserError
from lensbench.core.system.private_folders import private_folder
from lensbench.core.system.trees import copy_tree, remove_tree
from lensbench.core.tasks import Folder
from lensbench.repositories.prepare import prepare
from lensbench_tasks.changes.candidates import UNKNOWN, ChangeFate, Prover, task_id, told_apart
from lensbench_tasks.changes.prompts import category_of
from lensbench_tasks.changes.swebench import Refused

TESTS, VERDICT = ".hidden-tests", ".verdict"
"""The folders in the repository for the container's /tests and /logs/verifier."""
_IMAGE, _ENV = "environment.docker_image", "environment.env."
_HONOURED = re.compile(
    r"(?!(agent|environment|solution|verifier)\.).*|(agent|verifier)\.timeout_sec"
    r"|environment\.(build_timeout_sec|cpus|(memory|storage)(_mb)?|network_mode|allow_internet|workdir|docker_image|env\..*)"
)
"""Settings that are supported, or that do not affect how a task is judged."""
_FROM = re.compile(r"^FROM\s+(?:--\S+\s+)?(\S+)", re.IGNORECASE | re.MULTILINE)
_WITHOUT_EFFECT = (
    "FROM",
    "CMD",
    "LABEL",
    "ENV",
    "ARG",
    "EXPOSE",
    "USER",
    "MAINTAINER",
    "ENTRYPOINT",
    "HEALTHCHECK",
    "STOPSIGNAL",
)
"""Instructions that the tests do not see."""
_APT = re.compile(
    r"apt(-get)? (update|clean)( -\S+)*|rm -rf /var/lib/apt/lists/\*|apt(-get)? install((?: -\S+)*)((?: [\w.+-]+)+)"
)
_EVERYWHERE = frozenset(("bash", "coreutils", "ca-certificates", "locales", "tmux", "asciinema"))
"""Packages that this machine has, or that only the other harness needs."""
_NETWORK = re.compile(r"\b(apt-get|apt|curl|wget|pip|pip3|uv|uvx|npm|git clone)\b")
_PYTEST_LINE = re.compile(
    r"#.*|set -\w+.*|(apt-get|apt|curl|source|export|cd|mkdir|exit|echo|uv|uvx|pip|pip3|pytest)\b.*"
    r"|python3? -m (pip|pytest)\b.*|bash \$TEST_DIR/run-uv-pytest\.sh|\. .*|if .*|else|fi|then|elif .*|&&.*|-[\w-]+ .*"
    r"|\w+=\d*"
)
_WITH = re.compile(
    r"(?:\s-w|--with|uv add|uv pip install|pip3? install)[ =]([A-Za-z0-9_.\[\]=<>~! -]+)"
)


class _Lacking(Refused):
    """A task whose image may have what this machine lacks."""


class _Files(NamedTuple):
    """The common content of a task folder in both formats."""

    settings: Mapping[str, Any]
    """Dotted name -> value."""
    instruction: str
    environment: Path
    script: Path
    solution: Path


def tasks_from_harbor(folder: Path, output: Path, bench: Prover) -> Iterator[ChangeFate]:
    """A task, or the reasons against it, for `folder` or each task folder in it. Raises UserError if there is none.

    The files of a task's repository are written next to `output`.
    """
    folders = [folder] if _is_task(folder) else sorted(filter(_is_task, folder.glob("*")))
    if not folders:
        raise UserError(
            f"{folder}: neither it nor a folder in it has task.toml (Harbor) or task.yaml (Terminal-Bench)"
        )
    for source in folders:
        name = task_id(source.resolve().name)
        try:
            yield _fate_here_or_in_image(
                name, source, output.with_suffix("") / name / "repository", bench
            )
        except UserError as error:
            yield ChangeFate(name, str(source), None, (str(error).replace("\n", "; "),))
        except (
            OSError,
            ValueError,
            AttributeError,
            TypeError,
            yaml.YAMLError,
        ) as error:  # it may hold anything
            yield ChangeFate(
                name,
                str(source),
                None,
                (f"the task cannot be read: {' '.join(str(error).split())}",),
            )


def _is_task(folder: Path) -> bool:
    return (folder / "task.toml").is_file() or (folder / "task.yaml").is_file()


def _fate_here_or_in_image(name: str, folder: Path, repository: Path, bench: Prover) -> ChangeFate:
    """The fate with this machine's programs; where these do not suffice, with the task's image."""
    files = _read(folder)
    if obstacles := [
        key for key, value in files.settings.items() if value and not _HONOURED.fullmatch(key)
    ]:
        raise Refused(f"{', '.join(obstacles)}: not supported here")
    container = _container(files, name)
    try:
        return _fate(name, folder, files, repository, bench, container)
    except _Lacking as lack:
        base = (_FROM.findall(_dockerfile(files.environment)) or [""])[-1]
        if container or not base:
            raise
        try:
            image = pinned_image(f"localhost/lensbench/{name}:1", files.environment)
        except UserError as error:
            raise Refused(f"{lack}; it needs its image {base}, and {error}") from None
        return _fate(name, folder, files, repository, bench, image)


def _fate(
    name: str, folder: Path, files: _Files, repository: Path, bench: Prover, container: str
) -> ChangeFate:
    workdir = _fill(files.environment, repository, is_built=bool(container))
    source = Folder(path=str(repository))
    tree = prepare(source, bench.cache).tree.resolve()
    tests, environment = _tests(files, workdir, bench.timeout_s)
    draft = ChangeTask(
        id=name,
        kind="change",
        category=category_of(files.instruction),
        repository=source,
        tests=tests,
        prompt=str(_moved(files.instruction, workdir)),
        environment=environment,
        container=container,
    )
    installation = bench.environment(environment, tree, container)
    reference = _solve(files.solution, workdir, tree, bench, installation)
    if tests.report == PYTEST:
        runs = bench.before_and_after(tree, reference, tests, installation)
        failing, passing = told_apart(*runs)
        if not failing:
            problems = [run.problem for run in runs if run.problem]
            raise Refused((*problems, "no test fails before the solution and passes after it")[0])
        tests = tests.model_copy(update={"fail_to_pass": failing, "pass_to_pass": passing})
    task = draft.model_copy(update={"tests": tests, "reference": Binary.text_or_bytes(reference)})
    return bench.judged(task, str(folder), tree, installation)


def _read(folder: Path) -> _Files:
    if (folder / "task.toml").is_file():
        settings = dict(_flat(tomllib.loads((folder / "task.toml").read_text(encoding="utf-8"))))
        if "steps" in settings:
            raise Refused("steps: a task of several steps is not supported")
        instruction = (folder / "instruction.md").read_text(encoding="utf-8")
        return _Files(
            settings,
            instruction,
            folder / "environment",
            folder / "tests" / "test.sh",
            folder / "solution" / "solve.sh",
        )
    settings = dict(_flat(yaml.safe_load((folder / "task.yaml").read_text(encoding="utf-8"))))
    if settings.get("parser_name") == "swebench":
        raise Refused(
            "parser_name: tests/config.json is a line of SWE-bench; import it with --swebench and --mirrors"
        )
    if not isinstance(prompt := settings.get("instruction"), str):
        raise Refused("instruction: missing")
    if settings.get("parser_name", "pytest") != "pytest":
        raise Refused(f"parser_name {settings['parser_name']!r}: only pytest is supported")
    return _Files(settings, prompt, folder, folder / "run-tests.sh", folder / "solution.sh")


def _flat(value: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for key, entry in value.items():
        if isinstance(entry, dict) and entry:
            yield from _flat(entry, f"{before}{key}.")
        else:
            yield f"{before}{key}", entry


def _container(files: _Files, name: str) -> str:
    """The image of the task with its digest, fetched or built where it is needed; "" for this machine's programs."""
    text = _dockerfile(files.environment)
    if image := str(files.settings.get(_IMAGE, "")):
        return image if re.fullmatch(IMAGE, image) else pinned_image(image)
    base = (_FROM.findall(text) or [""])[-1]
    if any(not _is_here(line) for line in text.splitlines() if line.upper().startswith("RUN ")):
        return pinned_image(f"localhost/lensbench/{name}:1", files.environment)
    return base if re.fullmatch(IMAGE, base) else ""


def _is_here(line: str) -> bool:
    """True for a RUN that only installs programs that this machine has, too."""
    steps = [" ".join(step.split()) for step in line[4:].split("&&")]
    matches = [_APT.fullmatch(step) for step in steps]
    packages = {name for match in matches if match for name in (match[6] or "").split()}
    return all(matches) and all(name in _EVERYWHERE or shutil.which(name) for name in packages)


def _dockerfile(environment: Path) -> str:
    file = environment / "Dockerfile"
    return file.read_text(encoding="utf-8").replace("\\\n", " ") if file.is_file() else ""


def _fill(environment: Path, repository: Path, is_built: bool) -> str:
    """Writes the files that the Dockerfile copies to the working folder; returns that folder's path in the container.

    Other instructions are ignored when the image is already built.
    """
    workdir, copies = "/app", list[list[str]]()
    text = _dockerfile(environment)
    for line in filter(None, map(str.strip, text.splitlines())):
        word, _, rest = line.partition(" ")
        if word.startswith("#") or word.upper() in _WITHOUT_EFFECT or _is_here(line):
            continue
        if word.upper() == "WORKDIR":
            workdir = rest.strip().rstrip("/") or "/"
        elif word.upper() == "COPY" and "--" not in rest:
            copies.append(shlex.split(rest))
        elif not is_built:
            raise _Lacking(f"environment/Dockerfile: `{line[:80]}` needs an image")
    for path in environment.glob("docker-compose*.y*ml"):
        services = (yaml.safe_load(path.read_text(encoding="utf-8")) or {}).get("services")
        if beside := [name for name in services or () if name not in ("main", "client")]:
            raise Refused(f"{path.name}: needs the services {', '.join(beside)} beside the task")
    remove_tree(str(repository))
    repository.mkdir(parents=True)
    for *sources, target in copies:
        place = _below(workdir, target)
        for name in sources:
            source = environment / name
            if not source.resolve().is_relative_to(environment.resolve()) or not source.exists():
                raise Refused(f"environment/Dockerfile: COPY {name}: there is no such file")
            is_folder = target.endswith(("/", ".")) or place == "" or len(sources) > 1
            goal = repository / place / (source.name if is_folder and source.is_file() else "")
            goal.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, goal, dirs_exist_ok=True, symlinks=True)
            else:
                shutil.copy2(source, goal)
    if not any(repository.iterdir()):
        (repository / ".keep").write_text("", encoding="utf-8")
    return workdir


def _below(workdir: str, target: str) -> str:
    """The target of a COPY, relative to the working folder. Raises Refused for targets outside of it."""
    full = target if target.startswith("/") else f"{workdir}/{target}"
    parts = [part for part in full.split("/") if part not in ("", ".")]
    start = [part for part in workdir.split("/") if part]
    if parts[: len(start)] != start or ".." in parts:
        raise Refused(
            f"environment/Dockerfile: COPY to {target}: only the working folder {workdir} is kept"
        )
    return "/".join(parts[len(start) :])


def _moved(text: Content, workdir: str) -> Content:
    """A file's text with the paths of this machine in the place of the container's."""
    for there, here in (("/tests", f"/{TESTS}"), ("/logs/verifier", f"/{VERDICT}"), (workdir, "")):
        if isinstance(text, str):
            text = re.sub(rf"(?<![\w./-]){re.escape(there)}(?![\w-])", WORKSPACE + here, text)
    return text


def _tests(files: _Files, workdir: str, timeout_s: float) -> tuple[Tests, tuple[str, ...]]:
    """The tests of the task and their requirements: run with pytest, or else judged by the script's result."""
    if files.script.name == "test.sh" and not files.script.is_file():
        raise Refused("test.sh: missing")
    script = files.script.read_text(encoding="utf-8") if files.script.is_file() else "pytest"
    script = re.sub(
        r'python3? -c "[^"]*/reward\.json[^"]*"', "", script
    )  # the results decide, not their weights
    folder = (
        files.script.parent if files.script.name == "test.sh" else files.script.parent / "tests"
    )
    contents: dict[str, Content | FromSource] = {
        f"{TESTS}/{path.relative_to(folder)}": _moved(
            Binary.text_or_bytes(path.read_bytes()), workdir
        )
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    timeout = files.settings.get(
        "verifier.timeout_sec", files.settings.get("max_test_timeout_sec", timeout_s)
    )
    programs = [path for path in contents if re.fullmatch(r"(.*/)?(test_\w+|\w+_test)\.py", path)]
    if programs and "pytest" in script:
        lines = filter(None, map(str.strip, script.splitlines()))
        if strange := next((line for line in lines if not _PYTEST_LINE.fullmatch(line)), ""):
            raise Refused(f"{files.script.name}: `{strange[:80]}` does more than start pytest")
        words = [
            word
            for match in _WITH.findall(script)
            for word in match.split()
            if not word.startswith("-")
        ]
        packages = sorted({word for word in words if word[:1].isalpha()} | {"pytest"})
        environment = (
            "python -m venv /env",
            f"/env/bin/pip install -q {' '.join(map(shlex.quote, packages))}",
        )
        command = ("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", *programs)
        return Tests(
            files=contents, command=command, fail_to_pass=UNKNOWN, timeout_s=timeout
        ), environment
    if match := _NETWORK.search(script):
        raise Refused(f"{files.script.name}: uses `{match[0]}`, and tests have no network")
    if files.script.name != "test.sh":
        raise Refused("run-tests.sh starts no pytest file of tests/")
    bash = "$(command -v bash || command -v sh)"
    variables = "".join(f"export {line}; " for line in _variables(files))
    reward = f"set -- $(cd {VERDICT}; cat reward.txt 2> /dev/null || cat reward.json); IFS="
    full = """case "$*" in 1|1.0|'{"reward":1}'|'{"reward":1.0}') ;; *) exit 1; esac"""
    verdict = f'{variables}"{bash}" {TESTS}/test.sh; {reward}; {full}'
    command = ("sh", "-c", f"rm -rf {VERDICT}; mkdir {VERDICT}; {verdict}")
    return Tests(
        files=contents, command=command, report=EXIT, fail_to_pass=(EXIT_ID,), timeout_s=timeout
    ), ()


def _variables(files: _Files) -> list[str]:
    """The assignments of the Dockerfile's ENV lines, and of the settings, quoted for a shell."""
    lines = re.findall(r"(?im)^ENV\s+(\w+)[ =](.+)$", _dockerfile(files.environment))
    pairs = [
        pair
        for name, rest in lines
        for pair in re.findall(r'\b(\w+)=("[^"]*"|\S+)', f"{name}={rest}")
    ]
    pairs += [
        (key.rpartition(".")[2], value)
        for key, value in files.settings.items()
        if key.startswith(_ENV)
    ]
    return [
        name + "=" + shlex.quote(str(value).strip('"'))
        for name, value in pairs
        if "$" not in str(value)
    ]


def _solve(
    script: Path, workdir: str, tree: Path, bench: Prover, environment: Environment
) -> bytes:
    """The patch from running the solution's script without network."""
    if not script.is_file():
        raise Refused(f"{script.name}: missing, so nothing proves the task")
    with private_folder() as private:
        work, scratch, home = (
            Path(private, "repo"),
            Path(private, "scratch"),
            Path(private, "session", "home"),
        )
        copy_tree(str(tree), str(work))
        for folder in (scratch, home, Path(private, "tmp")):
            folder.mkdir(parents=True)
        text = script.read_text(encoding="utf-8")
        (home / "solve.sh").write_text(str(_moved(text, workdir)), encoding="utf-8")
        place = environment.place(bench.sandbox, private)
        env = {**environment.variables, "HOME": place.inside(str(home)), "LANG": "C.UTF-8"}
        shell = 'command -v bash > /dev/null && exec bash "$0"; exec sh "$0"'
        argv = place.wrap(
            ["/bin/sh", "-c", shell, place.inside(str(home / "solve.sh"))],
            env,
            "",
            ("--unshare-net",),
        )
        try:
            process = subprocess.run(
                argv,
                env=env,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=bench.timeout_s,
            )
        except subprocess.TimeoutExpired:
            raise Refused(f"{script.name}: took longer than {bench.timeout_s:g} s") from None
        if process.returncode:
            message = process.stderr.decode(errors="replace").strip().splitlines()[-1:]
            network = _NETWORK.search(text)
            hint = f" (it uses `{network[0]}`, and has no network)" if network else ""
            raise _Lacking(
                f"{script.name}: ended with {process.returncode} {''.join(message)}{hint}"
            )
        return make_patch(tree, work, scratch)
