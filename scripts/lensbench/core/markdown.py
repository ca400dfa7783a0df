"""Renders untrusted Markdown as safe HTML in which every piece of text has its position in the source, so that evidence
can be marked, and a selection on the page mapped to a verbatim piece of the answer."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from html import escape
from itertools import accumulate
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

_TAGS = {
    "blockquote",
    "br",
    "code",
    "em",
    "h4",
    "h5",
    "h6",
    "hr",
    "li",
    "ol",
    "p",
    "pre",
    "s",
    "span",
    "strong",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
}
_ATTRIBUTES = {"span": {"data-p", "class"}, "ol": {"start"}}
_OF_PAGES = {"a": {"href"}, "span": {"id"}, "ol": {"start"}}
_SCHEMES = {"http", "https", "mailto"}
_WORDS = re.compile(r"(\s+)")
_AHEAD = 4096
"""Characters between two pieces of text that are looked through: marks, and the targets of links."""

Show = Callable[[int, str], str]
"""The HTML of a piece of text that begins at this index of the source."""


def placed_html(text: str) -> str:
    """The HTML of the Markdown `text`, without links, images and raw HTML; targets of links are shown as text.

    A piece of text is `<span data-p="n">`: its characters are in `text` from offset n, in UTF-16 units as in browsers.
    A piece that is spelled differently in the source (an escape, an entity) has no position. Headings start at level 4.
    """
    wide = [index for index, character in enumerate(text) if character > "\uffff"]

    def show(start: int, piece: str) -> str:
        return f'<span data-p="{start + bisect_left(wide, start)}">{escape(piece)}</span>'

    return nh3.clean(
        _rendered(text, show, _parser(has_links=False)), tags=_TAGS, attributes=_ATTRIBUTES
    )


def linked_html(text: str, show: Show) -> str:
    """The same with links to http, https and mailto; `show` may put `mark`, `sup` and `<span id>` around its text."""
    return nh3.clean(
        _rendered(text, show, _parser(has_links=True)),
        tags=_TAGS | {"a", "mark", "sup"},
        attributes=_OF_PAGES,
        attribute_filter=_leads_outside,
        url_schemes=_SCHEMES,
        link_rel="noopener noreferrer",
    )


def _leads_outside(_: str, name: str, value: str) -> str | None:
    """The value of an attribute; None for links to files of the repository, which do not work on the page."""
    return value if name != "href" or value.partition(":")[0].strip().lower() in _SCHEMES else None


def _rendered(text: str, show: Show, parser: MarkdownIt) -> str:
    tokens = parser.parse(text)
    places = _Places(text, show)
    levels = sorted({token.tag for token in tokens if token.type == "heading_open"})
    for token in tokens:
        if token.map:
            places.enter(*token.map)
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, levels.index(token.tag) + 4)}"
        for part in [token, *_with_targets(token.children or ())]:
            if part.type in ("text", "code_inline", "fence", "code_block"):
                part.meta["html"] = "".join(places.spans(part.content))
    return str(parser.renderer.render(tokens, parser.options, {}))


@cache
def _parser(*, has_links: bool) -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    for kind, rule in _RULES.items():
        if not (has_links and kind.startswith("link")):
            parser.add_render_rule(kind, rule)
    return parser


def _with_targets(tokens: Iterable[Token]) -> Iterator[Token]:
    """The tokens, with the link target added at the end of a link, unless its text is the target."""
    link: Token | None = None
    for token in tokens:
        if token.type == "link_open":
            link = token
        elif token.type == "link_close" and link and link.markup != "autolink":
            token.meta["target"] = link.attrGet("href")
        yield token


class _Places:
    """Finds the positions of text pieces in order."""

    def __init__(self, text: str, show: Show) -> None:
        self.text = text
        self.show = show
        self.at = 0
        self.end = len(text)
        self.lines = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]

    def enter(self, first: int, last: int) -> None:
        """Continues at a block with the lines from `first` to `last`."""
        self.at = max(self.at, self.lines[min(first, len(self.lines) - 1)])
        self.end = self.lines[min(last, len(self.lines) - 1)]

    def spans(self, content: str) -> Iterator[str]:
        """The content as HTML, line by line; a line that is spelled differently, word by word."""
        for line in content.splitlines(keepends=True):
            span = self._span(line)
            if span is not None:
                yield span
                continue
            for word in _WORDS.split(line):
                placed = self._span(word)
                yield escape(word) if placed is None else placed

    def _span(self, piece: str) -> str | None:
        """The HTML of a piece, which may be ""; None where the source has no such text."""
        start = (
            self.text.find(piece, self.at, min(self.end, self.at + len(piece) + _AHEAD))
            if piece.strip()
            else -1
        )
        if start < 0:
            return None
        self.at = start + len(piece)
        return self.show(start, piece)


def _placed(_: RendererHTML, tokens: Sequence[Token], index: int, *__: Any) -> str:
    return str(tokens[index].meta["html"])


def _code(renderer: RendererHTML, tokens: Sequence[Token], index: int, *_: Any) -> str:
    return f"<code>{_placed(renderer, tokens, index)}</code>"


def _block(renderer: RendererHTML, tokens: Sequence[Token], index: int, *_: Any) -> str:
    return f"<pre>{_code(renderer, tokens, index)}</pre>\n"


def _target(_: RendererHTML, tokens: Sequence[Token], index: int, *__: Any) -> str:
    target = tokens[index].meta.get("target")
    return f'<span class="aside"> ({escape(target)})</span>' if target else ""


_RULES: dict[str, Callable[..., str]] = {
    "text": _placed,
    "code_inline": _code,
    "fence": _block,
    "code_block": _block,
    "image": lambda _, tokens, index, *__: (
        f'<span class="aside">[image: {escape(tokens[index].content)}]</span>'
    ),
    "link_open": lambda *_: "",
    "link_close": _target,
}
