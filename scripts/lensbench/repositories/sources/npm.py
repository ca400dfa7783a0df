"""Sources of the kind `npm`: a package as published to the npm registry, pinned by its integrity."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from urllib.parse import quote

from lensbench.core.errors import UserError
from lensbench.repositories.sources.downloads import Digest, Page, download, read_page, shown

DEFAULT_REGISTRY = "https://registry.npmjs.org"
_ACCEPT = "application/json"


def registry() -> str:
    """The URL of the registry, without `/` at the end: NPM_CONFIG_REGISTRY (in any case, as for npm), else npmjs.org.

    npm's configuration files are not read.
    """
    addresses = (
        value
        for name, value in os.environ.items()
        if name.lower() == "npm_config_registry" and value
    )
    return next(addresses, DEFAULT_REGISTRY).strip().rstrip("/")


def digest(integrity: str) -> Digest:
    """The hash in `integrity` (W3C Subresource Integrity: the algorithm, `-`, and base64)."""
    algorithm, _, value = integrity.partition("-")
    return Digest(algorithm, base64.b64decode(value).hex())


def fetch(name: str, version: str, pin: str, target: Path) -> None:
    """Downloads the package `name` `version` with the integrity `pin` to `target`, without running anything.

    Raises UserError when the registry does not have it, lists another integrity, or sends different bytes.
    """
    url, current = _published(_page(name, version))
    if current and current != pin:
        raise UserError(
            f"{name}@{version} has the integrity {current} in the registry; correct the one in the task set"
        )
    download(url, digest(pin), target)


def integrity(name: str, version: str) -> str:
    """The integrity of `name` `version` in the registry. Raises UserError when there is none."""
    value = _published(_page(name, version))[1]
    if not value.startswith("sha512-"):
        raise UserError(
            f"{name}@{version}: the registry {shown(registry())} shows no sha512; choose another version"
        )
    return value


def _page(name: str, version: str) -> Page:
    address = registry()
    try:
        return read_page(f"{address}/{quote(name, safe='@')}/{quote(version)}", _ACCEPT)
    except KeyError:
        raise UserError(
            f"there is no {name}@{version} in the registry {shown(address)}; check its spelling"
        ) from None


def _published(page: Page) -> tuple[str, str]:
    """The URL of the package and its integrity; "" when the registry has none, as for old packages."""
    try:
        distribution = json.loads(page.body)["dist"]
        return str(distribution["tarball"]), str(distribution.get("integrity", ""))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UserError(
            f"{shown(page.url)} describes no package; set NPM_CONFIG_REGISTRY to an npm registry"
        ) from None
