"""Downloads over HTTP as pip and npm do, with the same index, certificates and proxies, and with retries."""

from __future__ import annotations

import hashlib
import http.client
import os
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar
from urllib.parse import unquote, urlsplit, urlunsplit

from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential
from tenacity.wait import wait_base

from lensbench.core.errors import UserError

_Result = TypeVar("_Result")

ATTEMPTS = 4
WAIT: wait_base = wait_random_exponential(multiplier=1, max=30)
TIMEOUT_S = 60.0
_BLOCK = 1 << 18
_MAX_DOWNLOAD_BYTES = 2 << 30
DEFAULT_INDEX = "https://pypi.org/simple"
_INDEX_VARIABLES = "PIP_INDEX_URL (for npm: NPM_CONFIG_REGISTRY)"
TEMPORARY_STATUS = frozenset((408, 425, 429, 500, 502, 503, 504))


class Digest(NamedTuple):
    """The expected hash of a file: an algorithm of hashlib, and lower-case hex digits."""

    algorithm: str
    value: str

    @classmethod
    def of(cls, file: Path, algorithm: str) -> Digest:
        with file.open("rb") as content:
            return cls(algorithm, hashlib.file_digest(content, algorithm).hexdigest())


class Damaged(OSError):
    """The received bytes are incomplete or have another hash."""


def package_index() -> str:
    """The URL of the package index, without `/` at the end: PIP_INDEX_URL, else pip's configured one, else pypi.org."""
    index = os.environ.get("PIP_INDEX_URL") or _pip_setting("global.index-url") or DEFAULT_INDEX
    return index.strip().rstrip("/")


def _pip_setting(name: str) -> str:
    command = [sys.executable, "-P", "-m", "pip", "config", "get", name]
    process = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    return process.stdout.strip() if process.returncode == 0 else ""


@dataclass(frozen=True)
class Page:
    """A server's response: the URL after redirects, the media type, and the body."""

    url: str
    media_type: str
    body: bytes


def read_page(url: str, accept: str) -> Page:
    """The page at `url`, in one of the media types `accept`. Raises UserError, and KeyError for a 404."""

    def once() -> Page:
        with _open(url, accept) as response:
            body = response.read(_MAX_DOWNLOAD_BYTES)
            return Page(_with_login(response.url, url), response.headers.get_content_type(), body)

    return _persistently(url, once)


def download(url: str, pin: Digest, target: Path) -> None:
    """Writes the file at `url` to `target`. Raises UserError when the download fails or the hash differs."""

    def once() -> None:
        digest = hashlib.new(pin.algorithm)
        size = 0
        with _open(url, "*/*") as response, target.open("wb") as file:
            while block := response.read(_BLOCK):
                size += len(block)
                if size > _MAX_DOWNLOAD_BYTES:
                    raise UserError(
                        f"{shown(url)} is larger than {_MAX_DOWNLOAD_BYTES} bytes; use the git source"
                    )
                digest.update(block)
                file.write(block)
        if digest.hexdigest() != pin.value:
            raise Damaged(
                f"{size} bytes received with {pin.algorithm} {digest.hexdigest()}, not {pin.value}"
            )

    try:
        _persistently(url, once)
    except KeyError:
        raise UserError(f"{shown(url)} does not exist (404); check the package index") from None


def shown(url: str) -> str:
    """`url` without user and password."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _with_login(url: str, other: str) -> str:
    """`url` with the user and password of `other`, if both are on the same server."""
    parts = urlsplit(url)
    netloc = urlsplit(other).netloc
    login, _, server = netloc.rpartition("@")
    if login and parts.netloc == server:
        return urlunsplit(parts._replace(netloc=netloc))
    return url


def _open(url: str, accept: str) -> http.client.HTTPResponse:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https"):
        raise UserError(
            f"{shown(url)} is neither http nor https; set {_INDEX_VARIABLES} to an index on the network"
        )
    context = ssl.create_default_context(cafile=os.environ.get("PIP_CERT") or None)
    passwords = urllib.request.HTTPPasswordMgrWithPriorAuth()
    if parts.username:
        credentials = unquote(parts.username), unquote(parts.password or "")
        passwords.add_password(None, shown(url), *credentials, is_authenticated=True)
    opener = urllib.request.build_opener(
        urllib.request.HTTPSHandler(context=context), urllib.request.HTTPBasicAuthHandler(passwords)
    )
    request = urllib.request.Request(
        shown(url), headers={"Accept": accept, "User-Agent": "lensbench"}
    )
    response: http.client.HTTPResponse = opener.open(request, timeout=TIMEOUT_S)
    return response


def _persistently(url: str, action: Callable[[], _Result]) -> _Result:
    """The result of `action`, with retries after growing pauses. Raises KeyError for 404, and UserError."""
    try:
        for attempt in Retrying(
            retry=retry_if_exception(_may_pass),
            wait=WAIT,
            stop=stop_after_attempt(ATTEMPTS),
            reraise=True,
        ):
            with attempt:
                return action()
    except urllib.error.HTTPError as error:
        if error.code == 404:
            raise KeyError(url) from None
        raise UserError(
            f"{shown(url)} answers {error.code} {error.reason}; check the package index"
        ) from None
    except Damaged as error:
        raise UserError(
            f"{shown(url)} is damaged: {error}; check the hash and the package index"
        ) from None
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise UserError(
            f"{shown(url)} cannot be read: {reason}; check the network and {_INDEX_VARIABLES}"
        ) from None
    raise AssertionError("unreachable: the last attempt returns or raises")


def _may_pass(error: BaseException) -> bool:
    if isinstance(error, urllib.error.HTTPError):
        return error.code in TEMPORARY_STATUS
    if isinstance(error, urllib.error.URLError) and isinstance(error.reason, ssl.SSLError):
        return False
    return isinstance(error, OSError | http.client.HTTPException)
