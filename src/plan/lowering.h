/*-------------------------------------------------------------------------
 *
 * lowering.h
 *	  What the files that lower a Query share (lower.c, from.c,
 *	  openfrom.c, outer.c, sublink.c, asked.c, value.c, apply.c, domain.c,
 *	  wholerow.c, group.c, srf.c, setop.c, window.c, topk.c, clock.c,
 *	  finish.c).
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
	List	   *families;		/* of DdirRel *: tables with their children */
	List	   *given;			/* of DdirRel *: see domain.c */
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
	bool		domain;			/* it is one, perhaps filtered: rows are
								 * different */
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
	bool		null_safe;
} DdirPair;

/* What equates a subquery to the query around it. */
typedef struct DdirCorrelation
{
	List	   *pairs;			/* of DdirPair *; inner: of the subquery */
	List	   *outer;			/* conditions on the query around alone */
} DdirCorrelation;

/* Columns of a query, and the different values they have in its rows. */
typedef struct DdirDomain
{
	List	   *vars;
	List	   *eqops;			/* by which values are the same; as images are */
	DdirRel    *rel;			/* a column for each */
} DdirDomain;

/* A subquery as a relation of its own, to be joined by the pairs. */
typedef struct DdirBound
{
	DdirRel    *rel;
	int			ncolumns;		/* of the subquery; those of pairs come behind */
	List	   *pairs;			/* inner: Var(1, a) of rel */
	bool		by_domain;		/* it has only bindings that are around it */
} DdirBound;

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

/* Keys of the first n columns of rel; eqops: of them, 0 or NIL = the types' own. */
extern List *ddir_column_keys(DdirRel *rel, int n, List *eqops);

/* A call of a built-in aggregate of one argument, or none; filter may be NULL. */
extern Expr *ddir_make_agg(Oid fnoid, Expr *arg, Expr *filter);

/* The aggregate of whatever value there is; of one row, its (value.c). */
extern Expr *ddir_single_agg(Expr *arg);

/* rel's rows without duplicates; eqops: of its columns, 0 = the type's own */
extern DdirRel *ddir_lower_distinct(DdirLevel *level, DdirRel *rel, List *eqops);

extern List *ddir_query_unseen(const Query *query);
extern DdirRel *ddir_lower_targets(DdirLevel *level, DdirFrom *from, List *targets,
								   List *unseen);

/* from.c */
extern DdirFrom *ddir_lower_from(DdirLevel *level);

/* Add what a join tree has to an open FROM, which it may refer to. */
extern void ddir_lower_node(DdirLevel *level, Node *node, List *quals, Bitmapset *nonnull,
							DdirFrom *into);
extern void ddir_lower_inner(DdirLevel *level, List *items, List *quals, Bitmapset *nonnull,
							 DdirFrom *into);

/* Columns of other relations that a join tree refers to. */
extern List *ddir_outside_vars(DdirLevel *level, Node *node);

/* The join tree with columns of the domain in place of those it is of. */
extern Node *ddir_bind_node(DdirLevel *level, DdirDomain *domain, int rti, Node *node);

/* Can what the join tree computes raise errors? */
extern bool ddir_node_tree_is_total(DdirLevel *level, Node *node);

/* Range table indexes of a join tree, joins not counted. */
extern Bitmapset *ddir_rels_in(Node *node);

/* openfrom.c */
/* Join all that is in it; the targets become the columns. */
extern DdirRel *ddir_from_close(DdirLevel *level, DdirFrom *from, List *targets);

/* Add the inputs and conditions of another. */
extern void ddir_from_merge(DdirFrom *into, DdirFrom *from);

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

/* The same made so, by joining all that is in it if need be; settled. */
extern DdirInput *ddir_from_input_of(DdirLevel *level, DdirFrom *from, List *exprs);

/* An expression over a single input as one with Var(1, a). */
extern Expr *ddir_from_resolve_single(DdirLevel *level, Expr *expr, DdirInput *input);

