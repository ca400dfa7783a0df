"""A small MCP server to search and map the folder that it is started in: an offline substitute for LENS."""
