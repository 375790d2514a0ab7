/*-------------------------------------------------------------------------
 *
 * program.c
 *	  Drives programs: a view's target list and WHERE clause are run over the
 *	  cross product of the tables in its FROM clause.
 *
 * test/modules/test_ddir/program.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/tableam.h"
#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "lib/stringinfo.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "portability/instr_time.h"
#include "rewrite/rewriteHandler.h"
#include "rewrite/rewriteManip.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "rows/program.h"
#include "test_ddir.h"

#define RELATIONS_MAX 4

PG_FUNCTION_INFO_V1(test_ddir_run);
PG_FUNCTION_INFO_V1(test_ddir_total);
PG_FUNCTION_INFO_V1(test_ddir_time);

/* A view as a program and what to run it over. */
typedef struct Subject
{
	DdirProgramSpec spec;
	const DdirRowType *type[RELATIONS_MAX];
	DdirDeltas *rows[RELATIONS_MAX];
	DdirBundle	bundle;
	const DdirRef *ref[RELATIONS_MAX];
	int64	   *diff;
	uint64_t	at[DDIR_COORDS_MAX];
} Subject;

/* The rows of a table; only those columns that are "used", if any. */
static void
read_table(Subject *s, int r, Oid relid)
{
	Relation	rel = table_open(relid, AccessShareLock);
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	TableScanDesc scan = table_beginscan(rel, GetActiveSnapshot(), 0, NULL);

	s->type[r] = ddir_rowtype_from_tupdesc(RelationGetDescr(rel));
	s->rows[r] = new_deltas(false);
	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		uint32		len;

		slot_getallattrs(slot);
		len = ddir_image_pack(s->type[r], slot->tts_values, slot->tts_isnull, NULL, s->rows[r]);
		ddir_deltas_close(s->rows[r], 0, len, NULL, 1, 0);
	}
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	table_close(rel, AccessShareLock);
}

/* All combinations, the last relation changing fastest. */
static void
cross(Subject *s)
{
	uint32		n = 1;
	uint32		repeat = 1;

	for (int r = 0; r < s->spec.nrel; r++)
		n *= s->rows[r]->n;
	for (int r = s->spec.nrel - 1; r >= 0; r--)
	{
		DdirRef    *ref = palloc(n * sizeof(DdirRef) + 1);

		for (uint32 i = 0; i < n; i++)
			ref[i] = ddir_lane_ref(&s->rows[r]->val, i / repeat % s->rows[r]->n);
		repeat *= s->rows[r]->n;
		s->ref[r] = ref;
	}
	s->diff = palloc(n * sizeof(int64) + 1);
	for (uint32 i = 0; i < n; i++)
		s->diff[i] = i % 3 == 2 ? -2 : 1;
	s->at[0] = 7;
	s->bundle.n = n;
	s->bundle.nrel = s->spec.nrel;
	s->bundle.coords = 1;
	s->bundle.ref = s->ref;
	s->bundle.diff = s->diff;
	s->bundle.at = s->at;
}

static Subject *
subject_of(Oid view, int nkeys, Oid owner)
{
	Subject    *s = palloc0(sizeof(Subject));
	Relation	rel = table_open(view, AccessShareLock);
	Query	   *query = copyObject(get_view_query(rel));
	ListCell   *lc;

	s->spec.label = RelationGetRelationName(rel);
	s->spec.owner = owner;
	foreach(lc, query->jointree->fromlist)
	{
		int			rti = lfirst_node(RangeTblRef, lc)->rtindex;
		RangeTblEntry *rte = list_nth(query->rtable, rti - 1);
		int			r = s->spec.nrel++;

		if (r == RELATIONS_MAX)
			elog(ERROR, "too many tables");
		read_table(s, r, rte->relid);
		ChangeVarNodes((Node *) query->targetList, rti, r + 1, 0);
		ChangeVarNodes(query->jointree->quals, rti, r + 1, 0);
	}
	table_close(rel, AccessShareLock);
	s->spec.rel = s->type;
	s->spec.quals = make_ands_implicit((Expr *) eval_const_expressions(NULL, query->jointree->quals));
	foreach(lc, query->targetList)
	{
		TargetEntry *tle = lfirst(lc);

		s->spec.targets = lappend(s->spec.targets,
								  eval_const_expressions(NULL, (Node *) tle->expr));
	}
	if (nkeys > 0)
	{
		Oid		   *typids = palloc(nkeys * sizeof(Oid));
		Oid		   *collations = palloc(nkeys * sizeof(Oid));

		for (int i = 0; i < nkeys; i++)
		{
			Node	   *expr = list_nth(s->spec.targets, i);

			typids[i] = exprType(expr);
			collations[i] = exprCollation(expr);
			s->spec.keys = lappend(s->spec.keys, expr);
		}
		s->spec.key = ddir_key_make(DDIR_KEY_JOIN, nkeys, typids, collations, NULL);
	}
	cross(s);
	return s;
}

