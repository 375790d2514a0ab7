/*-------------------------------------------------------------------------
 *
 * program.c
 *	  Programs: the executor's expressions over packed rows.
 *
 * The columns that a program uses, of all its relations, make up one virtual
 * slot, the *scan*; a fetch per relation unpacks into it what is used and
 * nothing else.  Variables are renumbered to that slot.  What comes out are
 * outputs (of the row, of the key, of the order), each of them one of
 *
 *	a column of the scan	- no executor; no move either where they stand in
 *							  the scan side by side, as places are given out
 *							  in the order of the outputs
 *	a constant				- set when the program is made
 *	an expression			- all of them in one projection
 *
 * Where the output row is an input row as it is, its image is copied.
 *
 * Everything that belongs to a row (copies for alignment, what expressions
 * make) is in the expression context's memory, reset before each row.
 *
 * Errors: a bundle runs under ddir_guard.  The run knows which row it is at,
 * so after a row error it goes on behind that row; a row appends its one
 * output as its last act, so nothing of it has to be taken back.
 *
 * Not here: set-returning functions, aggregates, parameters.
 *
 * src/rows/program.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tupdesc.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "base/compat.h"
#include "rows/program.h"

/* Where an output comes from. */
typedef enum Origin
{
	FROM_SCAN,
	FROM_CONSTANT,
	FROM_PROJECTION
} Origin;

/*
 * Values that a row gives, of one use.  They are moved from their origins
 * unless "in_place".
 */
typedef struct Outputs
{
	int			n;
	bool		in_place;		/* values leads into the scan */
	Datum	   *values;
	bool	   *isnull;
	const Datum **from_value;
	const bool **from_isnull;
	/* while being made */
	Origin	   *origin;
	int		   *place;			/* in the scan, in the projection */
} Outputs;

typedef struct Program
{
	char	   *label;
	Oid			owner;
	bool		total;			/* no expression can raise an error */
	/* input */
	int			nrel;
	DdirFetch **fetch;			/* of each relation; NULL: nothing is used */
	TupleTableSlot *scan;
	/* expressions */
	ExprContext *econtext;
	ExprState  *qual;			/* may be NULL */
	ProjectionInfo *projection; /* may be NULL */
	/* output */
	int			copy_rel;		/* whose image is the row, or -1 */
	bool		no_row;
	bool		row_is_key;
	DdirRowType *row;
	Outputs		target;
	DdirKeySpec *key;			/* may be NULL */
	Outputs		keycol;
	Outputs		order;
	Oid		   *order_type;
	bool	   *order_desc;
	bool	   *order_nulls_first;
} Program;

/* A bundle on its way through a program. */
typedef struct Run
{
	Program    *program;
	const DdirBundle *in;
	DdirDeltas *out;
	DdirDeltas *err;
	uint32		row;			/* the one at work */
	int			sqlstate;		/* its error, if it has one */
	char	   *message;
} Run;

/* ----
 * Making
 * ----
 */

/* What is gathered while expressions are walked through. */
typedef struct Making
{
	const DdirProgramSpec *spec;
	int		  **place;			/* per relation and column: in the scan, or -1 */
	int			nscan;
	List	   *scan_columns;	/* of DdirColumnType *, in the order of the
								 * scan */
	List	   *projected;		/* of TargetEntry */
} Making;

static int
scan_place(Making *m, const Var *var)
{
	const DdirProgramSpec *spec = m->spec;
	int			r = (int) var->varno - 1;
	int			a = var->varattno - 1;
	const DdirColumnType *c;

	if (var->varlevelsup != 0 || r < 0 || r >= spec->nrel || spec->rel[r] == NULL ||
		a < 0 || a >= spec->rel[r]->natts)
		elog(ERROR, "program \"%s\" has no column %d of relation %d",
			 spec->label, a + 1, r + 1);
	c = &spec->rel[r]->col[a];
	if (!OidIsValid(c->typid) || getBaseType(c->typid) != getBaseType(var->vartype))
		elog(ERROR, "column %d of relation %d of program \"%s\" is of type %u, not %u",
			 a + 1, r + 1, spec->label, c->typid, var->vartype);
	if (m->place[r][a] < 0)
	{
		m->place[r][a] = m->nscan++;
		m->scan_columns = lappend(m->scan_columns, unconstify(DdirColumnType *, c));
	}
	return m->place[r][a];
}