/* Range table indexes an expression mentions, in subqueries too. */
extern Bitmapset *ddir_rels_of(Node *expr);

/* asked.c */
/* A function of the extension's schema, by the types of its arguments. */
extern Oid	ddir_own_function(const char *name, int nargs, const Oid *args);

/* The value, or the error in the text (SQLSTATE, message) where that is not NULL. */
extern Expr *ddir_asked(Expr *value, Expr *error);

/*
 * The one row of rel, and behind its columns the error that there is in its
 * place: a row whatever there is.
 */
extern DdirRel *ddir_rel_with_error(DdirRel *rel);

/* Can no error come of computing it? */
extern bool ddir_rel_is_total(DdirRel *rel);

/* rel; where failing has errors, and any row asks, with one of them, too */
extern DdirRel *ddir_rel_asked(DdirRel *rel, DdirRel *failing, DdirRel *asking);

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

/*
 * Bring both sides to one type without loss, and the operator with them; false
 * if that cannot be.
 */
extern bool ddir_equality_align(Expr **left, Expr **right, Oid *eqop);

/* expr IS NULL, IS NOT NULL; a copy of it */
extern Expr *ddir_null_test(Expr *expr, NullTestType type);

/* outer.c */
extern void ddir_lower_outer(DdirLevel *level, Node *left, Node *right, Node *on,
							 List *quals, Bitmapset *nonnull, DdirFrom *into);
extern void ddir_lower_full(DdirLevel *level, Node *left, Node *right, Node *on,
							DdirFrom *into, DdirDomain *around, int around_rti);

/* domain.c */
/* Columns of a query in something of it, subqueries too; rels: NULL = of any. */
extern List *ddir_vars_of_level(Node *node, Bitmapset *rels, List *vars);
extern bool ddir_query_is_total(Node *node);
extern Oid	ddir_image_equality(Node *expr);
extern DdirDomain *ddir_domain_make(DdirLevel *level, DdirFrom *from, List *vars, List *also,
									bool passed);
extern Node *ddir_domain_bind(DdirDomain *domain, int rti, Node *node);

/* As an input; the range table index of its columns. */
extern int	ddir_from_add_domain(DdirLevel *level, DdirFrom *from, DdirDomain *domain);

/* Its columns are those of the domain. */
extern void ddir_from_add_pairs(DdirLevel *level, DdirFrom *from, DdirDomain *domain, int rti);

/* The subquery with the domain in its FROM and its columns behind its own. */
extern Query *ddir_domain_bind_query(DdirLowering *run, DdirDomain *domain, DdirRel *bindings,
									 Query *query);

/* An entry for a relation that is there already: its range table index. */
extern int	ddir_query_add_given(DdirLowering *run, Query *query, const char *name, DdirRel *rel);
extern DdirRel *ddir_given_rel(DdirLowering *run, const RangeTblEntry *rte);

extern void ddir_query_free_limit(Query *query);

/* What an aggregate without GROUP BY has a row for; NULL: one row. */
extern DdirRel *ddir_query_bindings(DdirLevel *level);
extern bool ddir_query_is_grouped(const Query *query);
extern bool ddir_query_needs_no_rows(const Query *query);

/* Equalities of the bindings carried through a query whose rows are counted off. */
extern List *ddir_query_carried(const Query *query);
extern RangeTblEntry *ddir_query_carried_entry(const Query *query);
extern void ddir_query_carry(DdirLowering *run, Query *query, List *exprs, List *eqops,
							 DdirRel *bindings);

/* apply.c */
/*
 * Take what equates the subquery to the level around it out of its conditions;
 * true if it mentions nothing else of that level.
 */
extern bool ddir_correlation_extract(DdirLevel *level, Query *query, DdirCorrelation *c);
extern DdirBound *ddir_lower_bound(DdirLevel *level, DdirFrom *from, Query *query,
								   DdirLevelKind kind, List *guard);

/* As an input, with its conditions; the range table index of its columns. */
extern int	ddir_from_add_bound(DdirLevel *level, DdirFrom *from, DdirBound *bound);

