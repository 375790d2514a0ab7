/*-------------------------------------------------------------------------
 *
 * check.h
 *	  What is refused, and in which words.
 *
 * One table holds all refusals: the code that programs may rely on, the
 * SQLSTATE, what the construct is called, why it is refused, and what to do
 * instead.  The README's list of them is made from it (test/tools/check_refusals).
 *
 * src/plan/check.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_PLAN_CHECK_H
#define DDIR_PLAN_CHECK_H

#include "postgres.h"

#include "nodes/parsenodes.h"

#include "base/compat.h"
#include "plan/lower.h"

typedef enum DdirRefusalCode
{
	/* the shape of the query */
	DDIR_REFUSE_COMMAND,
	DDIR_REFUSE_WINDOW,
	DDIR_REFUSE_RECURSIVE,
	DDIR_REFUSE_ROW_LOCKING,
	/* FROM */
	DDIR_REFUSE_TABLE_FUNCTION,
	DDIR_REFUSE_TABLESAMPLE,
	DDIR_REFUSE_FULL_JOIN,
	DDIR_REFUSE_MANY_RELATIONS,
	/* columns and expressions */
	DDIR_REFUSE_SYSTEM_COLUMN,
	DDIR_REFUSE_EXPRESSION,
	DDIR_REFUSE_EQUALITY,
	DDIR_REFUSE_MANY_DISTINCT,
	/* functions */
	DDIR_REFUSE_VOLATILE,
	DDIR_REFUSE_CLOCK,
	DDIR_REFUSE_CLOCK_VALUE,
	DDIR_REFUSE_CLOCK_WORDS,
	DDIR_REFUSE_SESSION,
	DDIR_REFUSE_TRANSACTION,
	DDIR_REFUSE_CATALOG,
	DDIR_REFUSE_STABLE,
	/* relations */
	DDIR_REFUSE_SYSTEM_CATALOG,
	DDIR_REFUSE_FOREIGN_TABLE,
	DDIR_REFUSE_TEMPORARY,
	DDIR_REFUSE_UNLOGGED,
	DDIR_REFUSE_SEQUENCE,
	DDIR_REFUSE_MATERIALIZED_VIEW,
	DDIR_REFUSE_ACCESS_METHOD,
	DDIR_REFUSE_RELATION,
	/* rights */
	DDIR_REFUSE_TABLE_RIGHTS,
	DDIR_REFUSE_FUNCTION_RIGHTS,
	DDIR_REFUSALS				/* how many there are */
} DdirRefusalCode;

typedef struct DdirRefusalKind
{
	const char *code;			/* stable */
	int			sqlerrcode;
	const char *construct;		/* as a noun, where the query has no name for
								 * it */
	const char *reason;			/* a sentence; one %s stands for the construct */
	const char *hint;			/* a sentence */
} DdirRefusalKind;

/* All of them, in the order in which they are documented. */
extern const DdirRefusalKind *ddir_refusal_kinds(int *n);

/*
 * Refuse the query being lowered: fill *refusal and leave by an error that
 * ddir_lower catches.  To be called only while nothing is held that must be
 * given back.  construct: how the query calls it; NULL: the general name.
 */
pg_noreturn extern void ddir_refuse_query(DdirRefusal *refusal, DdirRefusalCode code,
										  const char *construct);

/*
 * Call fn(arg); false, with the message in *message, if it says that something
 * is not supported (0A000).  Other errors pass.  fn must hold nothing when it
 * raises an error.
 */
extern bool ddir_try(void (*fn) (void *arg), void *arg, char **message);

/* Refuse a relation of a kind that is no source.  Leaves it locked. */
extern void ddir_check_relation(DdirRefusal *refusal, Oid relid);

/* Refuse what a query has beside its FROM, its lists and its conditions. */
extern void ddir_check_query(DdirRefusal *refusal, const Query *query);

/* funcs.c */

/* What an expression needs, found while it is checked. */
typedef struct DdirChecked
{
	Oid			owner;			/* whose rights count */
	DdirRefusal *refusal;
	List	   *functions;		/* of Oid: outside of pg_catalog */
	List	   *types;			/* of Oid: enums whose labels are read or
								 * written, domains whose constraints are
								 * checked */
	List	   *inlined;		/* of PlanInvalItem *: functions, also inlined
								 * ones, and domains without constraints */
	List	   *results;		/* of Oid: types of what functions of users
								 * return */
	List	   *domains;		/* of Oid: those whose constraints have been
								 * looked at */
} DdirChecked;

/*
 * Check the functions and nodes of an expression.  Before constants are folded
 * and functions inlined ("final" not set), only what no folding can help is
 * refused, in the words of the query.
 */
extern void ddir_check_expr(DdirChecked *checked, Node *expr, bool final);

/*
 * Check the types of a column definition list, if the function makes values of
 * them out of text, as those that read JSON do; if it is one of users, note them.
 */
extern void ddir_check_columns_read(DdirChecked *checked, Node *call, List *types);

/*
 * When all functions are known: add what matters of the types that those of
 * users return.  They may have made such values by casts, also from text.
 */
extern void ddir_check_results(DdirChecked *checked);

#endif							/* DDIR_PLAN_CHECK_H */
