/*-------------------------------------------------------------------------
 *
 * tray.c
 *	  Trays: the deltas of committed transactions, a run per source.
 *
 * The struct is open (tray.h); these keep its arrays.  A tray is open from the
 * close of the one before; its rows carry the number it will get.
 *
 * Memory: all in the arena given at init.
 *
 * src/engine/tray.c
 *
 *-------------------------------------------------------------------------
 */
#include "engine/tray.h"

void
ddir_trays_init(DdirTrays *t, DdirArena *arena)
{
	memset(t, 0, sizeof(*t));
	t->arena = arena;
	t->next = 1;
}

void
ddir_trays_clear(DdirTrays *t)
{
	for (uint32_t i = 0; i < t->nruns; i++)
	{
		/* a large transaction's room is not kept for ever */
		if (ddir_deltas_bytes(&t->run[i].deltas) > 16 * DDIR_CHUNK_BYTES)
			ddir_deltas_free(&t->run[i].deltas);
		ddir_deltas_clear(&t->run[i].deltas);
	}
	t->ntrays = 0;
	t->nevents = 0;
	t->rows = 0;
}

/* Room for one more element in an array of n elements of "size" bytes. */
static void *
room_for_one(DdirArena *arena, void *array, uint32_t n, uint32_t *cap, size_t size)
{
	if (n < *cap)
		return array;
	*cap = *cap ? *cap * 2 : 16;
	return ddir_realloc(arena, array, *cap * size);
}

DdirDeltas *
ddir_trays_run(DdirTrays *t, uint32_t source)
{
	DdirRun    *run;

	for (uint32_t i = 0; i < t->nruns; i++)
		if (t->run[i].source == source)
			return &t->run[i].deltas;

	t->run = room_for_one(t->arena, t->run, t->nruns, &t->cap_runs, sizeof(DdirRun));
	run = &t->run[t->nruns++];
	run->source = source;
	ddir_deltas_init(&run->deltas, t->arena, 1, false);
	return &run->deltas;
}

void
ddir_trays_event(DdirTrays *t, uint32_t source, DdirTrayEventKind kind)
{
	t->event = room_for_one(t->arena, t->event, t->nevents, &t->cap_events,
							sizeof(DdirTrayEvent));
	t->event[t->nevents].tray = t->next;
	t->event[t->nevents].source = source;
	t->event[t->nevents].kind = kind;
	t->nevents++;
}

void
ddir_trays_close(DdirTrays *t, uint64_t lsn, uint32_t xid, int64_t commit_time)
{
	uint64_t	rows = 0;
	DdirTray   *tray;

	for (uint32_t i = 0; i < t->nruns; i++)
		rows += t->run[i].deltas.n;
	if (rows == t->rows &&
		(t->nevents == 0 || t->event[t->nevents - 1].tray != t->next))
		return;

	t->rows = rows;
	t->tray = room_for_one(t->arena, t->tray, t->ntrays, &t->cap_trays, sizeof(DdirTray));
	tray = &t->tray[t->ntrays++];
	tray->number = t->next++;
	tray->lsn = lsn;
	tray->xid = xid;
	tray->commit_time = commit_time;
}

const DdirTray *
ddir_tray_find(const DdirTray *tray, uint32_t n, uint64_t number)
{
	uint32_t	lo = 0;
	uint32_t	hi = n;

	while (lo < hi)
	{
		uint32_t	mid = lo + (hi - lo) / 2;

		if (tray[mid].number < number)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < n && tray[lo].number == number ? &tray[lo] : NULL;
}

const DdirTray *
ddir_trays_find(const DdirTrays *t, uint64_t number)
{
	return ddir_tray_find(t->tray, t->ntrays, number);
}

size_t
ddir_trays_bytes(const DdirTrays *t)
{
	size_t		bytes = t->cap_trays * sizeof(DdirTray);

	for (uint32_t i = 0; i < t->nruns; i++)
		bytes += ddir_deltas_bytes(&t->run[i].deltas);
	return bytes;
}
