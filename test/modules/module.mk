#
# module.mk: a library of objects under test, and of functions that drive them
# inside a server where the extension is not installed.
#
# A module's Makefile sets CORE, the objects of ../../src that it links, perhaps
# REGRESS (an order of its files), MODULE_FLAGS and MODULE_OPTS, and includes
# this.  Nothing is installed: the tests load the library from where it is built.
#
#	make installcheck	not as root
#

MODULE = $(notdir $(CURDIR))
LOCAL ?= $(patsubst %.c,%.o,$(sort $(wildcard *.c)))

MODULE_big = $(MODULE)
OBJS = $(LOCAL) $(CORE)

REGRESS ?= $(patsubst sql/%.sql,%,$(sort $(wildcard sql/*.sql)))
REGRESS_OPTS = --temp-instance=tmp_check_sql $(MODULE_OPTS) --encoding=UTF8 --no-locale

# a statement that waits for what a failed one should have set up ends, too
export PGOPTIONS ?= -c statement_timeout=3min

PG_CPPFLAGS = -I$(top)/src $(MODULE_FLAGS) \
	'-DPGDLLEXPORT=__attribute__((visibility("default")))'
PG_CFLAGS = -Wall -Wextra -Wno-unused-parameter \
	-Wno-sign-compare -Wno-missing-field-initializers \
	-Wno-declaration-after-statement
override with_llvm := no

EXTRA_CLEAN = results regression.diffs regression.out log tmp_check_sql $(MODULE_FILES)

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

installcheck: all $(MODULE_FILES)

# any header may be included
$(LOCAL): $(wildcard *.h $(top)/src/*/*.h)

# The objects under test are the extension's own, built with its flags.
.PHONY: core
core:
	$(MAKE) -C $(top) -f pgxs.mk $(CORE:$(top)/%=%)
$(CORE): core ;
