# Every target is a thin call of the fanweave command. `make help` lists them.
SHELL   := /bin/sh
# The first Python that is new enough; machine.sh says what to do if there is none.
PYTHON  ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
             $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && exit; \
           done; echo python3)
VENV    := .venv
BIN     := $(VENV)/bin
READY   := $(VENV)/.ready
MACHINE := sh sim/runner/machine.sh
PIP     := $(BIN)/python -m pip --disable-pip-version-check
.DEFAULT_GOAL := help

# Options of the targets, such as: make sim CONFIG=fp16 SEED=7 WAVES=1
CONFIG  ?=
LOOP    ?= smollm2-sparse
TRACE   ?=
SEED    ?=
WAVES   ?=
WINDOW  ?=
FILE    ?=
SVG     ?= build/waves.svg
OUT     ?= build/verilog
TARGET  ?=
UNIT    ?=
QUICK   ?=
JSON    ?=
MINUTES ?= 10
TESTS   ?=
JOBS    ?= 2

config = $(if $(CONFIG),--config $(CONFIG))
trace  = $(if $(TRACE),--trace $(TRACE))
seed   = $(if $(SEED),--seed $(SEED))
# WAVES=1 dumps the window that the run chooses, WAVES=FROM:TO these cycles.
waves  = $(if $(filter-out 0,$(WAVES)),--waves $(if $(findstring :,$(WAVES)),$(WAVES)))

.PHONY: help setup doctor sim test verilog synth waves lint model report soak clean distclean

help: ## List the targets and their options
	@awk -F ':.*## ' '/^[a-z%-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## Create the local virtual environment (the others do it when needed) [PYTHON=]

# The marker comes last, so an interrupted set-up starts over. An environment without a working
# pip, such as one that was interrupted while it was made, is made again from nothing.
$(READY): pyproject.toml constraints.txt
	@$(MACHINE) setup $(PYTHON)
	@echo "setting up $(VENV), once; a few minutes"
	@$(PIP) --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@$(call with_dots,$(PIP) install -qq -c constraints.txt pip setuptools wheel)
	@$(call with_dots,$(PIP) install -qq --no-build-isolation -c constraints.txt -e '.[$(extras)]')
	@touch $@
	@echo "set up"

# A comma in a call would end its argument, so the list has a name.
extras = dev,fpga

# Runs a silent command with a dot every few seconds; the dots end with the shell that runs it.
with_dots = (while sleep 5 && kill -0 $$$$ 2>/dev/null; do printf '.'; done) & dots=$$!; \
	$(1); status=$$?; kill $$dots 2>/dev/null; exit $$status

doctor: ## Say what is missing and the command that brings it
	@$(MACHINE) doctor $(PYTHON)
	@if [ -e $(READY) ]; then $(BIN)/fanweave doctor; \
	else echo "  environment               MISSING   to mend: make setup"; exit 1; fi

sim: $(READY) ## A sparse trace through the RTL, then the loop; CONFIG or TRACE: the trace alone [SEED= WAVES=1|FROM:TO]
	@$(BIN)/fanweave sim ventaglio $(config) $(trace) $(seed) $(waves)
ifeq ($(CONFIG)$(TRACE),)
	@$(BIN)/fanweave system run $(LOOP)
	@$(BIN)/fanweave report
endif

test: $(READY) ## Run the test suite [TESTS=tests/sim JOBS=2]
	@mkdir -p build
	@$(BIN)/pytest -n $(JOBS) --dist loadfile -q --junitxml=build/junit.xml $(TESTS)

verilog: $(READY) ## Generate Verilog for synthesis [CONFIG= OUT=build/verilog]
	@mkdir -p $(dir $(OUT))
	@$(BIN)/fanweave verilog ventaglio $(config) -o $(OUT)

synth: $(READY) ## Area and longest path of units in all presets, or Fmax [UNIT= CONFIG= TARGET=asic|ecp5 JSON=]
	@$(BIN)/fanweave synth $(UNIT) $(config) $(if $(TARGET),--target $(TARGET)) $(if $(JSON),--json $(JSON))

waves: $(READY) ## Say how to open the newest waveform, and draw it [FILE= WINDOW=FROM:TO SVG=]
	@mkdir -p $(dir $(SVG))
	@$(BIN)/fanweave waves $(FILE) --svg $(SVG) $(if $(WINDOW),--window $(WINDOW))

lint: $(READY) ## Style, types and the layer rule
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

model: $(READY) ## Fetch the model that traces are captured from (92 MB)
	@$(BIN)/fanweave model fetch

bench-%: $(READY) ## Run a benchmark, such as bench-ventaglio [QUICK=1 SEED= JSON=]
	@$(BIN)/fanweave bench $* $(if $(filter-out 0,$(QUICK)),--quick) $(seed) $(if $(JSON),--json $(JSON))

report: $(READY) ## One page of the last results: build/report/index.html
	@$(BIN)/fanweave report

soak: $(READY) ## Random tests of all units in turn, or of one, until time is up [MINUTES=10 UNIT= CONFIG= SEED=]
	@$(BIN)/fanweave soak $(or $(UNIT),all) --minutes $(MINUTES) $(config) $(seed)

clean: ## Remove what was built (the environment and the model stay)
	@if [ -d build ]; then find build -mindepth 1 -maxdepth 1 ! -name models -exec rm -rf {} +; fi
	@rm -rf dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

distclean: clean ## Remove the environment and the model as well
	@rm -rf $(VENV) build
