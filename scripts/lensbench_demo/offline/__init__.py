"""An agent without a language model: it searches a workspace for a prompt and quotes what it finds.

`python -P -m lensbench_demo.offline --prompt-file F --workspace DIR` behaves like the command line of an agent:
events as JSON lines on standard output, own Glob, Grep and Read tools, MCP servers from an `mcpServers` file.
Everything is decided by counting words, so the same prompt, workspace, tools and seed give the same answer, byte for
byte. Its MCP client, and how it reads a prompt and a workspace, are those of the preflight (`agents.mcp`).
"""
