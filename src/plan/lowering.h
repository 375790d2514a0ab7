/*-------------------------------------------------------------------------
 *
 * lowering.h
 *	  What the files that lower a Query share (lower.c, from.c, outer.c,
 *	  sublink.c, group.c, setop.c, finish.c).
 *
 * While a FROM clause is lowered it is *open*: a list of inputs yet to be
 * joined and of conditions yet to be placed.  Inner joins and WHERE only add
 * to it, so that a whole level becomes one n-ary join.  An outer join or an
 * EXISTS adds an input as well, whose first columns the query has no name for;
 * such an input is given a range table index of its own behind those of the
 * query, so that conditions on it look like all others.
 *
 * Conditions and targets are kept in the query's Vars, and become expressions
 * over inputs when the FROM is closed.
 *
 * src/plan/lowering.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_PLAN_LOWERING_H
#define DDIR_PLAN_LOWERING_H

#include "postgres.h"

#include "nodes/parsenodes.h"

#include "plan/check.h"
#include "plan/ir.h"
#include "plan/lower.h"

/* One call of ddir_lower. */
typedef struct DdirLowering
{
	DdirChecked checked;
	DdirRefusal *refusal;
	DdirLowered *result;
	List	   *scans;			/* of DdirRel *, one per relation */
	List	   *inlined;		/* of PlanInvalItem *: functions, also inlined
								 * ones */
} DdirLowering;

/* What a query is to the one around it. */
typedef enum DdirLevelKind
{
	DDIR_LEVEL_TOP,
	DDIR_LEVEL_FROM,			/* subquery in FROM, or operand of UNION */
	DDIR_LEVEL_WITH,
	DDIR_LEVEL_SUBLINK
} DdirLevelKind;

/* An input of an open FROM. */
typedef struct DdirInput
{
	DdirRel    *rel;
	List	   *filters;		/* quals over it alone, Var(1, a), to be
								 * applied */
	int			index;			/* when the FROM is closed */
} DdirInput;

/* Where the columns of a range table entry are. */
typedef struct DdirPlace
{
	DdirInput  *input;			/* NULL: nowhere any more */
	int			offset;			/* column a is column offset + a */
	int			natts;
} DdirPlace;

/* A condition of an open FROM. */
typedef struct DdirCond
{
	Expr	   *clause;
	bool		null_safe;		/* an OpExpr that is to hold for NULLs too;
								 * made by us */
} DdirCond;

typedef struct DdirFrom
{
	List	   *inputs;			/* of DdirInput * */
	List	   *conds;			/* of DdirCond * */
	Bitmapset  *rels;			/* range table indexes in it */
} DdirFrom;

/* A query being lowered. */
typedef struct DdirLevel
{
	DdirLowering *run;
	struct DdirLevel *parent;
	DdirLevelKind kind;
	Query	   *query;
	List	   *ctes;			/* of DdirCte *, lowered when first mentioned */
	DdirPlace  *place;			/* by range table index - 1 */
	int			nplaces;
} DdirLevel;

typedef struct DdirCte
{
	CommonTableExpr *cte;
	DdirRel    *rel;
} DdirCte;

/* An equality of an expression of one side with one of the other. */
typedef struct DdirPair
{
	Expr	   *outer;			/* in the query's Vars */
	Expr	   *inner;			/* over another relation, Var(1, a) */
	Oid			eqop;			/* outer eqop inner */
	Oid			collation;
} DdirPair;

/* lower.c */
extern DdirLevel *ddir_level_make(DdirLowering *run, DdirLevel *parent, Query *query,
								  DdirLevelKind kind);
extern DdirRel *ddir_lower_query(DdirLowering *run, DdirLevel *parent, Query *query,
								 DdirLevelKind kind);

/* Check an expression, fold its constants and inline its functions. */
extern Expr *ddir_lower_fold(DdirLevel *level, Expr *expr);

/* The same, as a list of conditions that must all hold. */
extern List *ddir_lower_conjuncts(DdirLevel *level, Node *quals);

/* Here columns of the query just around may be mentioned. */
extern List *ddir_lower_correlated(DdirLevel *level, Node *quals);

/* Of columns that are not the query's, but made by us. */
extern Expr *ddir_lower_fold_computed(DdirLevel *level, Expr *expr);
extern List *ddir_lower_conjuncts_computed(DdirLevel *level, Node *quals);

