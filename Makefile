# What people call. A machine needs Python 3.11 to 3.14 and make; the rest is set up here, in .venv beside this file.

.DEFAULT_GOAL := help
.PHONY: help run test faults fuzz bench setup setup-dev check lock clean

# Taken as it was typed: a folder's name may hold a dollar sign, and reaches the shell only through the environment.
override FOLDER := $(value FOLDER)
override OUT := $(value OUT)
export FOLDER OUT
# What is run is this checkout, whatever else is installed.
export PYTHONPATH := $(CURDIR)
python := .venv/bin/python

help:
	@echo "make run                 open the window (without a display: work through a sample batch in the terminal)"
	@echo "make run FOLDER=...      open it on that folder and start (without a display: in the terminal)"
	@echo "make test                run every test; ARGS=... goes to pytest"
	@echo "make faults              inject every fault of the matrix; SLUICEGATE_SEED=... gives the same run again"
	@echo "make fuzz                break thousands of PDFs and answers of workers; SLUICEGATE_FUZZ=5000 SLUICEGATE_SEED=1"
	@echo "make bench               measure against a bare script; FOLDER=... OUT=bench.json PAIRS=5 ARGS=--profile"
	@echo "make bench PART=start    measure something else: enumeration, fairness, export, memory, start, large, scale"
	@echo "make check               check format, lint, types and import rules"
	@echo "make setup, setup-dev    only set up .venv, for running or for the checks too"
	@echo "make lock                make the lock files agree with pyproject.toml; needs uv"
	@echo "make clean               remove .venv and every cache"

# Ending with 1 says that everything is accounted for, some of it as dead letters: the program told, and make has
# nothing to add; unless it could not even be loaded, which ends with 1 too. The trap lets the shell wait for the
# program, which stops in good order when it is interrupted.
run: setup
	@case $$FOLDER in "~"|"~/"*) FOLDER=$$HOME$${FOLDER#"~"};; esac; \
	trap : INT; \
	$(python) -m gui open $${FOLDER:+-- "$$FOLDER"} || { [ $$? -eq 1 ] && $(python) -c "import gui.command"; }

# The window's tests draw into memory, so that they need no display and disturb none.
test: setup-dev
	@QT_QPA_PLATFORM=offscreen $(python) -m pytest $(ARGS)

# Long: it kills, fills disks and waits for clocks, and does all that `make test` does only a part of. What a machine
# cannot inject is told in the table at the end.
faults: setup-dev
	@QT_QPA_PLATFORM=offscreen SLUICEGATE_KILLS=$${SLUICEGATE_KILLS:-300} $(python) -m pytest -p tests.faults.table \
		-m "fault or whole" $(ARGS)

# Broken documents through the program, and broken answers through what reads them. Its tests do a short part of it.
fuzz: setup-dev
	@$(python) -m tests.fuzz

# Nothing here judges a figure. ARGS=--help names the options of each part.
bench: setup
	@$(python) -m tests.bench $(or $(PART),throughput) $${FOLDER:+--folder "$$FOLDER"} $${OUT:+--out "$$OUT"} \
		$(if $(PAIRS),--pairs $(PAIRS)) $(ARGS)

setup:
	@sh .ci/python.sh .ci/setup.py run

setup-dev:
	@sh .ci/python.sh .ci/setup.py dev

check: setup-dev
	@echo "== Format"
	@$(python) -m ruff format --check .
	@echo "== Lint"
	@$(python) -m ruff check .
	@echo "== Types"
	@$(python) -m mypy
	@echo "== Import rules"
	@$(python) -c "from importlinter.cli import lint_imports_command; lint_imports_command()" --no-logo

# One resolution for all platforms and Pythons, wheels only: nothing is ever compiled on a user's machine. Versions
# that still fit are kept; LOCK=--upgrade takes the newest.
lock_command := uv pip compile pyproject.toml --universal --python-version 3.11 --only-binary :all: \
	--generate-hashes --no-emit-index-url --no-header --quiet

lock:
	$(lock_command) $(LOCK) --output-file requirements.lock
	$(lock_command) $(LOCK) --group dev --constraint requirements.lock --output-file requirements-dev.lock

clean:
	rm -rf .venv .mypy_cache .ruff_cache .import_linter_cache dist
	find engine gui tests -name __pycache__ -prune -exec rm -rf {} +
