#!/usr/bin/env bash
# The /benchmark skill: finds lensbench and starts `lensbench_demo.skill` at the root of the repository. `run.sh --help`.
set -euo pipefail

skill=$(cd -P "$(dirname "${BASH_SOURCE[0]}")" && pwd)
for house in "${LENSBENCH:-}" "$skill/../../.."; do
    if [ -f "$house/scripts/lensbench_demo/skill.py" ]; then
        if [ ! -x "$house/.venv/bin/python" ]; then
            echo "error: lensbench in $house is not set up; run: make -C '$house' setup" >&2
            exit 1
        fi
        lensbench=("$house/.venv/bin/python" -P -m lensbench_demo.skill)
        break
    fi
done
if [ -z "${lensbench+found}" ]; then
    if ! command -v lensbench > /dev/null; then
        echo "error: lensbench is not found. Export LENSBENCH=<its checkout>, or install it (pip install), or make" >&2
        echo "$skill a link to .claude/skills/benchmark of its checkout." >&2
        exit 1
    fi
    lensbench=(lensbench skill)
fi

cd "$(git rev-parse --show-toplevel 2> /dev/null || pwd)"
exec "${lensbench[@]}" "$@"
