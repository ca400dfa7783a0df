"""The MCP server of this project: one tool, which lists the files that import a Python file. It has no dependencies."""

import ast
import json
import sys
from pathlib import Path, PurePosixPath

ROOT = Path(sys.argv[1])
TOOL = {
    "name": "importers",
    "description": "The files that import a Python file, with imports resolved.",
    "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
}


def importers(path: str) -> list[str]:
    files = (each.relative_to(ROOT).as_posix() for each in sorted(ROOT.rglob("*.py")))
    return [each for each in files if each != path and module(path) in imported(each)]


def module(path: str) -> str:
    return path.removeprefix("src/").removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def imported(path: str) -> set[str]:
    """The modules that a file imports; of `from a import b` both a and a.b, as b may be a module."""
    own = module(path).split(".")
    package = own if PurePosixPath(path).name == "__init__.py" else own[:-1]
    found = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            found |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    return found


def answer(method: str, given: dict) -> dict | None:
    if method == "initialize":
        about = {"name": "importers", "version": "1"}
        return {"protocolVersion": given["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/call":
        path = given["arguments"]["path"]
        found = json.dumps({"path": path, "importers": importers(path)})
        return {"content": [{"type": "text", "text": found}]}
    return {"tools/list": {"tools": [TOOL]}, "ping": {}}.get(method)


for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:  # else it is a notification
        result = answer(asked["method"], asked.get("params", {}))
        told = {"result": result} if result is not None else {"error": {"code": -32601, "message": "no such method"}}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **told}), flush=True)
