# `make tables` reproduces Johnstone & Wilson's tables; `make test` runs every check; `make fuzz MINUTES=N` looks for faults.
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

# The page of plain words in docs, made anew.
page: out/summary.txt
	cp out/johnstone-wilson.md out/johnstone-wilson-figure-1.png docs

# The pages of all papers, each made by the run of its experiment.
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

# Opens JupyterLab, which is installed first. It refuses to run as root without the option.
notebook: $(VENV)/notebook
	$(BIN)/jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) notebooks

$(VENV)/notebook: $(VENV)/built
	$(PIP) --no-build-isolation --editable '.[notebook]'
	touch $@

# FreeRTOS on an emulated Cortex-M3, and LVGL, recorded by the recorder for boards. Installs Debian's packages for it,
# and both sources from crates.io.
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

# Beside what keeps one core busy, as pip does, goes a build that takes both; then the tests, which take both too.
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

# A file's tests go to one worker, which measures once for all of them, in the order of tests/conftest.py. An editable
# install uses bytecode but keeps none: hundreds of commands that tests run start a third faster with it.
unit: $(VENV)/built
	$(BIN)/python -m compileall -q simalloc
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder

# The docs, the API and the notebooks with their outputs as one static site, in out/site.
site: $(VENV)/built
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet --conf-dir docs/site . out/site
	$(BIN)/python docs/site/links.py out/site

# The C code once more under the address and undefined-behaviour sanitizers, but for tests that are mostly
# the reference engine and tests that limit memory, of which the sanitizers need much. With -O2 and all of -g
# the compiler takes 45 seconds more to find no more: reports have the lines (-g1) either way. Without `site` (-S) the
# editable install is not seen, and the sanitized one is; nor do the workers (--tx) see it.
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

# The build tools first, so that the editable install can rebuild the C extensions on import. Older pips cannot pass
# settings on to a build (-C). What is installed is compiled to bytecode when it is first imported: most never is, and
# to compile all takes a third of the time.
$(VENV)/tools: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) --no-compile 'pip>=23.1' 'meson-python>=0.17' 'meson>=1.4' ninja
	touch $@

$(VENV)/built: $(VENV)/tools $(C_SOURCES)
	$(PIP) --no-compile --no-build-isolation --editable '.[dev]'
	touch $@

# Looks for faults with fresh inputs: engines, real mallocs, and the readers under the sanitizers. Prints seeds;
# tests/fuzz/campaign.py says more.
MINUTES ?= 5
fuzz: $(VENV)/built $(SANITIZED)/built
	$(BIN)/python tests/fuzz/campaign.py --readers-by "$(SANITIZED_PYTHON)" $(MINUTES)

clean:
	rm -rf $(VENV) build out
