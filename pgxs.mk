#
# pgxs.mk: build, install and test ddir with a server's own makefiles (PGXS).
#
#	make -f pgxs.mk				library and install script
#	make -f pgxs.mk install
#	make -f pgxs.mk installcheck		pg_regress, isolation and TAP, each
#						on a private server; not as root
#
# The front Makefile calls this one; so that its other targets work where no
# server headers are installed, only this file includes PGXS.  PG_CONFIG names
# the server, WERROR= builds past warnings, V=1 shows the compiler's lines.
#

EXTENSION  = ddir
EXTVERSION = $(shell sed -n "s/^default_version = '\(.*\)'/\1/p" ddir.control)
MODULE_big = ddir
PGFILEDESC = "ddir - materialized views that keep themselves up to date"

OBJS = $(patsubst %.c,%.o,$(sort $(wildcard src/*.c src/*/*.c)))

# The install script is its fragments in the order of their numbers.
SQL_FRAGMENTS = $(sort $(wildcard src/sql/*.sql))
DATA_built    = ddir--$(EXTVERSION).sql
DATA          = $(wildcard src/sql/upgrade/ddir--*.sql)

# Nothing is exported but what says PGDLLEXPORT.  15 does not mark functions by
# itself; with this definition it exports the magic block, _PG_init and every
# PG_FUNCTION_INFO_V1, as later servers do.
PG_CPPFLAGS = -Isrc -MMD -MP \
	'-DPGDLLEXPORT=__attribute__((visibility("default")))'

# Warnings are errors only for the compiler they were cleared with.
COMPILER_MAJOR := $(shell $(if $(filter default,$(origin CC)),gcc,$(CC)) -dumpversion 2>/dev/null | cut -d. -f1)
ifeq ($(COMPILER_MAJOR),12)
WERROR = -Werror
endif
PG_CFLAGS = -std=gnu11 -fvisibility=hidden -Wall -Wextra -Wno-unused-parameter \
	-Wno-sign-compare -Wno-missing-field-initializers \
	-Wno-declaration-after-statement $(WERROR)

# Bitcode is for inlining into JIT-compiled expressions, where no function of
# ours is worth it.  "override" so that PGXS does not turn it on again.
override with_llvm := no

# CAPTURE=trigger runs the tests on servers where changes cannot be decoded, so
# that triggers capture them.
ifeq ($(CAPTURE),trigger)
CAPTURE_OPTS = --temp-config=test/trigger.conf
export DDIR_TEST_CONFIG = test/trigger.conf
endif

# prove empties tmp_check, so the other two keep their servers elsewhere.
# "publication" and "identity" are about replica identities, which triggers need not
REGRESS        = $(filter-out $(if $(CAPTURE_OPTS),keymode publication),\
	$(patsubst sql/%.sql,%,$(sort $(wildcard sql/*.sql))))
REGRESS_OPTS   = --temp-instance=tmp_check_sql --temp-config=test/ddir.conf $(CAPTURE_OPTS) \
	--encoding=UTF8 --no-locale --load-extension=ddir
ISOLATION      = $(filter-out $(if $(CAPTURE_OPTS),identity),\
	$(patsubst test/isolation/specs/%.spec,%,$(sort $(wildcard test/isolation/specs/*.spec))))
ISOLATION_OPTS = --inputdir=test/isolation --temp-instance=tmp_check_iso \
	--temp-config=test/ddir.conf $(CAPTURE_OPTS) --temp-config=test/isolation/points.conf \
	--encoding=UTF8 --no-locale --load-extension=ddir
TAP_TESTS      = 1
PROVE_TESTS    = $(sort $(wildcard test/t/*.pl))

EXTRA_CLEAN = $(OBJS:.o=.d) results regression.diffs regression.out log \
	output_iso tmp_check tmp_check_iso tmp_check_sql

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# Where DdirNode.pm is, and how many tests run at once (each has servers of its
# own, and waits much of the time); the server's makefiles set this to nothing.
PROVE_FLAGS += -Itest/t/lib $(if $(PROVE_JOBS),--jobs=$(PROVE_JOBS))

$(DATA_built): $(SQL_FRAGMENTS) ddir.control
	cat $(SQL_FRAGMENTS) > $@

# The command lines are long enough to hide a warning; V=1 shows them.
ifndef V
%.o: %.c
	@echo "cc $<"
	@$(COMPILE.c) -o $@ $<
endif

# Another server or other flags make other objects, and a source file that is
# gone makes another library; no file that make looks at tells it either.
note = $(shell mkdir -p build; echo '$(subst ','\'',$(2))' | cmp -s - $(1) || \
	echo '$(subst ','\'',$(2))' >$(1))$(1)
$(OBJS): pgxs.mk $(call note,build/flags,$(VERSION) $(CC) $(CFLAGS) $(CPPFLAGS))
$(shlib): $(call note,build/objects,$(OBJS))

-include $(OBJS:.o=.d)
