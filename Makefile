# `make results` and `make test` need Python 3.11, 3.12 or 3.13, pip, gcc and make; nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
KEPT := reports/paper/records
# A checkout may be in a folder of any name. So targets and recipes have relative paths, and programs are modules of
# Python: the first line of a script can't name an interpreter behind a space.
export PATH := $(if $(filter /%,$(VENV)),,$(CURDIR)/)$(BIN):$(PATH)

.DELETE_ON_ERROR:
.PHONY: results frontier paper keep report site test-site check test test-all tests fuzz test-cuda test-flower \
	test-slurm test-storage browser carry scenarios mutants lint style types layers workflow bench resolve lock clean help

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' $(MAKEFILE_LIST)

# Exactly what a lock has, its hashes compared, and nothing that pip would add. Python compiles what it imports, an
# eighth of what is there; pip would compile all of it, for most of a minute.
INSTALL := $(BIN)/python -m pip --quiet --disable-pip-version-check install --no-deps --no-build-isolation --no-compile
LOCKED := $(INSTALL) --require-hashes --use-pep517
TORCH := $(shell sed -n 's/^torch==\([0-9.]*\).*/\1/p' requirements-torch.lock)

# Where pip's own settings (an extra index, a folder of wheels) offer a build of torch of their own, as 2.13.0+cpu, that
# is taken, which needs nothing of CUDA. Its hash is the index's affair. Everything else is locked.
$(VENV)/ready: pyproject.toml requirements.lock requirements-build.lock requirements-torch.lock
	@$(PYTHON) -c 'import sys; sys.exit("sketchbench needs Python 3.11, 3.12 or 3.13; choose one: make PYTHON=python3.12" \
	  if not (3, 11) <= sys.version_info < (3, 14) else 0)'
	@$(PYTHON) -c 'import os, re, sys; path = os.path.abspath(sys.argv[1]); \
	  sys.exit(f"pip takes no path with : $$ {{ }} or broken UTF-8, as {path!a}; rename it, or add VENV=FOLDER" \
	  if re.search("[:$${}]", path) or re.search("[\ud800-\udfff]", os.getcwd()) else 0)' "$(VENV)"
	$(PYTHON) -m venv $(VENV)
	$(LOCKED) --requirement requirements-build.lock
	$(LOCKED) --requirement requirements.lock
	@build=$$($(BIN)/python -m pip index versions torch 2>/dev/null | tr -d , | tr ' ' '\n' | grep -m1 '^$(TORCH)+'); \
	  echo "torch $${build:-$(TORCH)}"; \
	  if [ "$$build" ]; then $(INSTALL) "torch==$$build"; else $(LOCKED) --requirement requirements-torch.lock; fi
	$(INSTALL) --editable .
	touch $@

# The chapters of conf/study that judge the papers.
PAPERS := convergence,double_blind,error_feedback,inversion,privacy,recovery,sketches
results: $(VENV)/ready ## judge the papers' claims at the quick scale; ARGS="--scale smoke": all, in 2 minutes
	@python -m sketchbench results $(or $(ARGS),--chapters $(PAPERS))

frontier: $(VENV)/ready ## the same for our own comparison of compressors: accuracy, leaks, costs, contracts
	@python -m sketchbench results --chapters compressors $(ARGS)

paper: $(VENV)/ready ## the same at the papers' own sizes: days; resumes, also from kept trainings
	@[ ! -d $(KEPT) ] || python -m sketchbench gather $(KEPT) --scale paper
	@python -m sketchbench results --scale paper $(ARGS)

# An archive for each study, the same bytes from the same records.
PACK := tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=a+rX,u+w,go-w --format=gnu
keep: ## keep the records of runs that took a minute or more, to be committed: make paper begins with them
	@mkdir -p $(KEPT) && work=$$(mktemp -d) && trap 'rm -rf "$$work"' EXIT && \
	  for old in $(KEPT)/*.tar; do [ ! -f "$$old" ] || tar -xf "$$old" -C "$$work" || exit 1; done && \
	  python -m sketchbench step long results/paper > "$$work/long" && \
	  tar -C results/paper -cf - -T "$$work/long" | tar -xf - -C "$$work" && rm "$$work/long" && \
	  for study in "$$work"/*/; do [ -d "$$study" ] || continue; \
	    study=$$(basename "$$study") && $(PACK) -cf "$(KEPT)/$$study.tar" -C "$$work" "$$study" || exit 1; \
	  done && du -sh $(KEPT)

