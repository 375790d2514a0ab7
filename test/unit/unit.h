/*-------------------------------------------------------------------------
 *
 * unit.h
 *	  A harness for unit tests of the engine, as small as it can be.
 *
 *	CHECK(cond)			- count a test; say where if it failed
 *	CHECK_EQ(a, b)		- the same for two integers, printing both
 *	EXPECT_ERROR(code, stmt)	- stmt must raise an error of that code
 *	unit_random()		- seeded; below(n), chance(n in m)
 *	unit_fails_everywhere(f)	- run f with its 1st, 2nd, ... allocation
 *						  failing, until it gets through
 *	unit_main(...)		- run all cases, or those named
 *
 * A program is a list of cases:
 *
 *		int main(int argc, char **argv)
 *		{
 *			static const UnitCase cases[] = {UNIT_CASE(this), UNIT_CASE(that)};
 *
 *			return unit_main(argc, argv, cases, UNIT_COUNT(cases));
 *		}
 *
 * and takes "--seed=N" and names of cases as arguments.  The seed is fixed
 * unless given, and is printed with the first failure of a case.  A case is
 * called with the root arena it is to live in; what is left after that was
 * destroyed is a leak and a failure.
 *
 * test/unit/unit.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_UNIT_H
#define DDIR_UNIT_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/port.h"

/* The standalone port (port.c). */
extern jmp_buf *unit_handler;
extern DdirErrorCode unit_error_code;
extern char unit_error_text[256];
extern int64_t unit_fail_after; /* the so many-th allocation fails; 0: none */
extern size_t unit_live_blocks;

typedef struct UnitCase
{
	const char *name;
	void		(*run) (DdirArena *root);
} UnitCase;

#define UNIT_CASE(f)	{#f, f}
#define UNIT_COUNT(a)	((int) (sizeof(a) / sizeof((a)[0])))

/* a time written out */
#define AT(...) ((const uint64_t[]) {__VA_ARGS__})

static int	unit_passed;
static int	unit_failed;
static int	unit_shown;			/* failures of the case */
static const char *unit_name = "";
static uint64_t unit_seed = 1;
static uint64_t unit_state = 1;

static inline void
unit_count(bool ok, const char *file, int line, const char *what)
{
	if (ok)
	{
		unit_passed++;
		return;
	}
	unit_failed++;
	if (unit_shown++ == 0)
		printf("%s (--seed=%" PRIu64 ")\n", unit_name, unit_seed);
	if (unit_shown <= 10)
		printf("  %s:%d: %s\n", file, line, what);
}

#define CHECK(cond) unit_count((cond), __FILE__, __LINE__, #cond)

#define CHECK_EQ(a, b) \
	do { \
		int64_t		unit_a = (int64_t) (a); \
		int64_t		unit_b = (int64_t) (b); \
		char		unit_text[200]; \
\
		snprintf(unit_text, sizeof(unit_text), "%s = %" PRId64 ", %s = %" PRId64, \
				 #a, unit_a, #b, unit_b); \
		unit_count(unit_a == unit_b, __FILE__, __LINE__, unit_text); \
	} while (0)

/* Locals changed by stmt must be volatile to be looked at afterwards. */
#define EXPECT_ERROR(code, stmt) \
	do { \
		jmp_buf		unit_jump; \
		jmp_buf    *unit_was = unit_handler; \
\
		if (setjmp(unit_jump) == 0) \
		{ \
			unit_handler = &unit_jump; \
			stmt; \
			unit_handler = unit_was; \
			unit_count(false, __FILE__, __LINE__, "no error from " #stmt); \
		} \
		else \
		{ \
			unit_handler = unit_was; \
			CHECK_EQ(unit_error_code, code); \
		} \
	} while (0)

/* xorshift64*, never zero */
static inline uint64_t
unit_random(void)
{
	unit_state ^= unit_state >> 12;
	unit_state ^= unit_state << 25;
	unit_state ^= unit_state >> 27;
	return unit_state * UINT64_C(0x2545f4914f6cdd1d);
}

static inline uint32_t
unit_below(uint32_t n)
{
	return (uint32_t) ((unit_random() >> 32) * n >> 32);
}

static inline bool
unit_chance(uint32_t n, uint32_t of)
{
	return unit_below(of) < n;
}

static inline void
unit_reseed(uint64_t salt)
{
	unit_state = (unit_seed + salt) * UINT64_C(0x9e3779b97f4a7c15) | 1;
	for (int i = 0; i < 4; i++)
		unit_random();
}

/* Run f under a handler; whether it came to its end. */
static inline bool
unit_survives(void (*f) (DdirArena *root), DdirArena *root)
{
	jmp_buf		jump;
	jmp_buf    *was = unit_handler;

	if (setjmp(jump) != 0)
	{
		unit_handler = was;
		return false;
	}
	unit_handler = &jump;
	f(root);
	unit_handler = was;
	return true;
}

/*
 * Run f with each allocation failing in turn, "stride" apart.  Whatever was
 * going on, destroying the root must give back all.
 */
static inline void
unit_fails_everywhere(void (*f) (DdirArena *root), int stride)
{
	bool		done = false;

	for (int64_t k = 1; !done; k += stride)
	{
		size_t		before = unit_live_blocks;
		DdirArena  *root = ddir_arena_create(NULL, "failing");

		unit_reseed(0);
		unit_fail_after = k;
		done = unit_survives(f, root);
		if (unit_fail_after == 0)
			CHECK(!done && unit_error_code == DDIR_ERROR_MEMORY);
		else
			CHECK(done);
		unit_fail_after = 0;
		ddir_arena_destroy(root);
		CHECK_EQ(unit_live_blocks, before);
	}
}

static inline void
unit_run(const UnitCase *c)
{
	size_t		before = unit_live_blocks;
	DdirArena  *root = ddir_arena_create(NULL, c->name);

	unit_name = c->name;
	unit_shown = 0;
	unit_reseed(0);
	if (!unit_survives(c->run, root))
		unit_count(false, c->name, 0, unit_error_text);
	ddir_arena_destroy(root);
	CHECK_EQ(unit_live_blocks, before);
}

static inline int
unit_main(int argc, char **argv, const UnitCase *cases, int n)
{
	bool		named = false;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 1; i < argc; i++)
		if (sscanf(argv[i], "--seed=%" SCNu64, &unit_seed) != 1)
			named = true;
	for (int c = 0; c < n; c++)
	{
		bool		wanted = !named;

		for (int i = 1; i < argc; i++)
			wanted |= strcmp(argv[i], cases[c].name) == 0;
		if (wanted)
			unit_run(&cases[c]);
	}
	printf("%d passed, %d failed\n", unit_passed, unit_failed);
	return unit_failed != 0;
}

#endif							/* DDIR_UNIT_H */
