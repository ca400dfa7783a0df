"""What several readers of a report look for in its text."""

from __future__ import annotations

import re

HEAD = 160
"""A heading or a field's name stands in the first characters of its line; no more of it is looked at."""
HEADING = re.compile(r"(#{1,6})\s+(.*)")
BULLET = re.compile(r"(?:[-*+•‣◦\u2013]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
SPACED_REMARK = re.compile(r"(?<=[\s`*\"'])\([^()]*\)")
DESCRIPTION = re.compile(r"\s[-\u2013—]\s|:\s")
QUOTES = "`*\"'“”\u2018\u2019"
