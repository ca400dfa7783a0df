# Thin: every target calls what the README shows.
PYTHON ?= python3
BIN := .venv/bin
ON_PATH := to have the command in this shell: export PATH="$(CURDIR)/.venv/bin:$$PATH"; lensbench --help
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Many containers set it. Each of our many processes would then compile all its modules.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: setup dev slurm image run new test test-rest test-all newest selftest agents agents-newest lint bench bench-peers soak fuzz docs lock

setup: .venv/ready
	@echo '$(ON_PATH)'

# What only tests, lint and benchmarks need: twice the size of what a run needs.
dev: .venv/dev

# Snakemake's Slurm executor, in an environment of its own: merely installed, it slows every start (docs/clusters.md).
slurm: .venv-slurm/ready

.venv/ready: requirements.lock
.venv-slurm/ready: requirements.lock requirements-slurm.lock
.venv/ready .venv-slurm/ready: pyproject.toml tools/install.sh requirements-uv.lock
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("lensbench needs Python 3.11 or newer: make PYTHON=python3.12 run")'
	@tools/install.sh $(PYTHON) $(@D) $(filter-out requirements-uv.lock,$(filter %.lock,$^))
	@$(@D)/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@$(@D)/bin/python -m compileall -q scripts  # a sandbox cannot write there, and every run would compile its modules
	@$(@D)/bin/python -m pip check  # a lock without what one of its packages imports ends here
	@touch $@

.venv/dev: requirements-dev.lock .venv/ready
	@tools/install.sh $(PYTHON) .venv $<
	@touch $@

run: .venv/ready
	$(BIN)/snakemake --cores 4 $(ARGS)
	@echo '$(ON_PATH)'

# The image `lensbench`; AGENTS="<npm name> ..." adds agents, ARGS="--build-arg BASE=..." another base (docs/installing.md).
image:
	$(or $(shell command -v podman),docker) build --file Containerfile --build-arg AGENTS="$(AGENTS)" \
	    --build-arg COMMIT="$(shell git describe --always --dirty --tags --abbrev=40)" --tag lensbench $(ARGS) .

# A config, an MCP file, a trial and a price for your own server (docs/tutorial.md).
new: setup
	@$(BIN)/lensbench init $(ARGS)

# Every fast test, and the few slow ones that show that the product does its job on this machine: the demo with a kill in
# its middle, a change task, a page in a browser. A test that lacks something of the machine says so and is skipped.
FAST := not (workflow or browser or live or fuzz or slow)
# What fails beside other tests is tried once more, alone: a busy machine is no defect.
ALONE = || { [ $$? = 1 ] && $(BIN)/python -m pytest -n 0 --last-failed --last-failed-no-failures none $(ARGS); }

test: dev
	$(BIN)/python -m pytest -m "job or $(FAST)" $(ARGS) $(ALONE)

# The rest: Snakemake in every state, real agents, Slurm, browsers, tutorials, the soak.
test-rest: dev
	$(BIN)/python -m pytest -m "not (job or $(FAST))" $(ARGS) $(ALONE)

test-all: dev
	$(BIN)/python -m pytest $(ARGS) $(ALONE)

# What rests on Snakemake, with its newest version 9 beside the pinned one, which `make test-rest` asks.
PINNED = $(shell sed -n 's/^snakemake==\([^ ]*\).*/\1/p' requirements.lock)
newest: dev
	@rm -rf .cache/newest
	$(BIN)/pip install --quiet --no-deps --target .cache/newest 'snakemake>=9.27,<10' || echo "no package index"
	@test -d .cache/newest/snakemake-$(PINNED).dist-info && echo "the newest Snakemake is the pinned one" || \
	PYTHONPATH=.cache/newest $(BIN)/python -m pytest $(patsubst %,tests/pipeline/test_%.py,snakemake_inside executor as_module stopping) -k 'not stopping or second_snakemake'

# Proves the pipeline on benchmarks whose outcome is known (docs/testing.md).
selftest: setup
	$(BIN)/python -P -m lensbench_demo.selftest $(ARGS)

