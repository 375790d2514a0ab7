/*-------------------------------------------------------------------------
 *
 * flow.h
 *	  What the files that make operators from DDIR share (build.c, share.c,
 *	  buildjoin.c, jointree.c, buildreduce.c, buildorder.c).
 *
 * A *stream* is a node whose rows still have to pass quals and targets: Maps
 * are not made into operators but fused into the program of whatever consumes
 * them.
 *
 * src/plan/flow.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_PLAN_FLOW_H
#define DDIR_PLAN_FLOW_H

#include "postgres.h"

#include "plan/build.h"
#include "rows/agg.h"
#include "rows/key.h"
#include "rows/program.h"

typedef struct DdirStream
{
	DdirNode   *node;
	const DdirRowType *node_type;	/* of the node's rows */
	Oid			relid;			/* source or view the node is; InvalidOid:
								 * derived */
	List	   *quals;			/* over the node's rows, Var(1, a) */
	List	   *targets;		/* likewise; NIL with identity set: as they
								 * are */
	bool		identity;
	double		rows;
	const DdirRel *rel;			/* whose columns the stream's are */
} DdirStream;

/* An arrangement in the registry, or private to a flow. */
typedef struct DdirArranged
{
	MemoryContext cxt;			/* of its programs; freed with it */
	DdirNode   *node;
	Oid			relid;			/* input: source or view; InvalidOid: derived */
	Oid			owner;			/* of its expressions; InvalidOid: anybody's */
	List	   *quals;			/* over the input's rows */
	List	   *keys;			/* Exprs over the input's rows */
	List	   *targets;		/* of the vals, over the input's rows */
	DdirKeySpec *key;

	/*
	 * Over a source, vals hold columns of it: attmap[a - 1] is the val column
	 * (from 1) of attribute a, or 0.  Over derived streams vals are the
	 * stream's own columns and attmap is NULL.
	 */
	int			natts;
	AttrNumber *attmap;
	const DdirRowType *val_type;
	char	   *label;
	DdirFunc	func;			/* makes its rows */
	double		rows;			/* estimates, or what was described */
	double		bytes;
	List	   *flows;			/* of DdirFlow *: who uses it */
	List	   *keepers;		/* likewise: for whom old rows are looked up
								 * in it */
} DdirArranged;

/* An arrangement asked for. */
typedef struct DdirWanted
{
	const DdirStream *stream;
	List	   *keys;			/* over the rows of the stream's node */
	const DdirKeySpec *key;
	Bitmapset  *needed;			/* of a source: attributes in the vals */
	List	   *quals;			/* over the node's rows */
	bool		exact;			/* no weaker filter will do */
	Oid			owner;			/* of its expressions */
	char	   *label;
	double		rows;			/* estimates, if it has to be made */
	double		bytes;
} DdirWanted;

typedef struct DdirSourceEntry
{
	Oid			relid;
	DdirNode   *node;
	const DdirRowType *type;
	Bitmapset  *used;			/* by all flows */
	List	   *flows;
} DdirSourceEntry;

/* A base table whose old rows are looked up. */
typedef struct DdirByKeyEntry
{
	Oid			relid;
	MemoryContext cxt;			/* of this struct and all in it */
	List	   *keys;			/* Exprs over its rows */
	DdirKeySpec *spec;
	Bitmapset  *needed;
} DdirByKeyEntry;

typedef struct DdirViewEntry
{
	Oid			view;
	DdirNode   *output;
} DdirViewEntry;

struct DdirShare
{
	MemoryContext cxt;
	DdirGraph  *graph;
	bool		planning;		/* nothing will run: views are as tables */
	List	   *sources;		/* of DdirSourceEntry * */
	List	   *views;			/* of DdirViewEntry * */
	List	   *arranged;		/* of DdirArranged *, over sources and views */
	List	   *by_key;			/* of DdirByKeyEntry * */
};

typedef struct DdirBuild
{
	DdirShare  *share;
	DdirFlow   *flow;
	Oid			owner;
	List	   *done;			/* of DdirBuilt *: shared subtrees */
	List	   *own;			/* of DdirArranged *: private ones */
} DdirBuild;

/* share.c */
extern DdirSourceEntry *ddir_share_source_entry(DdirBuild *b, const DdirRel *scan);

/*
 * Ask for an arrangement of the stream by keys, of rows that also pass
 * extra_quals (both over the stream's columns).  Columns that must be in the
 * vals are given as "needed" (attributes of the source) where the stream is a
 * source or view filtered and projected to plain columns; else all of the
 * stream's targets are kept.
 */
