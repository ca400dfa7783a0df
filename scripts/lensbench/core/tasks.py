"""Task sets: questions, their repositories, and the facts that an answer must state (protocol, section 4).

A set is a YAML file, or a Markdown file in the protocol's own form (`scenarios_markdown`).
"""

from __future__ import annotations

import typing
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Annotated, Any, Self, TypeVar

import re2
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    model_validator,
)

PATTERN_WORDS: dict[str, str] = {}
"""Descriptions of patterns for error messages."""


def like(pattern: str, words: str) -> Any:
    """A text field that must match `pattern`, which `words` describe for users."""
    PATTERN_WORDS[pattern] = words
    return Field(pattern=pattern)


MIN_CRITERIA = 2
MAX_CRITERIA = 5
MAX_PATTERN_LENGTH = 500


class Category(StrEnum):
    """The kind of question in a task."""

    EXPLORATORY = "Exploratory"
    DEBUG = "Debug"
    CHANGE_IMPACT = "Change-Impact"
    TARGETED = "Targeted"


class Strict(BaseModel):
    """Base of everything that users write: unknown keys are errors, and values are not converted."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, defer_build=True
    )


_Item = TypeVar("_Item")
Many = Annotated[tuple[_Item, ...], Field(strict=False)]
"""A YAML list."""


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    if not line:
        raise ValueError("is empty")
    return line


UNWRITTEN = "WRITE:"
"""The start of a prompt that still has to be written."""


def _trimmed(text: str) -> str:
    if "\0" in text:
        raise ValueError("has a NUL character, which cannot be passed to programs; remove it")
    content = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    if not content:
        raise ValueError("is empty")
    if content.startswith(UNWRITTEN):
        raise ValueError("is not written yet; replace it with the question")
    return content


OneLine = Annotated[str, AfterValidator(_one_line)]


def path_inside(path: str) -> str:
    """A path below a repository's top, without what it does not need."""
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or parts[0] == ".git" or "\0" in path:
        raise ValueError(f"is {path!r}; write a path inside the repository, and not in .git")
    return PurePosixPath(path).as_posix()


InsidePath = Annotated[str, AfterValidator(path_inside)]


class Regex(Strict):
    """A pattern in RE2 syntax (no look-around or back-references, so that it never backtracks)."""

    regex: Annotated[str, Field(min_length=1, max_length=MAX_PATTERN_LENGTH)]
    """The pattern."""

    @model_validator(mode="after")
    def _compiles(self) -> Self:
        options = re2.Options()
        options.log_errors = False
        options.max_mem = 1 << 20
        try:
            pattern = re2.compile(self.regex, options)
        except re2.error as error:
            reason = error.args[0].decode() if isinstance(error.args[0], bytes) else error.args[0]
            raise ValueError(f"does not compile as an RE2 pattern: {reason}") from None
        if any(
            match.start() == match.end() for text in ("", "a b") for match in pattern.finditer(text)
        ):
            raise ValueError("matches the empty string, so every answer would state it")
        return self


Literal = Annotated[str, AfterValidator(_one_line), Field(max_length=MAX_PATTERN_LENGTH)]
Pattern = Annotated[
    Annotated[Literal, Tag("literal")] | Annotated[Regex, Tag("regex")],
    Discriminator(lambda value: "regex" if isinstance(value, (dict, Regex)) else "literal"),
]
"""A literal is matched as a whole word, case-sensitively; a `Regex` as it is written."""


Patterns = Annotated[
    tuple[Pattern, ...],
    BeforeValidator(
        lambda value: tuple(value if isinstance(value, (list, tuple)) else [value]),
        json_schema_input_type=Pattern | list[Pattern],
    ),
]
"""One pattern, or a list of them."""


class AtLeast(Strict):
    """At least `n` of several patterns are stated."""

    n: Annotated[int, Field(ge=1)]
    """How many."""
    of: Annotated[Patterns, Field(min_length=1)]
    """The patterns."""

    @model_validator(mode="after")
    def _can_be_reached(self) -> Self:
        if self.n > len(self.of):
            raise ValueError(f"asks for {self.n} of {len(self.of)} patterns")
        return self


class AtMost(Strict):
    """At most `n` of several patterns are stated: wrong items of a list."""

    n: Annotated[int, Field(ge=0)]
    """How many are allowed."""
    of: Annotated[Patterns, Field(min_length=1)]
    """The patterns."""

    @model_validator(mode="after")
    def _can_be_broken(self) -> Self:
        if self.n >= len(self.of):
            raise ValueError(f"allows {self.n} of {len(self.of)} patterns, so it never fails")
        return self


SubFact = Annotated[
    Annotated[Annotated[Patterns, Field(min_length=1)], Tag("patterns")]
    | Annotated[AtLeast, Tag("at_least")],
    Discriminator(
        lambda value: (
            "at_least"
            if isinstance(value, AtLeast) or (isinstance(value, dict) and "of" in value)
            else "patterns"
        )
    ),
]
"""Patterns that must all be stated, or a number of them."""


class Proof(Strict):
    """Where the repository shows a criterion's fact, without line numbers, which change easily."""

    file: Annotated[str, Field(min_length=1)]
    """A path inside the repository."""
    quote: Annotated[str, Field(min_length=1)]
    """Text of that file; a blank matches any white space."""
    within: str = ""
    """The definition that contains the quote, a member as `Owner.member`; anywhere in the file when empty."""


