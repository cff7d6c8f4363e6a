# What is needed: Python 3.11 or newer, and make. Everything else goes into .venv.
#   make run                         the dashboard; make run ARGS="--server.port 8600"
#   make test                        all checks;    make test ARGS="-k seam"
#   make run PYTHON=/path/to/python  where python3 is an older one

PYTHON ?=
ARGS ?=
PY := .venv/bin/python

.PHONY: run test lint format bench clean chromium

run: .venv/run.stamp
	@$(PY) -m analysis.default_model || { test $$? -eq 1 && echo "The dashboard starts without it."; }
	@$(PY) -m pages.shared.serve $(ARGS)

test: lint chromium
	@$(PY) -m analysis.default_model
	$(PY) -m pytest -n 2 --dist loadfile --no-loadscope-reorder $(ARGS)

lint: .venv/test.stamp
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy analysis

format: .venv/test.stamp
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

bench: .venv/test.stamp
	$(PY) -m benchmarks $(ARGS)

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A browser for the tests: one on the path, Debian's, or Playwright's own.
chromium: .venv/test.stamp
	@for name in chromium chromium-browser google-chrome google-chrome-stable; do \
	  if command -v $$name >/dev/null; then exit 0; fi; \
	done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium && exit 0; \
	fi; \
	$(PY) -m playwright install chromium && exit 0; \
	echo "The browser tests need Chromium or Chrome on the path: install it (Debian: apt-get install chromium)" \
	  "and run make test again." >&2; \
	exit 1

# A virtual environment whose Python is gone (moved, or upgraded by the system) is made anew.
ifeq ($(wildcard $(PY)),)
.PHONY: .venv/run.stamp
endif

.venv/run.stamp: requirements.txt
	@python="$(PYTHON)"; \
	for name in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	  if [ -z "$$python" ] && $$name -c "import sys; sys.exit(sys.version_info < (3, 11))" 2>/dev/null; then python=$$name; fi; \
	done; \
	if ! "$${python:-false}" -c "import sys; sys.exit(sys.version_info < (3, 11))"; then \
	  echo "Python 3.11 or newer is needed: install it, or name one with make PYTHON=/path/to/python." >&2; exit 1; \
	fi; \
	if ! "$$python" -c "import ensurepip, venv" 2>/dev/null; then \
	  echo "$$python cannot make virtual environments: install its venv module (Debian, Ubuntu: apt-get install python3-venv)." >&2; exit 1; \
	fi; \
	if [ ! -x $(PY) ]; then "$$python" -m venv --clear .venv; fi
	$(PY) -m pip install --disable-pip-version-check -r requirements.txt
	@touch $@

.venv/test.stamp: requirements-dev.txt .venv/run.stamp
	$(PY) -m pip install --disable-pip-version-check -r requirements-dev.txt
	@touch $@