/* Renumber variables to the scan. */
static Node *
scan_mutator(Node *node, void *context)
{
	Making	   *m = context;

	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
	{
		int			place = scan_place(m, (Var *) node);
		const DdirColumnType *c = list_nth(m->scan_columns, place);
		Var		   *var = copyObject((Var *) node);

		/* a domain and its base differ by name only */
		var->varno = 1;
		var->varattno = place + 1;
		var->vartype = c->typid;
		var->vartypmod = c->typmod;
		return (Node *) var;
	}
	return expression_tree_mutator(node, scan_mutator, context);
}

static Expr *
prepare_expr(Making *m, Node *expr)
{
	if (expression_returns_set(expr))
		elog(ERROR, "program \"%s\" has an expression that returns a set", m->spec->label);
	/* the mutator copies a Const but not what it points to */
	expr = copyObject(scan_mutator(expr, m));
	fix_opfuncids(expr);
	convert_saop_to_hashed_saop(expr);
	return (Expr *) expr;
}

static void
add_outputs(Making *m, Outputs *o, List *exprs)
{
	ListCell   *lc;

	o->n = list_length(exprs);
	o->values = palloc0(o->n * sizeof(Datum) + 1);
	o->isnull = palloc0(o->n * sizeof(bool) + 1);
	o->origin = palloc(o->n * sizeof(Origin) + 1);
	o->place = palloc0(o->n * sizeof(int) + 1);
	foreach(lc, exprs)
	{
		int			i = foreach_current_index(lc);
		Node	   *expr = lfirst(lc);

		if (IsA(expr, TargetEntry))
			expr = (Node *) ((TargetEntry *) expr)->expr;
		if (IsA(expr, Var))
		{
			o->origin[i] = FROM_SCAN;
			o->place[i] = scan_place(m, (Var *) expr);
		}
		else if (IsA(expr, Const))
		{
			Const	   *c = copyObject((Const *) expr);

			o->origin[i] = FROM_CONSTANT;
			o->values[i] = c->constvalue;
			o->isnull[i] = c->constisnull;
		}
		else
		{
			o->origin[i] = FROM_PROJECTION;
			o->place[i] = list_length(m->projected);
			m->projected = lappend(m->projected,
								   makeTargetEntry(prepare_expr(m, expr),
												   o->place[i] + 1, NULL, false));
		}
	}
}

static bool
side_by_side(const Outputs *o)
{
	for (int i = 0; i < o->n; i++)
		if (o->origin[i] != FROM_SCAN || o->place[i] != o->place[0] + i)
			return false;
	return o->n > 0;
}

/* Once the slots are there: outputs lead to where their values will be. */
static void
bind_outputs(Outputs *o, TupleTableSlot *scan, TupleTableSlot *projected)
{
	if (side_by_side(o))
	{
		o->in_place = true;
		o->values = scan->tts_values + o->place[0];
		o->isnull = scan->tts_isnull + o->place[0];
		return;
	}
	o->from_value = palloc(o->n * sizeof(Datum *) + 1);
	o->from_isnull = palloc(o->n * sizeof(bool *) + 1);
	for (int i = 0; i < o->n; i++)
	{
		TupleTableSlot *slot = o->origin[i] == FROM_SCAN ? scan : projected;

		if (o->origin[i] == FROM_CONSTANT)
		{
			/* from itself: stays what it is */
			o->from_value[i] = &o->values[i];
			o->from_isnull[i] = &o->isnull[i];
			continue;
		}
		o->from_value[i] = &slot->tts_values[o->place[i]];
		o->from_isnull[i] = &slot->tts_isnull[o->place[i]];
	}
}

