"""A small MCP server that lets an agent search and map the folder it is started in: the offline stand-in for LENS."""
