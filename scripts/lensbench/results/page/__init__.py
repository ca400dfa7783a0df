"""report.html and the pages of pairs and runs."""
