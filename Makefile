# make reproduce   the whole paper at a scale        make test    lint, types, tests (a smoke run of the DAG included)
# make audit ARTEFACT=results/laptop/figures/calibration.svg     make explain ARTEFACT=...    make record    make help
SCALE ?= laptop
PROFILE ?= local
PYTHON ?= python3
PYTEST_ARGS ?=
FAULTS ?=
TASKS ?= all
REV1 ?= HEAD~1
REV2 ?= HEAD
DELETE ?=
VENV := .venv
export SCALE PROFILE TASKS ARTEFACT REV1 REV2
export PATH := $(abspath $(VENV))/bin:$(PATH)

.PHONY: reproduce test test-faults lint doctor audit audit-all explain diff gc estimate record restore report params lock hashes test-simulators thumbnails collect gallery wmb help
.DEFAULT_GOAL := help

help: ## this list
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -E 's/:.*## /\t/' | expand -t 18

reproduce: .doctor.json ## run the workflow to the end and print the claims (SCALE=smoke|laptop|..., PROFILE=local|slurm)
	@python src/run_workflow.py --scale "$$SCALE" --profile "$$PROFILE"
	@python src/print_claims.py "results/$$SCALE"

collect: .doctor.json ## collect, check and index the corpus and the test set, and no model (SCALE=survey: two episodes of every task)
	@python src/run_workflow.py --scale "$$SCALE" --profile "$$PROFILE" --target collect

test: .doctor.json lint ## lint, types, tests
	@python -m pytest -n 2 $(PYTEST_ARGS)

test-faults: .doctor.json ## kills, full disks, read errors, no memory: more than 100 kills -9 of a very small run, and a table (FAULTS="--only 17")
	@PYTHONPATH=src:tests python -m faults $(FAULTS)

test-simulators: .doctor.json ## the contract suite on every task of params/tasks.yaml, and a table (TASKS=all|<task or domain>,...)
	@VERIDREAM_TASKS="$$TASKS" python -m pytest -n 2 tests/contract $(PYTEST_ARGS)

wmb: .doctor.json ## run the workflow to the end and print the WorldModelBench table of our rollouts (SCALE=...)
	@python src/run_workflow.py --scale "$$SCALE" --profile "$$PROFILE"
	@cat "results/$$SCALE/wmb/leaderboard.md"

thumbnails: .doctor.json ## rewrite the golden thumbnails, after looking at the frames (TASKS=...)
	@VERIDREAM_TASKS="$$TASKS" VERIDREAM_THUMBNAILS=rewrite python -m pytest tests/contract -k first_frame $(PYTEST_ARGS)

gallery: .doctor.json ## a picture of every task, results/gallery/index.html (TASKS=...)
	@python src/render_gallery.py --tasks "$$TASKS"

lint: $(VENV)/.ready ## ruff, snakefmt, import-linter, mypy
	@ruff check . && ruff format --check . && snakefmt --check Snakefile workflow && PYTHONPATH=src lint-imports --no-logo && mypy

doctor: $(VENV)/.ready ## check this machine: Python, disk, memory, cores, a GL backend that renders
	@python src/check_machine.py

.doctor.json: $(VENV)/.ready src/check_machine.py
	@python src/check_machine.py

audit: $(VENV)/.ready ## prove where an artefact came from: ARTEFACT=results/...
	@test -n "$$ARTEFACT" || { echo "say which: make audit ARTEFACT=results/$$SCALE/figures/calibration.svg"; exit 2; }
	@python src/audit_artefact.py "$$ARTEFACT"

audit-all: $(VENV)/.ready ## prove everything of a scale and its ledger: every receipt, artefact and byte (DEEP=1 ignores what was hashed before)
	@python src/audit_artefact.py --all --scale "$$SCALE" $(if $(DEEP),--deep)

explain: $(VENV)/.ready ## why an artefact would be made again, with the difference: ARTEFACT=results/...
	@test -n "$$ARTEFACT" || { echo "say which: make explain ARTEFACT=results/$$SCALE/figures/calibration.svg"; exit 2; }
	@python src/explain_artefact.py "$$ARTEFACT"

diff: $(VENV)/.ready ## params, metrics and artefacts that changed between two recorded commits, and why: REV1=HEAD~1 REV2=HEAD
	@python src/compare_revisions.py --scale "$$SCALE" "$$REV1" "$$REV2"

gc: $(VENV)/.ready ## what can go from a scale's results; DELETE=1 removes it
	@python src/remove_leftovers.py --scale "$$SCALE" $(if $(DELETE),--delete)

estimate: $(VENV)/.ready ## jobs, hours and disk of a scale, scaled from a finished run: SCALE=paper
	@python src/estimate_cost.py --scale "$$SCALE"

record: .doctor.json ## write dvc.yaml from the receipts and commit the bytes to the DVC cache
	@python src/record_ledger.py --scale "$$SCALE"

restore: .doctor.json ## bring back the recorded artefacts of this commit
	@python src/restore_artefacts.py --scale "$$SCALE"

report: .doctor.json ## Snakemake's own report of the run, results/<scale>/report/snakemake.html
	@snakemake --workflow-profile "workflow/profiles/$$PROFILE" --config "scale=$$SCALE" --report "results/$$SCALE/report/snakemake.html"

params: $(VENV)/.ready ## regenerate params/base.yaml, the JSON schema, docs/params.md and docs/tasks.md
	@python src/generate_params.py

lock: $(VENV)/.ready ## write requirements/lock.txt from what is installed
	@{ echo "# The whole environment, pinned. Python 3.11. Regenerate: make lock"; pip freeze | sed -E 's/(==[0-9.]+)\+.*/\1/; s/ @ .*//'; } > requirements/lock.txt

hashes: $(VENV)/.ready ## write requirements/hashes.txt: the sha256 of each package of the lock, as the index serves it (downloads them once)
	@pip install --quiet --dry-run --ignore-installed --no-deps --requirement requirements/lock.txt --report .hashes.json
	@python src/list_hashes.py .hashes.json > .hashes.txt && mv .hashes.txt requirements/hashes.txt; rm .hashes.json

$(VENV)/.ready: requirements/lock.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(None if v == (3, 11) else f"Veridream needs Python 3.11; $(PYTHON) is {v[0]}.{v[1]}. Say which: make PYTHON=/path/to/python3.11 ...")'
	@echo "installing the pinned environment into $(VENV) (a few minutes, once)"
	@$(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/python -m pip install --quiet --use-pep517 --disable-pip-version-check -r requirements/lock.txt
	@touch $@
