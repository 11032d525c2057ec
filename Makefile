# A short front to CMake and the scripts; `make help` lists what there is.

BUILD ?= build
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 600
JOBS ?= $(shell nproc)
ifeq ($(origin CC),default)
CC := gcc
endif
export JOBS CC
MAKEFLAGS += --no-print-directory

.PHONY: all demo test evidence real bench fuzz format lint install deb clean help
.NOTPARALLEL:

# The CLI, at build/bin/atomsan.
all:
	@scripts/setup build
	@cmake -S . -B $(BUILD) --log-level=NOTICE \
		$(if $(wildcard $(BUILD)/CMakeCache.txt),,-DCMAKE_C_COMPILER=$(CC))
	@cmake --build $(BUILD) --target product --parallel $(JOBS)
	@test build != $(BUILD) || ln -sfn $(BUILD)/compile_commands.json compile_commands.json

demo: all
	@scripts/demo $(BUILD)/bin

# Everything that can be checked, under gcc, clang and the sanitizers.
test:
	@scripts/setup test
	@scripts/test

# Published bugs and their fixes: what is found, what is shown first; tests/evidence/README.md.
evidence: all
	@tests/evidence/run --jobs=$(JOBS) $(if $(PROGRAMS),--programs='$(PROGRAMS)')

# Programs from Debian's source packages; PROGRAMS='pigz xz' for some of them.
real: all
	@scripts/setup real
	@tests/real/run $(if $(LIVE),--live) $(PROGRAMS)

bench: all
	@scripts/setup bench
	@bench/run

# Each fuzz target for FUZZ_SECONDS.
fuzz: all
	@scripts/setup fuzz
	@scripts/fuzz --seconds=$(FUZZ_SECONDS)

format:
	@scripts/setup lint
	@scripts/lint --fix

lint: all
	@scripts/setup lint
	@scripts/lint

# DESTDIR is honoured.
install: all
	@cmake --install $(BUILD) --prefix '$(PREFIX)'

# A Debian package, in $(BUILD)/deb.
deb:
	@scripts/setup deb
	@scripts/deb $(BUILD)/deb

clean:
	rm -rf build build-asan build-clang build-fuzz build-test compile_commands.json

help:
	@echo 'make            build/bin/atomsan'
	@echo 'make demo       compile, run and check a lost update'
	@echo 'make test       build with gcc, clang and sanitizers; run every test'
	@echo 'make evidence   published bugs: what is found, and what is shown first'
	@echo 'make real       build and record programs from Debian source packages'
	@echo 'make bench      measure; bench/README.md says what'
	@echo 'make fuzz       fuzz the readers, FUZZ_SECONDS=600 each'
	@echo 'make format     clang-format, in place'
	@echo 'make lint       clang-format, clang-tidy, cppcheck, shellcheck, prose, commits'
	@echo 'make install    to PREFIX=/usr/local, below DESTDIR'
	@echo 'make deb        a Debian package, in build/deb'
	@echo 'make clean      remove every build tree'
