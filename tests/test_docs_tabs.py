"""Blocks with a name, in a row, become tabs on the site."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tools" / "docs"))

from tabs import in_both_colours, tabbed

ONE = "**Codex**\n\n```yaml\na: 1\n```\n"


def test_named_blocks_in_a_row_are_tabs_and_the_rest_stays() -> None:
    page = f"Text.\n\n{ONE}\n**Gemini CLI**\n\n```yaml\nb: 2\n```\n\nMore.\n"
    assert tabbed(page) == (
        "Text.\n\n````{tab} Codex\n```yaml\na: 1\n```\n````\n\n"
        "````{tab} Gemini CLI\n```yaml\nb: 2\n```\n````\n\nMore.\n"
    )


def test_one_named_block_is_no_tab() -> None:
    assert tabbed(f"{ONE}\nMore.\n") == f"{ONE}\nMore.\n"


def test_a_picture_in_two_colours_is_two_pictures_of_the_site() -> None:
    shown = '<picture><source srcset="a/b-dark.png"><img src="a/b.png" alt="A b"></picture>'
    assert in_both_colours(f"Text.\n{shown}\n") == (
        "Text.\n![A b](a/b.png){.only-light} ![A b](a/b-dark.png){.only-dark}\n"
    )
