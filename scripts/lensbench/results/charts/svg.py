"""Charts as pieces of a page: a Vega-Lite specification becomes one inline SVG that follows the page's colours."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from typing import Any, NamedTuple

from markupsafe import Markup

Spec = dict[str, Any]

_SVG = "http://www.w3.org/2000/svg"
_HREF = "{http://www.w3.org/1999/xlink}href"
_HERE = "https://here.invalid/"
"""Vega puts an address of its own before relative links; before this one it puts nothing, and it is taken off again."""
_DEFAULTS = {"opacity": "1", "stroke-width": "1", "font-family": "sans-serif", "display": "none"}
_NOISE = {"class", "role", "pointer-events", "stroke-miterlimit", "version"}


class Chart(NamedTuple):
    """A chart, and what it shows in words for people who do not see it."""

    spec: Spec
    title: str
    description: str


def link(address: str) -> str:
    """A relative address, as a chart's data must hold it."""
    return f"{_HERE}{address}"


def draw(chart: Chart, name: str, kind: str = "") -> Markup:
    """The chart as an SVG element. `name` must be the only one of its kind on the page; `kind` is a CSS class."""
    import vl_convert

    ElementTree.register_namespace("", _SVG)
    root = ElementTree.fromstring(vl_convert.vegalite_to_svg(_printable(chart.spec), allowed_base_urls=[]))
    _slim(root)
    width, height = root.get("width", ""), root.get("height", "")
    shapes = "".join(ElementTree.tostring(child, encoding="unicode") for child in root)
    shapes = shapes.replace(f' xmlns="{_SVG}"', "")
    return Markup(
        '<svg class="{kind}" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
        'aria-labelledby="{name}-title {name}-desc"><title id="{name}-title">{title}</title>'
        '<desc id="{name}-desc">{description}</desc>{shapes}</svg>'
    ).format(
        kind=kind, width=width, height=height, name=name, title=_printable(chart.title),
        description=_printable(chart.description), shapes=Markup(shapes),
    )  # fmt: skip


def _printable(value: Any) -> Any:
    """The data without characters that XML cannot hold; on a NUL the renderer would take the whole process down."""
    if isinstance(value, str):
        return "".join(character if character.isprintable() else "\ufffd" for character in value)
    if isinstance(value, dict):
        return {key: _printable(item) for key, item in value.items()}
    return [_printable(item) for item in value] if isinstance(value, list) else value


def _slim(element: ElementTree.Element) -> None:
    """Takes away what has no effect, which is half of the bytes, and makes links relative again."""
    for child in list(element):
        _slim(child)
        empty = child.tag == f"{{{_SVG}}}g" and not len(child)
        if empty or child.get("class") in ("background", "foreground") or child.get("display") == "none":
            element.remove(child)
    for name, value in list(element.attrib.items()):
        if name in _NOISE or name.startswith("aria-") or _DEFAULTS.get(name) == value:
            del element.attrib[name]
    if address := element.attrib.pop(_HREF, None):
        element.set("href", address.removeprefix(_HERE))
        element.set("tabindex", "-1")  # the table below a chart has the same links, one per row
