/*-------------------------------------------------------------------------
 *
 * cursor.c
 *	  Reading one key of a trace: its vals in order, accumulated at a time.
 *
 * A key's rows are in a few batches, each in order of the vals; the cursor
 * walks them side by side.  Most batches are wholly before the time asked for
 * and most have no time lane, so mostly no time is looked at.
 *
 * Memory: none; the cursor is a plain struct.  It holds no references, see
 * spine.h for how long it is valid.
 *
 * src/engine/cursor.c
 *
 *-------------------------------------------------------------------------
 */
#include "engine/spine.h"

void
ddir_cursor_open(DdirCursor *c, const DdirSpine *s, const uint64_t *t, bool strict)
{
	DdirBatch  *list[DDIR_SPINE_BATCHES_MAX];
	int			n = ddir_spine_batches(s, list);

	c->nbatches = 0;
	c->nlive = 0;
	c->coords = ddir_spine_upper(s)->coords;
	c->strict = strict;
	memset(&c->t, 0, sizeof(c->t));
	memcpy(c->t.c, t, c->coords * sizeof(uint64_t));
	for (int i = 0; i < n; i++)
	{
		DdirBatch  *b = list[i];

		if (b->n == 0 || !ddir_time_le(b->least.c, t, c->coords))
			continue;
		c->batch[c->nbatches] = b;
		/* strictly before t: all but those at t, and only the newest can be */
		c->whole[c->nbatches] = ddir_time_le(b->most.c, t, c->coords) &&
			!(strict && ddir_time_cmp(b->newest.c, t, c->coords) == 0);
		c->nbatches++;
	}
}

void
ddir_cursor_copy(DdirCursor *to, const DdirCursor *from)
{
	int			n = from->nbatches;

	to->nbatches = n;
	to->coords = from->coords;
	to->strict = from->strict;
	to->t = from->t;
	memcpy(to->batch, from->batch, n * sizeof(from->batch[0]));
	memcpy(to->whole, from->whole, n * sizeof(from->whole[0]));
	memcpy(to->pos, from->pos, n * sizeof(from->pos[0]));
	memcpy(to->end, from->end, n * sizeof(from->end[0]));
	to->nlive = from->nlive;
	memcpy(to->live, from->live, from->nlive * sizeof(from->live[0]));
}

void
ddir_cursor_seek(DdirCursor *c, uint64_t hash, const void *key, uint32_t keylen)
{
	c->nlive = 0;
	for (int i = 0; i < c->nbatches; i++)
	{
		c->pos[i] = ddir_batch_find(c->batch[i], hash, key, keylen, &c->end[i]);
		if (c->pos[i] < c->end[i])
			c->live[c->nlive++] = i;
	}
}

void
ddir_cursor_seek_val(DdirCursor *c, const void *val, uint32_t vallen)
{
	int			kept = 0;

	for (int k = 0; k < c->nlive; k++)
	{
		int			i = c->live[k];
		uint32_t	lo = c->pos[i];
		uint32_t	hi = c->end[i];

		while (lo < hi)
		{
			uint32_t	mid = lo + (hi - lo) / 2;
			DdirRef		r = ddir_batch_val(c->batch[i], mid);

			if (ddir_bytes_cmp(r.p, r.len, val, vallen) < 0)
				lo = mid + 1;
			else
				hi = mid;
		}
		c->pos[i] = lo;
		if (lo < c->end[i])
			c->live[kept++] = i;
	}
	c->nlive = kept;
}

static inline bool
visible(const DdirCursor *c, int i, uint32_t row)
{
	const uint64_t *t;

	if (c->whole[i])
		return true;
	t = ddir_batch_time(c->batch[i], row);
	return ddir_time_le(t, c->t.c, c->coords) &&
		!(c->strict && ddir_time_cmp(t, c->t.c, c->coords) == 0);
}

/* Pass the rows of batch i with the val it stands at; what they sum to. */
static int64_t
take_val(DdirCursor *c, int i, DdirRef val)
{
	const DdirBatch *b = c->batch[i];
	int64_t		sum = 0;

	for (;;)
	{
		DdirRef		r;

		if (visible(c, i, c->pos[i]))
			sum += ddir_batch_diff(b, c->pos[i]);
		/* without a time lane a val stands only once under a key */
		if (++c->pos[i] == c->end[i] || b->time == NULL)
			return sum;
		r = ddir_batch_val(b, c->pos[i]);
		if (ddir_bytes_cmp(r.p, r.len, val.p, val.len) != 0)
			return sum;
	}
}

bool
ddir_cursor_next(DdirCursor *c, DdirRef *val, int64_t *diff)
{
	while (c->nlive > 0)
	{
		uint8_t		with[DDIR_SPINE_BATCHES_MAX];	/* those at the least val */
		int			nwith = 1;
		int			kept = 0;

		with[0] = c->live[0];
		*val = ddir_batch_val(c->batch[with[0]], c->pos[with[0]]);
		for (int k = 1; k < c->nlive; k++)
		{
			int			i = c->live[k];
			DdirRef		r = ddir_batch_val(c->batch[i], c->pos[i]);
			int			cmp = ddir_bytes_cmp(r.p, r.len, val->p, val->len);

			if (cmp > 0)
				continue;
			if (cmp < 0)
			{
				*val = r;
				nwith = 0;
			}
			with[nwith++] = i;
		}

		*diff = 0;
		for (int k = 0; k < nwith; k++)
			*diff += take_val(c, with[k], *val);
		for (int k = 0; k < c->nlive; k++)
			if (c->pos[c->live[k]] < c->end[c->live[k]])
				c->live[kept++] = c->live[k];
		c->nlive = kept;
		if (*diff != 0)
			return true;
	}
	return false;
}