report: results ## bundle tables and figures into reports/report.html
	python -m snakemake --report reports/report.html

$(VENV)/site: $(VENV)/ready requirements-site.lock
	$(LOCKED) --requirement requirements-site.lock
	touch $@

site: $(VENV)/site ## build reports/site from the reports that are there
	@python -m sketchbench site $(ARGS)

browser: $(VENV)/site
	@python tests/site/browser/launch.py

test-site: browser site ## the site in a browser: Debian's package chromium, or CHROMIUM=its path
	python -m pytest -p no:xdist -m browser tests/site/browser $(ARGS)

check: $(VENV)/ready ## fail where a verdict differs from the published one, or a contract is broken
	python -m sketchbench check reports/claims.csv $(if $(AGAINST),--against $(AGAINST)) $(ARGS)

# Side by side, as linting alone leaves a core idle for most of its time; one after the other beside the tests.
test: $(VENV)/ready ## lint, types, layers and tests
	@$(MAKE) --no-print-directory --keep-going --jobs=2 tests types style layers workflow

test-all: $(VENV)/ready ## the same with the tests marked weekly
	@$(MAKE) --no-print-directory test MARKED="not cuda"

tests: MARKED := not cuda and not weekly
tests: $(VENV)/ready ## pytest alone, without what test-cuda and test-all run
	OMP_NUM_THREADS=1 python -m pytest -n auto --dist worksteal -m "$(MARKED)" $(ARGS)

fuzz: $(VENV)/ready ## the property tests with FUZZ (20) times as many inputs, which are new in each run; says how many
	OMP_NUM_THREADS=1 FUZZ=$(or $(FUZZ),20) python -m pytest -n auto --dist worksteal -m hypothesis \
	  --hypothesis-show-statistics $(ARGS)

# Side by side, and all of them, so that one run tells all that is wrong.
lint: $(VENV)/ready ## style, types, layers, workflow
	@$(MAKE) --no-print-directory --keep-going --jobs=4 --output-sync=target style types layers workflow

style: $(VENV)/ready
	python -m ruff check .
	python -m ruff format --check .

types: $(VENV)/ready
	python -m mypy

layers: $(VENV)/ready
	python -c "from importlinter.cli import lint_imports_command as lint; lint()" --no-cache

# With one study, as the rules are the same for all; in both ways to share processes. The smoke scale's reports are none
# of the committed ones, which reading the Snakefile would set aside where they are of other code.
SMALL := --config scale=smoke studies=norms
workflow: $(VENV)/ready
	python -m snakefmt --check Snakefile workflow
	python -m snakemake --lint $(SMALL)
	python -m snakemake --lint $(SMALL) --configfile conf/workflow.yaml tests/workflow/apart.yaml

# srrcomp is built by the torch that is here, as pip would fetch a second one for it; with a GPU in sight its build asks
# for a file that its archive lacks.
$(VENV)/bench: $(VENV)/ready requirements-bench.lock
	CUDA_VISIBLE_DEVICES= $(LOCKED) --requirement requirements-bench.lock
	touch $@

# Rounds enough for a stable minimum. The table of a GPU has a name of its own, and what could be timed is in it also
# where a benchmark fails.
ROUNDS := --benchmark-min-rounds=5 --benchmark-max-time=0.5 --benchmark-disable-gc
TIMES := benchmarks$(if $(findstring cupy,$(ARGS)),-gpu)

bench: $(VENV)/bench ## time kernels, recoveries and other libraries, into reports/benchmarks.csv
	@mkdir -p results && rm -f results/$(TIMES).json
	python -m pytest -p no:xdist tests/benchmark/bench_*.py $(ROUNDS) --benchmark-columns=min,median,rounds \
		--benchmark-json=results/$(TIMES).json $(ARGS) || failed=1; [ -s results/$(TIMES).json ] && \
	python -m sketchbench step benchmarks --json results/$(TIMES).json --csv reports/$(TIMES).csv \
		--svg reports/figures/$(TIMES).svg --png reports/figures/$(TIMES).png && [ -z "$$failed" ]

# Flower and what it needs beside the lock, or in other versions, have a folder of their own. The tests have workers in
# their own process; Ray, which is as large as all others together, is for RAY=1.
$(VENV)/flower: $(VENV)/ready requirements-flower.lock
	sed '/^ray==/,/[^\]$$/d' requirements-flower.lock | $(LOCKED) --upgrade --target $@ --requirement /dev/stdin