static void
append_bytes(StringInfo buf, DdirRef r)
{
	for (uint32 i = 0; i < r.len; i++)
		appendStringInfo(buf, "%02x", r.p[i]);
}

static void
add_line(ArrayBuildState *result, char *line)
{
	accumArrayResult(result, CStringGetTextDatum(line), false, TEXTOID, CurrentMemoryContext);
}

/*
 * run(view regclass, nkeys int, owner oid) returns text[]: a line a row that
 * comes out, "number of the input x diff: [key] row", then the errors.
 */
Datum
test_ddir_run(PG_FUNCTION_ARGS)
{
	Subject    *s = subject_of(PG_GETARG_OID(0), PG_GETARG_INT32(1), PG_GETARG_OID(2));
	DdirFunc	f = ddir_program_make(CurrentMemoryContext, &s->spec);
	DdirRowType *type = ddir_rowtype_from_exprs(s->spec.targets);
	DdirDeltas *out = new_deltas(s->spec.key != NULL);
	DdirDeltas *err = new_deltas(false);
	ArrayBuildState *result = initArrayResult(TEXTOID, CurrentMemoryContext, false);
	int			level = ddir_rights_enter();

	out->tracked = err->tracked = true;
	out->at.c[0] = err->at.c[0] = s->at[0];
	ddir_func_call(&f, &s->bundle, out, err);
	ddir_rights_leave(level);
	if (out->time || err->time)
		elog(ERROR, "a time lane appeared");
	for (uint32 i = 0; i < out->n; i++)
	{
		StringInfoData buf;

		initStringInfo(&buf);
		appendStringInfo(&buf, "%u x %lld: ", out->from[i], (long long) out->diff[i]);
		if (out->keyed)
		{
			append_bytes(&buf, ddir_lane_ref(&out->key, i));
			appendStringInfoChar(&buf, ' ');
		}
		appendStringInfoString(&buf, ddir_image_text(type, ddir_lane_ref(&out->val, i)));
		add_line(result, buf.data);
	}
	for (uint32 i = 0; i < err->n; i++)
	{
		DdirRef		image = ddir_lane_ref(&err->val, i);
		Datum		values[2];
		bool		isnull[2];

		if (!ddir_image_unpack(ddir_error_rowtype(), image, NULL, values, isnull,
							   CurrentMemoryContext))
			elog(ERROR, "malformed error row");
		add_line(result, psprintf("%u x %lld: error %s: %s", err->from[i],
								  (long long) err->diff[i],
								  unpack_sql_state(DatumGetInt32(values[0])),
								  TextDatumGetCString(values[1])));
	}
	PG_RETURN_DATUM(makeArrayResult(result, CurrentMemoryContext));
}

/* total(view regclass): which targets cannot raise an error */
Datum
test_ddir_total(PG_FUNCTION_ARGS)
{
	Subject    *s = subject_of(PG_GETARG_OID(0), 0, InvalidOid);
	ArrayBuildState *result = initArrayResult(BOOLOID, CurrentMemoryContext, false);
	ListCell   *lc;

	foreach(lc, s->spec.targets)
		accumArrayResult(result, BoolGetDatum(ddir_expr_is_total(lfirst(lc))), false,
						 BOOLOID, CurrentMemoryContext);
	PG_RETURN_DATUM(makeArrayResult(result, CurrentMemoryContext));
}

/*
 * time(view regclass, nkeys int, loops int) returns float8: nanoseconds a row,
 * in bundles of the engine's size.  For people; no test looks at it.
 */
Datum
test_ddir_time(PG_FUNCTION_ARGS)
{
	Subject    *s = subject_of(PG_GETARG_OID(0), PG_GETARG_INT32(1), InvalidOid);
	int			loops = PG_GETARG_INT32(2);
	DdirFunc	f = ddir_program_make(CurrentMemoryContext, &s->spec);
	DdirDeltas *out = new_deltas(s->spec.key != NULL);
	DdirDeltas *err = new_deltas(false);
	int64		rows = 0;
	instr_time	start;
	instr_time	end;

	out->at.c[0] = err->at.c[0] = s->at[0];
	INSTR_TIME_SET_CURRENT(start);
	for (int k = 0; k < loops; k++)
		for (uint32 i = 0; i < s->bundle.n; i += DDIR_CHUNK_ROWS)
		{
			const DdirRef *ref[RELATIONS_MAX];
			DdirBundle	part = s->bundle;

			for (int r = 0; r < part.nrel; r++)
				ref[r] = s->ref[r] + i;
			part.ref = ref;
			part.diff += i;
			part.n = Min(part.n - i, DDIR_CHUNK_ROWS);
			ddir_deltas_clear(out);
			ddir_func_call(&f, &part, out, err);
			rows += part.n;
		}
	INSTR_TIME_SET_CURRENT(end);
	INSTR_TIME_SUBTRACT(end, start);
	PG_RETURN_FLOAT8(INSTR_TIME_GET_DOUBLE(end) * 1e9 / Max(rows, 1));
}
