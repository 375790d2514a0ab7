/*-------------------------------------------------------------------------
 *
 * lower.h
 *	  From a view's Query to DDIR, or a refusal that names the construct.
 *
 * src/plan/lower.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_PLAN_LOWER_H
#define DDIR_PLAN_LOWER_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "nodes/parsenodes.h"

#include "base/compat.h"
#include "meta/view.h"			/* ddir_is_view */
#include "plan/ir.h"

/* Why a query is not maintained. */
typedef struct DdirRefusal
{
	bool		refused;
	int			sqlerrcode;		/* ERRCODE_FEATURE_NOT_SUPPORTED, ... */
	const char *code;			/* stable short code: "volatile_function", ... */
	char	   *construct;		/* named as the user wrote it */
	char	   *reason;			/* a sentence: errdetail */
	char	   *hint;			/* a sentence, may be NULL */
	List	   *types;			/* of Oid: whose change may be what helps */
} DdirRefusal;

typedef struct DdirLowered
{
	DdirRel    *root;			/* columns as the view's */
	List	   *sources;		/* of Oid: base tables and ddir views read */
	List	   *views;			/* of Oid: plain views that it is written over */
	List	   *partitions;		/* of Oid: of those that are partitioned, of
								 * all levels */
	List	   *children;		/* of Oid: of those that are read with their
								 * inheritance children, which are sources,
								 * too */
	List	   *functions;		/* of Oid: not in pg_catalog, whose
								 * redefinition matters */
	List	   *types;			/* of Oid: enums, domains and composites,
								 * whose labels, constraints or attributes
								 * matter */
	bool		reads_clock;	/* its rows come and go as time goes by */
	bool		ambiguous;		/* the plain query has several legal answers */
} DdirLowered;

/*
 * query: the view's stored Query, not rewritten; a copy is worked on.  Rights
 * are checked for "owner".  Returns NULL with *refusal filled if it cannot be
 * maintained; raises only what is not about the query.
 */
extern DdirLowered *ddir_lower(const Query *query, Oid owner, DdirRefusal *refusal);

/* ereport(ERROR) for a refused view: message names it, detail, hint */
pg_noreturn extern void ddir_refuse(const char *viewname, const DdirRefusal *refusal);

/* what it means, as text; whatever alters that alters the text (meaning.c) */
extern char *ddir_meaning(const DdirLowered *lowered);

/*
 * A copy of a rewritten query in which now() and its like are this time; 0: it
 * is as it was.  (clock.c)
 */
extern Query *ddir_query_at(Query *query, TimestampTz clock);

/* the list and the composite types in values of this type */
extern List *ddir_types_add(List *types, Oid typid);

/* A CHECK of a domain. */
typedef struct DdirConstraint
{
	char	   *name;
	char	   *expr;			/* for stringToNode */
} DdirConstraint;

/* of DdirConstraint *: the domain's own, in the order in which they are checked */
extern List *ddir_domain_constraints(Oid domain);

/* the type that a domain is declared over, which may be another one */
extern Oid	ddir_domain_over(Oid domain);

/*
 * Have the server plan the constraints of domains anew when they are needed.
 * It does not notice that a function inlined into them is another one now, nor
 * NOT NULL of a domain that another one is over.
 */
extern void ddir_domains_forget(void);

#endif							/* DDIR_PLAN_LOWER_H */