extern DdirWanted *ddir_share_want(DdirBuild *b, const DdirStream *s, List *keys,
								   const DdirKeySpec *key, Bitmapset *needed,
								   List *extra_quals, bool exact);

/* One that serves, or NULL. */
extern DdirArranged *ddir_share_find(DdirBuild *b, const DdirWanted *w);

/* Would the one, once made, serve the other as well? */
extern bool ddir_share_covers(const DdirWanted *made, const DdirWanted *w);

/*
 * One that serves, made if need be.  What a shared one does not filter is left
 * in *leftover, over the node's rows, for the reader to test; with an exact
 * filter asked for leftover may be NULL.
 */
extern DdirArranged *ddir_share_arrange(DdirBuild *b, const DdirWanted *w, List **leftover);

/*
 * Those that ask for the same but for its columns ask for all of them, to be
 * served by one.
 */
extern void ddir_share_widen(List *wanted);

/*
 * What so many rows of these widths take, their key of so many columns among
 * them; first: the width of its first column's bytes, or -1.
 */
extern double ddir_share_bytes(double rows, double vals, bool fixed, int nkeys, int first,
							   double key_width);

/* Hold the source's rows by key, if that is asked for. */
extern void ddir_share_keep_by_key(DdirBuild *b, const DdirStream *s);

/* Rows of a source or view, if an arrangement holds all of them. */
extern bool ddir_share_measured(DdirShare *share, const DdirRel *scan, double *rows);

/* Make the registry one for planning, with what is described of root's inputs. */
extern void ddir_share_import(DdirShare *share, DdirRel *root, List *described);

/* build.c */
extern DdirStream ddir_build_rel(DdirBuild *b, DdirRel *rel);
extern DdirStream ddir_stream_of(DdirNode *node, const DdirRowType *type, double rows);

/* a node with the stream's rows as they should be, made if need be */
extern DdirNode *ddir_stream_node(DdirBuild *b, const DdirStream *s);
extern List *ddir_stream_targets(const DdirStream *s);	/* over the node's rows */
extern DdirRowType *ddir_stream_type(const DdirStream *s);

/* the expression over the stream's columns as one over its node's rows */
extern Expr *ddir_stream_expr(const DdirStream *s, Expr *expr);
extern List *ddir_stream_exprs(const DdirStream *s, List *exprs);

/* can the targets be had from plain columns of a source or view? */
extern bool ddir_stream_is_columns(const DdirStream *s);

/* keep a fresh node in the flow, note loads for the inputs that are sources */
extern DdirNode *ddir_flow_keep(DdirBuild *b, DdirNode *node, int nin, const DdirStream *const *in);

/* note what was made, for explain */
extern DdirMade *ddir_flow_note(DdirBuild *b, int depth, const char *what,
								const char *fmt,...) pg_attribute_printf(4, 5);

/* the last one holds rows that nobody shares; they count as the view's state */
extern void ddir_flow_holds(DdirBuild *b, DdirMade *made, DdirNode *node, double rows,
							double bytes);

/* "owner" where the expressions leave pg_catalog, else InvalidOid */
extern Oid	ddir_exprs_owner(List *exprs, Oid owner);

/* Replace Var(i + 1, a) by the a-th of exprs[i]; NIL leaves them alone. */
extern Node *ddir_expr_replace(Node *expr, int n, List *const *exprs);

/* Vars used of input i (from 0) */
extern Bitmapset *ddir_expr_columns(Node *expr, int i);
extern Bitmapset *ddir_expr_inputs(Node *expr); /* from 0 */

/*
 * clock.c: the dials (of DdirDial) of expressions that call now() and its like;
 * *loose: a call that none of them covers, or NULL.
 */
extern List *ddir_clock_dials(List *exprs, Node **loose);

/* buildjoin.c, buildreduce.c, buildorder.c */
extern DdirStream ddir_build_join(DdirBuild *b, DdirRel *rel);
extern DdirStream ddir_build_anti(DdirBuild *b, DdirRel *rel);
extern DdirStream ddir_build_reduce(DdirBuild *b, DdirRel *rel);
extern DdirStream ddir_build_topk(DdirBuild *b, DdirRel *rel);
extern DdirStream ddir_build_window(DdirBuild *b, DdirRel *rel);

/* the key of groups (of DdirGroupKey) */
extern DdirKeySpec *ddir_group_key(List *group);

#endif							/* DDIR_PLAN_FLOW_H */
