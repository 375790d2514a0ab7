/*-------------------------------------------------------------------------
 *
 * flow.h
 *	  What tests of operators share: rows of numbers, bags of them, functions
 *	  made from descriptions, and sinks.
 *
 * A row has up to FLOW_COLUMNS numbers; its image is their bytes, big end
 * first, so images order as the rows do.  A bag is a list of updates (row,
 * time, diff), the oracle's idea of a collection: it shares no code with the
 * engine.
 *
 * test/unit/flow.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_UNIT_FLOW_H
#define DDIR_UNIT_FLOW_H

#include "engine/op.h"

#define FLOW_COLUMNS 8

typedef struct Row
{
	int			n;
	uint64_t	c[FLOW_COLUMNS];
} Row;

typedef struct Update
{
	Row			row;
	DdirTime	t;
	int64_t		diff;
} Update;

typedef struct Bag
{
	int			n;
	int			cap;
	Update	   *u;
} Bag;

#define ROW(...) \
	((Row) {sizeof((uint64_t[]) {__VA_ARGS__}) / sizeof(uint64_t), {__VA_ARGS__}})

extern void bag_free(Bag *b);
extern void bag_clear(Bag *b);
extern void bag_add(Bag *b, Row row, const uint64_t *t, int coords, int64_t diff);
extern void bag_add_now(Bag *b, Row row, int64_t diff); /* at time zero */
extern void bag_add_all(Bag *b, const Bag *more);

/* sort, sum, drop zeros */
extern void bag_tidy(Bag *b);

/* all times alike, then tidy */
extern void bag_flatten(Bag *b);

/* how often a row is in a bag */
extern int64_t bag_count(const Bag *b, Row row);

/* tidies both; prints the first difference under a heading if there is one */
extern bool bag_equal(Bag *a, Bag *b, const char *what);

/* ---- images and runs ---- */

extern uint32_t row_pack(Row row, uint8_t *image);
extern Row	row_unpack(DdirRef image);
extern void flow_push(DdirDeltas *d, Row row, const uint64_t *t, int64_t diff);
extern void bag_of_deltas(Bag *b, const DdirDeltas *d);

/* random numbers of this file */
extern void flow_seed(uint64_t seed);
extern uint32_t flow_below(uint32_t n);

/* push a bag's updates into a node at time "at", in pieces of random sizes */
extern void flow_feed(DdirNode *node, int port, const Bag *b, const uint64_t *at);

/*
 * A row of the content (not empty) takes the place of *row; may it go, with all
 * that changes already?
 */
extern bool flow_pick(const Bag *content, const Bag *change, Row *row);

/*
 * A step at time t, of one coordinate: the change goes into the source and the
 * content, and is empty then.
 */
extern void flow_step(DdirGraph *g, DdirNode *source, uint64_t t, Bag *content, Bag *change);

/* the same as flow_feed, each at a random time from .. to, of one coordinate */
extern void flow_feed_over(DdirNode *node, int port, const Bag *b, uint64_t from, uint64_t to);

/* ---- functions ---- */

/* Column "col" of relation "rel". */
typedef struct Col
{
	int			rel;
	int			col;
} Col;

static inline Col
col(int rel, int c)
{
	return (Col)
	{
		.rel = rel,.col = c
	};
}

/*
 * Key and val by columns.  A row goes through if all pairs of columns in "eq"
 * are equal; if column "fail" has the value "fail_value" it gives an error row
 * instead (fail.rel < 0: never).  Columns of relations not bound are skipped
 * in eq.
 */
typedef struct Proj
{
	int			nkey;
	Col			key[FLOW_COLUMNS];
	int			nval;
	Col			val[FLOW_COLUMNS];
	int			neq;
	Col			eq[8][2];
	Col			fail;
	uint64_t	fail_value;
	uint64_t	calls;
	uint64_t	rows;
	bool		refuse;			/* the call fails */
} Proj;

extern DdirFunc proj_func(Proj *p);

/*
 * val: the whole row of so many columns; key: one of them, or FLOW_KEY_APART
 */
extern Proj *proj_whole(DdirArena *arena, int keycol, int ncols);

/* key and val as text: "00:10 11" is column 0 of relation 0; both of 1 */
extern Proj *proj_of(DdirArena *arena, const char *text);
extern Proj *proj_make(DdirArena *arena, int nkey, const Col *key, int nval, const Col *val);

/* ---- joins ---- */

/* Relations of two columns, some of them of the same source, and equalities. */
typedef struct JoinSpec
{
	int			nrel;
	int			source[4];
	int			neq;
	Col			eq[6][2];
} JoinSpec;

/*
 * An arrangement of a source's whole rows by one of their columns; by "column"
 * FLOW_KEY_APART, of the second columns by the first, or NULL.
 */
#define FLOW_KEY_APART 2

typedef DdirNode *(*FlowArrangement) (void *ctx, int source, int keycol);

/* ddir_join_create, or a like of it */
typedef DdirNode *(*FlowJoinMaker) (DdirGraph *g, const char *label, int nrel,
									int narr, DdirNode *const *arrange,
									const DdirPath *paths, int import_path);

/* connected; chains, stars and cycles, with self joins */
extern void flow_join_random(JoinSpec *spec, int nrel, int nsources);

/* output: all columns of all relations */
extern DdirNode *flow_join_create(DdirGraph *g, DdirArena *arena, const JoinSpec *spec,
								  FlowArrangement arrangement, void *ctx,
								  int import_path, FlowJoinMaker make);

/* by definition: every combination of updates, at the join of their times */
extern void flow_join_brute(const JoinSpec *spec, const Bag *source, Bag *out);

/* ---- sinks ---- */

typedef struct Catch
{
	Bag			rows;
	Bag			errs;
	uint64_t	biggest;		/* rows in one run */
} Catch;

extern DdirSinkFns catch_fns(Catch *c);
extern void catch_free(Catch *c);

#endif							/* DDIR_UNIT_FLOW_H */
