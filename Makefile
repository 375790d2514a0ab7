#
# Makefile: everything one can do in this tree, by name.
#
# It includes no PGXS, so it works on a machine without server headers; what
# needs them is in pgxs.mk.  Usual variables: PG_CONFIG (which server),
# PG_MAJOR (which packages to install), WERROR= (build past warnings), V=1 (show
# the compiler's lines).
#
#	make, make install	only the extension; gcc, server and xxHash headers
#	make demo		a fresh Debian 12 to views over its package index (CAPTURE=trigger)
#	make demo-stop		end the demo's server
#	make check		set-up, build, install and every test (PARTS)
#	make check-fresh	the same promises in a bare Debian 12 chroot
#	make check-17, check-18	against PostgreSQL 17 and 18 in chroots (SANITIZE=1)
#	make check-upgrade	pg_upgrade from 15 to 17 to 18, with views
#	make installcheck	the tests that need a server, without set-up
#	make unit		the engine alone, under sanitizers
#	make oracle		random views against their queries (RUNTIME, SEED)
#	make check-queries	PostgreSQL's own regression queries as views (SEED, FILES)
#	make bench		the table of README.md; bench-engine: its engine part
#	make bench-tpch		TPC-H's queries as views, against REFRESH
#	make tidy, make indent	what review would otherwise be about
#

SHELL = /bin/sh
MAKEFLAGS += --no-print-directory

TOOLS = test/tools
PARTS = setup build install unit modules regress isolation tap trigger trigger-tap
SUB   = $(MAKE) -f pgxs.mk

all:
	+@$(SUB) all

install: all
	+@$(TOOLS)/as-root $(SUB) install

check:
	+@$(TOOLS)/check $(PARTS)

installcheck:
	+@$(TOOLS)/check modules regress isolation tap trigger trigger-tap

check-fresh:
	@$(TOOLS)/check-fresh

check-17:
	@$(TOOLS)/check-server 17 trixie

check-18:
	@$(TOOLS)/check-server 18 forky

check-upgrade:
	@$(TOOLS)/check-upgrade

demo:
	+@test/demo/run

demo-stop:
	@test/demo/stop

oracle:
	@$(TOOLS)/as-user test/oracle/run

check-queries:
	@test/queries/check

bench: bench-engine
	@$(TOOLS)/as-user test/bench/run

bench-tpch:
	@$(TOOLS)/as-user test/bench/tpch

tidy:
	@$(TOOLS)/tidy

indent:
	@$(TOOLS)/indent

clean:
	rm -rf build
	+@if $${PG_CONFIG:-pg_config} --version >/dev/null 2>&1; then $(SUB) clean; fi

# ----
# The engine without a server: unit tests and benchmark
# ----

CC ?= gcc
ENGINE_FLAGS = -std=gnu11 -g -fno-strict-aliasing -Wall -Wextra \
	-Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers \
	-MMD -MP -Isrc -I.
UNIT_FLAGS   = $(ENGINE_FLAGS) -O1 -DDDIR_ASSERTS -fno-omit-frame-pointer \
	-fsanitize=address,undefined -fno-sanitize-recover=all
BENCH_FLAGS  = $(ENGINE_FLAGS) -O3 -march=native

ENGINE = $(sort $(wildcard src/engine/*.c))
# test_*.c are programs; the other files of the folder are linked to each
UNIT_TESTS  = $(sort $(wildcard test/unit/test_*.c))
UNIT_COMMON = $(filter-out $(UNIT_TESTS),$(sort $(wildcard test/unit/*.c)))
UNIT_BINS   = $(UNIT_TESTS:%.c=build/unit/%)
UNIT_OBJS   = $(ENGINE:%.c=build/unit/%.o) $(UNIT_COMMON:%.c=build/unit/%.o)
BENCH       = $(wildcard test/bench/*.c)
BENCH_OBJS  = $(ENGINE:%.c=build/bench/%.o) build/bench/test/unit/port.o \
	$(BENCH:%.c=build/bench/%.o)

Q = $(if $(V),,@)

# A program that does not compile fails alone: the others run, and it counts.
unit:
	@rm -f $(UNIT_BINS)
	+@$(MAKE) -k unit-programs || :
	@$(TOOLS)/unit $(UNIT_BINS)

unit-programs: $(UNIT_BINS)

# an archive, so that a program links what it uses
build/unit/engine.a: $(UNIT_OBJS)
	@rm -f $@
	$(Q)ar rcs $@ $^

$(UNIT_BINS): build/unit/%: build/unit/%.o build/unit/engine.a
	$(Q)$(CC) $(UNIT_FLAGS) -o $@ $^ -lm

build/unit/%.o: %.c Makefile
	@mkdir -p $(@D)
	@echo "cc $<"
	$(Q)$(CC) $(UNIT_FLAGS) -c -o $@ $<

bench-engine: build/bench/engine
	@build/bench/engine

build/bench/engine: $(BENCH_OBJS)
	$(Q)$(CC) $(BENCH_FLAGS) -o $@ $^ -lm

build/bench/%.o: %.c Makefile
	@mkdir -p $(@D)
	@echo "cc $<"
	$(Q)$(CC) $(BENCH_FLAGS) -c -o $@ $<

-include $(wildcard build/unit/*/*/*.d build/bench/*/*/*.d)

.SECONDARY:
.PHONY: all install check installcheck check-fresh check-17 check-18 check-upgrade check-queries demo demo-stop oracle \
	bench bench-engine bench-tpch tidy indent clean unit unit-programs
