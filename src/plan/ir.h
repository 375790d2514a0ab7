/*-------------------------------------------------------------------------
 *
 * ir.h
 *	  DDIR: the relational algebra between a view's query and its dataflow.
 *
 * A tree of relations over bags.  lower.c makes it from a Query, optimize.c
 * rewrites it, build.c makes operators from it; explain.c prints it.
 * Subtrees may be shared (a WITH query, both uses of one side of an outer
 * join): the same pointer standing twice is computed once.
 *
 * Columns: every relation has a row type.  In the expressions of a relation
 * Var(varno = i + 1, varattno = a) is column a of its i-th input; there are no
 * Params and no SubLinks.  Where expressions may be evaluated early or late is
 * settled here: a Map's quals run before its targets; a Join's residual quals
 * run when all they mention is bound and, unless total, after all equalities
 * hold.
 *
 * The clock is read by the quals and targets of Schedules, which call now() and
 * its like, and by nothing else.
 *
 * Allocated in CurrentMemoryContext of whoever lowers; never freed singly.
 *
 * src/plan/ir.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_PLAN_IR_H
#define DDIR_PLAN_IR_H

#include "postgres.h"

#include "nodes/parsenodes.h"

#include "rows/rowtype.h"

typedef enum DdirRelKind
{
	DDIR_REL_SCAN,				/* a source or a ddir view */
	DDIR_REL_CONSTANT,			/* VALUES, or one empty row */
	DDIR_REL_MAP,				/* filter, then project */
	DDIR_REL_SCHEDULE,			/* the same by the clock, which passes */
	DDIR_REL_FLATMAP,			/* each row with the rows functions return for
								 * it */
	DDIR_REL_JOIN,				/* inner, n-ary */
	DDIR_REL_ANTI,				/* left rows without a match on the right */
	DDIR_REL_REDUCE,			/* GROUP BY and DISTINCT */
	DDIR_REL_UNION,				/* bag sum */
	DDIR_REL_NEGATE,
	DDIR_REL_THRESHOLD,			/* of what a bag sum has more than no times */
	DDIR_REL_TOPK,				/* LIMIT and DISTINCT ON, of each group */
	DDIR_REL_WINDOW,			/* functions of one window */
	DDIR_REL_VALID,				/* the rows of its input, without the errors */
	DDIR_REL_ERRORS				/* and the errors, as rows: SQLSTATE, message */
} DdirRelKind;

/* An equality between columns of two inputs (or of the groups, in a Reduce). */
typedef struct DdirEquality
{
	int			left;			/* input, from 0 */
	Expr	   *left_expr;		/* over that input alone: Var(varno = left +
								 * 1) */
	int			right;
	Expr	   *right_expr;
	Oid			eqop;
	Oid			collation;
	bool		null_safe;		/* IS NOT DISTINCT FROM: NULL matches NULL */
} DdirEquality;

typedef struct DdirGroupKey
{
	Expr	   *expr;			/* over input 0 */
	Oid			eqop;
	Oid			collation;
} DdirGroupKey;

/* What rows are ordered by.  Behind all of these is the row's image. */
typedef struct DdirOrderKey
{
	Expr	   *expr;			/* over input 0 */
	Oid			sortop;			/* "<" or ">" of a btree family */
	Oid			collation;
	bool		nulls_first;
} DdirOrderKey;

typedef struct DdirRel DdirRel;

struct DdirRel
{
	DdirRelKind kind;
	DdirRowType *type;
	List	   *colnames;		/* of char *, for explain; may be NIL */
	int			ninputs;
	DdirRel   **input;
	double		rows;			/* estimate, by ddir_estimate; of a scan when
								 * it is made */

	/* SCAN: columns by attribute number, dropped and unused ones NULL */
	Oid			relid;
	bool		is_view;		/* a ddir view: read from its dataflow */
	Bitmapset  *used;			/* attribute numbers, from 1 */

	/* CONSTANT: list of lists of Const */
	List	   *constants;

	/*
	 * MAP, SCHEDULE and JOIN; ANTI has quals as residual conditions of the
	 * match
	 */
	List	   *quals;
	List	   *targets;		/* Exprs; output columns */

