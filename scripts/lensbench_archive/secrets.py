"""Finds secrets in the files of an archive, with the detectors of detect-secrets.

No detector contacts a service to verify a secret. Passwords that are recognised only by the word before them are
searched in settings and logs only, because answers and transcripts about code are full of `password = "..."`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from lensbench.core.system.program import needs_extra
from lensbench.core.system.redaction import SHORTEST

with needs_extra("archive"):
    from detect_secrets.plugins.keyword import (
        QUOTES_REQUIRED_DENYLIST_REGEX_TO_GROUP,
        KeywordDetector,
    )
    from detect_secrets.settings import get_plugins, transient_settings

_BY_FORM = (
    "ArtifactoryDetector",
    "AWSKeyDetector",
    "AzureStorageKeyDetector",
    "CloudantDetector",
    "DiscordBotTokenDetector",
    "GitHubTokenDetector",
    "GitLabTokenDetector",
    "IbmCloudIamDetector",
    "IbmCosHmacDetector",
    "JwtTokenDetector",
    "MailchimpDetector",
    "NpmDetector",
    "OpenAIDetector",
    "PrivateKeyDetector",
    "PypiTokenDetector",
    "SendGridDetector",
    "SlackDetector",
    "SoftlayerDetector",
    "SquareOAuthDetector",
    "StripeDetector",
    "TelegramBotTokenDetector",
    "TwilioKeyDetector",
)
"""Detectors of secrets with a distinct format. Not those by entropy, which match every hash."""


_MODEL_KEYS = tuple(
    map(
        re.compile,
        (
            r"\bsk-ant-[A-Za-z0-9_-]{20,}",
            r"\bsk-(?:proj-|or-v1-)?[A-Za-z0-9_-]{32,}",
            r"\bAIza[A-Za-z0-9_-]{35}",
            r"\b[0-9a-f]{32}\.[A-Za-z0-9]{16}\b",  # Z.AI
        ),
    )
)
"""Patterns for API keys of model services that detect-secrets lacks."""
_IN_SETTINGS = tuple(
    map(
        re.compile,
        (
            r"(?i)\b(?:bearer|basic)\s+([A-Za-z0-9._~+/=-]{8,})",
            r"(?i)(?:token|key)[\"']?\s*[:=]\s*[\"']?([A-Za-z0-9._~+/=-]{16,})",
            r"://[^{}\s/:@]+:([^{}\s/@]+)@",
        ),
    )
)
"""Patterns for tokens in headers, variables and URLs, as in MCP files; `${NAME}` does not match."""


@cache
def _detectors() -> tuple[Any, ...]:
    with transient_settings(
        {"plugins_used": [{"name": name} for name in _BY_FORM], "filters_used": []}
    ):
        return tuple(get_plugins())


def find_secrets(
    text: str, is_settings: bool, values: Iterable[str] = ()
) -> Iterator[tuple[int, str, str]]:
    """The position, kind and text of everything that looks like a secret.

    `values`: the values of the environment variables that the settings name, which are known secrets.
    """
    for detector in _detectors():
        for pattern in detector.denylist:
            for match in pattern.finditer(text):
                # checked again, because some detectors verify more; the secret they return may be only its first word
                if any(detector.analyze_string(match[0])):
                    yield match.start(), detector.secret_type, match[0]
    for pattern in _MODEL_KEYS:
        yield from (
            (match.start(), "key of a model service", match[0]) for match in pattern.finditer(text)
        )
    yield from (
        (text.find(value), "the value of a variable", value) for value in values if value in text
    )
    if is_settings:
        for pattern in _IN_SETTINGS:
            yield from ((match.start(1), "token", match[1]) for match in pattern.finditer(text))
        yield from _keywords(text)


def _keywords(text: str) -> Iterator[tuple[int, str, str]]:
    """Values after a word such as `password`."""
    start = 0
    for line in text.splitlines(keepends=True):
        for secret in KeywordDetector().analyze_string(
            line, QUOTES_REQUIRED_DENYLIST_REGEX_TO_GROUP
        ):
            if secret and "${" not in secret:
                yield start + line.find(secret), KeywordDetector.secret_type, secret
        start += len(line)


def secret_values(names: Iterable[str], environment: Mapping[str, str]) -> list[str]:
    """The values of these variables that are set and long enough to be secrets."""
    return sorted({value for name in names if len(value := environment.get(name, "")) >= SHORTEST})
