"""Container images by digest: their files, extracted once, replace this machine's programs for tests.

podman or docker fetches the image and exports its files; no container is started. The tests run in the same sandbox as
without an image: no network, the same limits, the same checks against forged results.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from lensbench.core.errors import UserError
from lensbench.core.system.files import locked, write_json
from lensbench.core.system.trees import remove_tree

ENGINES = ("podman", "docker")
LIMIT_S = 1800
_NOTE = "image.json"


@dataclass(frozen=True)
class Image:
    """The files of an image."""

    root: Path
    variables: tuple[tuple[str, str], ...]
    """The environment variables set by the image."""

    @property
    def path(self) -> str:
        """The PATH of the image."""
        return dict(self.variables).get(
            "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        )


def prepare_image(name: str, cache: Path) -> Image:
    """The image `name@sha256:...`, fetched into `cache` unless it is there. Raises UserError."""
    folder = (cache / "images" / name.partition("@sha256:")[2][:16]).absolute()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with locked(folder.with_name(f".{folder.name}.lock")):
        if not (folder / _NOTE).exists():
            remove_tree(str(folder))
            try:
                _unpack(name, folder)
            except BaseException:
                remove_tree(str(folder))
                raise
    return read_image(folder)


def pinned_image(name: str, context: Path | None = None) -> str:
    """The image `name`, with its digest: fetched, or built from the Dockerfile in `context`. Raises UserError."""
    engine = _engine_with(name, context)
    digest = _done(_said(engine, "image", "inspect", "--format", "{{.Digest}}", name), name).strip()
    return f"{re.sub(r':[^/]*$', '', name)}@{digest}"


def _engine_with(name: str, context: Path | None = None) -> str:
    """The engine, which has the image now: it is pulled if missing, or built in `context`."""
    engine = next(filter(None, map(shutil.which, ENGINES)), None)
    if not engine:
        raise UserError(
            "container: needs podman or docker, and neither is on PATH; install one, or write environment:"
        )
    arguments = (
        ("build", "--quiet", "--tag", name, str(context)) if context else ("pull", "--quiet", name)
    )
    if context or _said(engine, "image", "inspect", name).returncode:
        _done(_said(engine, *arguments), name)
    return engine


def read_image(folder: Path) -> Image:
    """The image extracted into `folder`. Raises UserError."""
    try:
        variables = json.loads((folder / _NOTE).read_text(encoding="utf-8"))["variables"]
        return Image(folder / "root", tuple((name, value) for name, value in variables.items()))
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise UserError(
            f"{folder}: cannot be read ({error}); delete it, and the next start fetches it again"
        ) from None


def _unpack(name: str, folder: Path) -> None:
    engine = _engine_with(name)
    variables = json.loads(
        _done(_said(engine, "image", "inspect", "--format", "{{json .Config.Env}}", name), name)
    )
    handle = _done(_said(engine, "create", name, "/none"), name).split()[-1]
    root = folder / "root"
    root.mkdir(parents=True)
    try:
        with subprocess.Popen(
            [engine, "export", handle], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as export:
            tar = (
                "tar",
                "-x",
                "--no-same-owner",
                "--delay-directory-restore",
                "--exclude=dev/*",
                "-C",
                str(root),
            )
            _done(
                subprocess.run(
                    tar, stdin=export.stdout, capture_output=True, encoding="utf-8", timeout=LIMIT_S
                ),
                name,
            )
        if export.returncode:
            raise UserError(f"container: {Path(engine).name} could not export the files of {name}")
    finally:
        _said(engine, "rm", handle)
    write_json(
        folder / _NOTE, {"variables": dict(entry.split("=", 1) for entry in variables or ())}
    )


def _said(engine: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [engine, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=LIMIT_S,
    )


def _done(process: subprocess.CompletedProcess[str], name: str) -> str:
    """The output of the command. Raises UserError when it failed."""
    if process.returncode:
        reason = (
            process.stderr.strip().splitlines()
            or [f"{process.args[0]} ended with {process.returncode}"]
        )[-1]
        raise UserError(f"container: {name}: {reason}")
    return process.stdout
