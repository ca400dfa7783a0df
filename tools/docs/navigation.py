"""The navigation, from the lists of links in docs/index.md: a page for each heading, so that the sidebar folds."""

from __future__ import annotations

import re

SECTION = re.compile(r"^## (.+)\n((?:\n|- .*\n?)+)", re.MULTILINE)
LINK = re.compile(r"\[(.+?)\]\((.+?)\.md\)")
FIRST_SCREEN = re.compile(r"\A# lensbench\n(.+?)(?=^## Your own server)", re.MULTILINE | re.DOTALL)


def section_pages(index: str) -> dict[str, str]:
    """A page for each section of the index, by its name: the list of links, and the same for the sidebar."""
    return {
        _name(title): f"# {title}\n{body}\n{_toctree(LINK.findall(body))}"
        for title, body in SECTION.findall(index)
    }


def home_page(index: str, readme: str) -> str:
    """The first screen of README, then the index without its lists, with the sections below it in the sidebar."""
    screen = FIRST_SCREEN.findall(readme)[0]
    screen = re.sub(r"\]\(docs/", "](", screen)
    screen = re.sub(r"\]\((?=[A-Z]|examples/)", "](../", screen)
    doors = SECTION.sub("", index.partition("\n")[2])
    titles = [title for title, _ in SECTION.findall(index)]
    parts = [f"- [{title}]({_name(title)}.md)" for title in titles]
    tree = _toctree([(title, _name(title)) for title in titles])
    return "\n".join(
        ["# lensbench", doors, "## The first minute", screen, "## All pages", "", *parts, "", tree]
    )


def _name(title: str) -> str:
    return f"all-{title.lower().replace(' ', '-')}"


def _toctree(links: list[tuple[str, str]]) -> str:
    names = [f"{text} <{re.sub(r'^../', '/', page)}>" for text, page in links]
    return "\n".join(["```{toctree}", ":hidden:", "", *names, "```", ""])
