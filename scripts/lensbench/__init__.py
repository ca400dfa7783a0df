"""lensbench: does an MCP server help a coding agent? Paired runs WITH and WITHOUT it, scored and compared."""

__version__ = "0.1.0"
