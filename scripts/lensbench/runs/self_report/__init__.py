"""Reading the report in an answer: where it stands (sections), its fields' values, and the paths that it names."""
