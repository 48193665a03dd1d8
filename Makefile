# make report | make test | make check      (each sets up what it needs; a second call is quick)
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STUDY ?= captures/rmsnorm-4x512-bf16
OUT ?= reports/rmsnorm-4x512-bf16

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: report reports test check format docs calibrate bench clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV) || ($(PYTHON) -m pip install --user virtualenv && $(PYTHON) -m virtualenv $(VENV))

$(VENV)/.core: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[torch,dev]"
	@touch $@ $(VENV)/.core

report: $(VENV)/.core
	$(BIN)/roofline report $(STUDY) -o $(OUT)

reports: $(VENV)/.core
	@for study in captures/*/study.toml; do \
	  name=$$(basename $$(dirname $$study)); \
	  $(BIN)/roofline report captures/$$name -o reports/$$name || exit 1; \
	done

docs: $(VENV)/.dev
	$(BIN)/mkdocs build --strict

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n auto -q

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

calibrate: $(VENV)/.core
	$(BIN)/roofline validate captures/published/tilebench_trn2.csv --calibrate -o hw_models/trn2.toml \
	  --carry hw_models/trn1.toml --carry hw_models/inf2.toml --carry hw_models/trn3.toml
	$(BIN)/roofline validate captures/published/tilebench_trn2.csv --leave-one-out \
	  -o docs/accuracy.md >/dev/null
	$(BIN)/roofline sweep rmsnorm --rows 2048 --cols 512:9728:+512 --dtype bf16,fp16,fp32 \
	  --variant fused,nki --measured captures/published/tilebench_trn2.csv \
	  --plot docs/figures/rmsnorm-2048.svg >/dev/null

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache
