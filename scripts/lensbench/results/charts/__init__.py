"""Charts, as SVG."""