/* an expression of a subquery that mentions only the level around it, as that's */
extern Expr *ddir_as_outer(Expr *expr);

/* sublink.c */
/* Is this a condition that ddir_lower_sublink may take?  It may not: false. */
extern bool ddir_is_sublink(Node *qual);
extern bool ddir_lower_sublink(DdirLevel *level, DdirFrom *from, Node *qual);

/* no GROUP BY, set operation or the like, and all rows of it */
extern bool ddir_query_is_plain(const Query *query);

/*
 * Drop what makes no difference to whether there is a row (EXISTS) or which
 * values there are (in).
 */
extern void ddir_query_simplify(Query *query, bool in);

/* value.c */
extern Expr *ddir_lower_values(DdirLevel *level, DdirFrom *from, Expr *expr);

/* the aggregate of one row's value, of which there is no other */
extern bool ddir_is_single_agg(Oid fnoid);

/* srf.c */
/* Functions in FROM that are queries in SQL become subqueries. */
extern void ddir_inline_functions(DdirLevel *level);

/*
 * Join what is open with the rows that the functions of an entry return; with
 * NULLs where they return none, if "outer".
 */
extern void ddir_lower_functions(DdirLevel *level, int rti, DdirFrom *from, bool outer);
extern List *ddir_lower_srfs(DdirLevel *level, DdirFrom *from, List *exprs);

/* wholerow.c */
/* The query without references to whole rows; a copy if it has some. */
extern Query *ddir_expand_whole_rows(Query *query);

/* group.c */
/* the position in the list of a node that is "depth" subqueries inside, or -1 */
extern int	ddir_find_equal(List *list, Node *node, int depth);

/* add it, as the query itself would have it, if it is not there */
extern List *ddir_add_once(List *list, Node *node, int depth);
extern DdirRel *ddir_lower_group(DdirLevel *level, DdirFrom *from);

/* setop.c */
extern DdirRel *ddir_lower_setop(DdirLevel *level);

/* window.c */
/* SELECT all columns FROM (query); their numbers are what clauses call them. */
extern Query *ddir_query_around(Query *query, const char *alias);

/* the query that one is around */
extern Query **ddir_query_below(Query *query);

/* Does it compute one window over all columns of a subquery, and nothing else? */
extern bool ddir_query_is_window(const Query *query);

/* As a stack of such queries, if it has window functions and is not one. */
extern Query *ddir_split_windows(Query *query);
extern DdirRel *ddir_lower_window(DdirLevel *level);

/* topk.c */
/* Are its rows counted off, by LIMIT, OFFSET or DISTINCT ON? */
extern bool ddir_query_is_limited(const Query *query);

/*
 * Entries of the select list that relations made of the query have as columns:
 * the visible ones, then, if its rows are counted off, what it orders by only.
 */
extern List *ddir_query_columns(const Query *query);

/* of SortGroupClause: what its rows are ordered by, before their images */
extern List *ddir_query_order(const Query *query);

/* Count them off; then there are visible columns only. */
extern DdirRel *ddir_lower_limit(DdirLevel *level, DdirRel *rel);

/* Can there be a TopK of these? */
extern bool ddir_topk_possible(List *keys, List *order);

/* Do its values have an order-preserving encoding; which way round? */
extern bool ddir_order_key_encodes(const DdirOrderKey *key, bool *descending);

/* clock.c */
/* Give what reads the clock to Schedules; refuse what they cannot do. */
extern DdirRel *ddir_clock_place(DdirLowering *run, DdirRel *root);

/* It may not be read by this body of a function. */
extern void ddir_clock_refuse_within(DdirLowering *run, Query *query);

/* CURRENT_DATE and the like as functions of now(); NULL: a time of day */
extern Expr *ddir_clock_as_function(SQLValueFunction *f);

/* finish.c */
/* Check that all of it can be built; find out what is ambiguous. */
extern void ddir_lower_finish(DdirLowering *run);

#endif							/* DDIR_PLAN_LOWERING_H */