# The agents that the live tests drive, pinned. `npm ci` would insist on programs for other platforms. Those that only speak
# the Agent Client Protocol come without the programs that are there already.
agents:
	npm install --prefix tools/agents --no-save --no-audit --no-fund
	npm install --prefix tools/agents/acp --no-save --omit=optional --no-audit --no-fund

# Their live tests with the newest versions: what changed belongs into docs/agents.md.
LIVE_AGENTS := @anthropic-ai/claude-code @google/gemini-cli @openai/codex opencode-ai
LIVE_TESTS := agents/test_claude_code_live.py agents/test_other_clis_live.py agents/test_acp.py \
    pipeline/test_live_ladder.py::test_all_rungs_make_a_change_that_tests_judge_and_differ_in_what_they_state
ACP_AGENTS := @agentclientprotocol/claude-agent-acp @agentclientprotocol/codex-acp @qwen-code/qwen-code
agents-newest: dev
	@mkdir -p .cache/agents-newest/acp && cp tools/agents/package.json .cache/agents-newest && cp tools/agents/acp/package.json .cache/agents-newest/acp
	npm install --prefix .cache/agents-newest --save-exact --no-audit --no-fund $(addsuffix @latest,$(LIVE_AGENTS))
	npm install --prefix .cache/agents-newest/acp --save-exact --omit=optional --no-audit --no-fund $(addsuffix @latest,$(ACP_AGENTS))
	TEST_AGENTS=.cache/agents-newest $(BIN)/python -m pytest $(addprefix tests/,$(LIVE_TESTS)) $(ARGS)

lint: dev
	$(BIN)/ruff format --check scripts tests benchmarks tools .ci
	$(BIN)/ruff check scripts tests benchmarks tools .ci
	$(BIN)/snakefmt --check Snakefile rules
	$(BIN)/mypy
	$(BIN)/python .ci/lint_workflow.py
	$(BIN)/python tools/rooms.py

# Injects faults at random; nothing may be lost, doubled or wrongly counted (docs/testing.md).
soak: setup
	$(BIN)/python benchmarks/soak.py $(ARGS)

bench: setup
	$(BIN)/python benchmarks/null_runs.py $(ARGS)

# Beside Inspect AI and promptfoo, which are installed into .cache/peers (docs/peers.md).
bench-peers: dev
	$(BIN)/python benchmarks/peers.py $(ARGS)

# Coverage-guided: atheris brings libFuzzer for Linux, which nothing but this needs.
fuzz: setup
	@test -d .cache/fuzz/lib || $(BIN)/pip install --quiet --no-deps --target .cache/fuzz/lib atheris==3.0.0
	PYTHONPATH=.cache/fuzz/lib $(BIN)/python benchmarks/fuzz.py $(ARGS)

# The site, of which everything is checked: site/index.html. Sphinx has an environment of its own, as nothing else needs it.
docs: dev .venv-docs/ready
	$(BIN)/python tools/docs/build.py $(ARGS)

.venv-docs/ready: requirements-docs.lock
	@tools/install.sh $(PYTHON) .venv-docs $<
	@touch $@

# The lock files: every package with its hashes, for Python 3.11 and newer, on any platform; for Slurm with all that it
# imports, which is more than what a run needs (pandas).
lock:
	$(PYTHON) -m venv .cache/lock
	.cache/lock/bin/pip install --quiet uv
	echo uv | .cache/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --no-annotate --no-header --output-file requirements-uv.lock -
	.cache/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --no-annotate --no-header pyproject.toml --extra archive --extra cluster --extra demo --group build --output-file requirements.lock
	.cache/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --no-annotate --no-header --group dev --constraint requirements.lock --output-file requirements-dev.lock
	.cache/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --no-annotate --no-header --group docs --output-file requirements-docs.lock
	printf '%s\n' snakemake-executor-plugin-slurm snakemake-executor-plugin-slurm-jobstep | .cache/lock/bin/uv pip compile \
	    --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header \
	    --constraint requirements.lock --output-file requirements-slurm.lock -