	/*
	 * FLATMAP: targets are columns of the input that are kept; behind them
	 * stand those of the functions, run side by side (rows/flatmap.h)
	 */
	List	   *functions;		/* of RangeTblFunction */
	bool		values;			/* as in a select list */
	bool		ordinality;		/* and a number */
	bool		outer;			/* NULLs where they return nothing */

	/* JOIN and ANTI (ANTI: left is always input 0, right input 1) */
	List	   *equalities;		/* of DdirEquality */
	bool		binary;			/* JOIN of two, made for a tree of such joins:
								 * both sides are to be arranged by its
								 * equalities (jointree.c) */

	/*
	 * REDUCE: output = keys, then aggregates.  TOPK: output = input.  WINDOW:
	 * output = input, then functions.  Of these two keys are columns.
	 */
	List	   *keys;			/* of DdirGroupKey */
	List	   *aggs;			/* of Aggref, arguments over input 0 */
	bool		global;			/* no GROUP BY: one row even over nothing */

	/* TOPK: of each group the rows from place "offset" on; WINDOW: order */
	List	   *order;			/* of DdirOrderKey; columns */
	int64		limit;			/* so many of them; below zero: all */
	int64		offset;
	bool		ties;			/* and those ordered like the last one */

	/* WINDOW */
	WindowClause *frame;		/* the frame in it, offsets being constants */
	List	   *funcs;			/* of WindowFunc; arguments are columns or
								 * constants */

	/* set by build.c */
	void	   *built;
};

extern DdirRel *ddir_rel_scan(Oid relid, bool is_view, Bitmapset *used, double rows);
extern DdirRel *ddir_rel_constant(DdirRowType *type, List *rows);
extern DdirRel *ddir_rel_map(DdirRel *input, List *quals, List *targets);
extern DdirRel *ddir_rel_schedule(DdirRel *input, List *quals, List *targets);
extern DdirRel *ddir_rel_flatmap(DdirRel *input, List *targets, List *functions,
								 bool values, bool ordinality, bool outer);
extern DdirRel *ddir_rel_join(int n, DdirRel *const *inputs, List *equalities,
							  List *quals, List *targets);
extern DdirRel *ddir_rel_anti(DdirRel *left, DdirRel *right, List *equalities, List *quals);
extern DdirRel *ddir_rel_reduce(DdirRel *input, List *keys, List *aggs, bool global);
extern DdirRel *ddir_rel_union(int n, DdirRel *const *inputs);
extern DdirRel *ddir_rel_negate(DdirRel *input);
extern DdirRel *ddir_rel_threshold(DdirRel *input);
extern DdirRel *ddir_rel_topk(DdirRel *input, List *keys, List *order, int64 limit,
							  int64 offset, bool ties);
extern DdirRel *ddir_rel_window(DdirRel *input, List *keys, List *order, WindowClause *frame,
								List *funcs);
extern DdirRel *ddir_rel_valid(DdirRel *input);
extern DdirRel *ddir_rel_errors(DdirRel *input);

/* of each DdirGroupKey its expression; a new list */
extern List *ddir_key_exprs(const List *keys);

/* the Var for column a (from 1) of input i (from 0), which is "of" */
extern Var *ddir_rel_var(int i, const DdirRel *of, AttrNumber a);

/* Vars for all columns of it; a NULL constant where one was dropped */
extern List *ddir_rel_columns(int i, const DdirRel *of);

/* A copy of the expression with every Var replaced by what fn makes of it. */
typedef Node *(*DdirVarFn) (Var *var, void *arg);
extern Node *ddir_vars_map(Node *expr, DdirVarFn fn, void *arg);

/* Call fn on every Var.  Neither looks into sub-Queries. */
typedef void (*DdirVarVisit) (Var *var, void *arg);
extern void ddir_vars_visit(Node *expr, DdirVarVisit fn, void *arg);

/* what column a (from 1) is called, for people */
extern char *ddir_rel_column_name(const DdirRel *rel, AttrNumber a);

/* "(a = b)" as "a = b" */
extern char *ddir_text_without_parens(char *text);

/* text tree, one operator a line */
extern char *ddir_rel_text(const DdirRel *rel);

/* the same as JSON, with estimated rows */
extern char *ddir_rel_json(const DdirRel *rel);

#endif							/* DDIR_PLAN_IR_H */