/* The slot that relations are unpacked to. */
static TupleTableSlot *
make_scan(const Making *m)
{
	DdirRowType *type = palloc0(offsetof(DdirRowType, col) +
								m->nscan * sizeof(DdirColumnType));
	TupleTableSlot *slot;
	ListCell   *lc;

	type->natts = m->nscan;
	foreach(lc, m->scan_columns)
		type->col[foreach_current_index(lc)] = *(DdirColumnType *) lfirst(lc);
	slot = MakeSingleTupleTableSlot(ddir_rowtype_tupdesc(type), &TTSOpsVirtual);
	/* from now on the values are put there behind its back */
	return ExecStoreAllNullTuple(slot);
}

/* The relation whose image is the output row as it is, or -1. */
static int
find_copied(const DdirProgramSpec *spec, const Outputs *target)
{
	int			r = -1;
	ListCell   *lc;

	if (spec->no_row || spec->targets == NIL)
		return -1;
	foreach(lc, spec->targets)
	{
		int			i = foreach_current_index(lc);
		Node	   *expr = lfirst(lc);

		if (IsA(expr, TargetEntry))
			expr = (Node *) ((TargetEntry *) expr)->expr;
		if (!IsA(expr, Var) || ((Var *) expr)->varattno != i + 1)
			return -1;
		if (i > 0 && (int) ((Var *) expr)->varno != r + 1)
			return -1;
		r = (int) ((Var *) expr)->varno - 1;
	}
	return target->n == spec->rel[r]->natts ? r : -1;
}

static void
make_fetches(Program *p, const Making *m)
{
	p->nrel = m->spec->nrel;
	p->fetch = palloc0(p->nrel * sizeof(DdirFetch *) + 1);
	for (int r = 0; r < p->nrel; r++)
		for (int a = 0; m->spec->rel[r] && a < m->spec->rel[r]->natts; a++)
			if (m->place[r][a] >= 0)
			{
				p->fetch[r] = ddir_fetch_make(ddir_rowtype_copy(m->spec->rel[r]),
											  m->place[r]);
				break;
			}
}

/* The key's columns must be what its specification was made for. */
static void
check_key(const DdirProgramSpec *spec)
{
	ListCell   *lc;

	if (list_length(spec->keys) != spec->key->ncols)
		elog(ERROR, "program \"%s\" has %d key expressions for %d columns",
			 spec->label, list_length(spec->keys), spec->key->ncols);
	foreach(lc, spec->keys)
	{
		const DdirKeyColumn *c = &spec->key->col[foreach_current_index(lc)];
		Oid			typid = getBaseType(exprType(lfirst(lc)));
		int16		typlen;
		bool		typbyval;

		get_typlenbyval(typid, &typlen, &typbyval);
		if (typid != c->typid && (typlen != c->typlen || typbyval != c->typbyval))
			elog(ERROR, "a key expression of program \"%s\" is of type %u, not %u",
				 spec->label, typid, c->typid);
	}
}

static bool
spec_is_total(const DdirProgramSpec *spec)
{
	return ddir_expr_is_total((Node *) spec->quals) &&
		ddir_expr_is_total((Node *) spec->targets) &&
		(spec->key == NULL || (spec->key->total && ddir_expr_is_total((Node *) spec->keys))) &&
		ddir_expr_is_total((Node *) spec->order);
}

