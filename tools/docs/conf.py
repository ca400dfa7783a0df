"""Sphinx configuration for the Markdown staged by build.py; pages load nothing from the network."""

project = "lensbench"
root_doc = "docs/index"
exclude_patterns = ["extra"]
extensions = ["myst_parser"]
myst_heading_anchors = 4
highlight_language = "none"
html_theme = "furo"
html_title = "lensbench"
html_copy_source = False
html_show_copyright = False
