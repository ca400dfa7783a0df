"""The first hour: a config for a server and its trial, a look at single answers, checks of the machine, the pages, the
/benchmark skill; an agent without a model, an MCP server, and the self-test.

Its contract with the engine is an adapter, and an MCP file.
"""

VERBS = {
    "Begin": {
        "init": (
            "lensbench_demo.setup",
            "write a config for your own MCP server, try it, and estimate the price",
        ),
    },
    "Run": {
        "ask": ("lensbench_demo.ask", "ask one question with and without the server, side by side"),
    },
    "Check and maintain": {
        "docs": ("lensbench_demo.docs", "print a page of the documentation"),
        "doctor": ("lensbench_demo.doctor", "check machine, agents, keys, servers and config"),
        "agent-check": (
            "lensbench_demo.agent_check",
            "show which facts a result with an agent can have, by two short starts of it",
        ),
        "selftest": (
            "lensbench_demo.selftest",
            "check lensbench itself on benchmarks whose outcome is known",
        ),
        "lens": ("lensbench_demo.lens", "serve a folder with the built-in MCP server"),
    },
    "": {
        "skill": (
            "lensbench_demo.skill",
            "run a benchmark of the current repository in the background",
        ),
    },
}
"""Group -> verb -> its module, and its line in the overview."""
