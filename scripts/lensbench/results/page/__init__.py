"""The page: report.html and the pages of pairs."""
