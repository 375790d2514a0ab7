/*-------------------------------------------------------------------------
 *
 * test_tray.c
 *	  Trays: numbers, runs, events, and room that is given back.
 *
 * test/unit/test_tray.c
 *
 *-------------------------------------------------------------------------
 */
#include "engine/tray.h"

#include "unit.h"

static void
push(DdirTrays *t, uint32_t source, const char *row, int64_t diff)
{
	ddir_deltas_push(ddir_trays_run(t, source), NULL, 0, row, strlen(row), &t->next, diff);
}

/* Numbers are dense; a transaction that changed nothing takes none. */
static void
numbers(DdirArena *root)
{
	DdirTrays	t;

	ddir_trays_init(&t, root);
	CHECK_EQ(t.next, 1);
	ddir_trays_close(&t, 10, 100, 1000);
	CHECK_EQ(t.ntrays, 0);
	CHECK_EQ(t.next, 1);
	for (int i = 1; i <= 100; i++)
	{
		/* rows, events, or both */
		if (i % 3 != 0)
			push(&t, i % 5, "row", 1);
		if (i % 3 != 1)
			ddir_trays_event(&t, i % 5, DDIR_TRAY_TRUNCATE);
		ddir_trays_close(&t, 10 * i, 100 + i, 1000 + i);
		CHECK_EQ(t.ntrays, i);
		/* and one with nothing in it */
		ddir_trays_close(&t, 10 * i + 5, 200, 2000);
		CHECK_EQ(t.ntrays, i);
		CHECK_EQ(t.next, i + 1);
	}
	for (uint32_t i = 0; i < t.ntrays; i++)
	{
		CHECK_EQ(t.tray[i].number, i + 1);
		CHECK_EQ(t.tray[i].lsn, 10 * (i + 1));
		CHECK_EQ(t.tray[i].xid, 101 + i);
		CHECK_EQ(t.tray[i].commit_time, 1001 + i);
	}
}

/* Each source has one run, whose times are the trays' numbers. */
static void
runs(DdirArena *root)
{
	DdirTrays	t;

	ddir_trays_init(&t, root);
	for (int i = 0; i < 40; i++)
	{
		for (uint32_t source = 0; source < 40; source++)
			push(&t, 1000 + source, "row", i % 2 ? -1 : 1);
		ddir_trays_close(&t, i, i, i);
	}
	CHECK_EQ(t.nruns, 40);
	for (uint32_t source = 0; source < 40; source++)
	{
		DdirDeltas *d = ddir_trays_run(&t, 1000 + source);

		CHECK_EQ(t.run[source].source, 1000 + source);
		CHECK(d == &t.run[source].deltas);
		CHECK_EQ(d->n, 40);
		for (uint32_t i = 0; i < d->n; i++)
		{
			CHECK_EQ(ddir_deltas_time(d, i)[0], i + 1);
			CHECK_EQ(d->diff[i], i % 2 ? -1 : 1);
		}
	}
	CHECK_EQ(t.nruns, 40);
}

static void
events(DdirArena *root)
{
	static const DdirTrayEventKind kind[] = {DDIR_TRAY_TRUNCATE, DDIR_TRAY_NO_OLD_IMAGE,
	DDIR_TRAY_REWRITTEN, DDIR_TRAY_TOO_LARGE};
	DdirTrays	t;

	ddir_trays_init(&t, root);
	for (uint32_t i = 0; i < 60; i++)
	{
		ddir_trays_event(&t, 7 + i, kind[i % 4]);
		/* three to a tray */
		if (i % 3 == 2)
			ddir_trays_close(&t, i, i, i);
	}
	CHECK_EQ(t.nevents, 60);
	CHECK_EQ(t.ntrays, 20);
	for (uint32_t i = 0; i < t.nevents; i++)
	{
		CHECK_EQ(t.event[i].tray, 1 + i / 3);
		CHECK_EQ(t.event[i].source, 7 + i);
		CHECK_EQ(t.event[i].kind, kind[i % 4]);
	}
}