/* Everything about expressions, in the program's context. */
static void
make_expressions(Program *p, const DdirProgramSpec *spec)
{
	Making		m = {.spec = spec};
	TupleTableSlot *projected = NULL;
	List	   *quals = NIL;
	ListCell   *lc;

	m.place = palloc(spec->nrel * sizeof(int *) + 1);
	for (int r = 0; r < spec->nrel; r++)
	{
		m.place[r] = NULL;
		if (spec->rel[r] == NULL)
			continue;
		m.place[r] = palloc(spec->rel[r]->natts * sizeof(int) + 1);
		for (int a = 0; a < spec->rel[r]->natts; a++)
			m.place[r][a] = -1;
	}

	if (!spec->no_row)
		add_outputs(&m, &p->target, spec->targets);
	p->copy_rel = spec->order == NIL ? find_copied(spec, &p->target) : -1;
	if (p->copy_rel >= 0)
	{
		/* nothing of it has to be unpacked for the row */
		m.nscan = 0;
		m.scan_columns = NIL;
		for (int a = 0; a < spec->rel[p->copy_rel]->natts; a++)
			m.place[p->copy_rel][a] = -1;
		memset(&p->target, 0, sizeof(p->target));
	}
	if (spec->key)
		add_outputs(&m, &p->keycol, spec->keys);
	add_outputs(&m, &p->order, spec->order);
	foreach(lc, spec->quals)
		quals = lappend(quals, prepare_expr(&m, lfirst(lc)));

	make_fetches(p, &m);
	p->scan = make_scan(&m);
	p->econtext = CreateStandaloneExprContext();
	p->econtext->ecxt_scantuple = p->scan;
	p->qual = ExecInitQual(quals, NULL);
	if (m.projected != NIL)
	{
		projected = MakeSingleTupleTableSlot(ExecTypeFromTL(m.projected), &TTSOpsVirtual);
		p->projection = ExecBuildProjectionInfo(m.projected, p->econtext, projected, NULL,
												p->scan->tts_tupleDescriptor);
	}
	bind_outputs(&p->target, p->scan, projected);
	bind_outputs(&p->keycol, p->scan, projected);
	bind_outputs(&p->order, p->scan, projected);
}

static bool call_program(void *ctx, const DdirBundle *in, DdirDeltas *out, DdirDeltas *err);

DdirFunc
ddir_program_make(MemoryContext cxt, const DdirProgramSpec *spec)
{
	MemoryContext old = MemoryContextSwitchTo(cxt);
	Program    *p = palloc0(sizeof(Program));
	DdirFunc	f = {call_program, p};
	DdirActing	before;
	ListCell   *lc;

	p->label = pstrdup(spec->label ? spec->label : "");
	p->owner = spec->owner;
	p->no_row = spec->no_row;
	p->row_is_key = spec->row_is_key;
	p->total = spec_is_total(spec);
	if (spec->key)
	{
		check_key(spec);
		p->key = ddir_key_copy(spec->key);
	}
	if (!spec->no_row)
		p->row = ddir_rowtype_from_exprs(spec->targets);
	p->order_type = palloc(list_length(spec->order) * sizeof(Oid) + 1);
	p->order_desc = palloc(list_length(spec->order) * sizeof(bool) + 1);
	p->order_nulls_first = palloc(list_length(spec->order) * sizeof(bool) + 1);
	foreach(lc, spec->order)
	{
		int			k = foreach_current_index(lc);

		p->order_type[k] = getBaseType(exprType(lfirst(lc)));
		p->order_desc[k] = spec->descending && spec->descending[k];
		p->order_nulls_first[k] = spec->nulls_first && spec->nulls_first[k];
	}

	/* the right to call functions is checked here, so it must be the owner's */
	before = ddir_act_as(spec->owner);
	make_expressions(p, spec);
	ddir_act_back(&before);

	MemoryContextSwitchTo(old);
	return f;
}

/* ----
 * Running
 * ----
 */

pg_noreturn static void
malformed(const Program *p, int r)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("malformed row in a dataflow"),
			 errdetail_internal("It is of relation %d of program \"%s\".", r + 1, p->label)));
}

static inline void
unpack(Program *p, const DdirBundle *in, uint32 i, MemoryContext scratch)
{
	for (int r = 0; r < p->nrel; r++)
		if (p->fetch[r] != NULL &&
			unlikely(!ddir_fetch(p->fetch[r], in->ref[r][i], p->scan->tts_values,
								 p->scan->tts_isnull, scratch)))
			malformed(p, r);
}

static inline void
move(Outputs *o)
{
	if (o->in_place)
		return;
	for (int i = 0; i < o->n; i++)
	{
		o->values[i] = *o->from_value[i];
		o->isnull[i] = *o->from_isnull[i];
	}
}