class Criterion(Strict):
    """A verifiable fact, and how the mechanical judge recognises it (protocol, section 4).

    Met: all of `all_of`, at least one of `any_of` and enough of `at_least` are stated.
    Partial: not Met, and at least one sub-fact of `partial` is stated.
    Missed, whatever else is stated: any of `must_not`, more of `at_most` than are allowed, or a denial of the fact.
    A criterion with none of the first three can only be judged by a model or a person.
    """

    text: OneLine
    """The fact, in words for the judges."""
    all_of: Patterns = ()
    """Met requires all of these."""
    any_of: Patterns = ()
    """Met requires at least one of these."""
    at_least: AtLeast | None = None
    """Met requires `n` of these, `{n: 3, of: [...]}`."""
    must_not: Patterns = ()
    """None of these may be stated."""
    at_most: AtMost | None = None
    """At most `n` of these may be stated, `{n: 2, of: [...]}`: wrong items of a list count against the answer."""
    partial: dict[str, SubFact] = {}
    """Named sub-facts; an answer that states one of them, by all or `n` of its patterns, is Partial."""
    no_other: bool = False
    """Missed if a sentence about the fact names another path, name or number in place of one that the answer lacks."""
    drafted: typing.Literal["strict"] | None = None
    """The patterns, all pieces of the fact, were proposed by a program, and not accepted by a person yet."""
    proofs: Many[Proof] = ()
    """Where the repository shows the fact; checked by `lensbench prove`, not used by judges."""

    @property
    def mechanical(self) -> bool:
        """True when the criterion has patterns."""
        return bool(self.all_of or self.any_of or self.at_least)

    @property
    def sought(self) -> tuple[Pattern, ...]:
        """All patterns for Met and Partial."""
        parts = (part.of if isinstance(part, AtLeast) else part for part in self.partial.values())
        choices = self.at_least.of if self.at_least else ()
        return (
            *self.all_of,
            *self.any_of,
            *choices,
            *(pattern for part in parts for pattern in part),
        )

    @model_validator(mode="after")
    def _patterns_belong_together(self) -> Self:
        if (self.must_not or self.partial or self.at_most or self.no_other) and not self.mechanical:
            raise ValueError(
                "has must_not, at_most, no_other or partial, but none of all_of, any_of and at_least"
            )
        return self


class Pypi(Strict):
    """A release in the Python package index: its source distribution, or a wheel if it has none, pinned by its hash."""

    pypi: Annotated[
        str,
        like(r"^[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9][A-Za-z0-9._+!-]*$", "write name==version"),
    ]
    """`<name>==<version>`."""
    sha256: Annotated[
        str, like(r"^[0-9a-f]{64}$", "write the 64 lower-case hex digits of the file's SHA-256")
    ]
    """The hash of the file in the index."""


class Npm(Strict):
    """A package as published to the npm registry, pinned by its integrity."""

    npm: Annotated[
        str,
        like(
            r"^(@[a-z0-9][a-z0-9._-]*/)?[A-Za-z0-9][A-Za-z0-9._-]*@[0-9][A-Za-z0-9.+-]*$",
            "write name@version",
        ),
    ]
    """`<name>@<version>`, or `@<scope>/<name>@<version>`."""
    integrity: Annotated[
        str,
        like(
            r"^sha512-[A-Za-z0-9+/]{86}==$",
            "write sha512-... as `npm view <name>@<version> dist.integrity` does",
        ),
    ]
    """The integrity of the package in the registry and in lock files."""


class Git(Strict):
    """A git repository (URL or path) at a revision; only the history of that revision is used."""

    git: Annotated[str, like(r"^[^-\s]\S*$", "write a URL or a path without blanks")]
    """URL or path."""
    revision: Annotated[
        str, like(r"^[A-Za-z0-9][A-Za-z0-9._/-]*$", "write a commit, a tag or a branch")
    ]
    """A commit, a tag or a branch."""


class Folder(Strict):
    """A folder on this machine, with its content at the start of the benchmark."""

    path: Annotated[str, Field(min_length=1)]
    """The folder; relative paths start in the folder where lensbench runs."""


def _kind_of_source(value: Any) -> str | None:
    keys = value if isinstance(value, dict) else vars(value) if isinstance(value, BaseModel) else ()
    return next((f"source {kind}" for kind in ("pypi", "npm", "git", "path") if kind in keys), None)


Source = Annotated[
    Annotated[Pypi, Tag("source pypi")]
    | Annotated[Npm, Tag("source npm")]
    | Annotated[Git, Tag("source git")]
    | Annotated[Folder, Tag("source path")],
    Discriminator(
        _kind_of_source,
        custom_error_type="source",
        custom_error_message=(
            "must be one of {pypi: name==version, sha256: ..}, {npm: name@version, integrity: ..}, "
            "{git: .., revision: ..}, {path: ..}"
        ),
    ),
]


class Task(Strict):
    """A question about a repository, with 2 to 5 criteria.

    `repository` is None only in sets that cannot be run (imported ones).
    """

    id: Annotated[str, like(r"^[a-z0-9][a-z0-9-]{0,63}$", "use a-z, 0-9 and '-' only, at most 64")]
    """The name of the task in all files."""
    category: Annotated[Category, Field(strict=False)]
    """The kind of question."""
    repository: Source | None = None
    """The repository that it is about."""
    prompt: Annotated[str, AfterValidator(_trimmed)]
    """The question to the agent, the same in every condition."""
    criteria: Many[Criterion]
    """The facts that an answer must state."""
