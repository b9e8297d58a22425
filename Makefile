# `make tables` reproduces Johnstone & Wilson's tables. `make test` runs every check. `make fuzz MINUTES=N` searches for
# faults with random input.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/pip install --quiet --disable-pip-version-check
export PATH := $(abspath $(BIN)):$(PATH)
unexport PYTHONDONTWRITEBYTECODE
C_SOURCES := $(shell find simalloc -name '*.[ch]' -o -name meson.build) meson.build

.DELETE_ON_ERROR:
.PHONY: tables page papers notebook board test lint unit site sanitize fuzz clean

tables: out/summary.txt
	@cat $<

# Copies the page on Johnstone & Wilson from the last run of its experiment to docs.
page: out/summary.txt
	cp out/johnstone-wilson.md out/johnstone-wilson-figure-1.png docs

# Runs all experiments and writes their pages to docs.
papers: page
	$(BIN)/python -m experiments.rezaei --out docs > out/rezaei.txt
	$(BIN)/python -m experiments.ellermann --out docs > out/ellermann.txt
	$(BIN)/python -m experiments.detlefs --out out/detlefs > out/detlefs.txt
	$(BIN)/python -m experiments.gabber --out out/gabber > out/gabber.txt
	cp out/detlefs/detlefs.md out/gabber/gabber.md docs
	$(BIN)/python -m experiments.todays_programs --out docs > out/todays-programs.txt
	$(BIN)/python -m experiments.growth --out docs > out/growth.txt
	$(BIN)/python -m experiments.synthetic --out docs > out/synthetic.txt
	$(BIN)/python -m experiments.models --out docs > out/models.txt
	$(BIN)/python -m experiments.mallocs_of_today --out docs > out/mallocs-of-today.txt
	$(BIN)/python -m experiments.threads --out docs > out/threads.txt
	$(BIN)/python -m experiments.sites --out docs > out/sites-policies.txt
	$(BIN)/python -m experiments.bounds --out out/bounds > out/bounds.txt
	cp out/bounds/bounds.md out/bounds/bounds.png docs
	$(BIN)/python -m experiments.planners --out docs > out/planners.txt

# Installs and opens JupyterLab, which refuses to run as root without --allow-root.
notebook: $(VENV)/notebook
	$(BIN)/jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) notebooks

$(VENV)/notebook: $(VENV)/built
	$(PIP) --no-build-isolation --editable '.[notebook]'
	touch $@

# Records FreeRTOS on an emulated Cortex-M3, and LVGL, with the recorder for boards. Installs the Debian packages that
# this requires, and downloads both sources from crates.io.
BOARD_PACKAGES := gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm
board: $(VENV)/built out/board/vendor
	dpkg -s $(BOARD_PACKAGES) > out/board/packages 2>&1 || apt-get install --yes --no-install-recommends $(BOARD_PACKAGES)
	$(BIN)/python -m pytest tests/board tests/unit/recorder/test_board.py

out/board/vendor: tests/board/kernel/Cargo.toml
	mkdir -p out/board
	cp tests/board/kernel/* out/board
	command -v cargo || apt-get install --yes --no-install-recommends cargo
	cd out/board && cargo vendor --quiet vendor
	touch $@

# The first line runs jobs that use one core, such as pip, in parallel with the sanitized build. The tests use all cores.
test:
	$(MAKE) --jobs 2 lint site $(SANITIZED)/built
	$(MAKE) unit sanitize

out/summary.txt: $(VENV)/built $(shell find experiments/johnstone_wilson experiments/*.py simalloc traces -type f -not -name '*.pyc')
	mkdir -p out
	$(BIN)/python -m experiments.johnstone_wilson --out out > $@

lint: $(VENV)/built
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# One worker runs all tests of a file, so that a measurement is shared; tests/conftest.py sets the order of the files. An
# editable install does not write bytecode. With compileall, the hundreds of commands in tests start a third faster.
unit: $(VENV)/built
	$(BIN)/python -m compileall -q simalloc
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder

# Builds a static site in out/site from the docs, the API and the notebooks with their outputs.
site: $(VENV)/built
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet --conf-dir docs/site . out/site
	$(BIN)/python docs/site/links.py out/site

# Tests the C code under the address and undefined-behaviour sanitizers. Two kinds of tests are left out: tests that
# spend their time in the reference engine, and tests that limit memory, because sanitizers need much memory. -O2 and a
# full -g would make the build 45 s slower without better reports, because -g1 already contains line numbers. -S hides the
# editable install from Python, also in the workers (--tx), so that the sanitized build is imported.
SANITIZED := build/sanitized
SANITIZED_PYTHON = env \
	PYTHONPATH=$(CURDIR)/$(SANITIZED)/site:$$($(BIN)/python -c 'import numpy; print(numpy.__path__[0][:-6])') \
	LD_PRELOAD=$$(cc -print-file-name=libasan.so) \
	ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 \
	SIMALLOC_TRACES=$(CURDIR)/traces $(abspath $(BIN))/python -S -P
sanitize: $(SANITIZED)/built
	SIMALLOC_EXAMPLES=10 $(SANITIZED_PYTHON) -m pytest -p no:cacheprovider -k 'not shipped_trace and not memory and not 90000 and not 1099511627776' \
	  --dist load --tx '$(shell nproc)*popen//python=$(abspath $(BIN))/python -S -P' \
	  $(SANITIZED_TESTS)
SANITIZED_TESTS ?= tests/property/test_engines_agree.py tests/property/test_list_forms.py \
  tests/property/test_user_policies.py tests/property/test_devices_agree.py tests/unit/user_policies/test_user_policy_misuse.py tests/unit/trace \
  $(patsubst %,--ignore tests/unit/trace/test_%.py,catalogue format_memray workloads gabber_workloads)

$(SANITIZED)/built: $(VENV)/tools $(C_SOURCES)
	$(PIP) --no-build-isolation --no-deps \
	  --upgrade --target $(SANITIZED)/site . -Cbuild-dir=$(SANITIZED)/meson \
	  -Csetup-args=-Db_sanitize=address,undefined -Csetup-args=-Db_lundef=false \
	  -Csetup-args=-Dbuildtype=plain -Csetup-args=-Doptimization=1 \
	  '-Csetup-args=-Dc_args=-g1 -fno-sanitize-recover=all'
	touch $@

# The editable install requires these build tools to rebuild the C extensions on import. pip below 23.1 cannot pass
# settings to a build (-C). --no-compile saves a third of the time: most installed modules are never imported, and the
# others are compiled on their first import.
$(VENV)/tools: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) --no-compile 'pip>=23.1' 'meson-python>=0.17' 'meson>=1.4' ninja
	touch $@

$(VENV)/built: $(VENV)/tools $(C_SOURCES)
	$(PIP) --no-compile --no-build-isolation --editable '.[dev]'
	touch $@

# Tests the engines, the real mallocs and, under the sanitizers, the readers with random input, and prints the seeds
# (tests/fuzz/campaign.py).
MINUTES ?= 5
fuzz: $(VENV)/built $(SANITIZED)/built
	$(BIN)/python tests/fuzz/campaign.py --readers-by "$(SANITIZED_PYTHON)" $(MINUTES)

clean:
	rm -rf $(VENV) build out
