"""An agent without a language model: it searches a workspace for a prompt and quotes what it finds.

`python -P -m lensbench.agents.offline --prompt-file F --workspace DIR` behaves like the command line of an agent:
events as JSON lines on standard output, own Glob, Grep and Read tools, MCP servers from an `mcpServers` file.
Everything is decided by counting words, so the same prompt, workspace, tools and seed give the same answer, byte for
byte.

    question.py   the prompt -> weighted search terms, and what kind of question it is
    workspace.py  the files that may be seen, and where terms occur in them
    ranking.py    which files are worth reading
    outline.py    a file -> its definitions and paragraphs
    passages.py   which of them, and which of their lines, speak of the question
    references.py who imports a file, where a name is defined and used
    servers.py    the MCP client
    mcp_tools.py  what an unknown MCP tool is good for, and which files its result speaks of
    toolbox.py    every tool call: counted, limited, told as an event
    agent.py      the order in which all this happens
    answer.py     the text
"""
