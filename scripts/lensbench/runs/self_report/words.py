"""Patterns that several parsers of reports share."""

import re

HEAD = 160
"""How many characters of a line are searched for a heading or a field's name."""
HEADING = re.compile(r"(#{1,6})\s+(.*)")
BULLET = re.compile(r"(?:[-*+•‣◦\u2013]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
SPACED_REMARK = re.compile(r"(?<=[\s`*\"'])\([^()]*\)")
DESCRIPTION = re.compile(r"\s[-\u2013—]\s|:\s")
QUOTES = "`*\"'“”\u2018\u2019"