/* Write the val of a row behind the run's rows; its length. */
static uint32
write_val(Program *p, const DdirBundle *in, uint32 i, DdirDeltas *out)
{
	uint32		len = 0;

	if (p->copy_rel >= 0)
	{
		DdirRef		image = in->ref[p->copy_rel][i];

		memcpy(ddir_deltas_val_room(out, image.len), image.p, image.len);
		return image.len;
	}
	move(&p->order);
	for (int k = 0; k < p->order.n; k++)
		len += ddir_order_encode(p->order_type[k], p->order.values[k],
								 p->order.isnull[k], p->order_desc[k],
								 p->order_nulls_first[k], out, len);
	if (!p->no_row)
	{
		move(&p->target);
		len += ddir_image_pack_at(p->row, p->target.values, p->target.isnull,
								  NULL, out, len);
	}
	return len;
}

static inline void
run_row(Program *p, const DdirBundle *in, uint32 i, DdirDeltas *out)
{
	MemoryContext scratch = p->econtext->ecxt_per_tuple_memory;
	int			keylen = 0;
	uint32		vallen;

	MemoryContextReset(scratch);
	unpack(p, in, i, scratch);
	if (p->qual && !ExecQual(p->qual, p->econtext))
		return;
	if (p->projection)
		ExecProject(p->projection);
	if (p->key)
	{
		move(&p->keycol);
		keylen = ddir_key_encode(p->key, p->keycol.values, p->keycol.isnull, out);
		if (keylen < 0)
			return;
	}
	vallen = write_val(p, in, i, out);
	if (p->row_is_key)
	{
		keylen = (int) vallen;
		memcpy(ddir_deltas_key_room(out, vallen), ddir_deltas_val_room(out, 0), vallen);
		vallen = 0;
	}
	ddir_deltas_close(out, keylen, vallen, ddir_bundle_time(in, i), in->diff[i], i);
}

/* The rows from run->row on.  First comes the error of the one before. */
static void
run_rows(void *arg)
{
	Run		   *run = arg;
	Program    *p = run->program;
	MemoryContext old = CurrentMemoryContext;

	if (run->message)
	{
		ddir_error_row_push(run->err, run->sqlstate, run->message,
							ddir_bundle_time(run->in, run->row),
							run->in->diff[run->row], run->row);
		run->message = NULL;
		run->row++;
	}
	MemoryContextSwitchTo(p->econtext->ecxt_per_tuple_memory);
	for (; run->row < run->in->n; run->row++)
	{
		CHECK_FOR_INTERRUPTS();
		run_row(p, run->in, run->row, run->out);
	}
	MemoryContextSwitchTo(old);
}

/* Mistakes of whoever built the graph, found before anything runs. */
static void
check_bundle(void *arg)
{
	Run		   *run = arg;
	Program    *p = run->program;

	if (run->in->nrel < p->nrel)
		elog(ERROR, "program \"%s\" is given %d relations, not %d",
			 p->label, run->in->nrel, p->nrel);
	if (run->out->keyed != (p->key != NULL || p->row_is_key))
		elog(ERROR, "program \"%s\" makes %s rows", p->label,
			 run->out->keyed ? "unkeyed" : "keyed");
	for (int r = 0; r < p->nrel; r++)
		if ((p->fetch[r] != NULL || p->copy_rel == r) && run->in->ref[r] == NULL)
			elog(ERROR, "relation %d of program \"%s\" is not bound", r + 1, p->label);
}

static bool
call_program(void *ctx, const DdirBundle *in, DdirDeltas *out, DdirDeltas *err)
{
	Program    *p = ctx;
	Run			run = {.program = p,.in = in,.out = out,.err = err};
	MemoryContext old = CurrentMemoryContext;
	DdirActing	before;
	char	   *message;

	if (in->n == 0)
		return true;
	if (ddir_guard(check_bundle, &run, false, &message) != 0)
		return false;

	before = ddir_act_as(p->owner);
	MemoryContextSwitchTo(p->econtext->ecxt_per_tuple_memory);
	do
	{
		run.sqlstate = ddir_guard(run_rows, &run, !p->total, &message);
		run.message = message;
	} while (run.sqlstate != 0 && ddir_sqlstate_is_row_error(run.sqlstate));
	MemoryContextSwitchTo(old);
	ddir_act_back(&before);
	return run.sqlstate == 0;
}
