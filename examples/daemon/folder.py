"""Registers a folder with the daemon, or removes it: `python3 folder.py add|remove <folder>`.

The address is read from daemon.json next to this file.
"""

import json
import sys
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

URL = json.loads(Path(__file__).with_name("daemon.json").read_text(encoding="utf-8"))["mcpServers"]["daemon"]["url"]

if __name__ == "__main__":
    command, folder = sys.argv[1:]
    address = f"{URL.removesuffix('/mcp')}/folders?{urllib.parse.urlencode({'path': folder})}"
    request = urllib.request.Request(address, method={"add": "PUT", "remove": "DELETE"}[command])
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as response:
            print(response.read().decode())
    except urllib.error.HTTPError as error:
        sys.exit(f"{command} {folder}: HTTP {error.code}")
    except OSError as error:
        sys.exit(f"{URL} does not answer ({error}); start it: python3 examples/daemon/daemon.py")
