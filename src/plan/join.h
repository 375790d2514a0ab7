/*-------------------------------------------------------------------------
 *
 * join.h
 *	  What is known of a join while its operators are chosen and made
 *	  (buildjoin.c, jointree.c).
 *
 * src/plan/join.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_PLAN_JOIN_H
#define DDIR_PLAN_JOIN_H

#include "postgres.h"

#include "plan/estimate.h"
#include "plan/flow.h"

/* One side of an equality. */
typedef struct DdirJoinMember
{
	int			rel;
	Expr	   *expr;			/* over the input's stream, Var(varno = rel +
								 * 1) */
	Oid			eqop;
	Oid			collation;
	bool		null_safe;
	int			cls;			/* least index of a member of its class */
} DdirJoinMember;

/* How a relation is looked up at one place of a path. */
typedef struct DdirLookup
{
	int			rel;
	int			ncols;
	int			probe[INDEX_MAX_KEYS];	/* members bound */
	int			found[INDEX_MAX_KEYS];	/* members of rel */
	bool		unique;
	DdirWanted *wanted;
	DdirArranged *arranged;
	List	   *leftover;		/* over the arrangement's input rows */
	DdirKeySpec *probe_key;
} DdirLookup;

typedef struct DdirJoinPath
{
	DdirLookup *lookup;			/* n - 1 of them */
	int			driver_arr;
	double		cost;
} DdirJoinPath;

typedef struct DdirJoinBuild
{
	DdirBuild  *b;
	DdirRel    *rel;
	int			n;
	DdirStream *in;
	Bitmapset **needed;			/* columns of each stream, from 1 */
	int			nmembers;
	DdirJoinMember *member;
	int		   *eq_left;		/* members that each equality is of */
	int		   *eq_right;
	char	   *comparable;		/* of each two members: 'y', 'n', 0: not known */
	int			narr;
	DdirArranged **arr;			/* arrangements used */
	int		   *arr_rel;		/* relation each was made for */
	List	  **arr_leftover;
	DdirJoinPath *path;
	DdirJoinEstimate *estimate; /* only while it is planned */
	double		delta_bytes;	/* of arrangements that either way adds */
	double		binary_bytes;
} DdirJoinBuild;

/*
 * Ask for the arrangement of an input by some of its members, which are of as
 * many classes.
 */
extern DdirWanted *ddir_join_want(DdirJoinBuild *jb, int input, const int *members, int n);

/* bytes of those that are not there and would have to be made */
extern double ddir_join_new_bytes(DdirJoinBuild *jb, List *wanted);

/* can the members' keys be compared? */
extern bool ddir_join_comparable(DdirJoinBuild *jb, int a, int b);

extern DdirKeySpec *ddir_join_key(DdirJoinBuild *jb, const int *members, int n,
								  DdirKeyKind kind);

/* jointree.c */

/*
 * The bytes of arrangements that the best tree of binary joins adds; and, if
 * they are fewer than a delta join's, that tree as relations, the join's
 * columns being the root's.
 */
extern DdirRel *ddir_join_tree(DdirJoinBuild *jb, double *bytes);

#endif							/* DDIR_PLAN_JOIN_H */