/* By number, also where earlier ones have been taken away. */
static void
finding(DdirArena *root)
{
	DdirTrays	t;

	ddir_trays_init(&t, root);
	CHECK(ddir_trays_find(&t, 1) == NULL);
	for (int round = 0; round < 3; round++)
	{
		uint64_t	first = t.next;

		for (int i = 0; i < 10 + round; i++)
		{
			push(&t, 1, "row", 1);
			ddir_trays_close(&t, i, i, i);
		}
		CHECK(ddir_trays_find(&t, first - 1) == NULL);
		CHECK(ddir_trays_find(&t, t.next) == NULL);
		for (uint64_t n = first; n < t.next; n++)
			CHECK(ddir_trays_find(&t, n) == &t.tray[n - first]);
		ddir_trays_clear(&t);
		CHECK(ddir_trays_find(&t, first) == NULL);
	}
	CHECK_EQ(t.next, 1 + 10 + 11 + 12);
}

/* What was read is gone, numbers go on, and a large transaction's room goes. */
static void
clearing(DdirArena *root)
{
	DdirTrays	t;
	char		row[1000] = {0};
	size_t		small;

	memset(row, 'x', sizeof(row) - 1);
	ddir_trays_init(&t, root);
	push(&t, 1, "row", 1);
	push(&t, 2, "row", 1);
	ddir_trays_event(&t, 1, DDIR_TRAY_TRUNCATE);
	ddir_trays_close(&t, 1, 1, 1);
	small = ddir_trays_bytes(&t);
	ddir_trays_clear(&t);
	CHECK_EQ(t.ntrays, 0);
	CHECK_EQ(t.nevents, 0);
	CHECK_EQ(ddir_trays_run(&t, 1)->n, 0);
	CHECK_EQ(ddir_trays_bytes(&t), small);

	/* nothing since: no tray, though there was one of two rows before */
	ddir_trays_close(&t, 2, 2, 2);
	CHECK_EQ(t.ntrays, 0);
	push(&t, 1, "row", 1);
	ddir_trays_close(&t, 3, 3, 3);
	CHECK_EQ(t.ntrays, 1);
	CHECK_EQ(t.tray[0].number, 2);

	for (int i = 0; i < 20000; i++)
		push(&t, 2, row, 1);
	ddir_trays_close(&t, 4, 4, 4);
	CHECK(ddir_trays_bytes(&t) > 20000 * sizeof(row));
	ddir_trays_clear(&t);
	CHECK(ddir_trays_bytes(&t) < 16 * DDIR_CHUNK_BYTES);
	CHECK(ddir_arena_bytes(root) < 16 * DDIR_CHUNK_BYTES);
	push(&t, 2, "row", 1);
	CHECK_EQ(ddir_trays_run(&t, 2)->n, 1);
}

static void
work_to_fail(DdirArena *root)
{
	DdirTrays	t;

	ddir_trays_init(&t, root);
	for (int i = 0; i < 40; i++)
	{
		for (int k = 0; k < 20; k++)
			push(&t, k, "a row of some bytes, so that lanes have to grow", 1);
		ddir_trays_event(&t, i, DDIR_TRAY_TRUNCATE);
		ddir_trays_close(&t, i, i, i);
	}
	ddir_trays_clear(&t);
}

static void
failing(DdirArena *root)
{
	unit_fails_everywhere(work_to_fail, 1);
}

int
main(int argc, char **argv)
{
	static const UnitCase cases[] = {
		UNIT_CASE(numbers),
		UNIT_CASE(runs),
		UNIT_CASE(events),
		UNIT_CASE(finding),
		UNIT_CASE(clearing),
		UNIT_CASE(failing),
	};

	return unit_main(argc, argv, cases, UNIT_COUNT(cases));
}
