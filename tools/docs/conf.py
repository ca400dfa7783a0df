"""Sphinx configuration for the Markdown staged by build.py; pages load nothing from the network."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "scripts" / "lensbench" / "__init__.py"

project = "lensbench"
version = re.findall(r'__version__ = "(.+)"', PACKAGE.read_text(encoding="utf-8"))[0]
release = version
root_doc = "docs/index"
exclude_patterns = ["extra"]
extensions = ["myst_parser", "sphinx_inline_tabs"]
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline"]
highlight_language = "sh"
pygments_style = "default"
pygments_dark_style = "github-dark"
html_theme = "furo"
html_title = f"lensbench {version}"
html_favicon = "static/favicon.svg"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["copy.js"]
html_theme_options = {
    "source_view_link": "",
    "footer_icons": [
        {
            "name": "Repository",
            "url": tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"][
                "Repository"
            ],
            "html": "Repository",
            "class": "",
        }
    ],
}
html_copy_source = False
html_show_copyright = False
