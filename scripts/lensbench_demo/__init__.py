"""What a first benchmark works with, offline: an agent without a model, an MCP server, and the self-test.

Its contract with the engine is an adapter, and an MCP file.
"""

VERBS = {
    "Check and maintain": {
        "selftest": ("lensbench_demo.selftest", "check lensbench itself on benchmarks whose outcome is known"),
        "lens": ("lensbench_demo.lens", "serve a folder with the built-in MCP server"),
    }
}
"""Group -> verb -> its module, and its line in the overview; an entry point of `lensbench.verbs`."""
