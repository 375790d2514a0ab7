/*-------------------------------------------------------------------------
 *
 * answer.c
 *	  What sessions ask the maintainer: its sources, arrangements and
 *	  operators, a view's plan, to hydrate a view again, and whether a view
 *	  is exactly as of a snapshot.
 *
 * The columns of the answers are listed in base/request.h.
 *
 * src/worker/answer.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "lib/stringinfo.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"

#include "base/request.h"
#include "store/stepping.h"
#include "worker/maintainer.h"

static char *
oid_array(List *oids)
{
	StringInfoData buf;
	ListCell   *lc;

	initStringInfo(&buf);
	appendStringInfoChar(&buf, '{');
	foreach(lc, oids)
		appendStringInfo(&buf, "%s%u", buf.len > 1 ? "," : "", lfirst_oid(lc));
	appendStringInfoChar(&buf, '}');
	return buf.data;
}

static void
answer_sources(DdirMaintainer *m, DdirReply *reply)
{
	ListCell   *lc;

	StartTransactionCommand();
	foreach(lc, m->tracked)
	{
		Oid			relid = lfirst_oid(lc);
		DdirNode   *node = ddir_share_source(m->share, relid);
		List	   *views = NIL;
		const char *cols[5];
		ListCell   *cell;

		foreach(cell, m->views)
		{
			DdirMaintained *v = lfirst(cell);

			if (v->lowered && list_member_oid(v->lowered->sources, relid))
				views = lappend_oid(views, v->view);
		}
		/* no source any more: dropped, or soon to have its identity back */
		if (views == NIL)
			continue;
		cols[0] = psprintf("%u", relid);
		cols[1] = ddir_capture_mode_name(m->mode);
		cols[2] = ddir_capture_identity(m->capture, relid);
		cols[3] = oid_array(views);
		cols[4] = psprintf(UINT64_FORMAT, node ? node->rows_in : 0);
		ddir_reply_row(reply, 5, cols);
	}
	CommitTransactionCommand();
}

static void
answer_arrangements(DdirMaintainer *m, DdirReply *reply)
{
	ListCell   *lc;

	StartTransactionCommand();
	foreach(lc, ddir_share_arrangements(m->share))
	{
		DdirArrangementInfo *a = lfirst(lc);
		const char *cols[9];

		cols[0] = OidIsValid(a->relid) ? psprintf("%u", a->relid) : NULL;
		cols[1] = a->input;
		cols[2] = a->key;
		cols[3] = a->columns;
		cols[4] = oid_array(a->views);
		cols[5] = psprintf(UINT64_FORMAT, a->rows);
		cols[6] = psprintf("%zu", a->bytes);
		cols[7] = psprintf(UINT64_FORMAT, a->since);
		cols[8] = psprintf(UINT64_FORMAT, a->upper);
		ddir_reply_row(reply, 9, cols);
	}
	CommitTransactionCommand();
}

typedef struct Operators
{
	DdirMaintainer *m;
	DdirReply  *reply;
} Operators;

/* The only view whose flow has this node; InvalidOid: none, or several. */
static Oid
view_of(DdirMaintainer *m, const DdirNode *node)
{
	Oid			view = InvalidOid;
	ListCell   *lc;

	foreach(lc, m->views)
	{
		DdirMaintained *v = lfirst(lc);

		if (v->flow == NULL || !list_member_ptr(v->flow->nodes, node))
			continue;
		if (OidIsValid(view))
			return InvalidOid;
		view = v->view;
	}
	return view;
}

static void
answer_operator(DdirNode *node, void *ctx)
{
	Operators  *o = ctx;
	Oid			view = view_of(o->m, node);
	DdirNodeStats stats;
	const char *cols[7];

	ddir_node_stats(node, &stats);
	cols[0] = OidIsValid(view) ? psprintf("%u", view) : NULL;
	cols[1] = stats.op;
	cols[2] = stats.label;
	cols[3] = psprintf(UINT64_FORMAT, stats.rows_in);
	cols[4] = psprintf(UINT64_FORMAT, stats.rows_out);
	cols[5] = psprintf(UINT64_FORMAT, stats.rows);
	cols[6] = psprintf("%zu", stats.bytes);
	ddir_reply_row(o->reply, 7, cols);
}

static DdirMaintained *
the_view(DdirMaintainer *m, Oid view, DdirReply *reply)
{
	DdirMaintained *v = ddir_views_find(m, view);

	if (v == NULL)
		ddir_reply_error(reply, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
						 "the maintainer does not know this view",
						 "A view is known once the transaction that created it is committed.");
	return v;
}