$(VENV)/flower/ray: $(VENV)/flower
	sed -n '/^ray==/,/[^\]$$/p' requirements-flower.lock | \
	  $(LOCKED) --upgrade --target $(VENV)/flower --requirement /dev/stdin
	touch $@

test-flower: $(VENV)/flower$(if $(RAY),/ray) ## clients and server in Flower, and its simulation; RAY=1: on Ray as well
	PYTHONPATH="$$PWD/$(VENV)/flower" FLWR_TELEMETRY_ENABLED=0 OMP_NUM_THREADS=1 python -m pytest -p no:xdist \
		tests/integrations/test_flower.py $(ARGS)

# The plugin has a folder of its own: where Snakemake finds it, every start of Snakemake imports pandas.
$(VENV)/slurm: $(VENV)/ready requirements-slurm.lock
	$(LOCKED) --upgrade --target $@ --requirement requirements-slurm.lock

test-slurm: $(VENV)/slurm ## runs on a SLURM cluster of one node, which it starts; needs root, slurm-wlm and munge
	PYTHONPATH="$$PWD/$(VENV)/slurm" python -m pytest -p no:xdist -m slurm tests/slurm $(ARGS)

# So have the storage and the clouds' executors, which need an older python-dateutil as well.
$(VENV)/storage: $(VENV)/ready requirements-storage.lock
	$(LOCKED) --upgrade --target $@ --requirement requirements-storage.lock

test-storage: $(VENV)/storage ## jobs in folders of their own, and an S3 server of this machine that carries their files
	PYTHONPATH="$$PWD/$(VENV)/storage" python -m pytest -p no:xdist -m storage tests/storage $(ARGS)

scenarios: $(VENV)/ready ## kills, limits, clocks, edits during a run: a quarter of an hour on a quiet machine
	python -m pytest -p no:xdist tests/workflow/scenarios.py $(ARGS)

# CuPy for its names alone, and NVRTC; in a folder of their own, where no other test finds them. Without them the tests
# that need them are skipped, and the next call looks for them again.
$(VENV)/cuda: $(VENV)/ready requirements-cuda.lock requirements-nvrtc.lock
	@sed -nE '/^(cupy-cuda13x|cuda-pathfinder)==/,/[^\]$$/p' requirements-cuda.lock | cat - requirements-nvrtc.lock | \
	  $(LOCKED) --upgrade --target $@ --requirement /dev/stdin \
	  || echo "no wheels of CuPy and NVRTC here: kernels are not compiled, names are not compared"

mutants: $(VENV)/ready ## change random lines of the package, and list the changes that no test notices; resumes: hours
	@OMP_NUM_THREADS=1 python .ci/mutants.py $(ARGS)

test-cuda: $(VENV)/cuda ## the CUDA kernels without a GPU: compiled, and the tests marked gpu on an emulated device
	@command -v g++ > /dev/null || { echo "g++ is missing, which compiles for the emulated device; install it"; exit 1; }
	PYTHONPATH="$$PWD/$(VENV)/cuda" EMULATED_CUDA=checked OMP_NUM_THREADS=1 python -m pytest -n auto --dist worksteal \
		-m "(gpu or cuda) and not long_emulated" tests $(ARGS)

DATA := $(or $(SKETCHBENCH_DATA),data)

carry: ## write results/carried.tar.gz, at most 64 MiB: all files that a machine with a GPU and without a network needs
	@mkdir -p results
	git archive --format=tar --output=results/carried.tar HEAD
	@if [ -d "$(DATA)/mnist" ]; then tar -C "$(DATA)" --transform 's,^,data/,' -rf results/carried.tar mnist; \
	  else echo "no $(DATA)/mnist: what trains on MNIST will say that it is missing; see docs/howto/data.md"; fi
	gzip -f results/carried.tar
	@tar -tzf results/carried.tar.gz | cut -d/ -f1 | uniq -c && du -h results/carried.tar.gz
	@[ $$(stat -c %s results/carried.tar.gz) -le 67108864 ] || { echo "more than 64 MiB can't be carried"; exit 1; }

.lock/ready: requirements-uv.lock
	$(PYTHON) -m venv .lock
	.lock/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements-uv.lock
	touch $@

resolve: .lock/ready ## whether the index has what the locks say, for each Python; downloads nothing, 1 minute
	.lock/bin/python .ci/lock.py --check

lock: .lock/ready ## renew all requirements*.lock from the newest releases
	.lock/bin/python .ci/lock.py

clean: ## remove .venv, logs and results, those of days as well (make keep first)
	rm -rf $(VENV) .snakemake results logs
