"""An agent that asks a service some times and then answers: one 429 ends it.

python -I fakes/asking_agent.py <mcp file> <host:port> <requests>
"""

import http.client
import json
import sys
from pathlib import Path


def say(**event: object) -> None:
    print(json.dumps(event), flush=True)


def refused(address: str) -> bool:
    connection = http.client.HTTPConnection(address, timeout=30)
    connection.request("GET", "/")
    return connection.getresponse().status == 429


MCP, ADDRESS, *COUNTS = sys.argv[1:]
SERVERS = sorted(json.loads(Path(MCP).read_text(encoding="utf-8"))["mcpServers"])
REQUESTS = int(COUNTS[0 if SERVERS else 1])
say(
    type="start",
    agent="asking",
    version="1",
    model="fake-1",
    tools=[f"mcp__{server}__search" for server in SERVERS],
    mcp_servers=[{"name": server, "status": "connected"} for server in SERVERS],
)
for _ in range(REQUESTS):
    if refused(ADDRESS):
        say(type="end", turns=1, is_error=True, error="too many requests", status=429)
        sys.exit()
say(type="answer", text="The class `Cart` is in shop.py.\n")
say(type="end", turns=REQUESTS, is_error=False)
