"""Packages of the npm registry: found by name and version, proven by their integrity."""

import base64
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import TypeAdapter, ValidationError

from lensbench.core.errors import UserError
from lensbench.core.tasks import Npm, Source
from lensbench.plan.freeze import source_name
from lensbench.repositories.prepare import prepare, source_key
from lensbench.repositories.sources import npm
from services import Files, packed, serving


class Registry(Files):
    """A registry on loopback."""

    def add(self, name: str, version: str, files: dict[str, str], **dist: str) -> Npm:
        """Publishes a package; `dist` replaces what the registry says about it."""
        content = packed(files, "package")
        path = f"/{name}/-/{name.rpartition('/')[2]}-{version}.tgz"
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(content).digest()).decode()
        described = {"tarball": self.url + path, "integrity": integrity} | dist
        self.bodies[path] = content
        self.bodies[f"/{name.replace('/', '%2F')}/{version}"] = json.dumps(
            {"dist": described}
        ).encode()
        return Npm(npm=f"{name}@{version}", integrity=integrity)


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    files = Registry()
    with serving(files, monkeypatch):
        monkeypatch.setenv("NPM_CONFIG_REGISTRY", f"{files.url}/")
        yield files


FILES = {"package.json": "{}", "src/index.ts": "export const x = 1\n", "CLAUDE.md": "use lens"}


@pytest.mark.parametrize("name", ["demo", "@scope/demo"])
def test_a_package_is_fetched_verified_unpacked_and_cleaned(
    name: str, registry: Registry, tmp_path: Path
) -> None:
    source = registry.add(name, "1.0.0", FILES)
    prepared = prepare(source, tmp_path / "cache")
    assert (prepared.tree / "src" / "index.ts").read_text() == FILES["src/index.ts"]
    assert (prepared.revision, prepared.history, prepared.removed) == (
        "1.0.0",
        "none",
        ("CLAUDE.md",),
    )
    assert len(registry.asked) == 2


def test_a_cached_package_is_not_fetched_again_even_with_a_harmed_tree(
    registry: Registry, tmp_path: Path
) -> None:
    source = registry.add("demo", "1.0.0", FILES)
    tree = prepare(source, tmp_path / "cache").tree
    (tree / "package.json").write_text("changed")
    registry.bodies.clear()
    assert (prepare(source, tmp_path / "cache").tree / "package.json").read_text() == "{}"


def test_a_registry_without_integrity_is_believed_for_the_right_bytes_only(
    registry: Registry, tmp_path: Path
) -> None:
    source = registry.add("demo", "1.0.0", FILES, integrity="")
    assert prepare(source, tmp_path / "cache").revision == "1.0.0"
    with pytest.raises(UserError, match=r"is damaged: .* received with sha512"):
        prepare(source.model_copy(update={"integrity": WRONG}), tmp_path / "cache")


WRONG = f"sha512-{'A' * 86}=="


@pytest.mark.parametrize(
    ("package", "integrity", "body", "complaint"),
    [
        ("demo@1.0.1", WRONG, None, r"there is no demo@1\.0\.1 in the registry"),
        (
            "demo@1.0.0",
            WRONG,
            None,
            r"demo@1\.0\.0 has the integrity sha512-.* correct the one in the task set",
        ),
        ("demo@1.0.0", WRONG, b"<html>", "describes no package; set NPM_CONFIG_REGISTRY"),
        ("demo@1.0.0", WRONG, b'{"dist": []}', "describes no package"),
    ],
)
def test_what_cannot_be_had_is_said_in_one_sentence(
    package: str,
    integrity: str,
    body: bytes | None,
    complaint: str,
    registry: Registry,
    tmp_path: Path,
) -> None:
    registry.add("demo", "1.0.0", FILES)
    if body is not None:
        registry.bodies["/demo/1.0.0"] = body
    with pytest.raises(UserError, match=complaint):
        prepare(Npm(npm=package, integrity=integrity), tmp_path / "cache")


@pytest.mark.parametrize(
    "entry",
    [
        {"npm": "demo", "integrity": WRONG},
        {"npm": "demo@latest", "integrity": WRONG},
        {"npm": "a/b/c@1.0.0", "integrity": WRONG},
        {"npm": "../demo@1.0.0", "integrity": WRONG},
        {"npm": "demo@1.0.0", "integrity": "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk="},
        {"npm": "demo@1.0.0"},
    ],
)
def test_only_an_exact_version_with_a_sha512_is_a_source(entry: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter[Source](Source).validate_python(entry)


def test_packages_have_readable_names_that_differ() -> None:
    sources = [Npm(npm="@a/b@1.0.0", integrity=WRONG), Npm(npm="a-b@1.0.0", integrity=WRONG)]
    assert source_key(sources[0]).startswith("a-b-1.0.0-")
    assert len({source_key(source) for source in sources}) == 2
    assert source_name(sources[0]) == "@a/b@1.0.0 (sha512-AAAAAAAAAAAA)"


def test_without_a_setting_the_public_registry_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NPM_CONFIG_REGISTRY", "npm_config_registry"):
        monkeypatch.delenv(name, raising=False)
    assert npm.registry() == "https://registry.npmjs.org"
    monkeypatch.setenv("npm_config_registry", "https://npm.example/x/")
    assert npm.registry() == "https://npm.example/x"
