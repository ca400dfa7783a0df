"""Each known test runner, installed from its package index, proves the fix of a small project by the ids of its tests."""

import json
import os
import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest

from lensbench.agents.sandbox import find_sandbox
from lensbench.changes.task import ChangeTask
from lensbench.plan.task_files import read_scenarios
from lensbench_tasks.changes.proof import prove
from lensbench_tasks.generate import main
from programs import run_here
from stock import commit, git

SANDBOX = find_sandbox({"mode": "auto", "visible": [], "hidden": []})
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not SANDBOX.program, reason="no bubblewrap"),
]

SUM = "exports.sum = (a, b) => a - b;\n"
JS = "const { sum } = require('../sum');\n"
CHECK = f"const assert = require('assert');\n{JS}"
GO = 'package sums\n\nimport "testing"\n\n{}\nfunc TestZero(t *testing.T) {{\n\tt.Run("", func(t *testing.T) {{}})\n\tt.Run("", func(t *testing.T) {{}})\n}}\n'
TWO = "func TestTwo(t *testing.T) {\n\tif Sum(1, 2) != 3 {\n\t\tt.Fatal(1)\n\t}\n}\n"
RUST = "#[test]\nfn two() {{ assert_eq!(sums::sum(1, 2), 3); }}\nmod more {{ #[test] fn zero() {{ assert_eq!(sums::{}(1, 0), 1); }} }}\n"


def node(runner: str, *packages: str) -> dict[str, str]:
    package = {
        "name": "sums",
        "scripts": {"test": runner},
        "devDependencies": dict.fromkeys((runner, *packages), "*"),
    }
    return {"package.json": json.dumps(package), "sum.js": SUM}


@pytest.mark.parametrize(
    ("program", "project", "tests", "failing", "passing"),
    [
        pytest.param(
            "npm",
            node("jest"),
            {
                "test/sum.test.js": JS + "describe('sum', () => { describe('of', () => {"
                "test('two', () => { expect(sum(1, 2)).toBe(3); }); }); });\ntest('zero', () => { expect(sum(1, 0)).toBe(1); });\n"
            },
            "test/sum.test.js::sum > of > two",
            "test/sum.test.js::zero",
            id="jest",
        ),
        pytest.param(
            "npm",
            node("vitest"),
            {
                "test/sum.test.mjs": "import { test, expect, describe } from 'vitest';\n"
                "import { sum } from '../sum.js';\ndescribe('sum', () => { test('two', () => { expect(sum(1, 2)).toBe(3); }); });\n"
                "test('zero', () => { expect(sum(1, 0)).toBe(1); });\n"
            },
            "test/sum.test.mjs::sum > two",
            "test/sum.test.mjs::zero",
            id="vitest",
        ),
        pytest.param(
            "npm",
            node("mocha"),
            {
                "test/sum.js": CHECK + "describe('sum', () => { it('two', () => {"
                "assert.equal(sum(1, 2), 3); }); });\nit('zero', () => { assert.equal(sum(1, 0), 1); });\n"
            },
            "test/sum.js::sum > two",
            "test/sum.js::zero",
            id="mocha",
        ),
        pytest.param(
            "npm",
            node("ava"),
            {
                "test/sum.js": f"const test = require('ava');\n{JS}"
                "test('two', t => { t.is(sum(1, 2), 3); });\ntest('zero', t => { t.is(sum(1, 0), 1); });\n"
            },
            "test/sum.js::two",
            "test/sum.js::zero",
            id="ava",
        ),
        pytest.param(
            "npm",
            node("tap"),
            {
                "test/sum.js": f"const t = require('tap');\n{JS}"
                "t.test('two', t => { t.equal(sum(1, 2), 3); t.end(); });\nt.test('zero', t => { t.equal(sum(1, 0), 1, 'one'); t.end(); });\n"
            },
            "test/sum.js::two",
            "test/sum.js::zero",
            id="tap",
        ),
        pytest.param(
            "python3",
            {
                "go.mod": "module example.invalid/sums\n\ngo 1.20\n",
                "sums.go": "package sums\n\nfunc Sum(a, b int) int { return a - b }\n",
                "sums_test.go": GO.format(""),
            },
            {"sums_test.go": GO.format(TWO)},
            "sums_test.go::TestTwo",
            "sums_test.go::TestZero/",
            id="go",
        ),
        pytest.param(
            "cargo",
            {
                "Cargo.toml": '[package]\nname = "sums"\nversion = "0.1.0"\nedition = "2021"\n',
                "src/lib.rs": "pub fn sum(a: i32, b: i32) -> i32 { a - b }\n",
            },
            {"tests/sums.rs": RUST.format("sum")},
            "tests/sums.rs::two",
            "tests/sums.rs::more::zero",
            id="cargo",
        ),
    ],
)
def test_a_runner_s_tests_prove_a_fix(
    program: str,
    project: dict[str, str],
    tests: dict[str, str],
    failing: str,
    passing: str,
    tmp_path: Path,
    environments: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not shutil.which(program):
        pytest.skip(f"no {program}")
    options: list[str] = []
    if program == "cargo":  # rustup installs in the home folder, which is hidden
        root = subprocess.run(
            ["rustc", "--print", "sysroot"], capture_output=True, text=True
        ).stdout.strip()
        if not root:
            pytest.skip("no Rust in this home folder")
        monkeypatch.setenv("PATH", f"{root}/bin", prepend=os.pathsep)
        conditions = {"without": {}, "with": {"agent": {"max_turns": 1}}}
        config = {
            "run_id": "r",
            "scenarios": "sums.yaml",
            "conditions": conditions,
            "sandbox_visible": [root],
        }
        (tmp_path / "config.yaml").write_text(json.dumps(config))
        options = ["--configfile", "config.yaml"]
    git(tmp_path, "init", "--quiet", "--initial-branch=main", "sums")
    folder = tmp_path / "sums"
    fixed = {
        path: text.replace("a - b", "a + b") for path, text in project.items() if "a - b" in text
    }
    commit(folder, "start", project)
    commit(folder, "Fix the sum: it subtracted", {**fixed, **tests})
    monkeypatch.chdir(tmp_path)
    Path(".cache/repositories").mkdir(parents=True)
    Path(".cache/repositories/environments").symlink_to(environments)
    given = ("--kind", "change", "--repo", "sums", "--count", 1, "--timeout", 300, *options)
    monkeypatch.setattr("lensbench_tasks.changes.candidates.prove", partial(prove, rounds=1))
    run_here(main, *given, "--output", "sums.yaml")
    (task,) = read_scenarios(["sums.yaml"]).tasks
    assert isinstance(task, ChangeTask)
    assert failing in task.tests.fail_to_pass
    assert passing in task.tests.pass_to_pass