/* NULL where there is nothing to be said. */
static const char *
number(double n)
{
	return n < 0 ? NULL : psprintf("%.0f", n);
}

static void
explain_line(DdirReply *reply, const DdirMade *made, double rows, double bytes)
{
	const char *cols[10];

	cols[0] = psprintf("%d", made->depth);
	cols[1] = made->what;
	cols[2] = made->text;
	cols[3] = made->sharing;
	cols[4] = number(made->rows);
	cols[5] = number(made->bytes);
	cols[6] = number(made->delta_bytes);
	cols[7] = number(made->binary_bytes);
	cols[8] = number(rows);
	cols[9] = number(bytes);
	ddir_reply_row(reply, 10, cols);
}

static void
answer_explain(DdirMaintainer *m, Oid view, DdirReply *reply)
{
	DdirMaintained *v = the_view(m, view, reply);
	DdirMade	map = {0, "map", "rows of the view by their place", NULL, 0, 0, -1, -1, NULL};
	ListCell   *lc;

	if (v == NULL)
		return;
	if (v->flow == NULL)
	{
		ddir_reply_error(reply, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
						 psprintf("view \"%s\" has no dataflow: %s", v->name, v->reason), NULL);
		return;
	}
	foreach(lc, v->flow->made)
	{
		DdirMade   *made = lfirst(lc);
		DdirNodeStats stats;

		if (made->node)
			ddir_node_stats(made->node, &stats);
		explain_line(reply, made, made->node ? (double) stats.rows : -1,
					 made->node ? (double) stats.bytes : -1);
	}
	map.rows = v->flow->rows;
	map.bytes = ddir_flow_map_bytes(v->flow);
	explain_line(reply, &map, ddir_target_rows(v->target), ddir_target_bytes(v->target));
}

static void
answer_describe(DdirMaintainer *m, DdirReply *reply)
{
	ListCell   *lc;

	foreach(lc, ddir_share_describe(m->share))
	{
		DdirDescribed *d = lfirst(lc);
		const char *cols[3];

		cols[0] = d->text;
		cols[1] = number(d->rows);
		cols[2] = number(d->bytes);
		ddir_reply_row(reply, 3, cols);
	}
}

static void
answer_repair(DdirMaintainer *m, Oid view, DdirReply *reply)
{
	DdirMaintained *v = the_view(m, view, reply);

	if (v == NULL)
		return;
	v->negative = false;
	ddir_stepping_clear(view);
	if (v->lowered == NULL)
		m->look = m->heard.all = true;
	else
		ddir_views_rehydrate(m, v, "ddir.repair() was called");
}

/*
 * Having read all WAL that is flushed by now: is everything that touches the
 * view's sources at or before lsn, in the view, and visible to others?
 */
static void
answer_confirm(DdirMaintainer *m, Oid view, XLogRecPtr lsn, DdirReply *reply)
{
	DdirMaintained *v;
	TransactionId *unseen;
	const char *cols[1] = {"no"};

	ddir_maintainer_catch_up(m, GetFlushRecPtr(NULL));
	v = the_view(m, view, reply);
	if (v == NULL)
		return;
	AcceptInvalidationMessages();
	if (v->state == DDIR_VIEW_LIVE && m->broken == NULL && !m->look && !v->unlooked &&
		v->newest <= lsn &&
		ddir_capture_unseen(m->capture, &unseen) == 0)
		cols[0] = "yes";
	ddir_reply_row(reply, 1, cols);
}

static void
handle(void *ctx, DdirRequestKind kind, Oid arg, XLogRecPtr lsn, DdirReply *reply)
{
	DdirMaintainer *m = ctx;
	Operators	operators = {m, reply};

	switch (kind)
	{
		case DDIR_REQUEST_SOURCES:
			answer_sources(m, reply);
			break;
		case DDIR_REQUEST_ARRANGEMENTS:
			answer_arrangements(m, reply);
			break;
		case DDIR_REQUEST_OPERATORS:
			ddir_graph_each(m->graph, answer_operator, &operators);
			break;
		case DDIR_REQUEST_EXPLAIN:
			answer_explain(m, arg, reply);
			break;
		case DDIR_REQUEST_DESCRIBE:
			answer_describe(m, reply);
			break;
		case DDIR_REQUEST_REPAIR:
			answer_repair(m, arg, reply);
			break;
		case DDIR_REQUEST_CONFIRM:
			answer_confirm(m, arg, lsn, reply);
			break;
		case DDIR_REQUEST_SETTINGS:
			break;				/* base/request.c answers it */
	}
}

void
ddir_answer(DdirMaintainer *m)
{
	ddir_request_serve(m->db, handle, m);
}
