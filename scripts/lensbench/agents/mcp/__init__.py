"""The MCP client, and how to call an unknown tool about a workspace: its purpose, what to ask, files it may name."""
