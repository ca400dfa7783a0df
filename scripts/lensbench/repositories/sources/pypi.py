"""Sources of the kind `pypi`: a release in a package index, pinned by the hash of its file (PEP 691, PEP 503)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    canonicalize_version,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion

from lensbench.core.errors import UserError
from lensbench.repositories.sources.downloads import (
    Digest,
    Page,
    download,
    package_index,
    read_page,
    shown,
)

_ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"


@dataclass(frozen=True)
class Listed:
    """A file in an index; `sha256` is "" when the index has none."""

    name: str
    url: str
    sha256: str


def fetch(name: str, version: str, sha256: str, target: Path) -> None:
    """Downloads the file of `name` `version` whose hash is `sha256` to `target`, without running anything.

    Raises UserError when the index does not have it, has it under another name or version, or sends different bytes.
    """
    page = _project(name)
    file = _chosen(_files(page), name, version, sha256)
    download(urljoin(page.url, file.url), Digest("sha256", sha256), target)


def sha256(name: str, version: str) -> str:
    """The hash of the sdist of `name` `version`, or of a wheel where there is none.

    Raises UserError when the index has neither, or no hash.
    """
    found = _of_release(_files(_project(name)), name, version)
    if found and found[0].sha256:
        return found[0].sha256
    why = "shows no sha256 of it" if found else "has no sdist or wheel of it"
    raise UserError(
        f"{name}=={version}: the index {shown(package_index())} {why}; choose another version"
    )


def _project(name: str) -> Page:
    index = package_index()
    try:
        return read_page(f"{index}/{canonicalize_name(name)}/", _ACCEPT)
    except KeyError:
        raise UserError(
            f"there is no project {name!r} in the index {shown(index)}; check its spelling"
        ) from None


def _files(page: Page) -> list[Listed]:
    return _json_files(page) if page.media_type.endswith("json") else _html_files(page)


def _json_files(page: Page) -> list[Listed]:
    try:
        files = json.loads(page.body)["files"]
        return [
            Listed(str(file["filename"]), str(file["url"]), str(file["hashes"].get("sha256", "")))
            for file in files
        ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UserError(
            f"{shown(page.url)} lists no files (PEP 691); set PIP_INDEX_URL to a package index"
        ) from None


def _html_files(page: Page) -> list[Listed]:
    links = _Links()
    links.feed(page.body.decode(errors="replace"))
    files = []
    for link in links.found:
        url, _, fragment = link.partition("#")
        digest = fragment.removeprefix("sha256=") if fragment.startswith("sha256=") else ""
        files.append(Listed(unquote(urlsplit(url).path.rpartition("/")[2]), url, digest))
    if not files:
        raise UserError(
            f"{shown(page.url)} lists no files (PEP 503); set PIP_INDEX_URL to a package index"
        )
    return files


class _Links(HTMLParser):
    """The targets of a page's links, in order: the file list of mirrors without PEP 691 (PEP 503)."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if tag == "a" and name == "href" and value]


def _chosen(files: list[Listed], name: str, version: str, sha256: str) -> Listed:
    found = _of_release(files, name, version)
    for file in found:
        if file.sha256 in (sha256, ""):  # "": an old index
            return file
    problem = f"there is no sdist or wheel of {name}=={version}"
    if found:
        problem = f"{found[0].name} has the sha256 {found[0].sha256}"
    raise UserError(f"{problem} in the index; correct the task set")


def _of_release(files: Iterable[Listed], name: str, version: str) -> list[Listed]:
    """The sdists of a release; without one its wheels: those for every machine, then those for Linux."""
    release = (canonicalize_name(name), canonicalize_version(version))
    found = [file for file in files if _release_of(file.name) == release]
    sdists = [file for file in found if not file.name.endswith(".whl")]
    return sdists or sorted(found, key=lambda wheel: _preference(wheel.name))


def _preference(wheel: str) -> tuple[bool, ...]:
    return not wheel.endswith("-any.whl"), "manylinux" not in wheel or "x86_64" not in wheel


def _release_of(filename: str) -> tuple[str, str] | None:
    """The canonical name and version in the name of an sdist or a wheel; None for other files."""
    try:
        if filename.endswith(".whl"):
            name, version, *_ = parse_wheel_filename(filename)
        else:
            name, version = parse_sdist_filename(filename)
    except (InvalidSdistFilename, InvalidWheelFilename, InvalidVersion):
        return None
    return name, canonicalize_version(version)