/* Refuse a subquery that stands where it cannot. */
extern void ddir_lower_no_sublinks(DdirLevel *level, Node *expr);

/*
 * An expression of this level, or with columns of the level around it, as the
 * query has it; NULL if it contains a subquery.
 */
extern char *ddir_lower_text(DdirLevel *level, Node *expr);

/* Keys of the first n columns of rel; eqops: of them, 0 or NIL = the types' own. */
extern List *ddir_column_keys(DdirRel *rel, int n, List *eqops);

/* A call of a built-in aggregate of one argument, or none; filter may be NULL. */
extern Expr *ddir_make_agg(Oid fnoid, Expr *arg, Expr *filter);

/* rel's rows without duplicates; eqops: of its columns, 0 = the type's own */
extern DdirRel *ddir_lower_distinct(DdirLevel *level, DdirRel *rel, List *eqops);

/* from.c */
extern DdirFrom *ddir_lower_from(DdirLevel *level);
extern DdirFrom *ddir_lower_node(DdirLevel *level, Node *node, List *quals, Bitmapset *nonnull);
extern DdirFrom *ddir_lower_inner(DdirLevel *level, List *items, List *quals,
								  Bitmapset *nonnull);

/* Join all that is in it; the targets become the columns. */
extern DdirRel *ddir_from_close(DdirLevel *level, DdirFrom *from, List *targets);

/* Replace all that is in it by one input. */
extern void ddir_from_collapse(DdirLevel *level, DdirFrom *from);

/* Bring filters in; needed before an input's rel is used. */
extern void ddir_from_settle(DdirLevel *level, DdirFrom *from);
extern DdirInput *ddir_from_add_input(DdirFrom *from, DdirRel *rel);

/* A range table index for columns of an input that the query has no name for. */
extern int	ddir_level_add_place(DdirLevel *level, DdirInput *input, int offset, int natts);
extern void ddir_from_add_cond(DdirFrom *from, Expr *clause, bool null_safe);

/* Conditions of the query, subqueries among them. */
extern void ddir_from_add_quals(DdirLevel *level, DdirFrom *from, List *quals);

/* The one input all expressions are over, if they are total; else NULL. */
extern DdirInput *ddir_from_single(DdirLevel *level, List *exprs);

/* An expression over a single input as one with Var(1, a). */
extern Expr *ddir_from_resolve_single(DdirLevel *level, Expr *expr, DdirInput *input);

/* Range table indexes an expression mentions, in subqueries too. */
extern Bitmapset *ddir_rels_of(Node *expr);

/* Range table indexes of a join tree, joins not counted. */
extern Bitmapset *ddir_rels_in(Node *node);

/* equality.c */
/* Can the keys of both sides be compared? */
extern bool ddir_equality_usable(Oid eqop, Oid left_type, Oid right_type, Oid collation);

/* May values that are equal look different?  True where there is no equality. */
extern bool ddir_equality_is_lossy(Node *expr, Oid eqop);

/* "left = right" of either order that is usable: its sides, and the operator. */
extern bool ddir_equality_split(Node *clause, Expr **left, Expr **right, Oid *eqop,
								Oid *collation);

/* the operator for operands the other way round, and for its right type alone */
extern Oid	ddir_equality_commute(Oid eqop);
extern Oid	ddir_equality_of_right(Oid eqop);
extern DdirEquality *ddir_equality_make(int left, Expr *left_expr, int right, Expr *right_expr,
										Oid eqop, Oid collation, bool null_safe);

/* make "outer = inner"; used for conditions of our own */
extern Expr *ddir_equality_clause(Expr *left, Expr *right, Oid eqop, Oid collation);

/* outer.c */
extern DdirFrom *ddir_lower_outer(DdirLevel *level, Node *left, Node *right, Node *on,
								  List *quals, Bitmapset *nonnull);

/* sublink.c */
/* Is this a condition that ddir_lower_sublink takes? */
extern bool ddir_is_sublink(Node *qual);
extern void ddir_lower_sublink(DdirLevel *level, DdirFrom *from, Node *qual);

/* group.c */
extern DdirRel *ddir_lower_group(DdirLevel *level, DdirFrom *from);

/* setop.c */
extern DdirRel *ddir_lower_setop(DdirLevel *level);

/* finish.c */
/* Check that all of it can be built; find out what is ambiguous. */
extern void ddir_lower_finish(DdirLowering *run);

#endif							/* DDIR_PLAN_LOWERING_H */
