# make demo | test | check | gpu-check; each sets up what it needs. See README.md.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
VENV ?= .venv
PY := $(VENV)/bin/python
.DEFAULT_GOAL := help

include scripts/setup.mk

.PHONY: help demo test check check-quick generate
help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16
