/*-------------------------------------------------------------------------
 *
 * op.h
 *	  The operators a graph is made of.
 *
 * Every constructor returns a node with one reference, the creator's.  The
 * inputs may be released by the creator as soon as the consumer exists.
 * Functions and specifications are copied; what their ctx points to must
 * outlive the node.  Labels are for people and are copied.
 *
 * src/engine/op.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_ENGINE_OP_H
#define DDIR_ENGINE_OP_H

#include "engine/graph.h"

/* Input: what is pushed into port 0 goes to all consumers. */
extern DdirNode *ddir_source_create(DdirGraph *g, const char *label);

/* Map, filter, project and flat-map in one pass. */
extern DdirNode *ddir_linear_create(DdirGraph *g, const char *label, DdirNode *in, DdirFunc f);
extern DdirNode *ddir_concat_create(DdirGraph *g, const char *label, int nin, DdirNode *const *in);
extern DdirNode *ddir_negate_create(DdirGraph *g, const char *label, DdirNode *in);

/* The rows of the input without its errors, and its errors as rows. */
extern DdirNode *ddir_valid_create(DdirGraph *g, const char *label, DdirNode *in);
extern DdirNode *ddir_errors_create(DdirGraph *g, const char *label, DdirNode *in);

/*
 * An arrangement: f turns rows of the input into keyed rows.  It forwards no
 * rows; joins, reductions and others read its trace.  It keeps the errors of
 * its input, for consumers that come late.
 */
extern DdirNode *ddir_arrange_create(DdirGraph *g, const char *label, DdirNode *in, DdirFunc f);
extern DdirSpine *ddir_arrange_spine(DdirNode *arrange);

/* the batch of the step being sealed; NULL if it is empty */
extern DdirBatch *ddir_arrange_batch(DdirNode *arrange);

/*
 * For operators that read an arrangement, input 0, and have been there as long:
 * the batch of the step, an error if the arrangement has a past that the
 * operator would have to look at; and what is called if it pushes rows.
 */
extern DdirBatch *ddir_arrange_only_batch(DdirNode *reader);
extern void ddir_arrange_pushes(DdirNode *reader, int port, const DdirDeltas *rows);
extern const DdirDeltas *ddir_arrange_errors(DdirNode *arrange);

/*
 * Delta join of nrel relations (nrel >= 2), read through narr arrangements.
 *
 * One relation may be read through several arrangements (by different keys,
 * with different vals), and one arrangement may serve several relations (a
 * self join).  Path i starts with the changes of relation i, taken from the
 * batches of arrangement path->arr, and looks the others up in the order of its
 * stages, each through the arrangement the stage names.  Bundles always have
 * nrel refs in the order of the relations; those not yet bound are refs to
 * nothing (p is NULL).  A stage's key function makes from a bundle the key to
 * look up (the val lane stays empty) and drops rows that cannot match; it may
 * also apply any condition on what is bound.  It may give several keys for a
 * row, except in a stage with two relations.  The path's output function makes
 * the result, unkeyed.
 *
 * Each combination of updates is produced by the path of the relation with
 * the cmp-greatest time, the least position winning ties: path i reads j < i
 * strictly before its row's time, j > i up to it.  Output is at that time.
 *
 * Intersection: a stage may look up two relations at once, whose vals must be
 * equal as bytes (rel2 >= 0); cheaper than proposing by one and validating by
 * the other.
 *
 * A fresh join runs only "import_path", over all its driver's contents.
 *
 * References: Materialize, "Delta Joins and Late Materialization" (2020);
 * McSherry, the dogs3 library of differential-dataflow (half joins).
 */
#define DDIR_RELATIONS_MAX 64

typedef struct DdirStage
{
	int			rel;			/* relation bound by this stage */
	int			arr;			/* arrangement it is looked up in */
	DdirFunc	key;
	int			rel2;			/* or -1 */
	int			arr2;
	DdirFunc	key2;
} DdirStage;

typedef struct DdirPath
{
	int			arr;			/* arrangement whose batches drive it */
	bool		with_key;		/* the driver's refs: key, then val behind it */
	int			nstages;
	const DdirStage *stages;
	DdirFunc	output;
} DdirPath;

/* paths: nrel of them, path i for relation i */
extern DdirNode *ddir_join_create(DdirGraph *g, const char *label, int nrel,
								  int narr, DdirNode *const *arrange,
								  const DdirPath *paths, int import_path);

/*
 * The join of two arrangements on the whole key: f over bundles of a left and
 * a right val, both bound.  Output is at the join of the two times.
 */
extern DdirNode *ddir_bilinear_create(DdirGraph *g, const char *label,
									  DdirNode *left, DdirNode *right, DdirFunc f);

/*
 * The rows of "left" whose key is not in "right" (both arrangements, same
 * kind of key; keys equal as bytes are equal).  Output: f over the vals of left.
 */
extern DdirNode *ddir_antijoin_create(DdirGraph *g, const char *label,
									  DdirNode *left, DdirNode *right, DdirFunc f);

/*
 * Reduce: one output per group, from a state kept per key.
 *
 * nfold inputs are streams, each with a function that makes keyed rows from
 * it; their rows are folded into the group's state with their diffs.  A group
 * exists while the diffs of input 0 sum to more than zero; a sum below zero at
 * the end of a step raises DDIR_ERROR_NEGATIVE.  narr inputs are arrangements
 * with the same keys, there to be sought in when a group's output is computed
 * (min, max, ordered and recomputed aggregates, labels).  A key that changes
 * in any of them must also change in input 0, or not be visible in the output.
 *
 * In a step each group touched emits its output as it was (diff -1) and as it
 * is (diff +1), netted.
 */
typedef struct DdirGroup
{
	uint64_t	hash;
	DdirRef		key;
	int64_t		rows;			/* sum of diffs of input 0 */
	void	   *state;			/* state_size bytes, zero at birth */
} DdirGroup;

typedef struct DdirReduceFns
{
	void	   *ctx;
	size_t		state_size;

	/*
	 * For keys that are not exact (equal bytes, different values): does the
	 * row of this port belong to the group?  1 yes, 0 no, -1 failed.  A group
	 * just made is given the row it was made for at once, before any other
	 * call, and takes its values from it.  NULL: always.
	 */
	int			(*same) (void *ctx, int port, DdirGroup *group, DdirRef val);
	/* fold val[i] with diff[i] into group[i]; false: failed */
	bool		(*fold) (void *ctx, int port, uint32_t n, DdirGroup *const *group,
						 const DdirRef *val, const int64_t *diff);

	/*
	 * Append to out the row of each group, or to err its error, with the
	 * given diff.  cursor[k] reads arrangement k as it was before the step
	 * (for old output) or as it is.
	 */
	bool		(*emit) (void *ctx, uint32_t n, DdirGroup *const *group, int64_t diff,
						 DdirCursor *cursor, DdirDeltas *out, DdirDeltas *err);

	/*
	 * Free what the state holds outside itself; may be NULL.  Not called
	 * after an error: what a state holds must be in an arena that goes as
	 * well.
	 */
	void		(*drop) (void *ctx, void *state);
} DdirReduceFns;

typedef struct DdirReduceSpec
{
	int			nfold;
	DdirNode   *const *fold;
	const DdirFunc *keying;		/* nfold of them */
	int			narr;
	DdirNode   *const *arr;
	bool		global;			/* no key: the one group exists even without
								 * rows */
	DdirReduceFns fns;
} DdirReduceSpec;

extern DdirNode *ddir_reduce_create(DdirGraph *g, const char *label, const DdirReduceSpec *spec);

/*
 * Threshold: each row of the input (made keyed by f: the whole row's identity
 * is the key, the val is ignored) with multiplicity c appears f(c) times.
 * "distinct" is the threshold min(c, 1).  Output rows: the keys, unkeyed.
 */
extern DdirNode *ddir_threshold_create(DdirGraph *g, const char *label, DdirNode *in,
									   DdirFunc f, int64_t (*threshold) (int64_t));
extern int64_t ddir_threshold_distinct(int64_t count);	/* raises below zero */
extern int64_t ddir_threshold_positive(int64_t count);	/* max(c, 0) */

/*
 * Top-k: of the rows of each key of an arrangement, in the order of its vals,
 * those from place "offset" on, at most "limit" of them.  A val is the row
 * behind "order" bytes that order it; rows are emitted without them.
 */
typedef struct DdirTopkSpec
{
	int64_t		limit;			/* below zero: all */
	int64_t		offset;
	bool		ties;			/* and those ordered like the last one */
	/* how long the order at the head of a val is; longer than it: malformed */
	uint32_t	(*order) (void *ctx, DdirRef val);
	void	   *ctx;
} DdirTopkSpec;

/* the arrangement must have been made since the last step */
extern DdirNode *ddir_topk_create(DdirGraph *g, const char *label, DdirNode *arrange,
								  const DdirTopkSpec *spec);

/*
 * Partition: of each key of an arrangement, whatever a function makes of all
 * its rows.
 */
typedef struct DdirPartition
{
	uint64_t	hash;
	DdirRef		key;
} DdirPartition;

typedef struct DdirPartitionFns
{
	void	   *ctx;

	/*
	 * Append to out what the rows of these keys make, each with its diff
	 * times this one, or to err what they fail with; the cursor reads them as
	 * they were (diff -1) or are (1).  False: failed.
	 */
	bool		(*run) (void *ctx, uint32_t n, const DdirPartition *part, int64_t diff,
						DdirCursor *cursor, DdirDeltas *out, DdirDeltas *err);
} DdirPartitionFns;

/* the arrangement must have been made since the last step */
extern DdirNode *ddir_partition_create(DdirGraph *g, const char *label, DdirNode *arrange,
									   DdirPartitionFns fns);

/*
 * Ordered: functions of a row's place among the rows of its key in an
 * arrangement, in the order of its vals.  Vals begin with bytes that order them;
 * rows that have these in common are peers.
 *
 * The rows are walked along, peers at a time, and other places (DdirSpot) go along
 * with them, as many as a function needs.  A place is between two rows of
 * the key; it begins in front of all, and goes forward only, to where the peers and the
 * rows that it passes send it.  A function can keep a *state* of what was passed
 * so far, which can be saved and gone on from.
 */
typedef struct DdirSpot
{
	DdirRef		last;			/* the row it passed last; p NULL: none */
	int64_t		rows;			/* rows passed, less those in front of the
								 * peers */
	int64_t		groups;			/* the group of peers of "last", the peers'
								 * being 0 */
	/* the engine's */
	const struct DdirOrderedFns *fns;
	DdirRef		last_order;
	DdirRef		next;			/* the row it is at, if copies are left */
	DdirRef		next_order;
	int64_t		left;			/* copies of it */
	bool		ended;			/* one more was looked for, and there was none */
	DdirCursor	cursor;
} DdirSpot;

typedef struct DdirPeers
{
	const DdirRef *row;			/* vals of n peers */
	uint32_t	n;
	DdirRef		before;			/* the row in front of them; p NULL: none */
	DdirRef		behind;			/* and behind them */
} DdirPeers;

typedef struct DdirOrderedFns
{
	void	   *ctx;
	int			nplaces;
	size_t		state_size;

	/*
	 * the length of the order at the head of a val; more than it has:
	 * malformed
	 */
	uint32_t	(*order) (void *ctx, DdirRef val);

	/*
	 * Append what peers make, or the errors they make, with this diff; leave
	 * places and state as they are behind the peers.  False: failed.
	 */
	bool		(*run) (void *ctx, const DdirPeers *peers, DdirSpot *place, void *state,
						int64_t diff, DdirDeltas *out, DdirDeltas *err);

	/*
	 * Append a state's bytes, the same ones where states say the same; and
	 * make it what bytes say, none being the state in front of all rows.  A
	 * state that was never loaded is zero.  False: failed.
	 */
	bool		(*save) (void *ctx, const void *state, DdirBytes *to);
	bool		(*load) (void *ctx, void *state, const uint8_t *p, size_t len);
} DdirOrderedFns;

/* The row that a place is at; false: it is behind all. */
extern bool ddir_spot_peek(DdirSpot *place, DdirRef *row);
extern void ddir_spot_pass(DdirSpot *place);	/* that row */

/* Another place, where the first one is. */
extern void ddir_spot_copy(DdirSpot *to, const DdirSpot *from);

/* The group of peers of the row that the place is at, see "groups". */
extern int64_t ddir_spot_group(const DdirSpot *place);

/* the arrangement must have been made since the last step */
extern DdirNode *ddir_ordered_create(DdirGraph *g, const char *label, DdirNode *arrange,
									 DdirOrderedFns fns);

/*
 * Schedule: what a function makes of a row and the clock.  Between instants
 * that it can tell, it makes the same; a row is looked at again when one has
 * come.
 */
typedef struct DdirScheduleFns
{
	void	   *ctx;

	/* append what rows make at a clock; false: failed */
	bool		(*run) (void *ctx, const DdirBundle *in, int64_t clock, DdirDeltas *out,
						DdirDeltas *err);

	/*
	 * For each row the least instant beyond the clock at which that may
	 * change; DDIR_NEVER: none.  The instants of a row must not depend on
	 * when they are asked for.  False: failed.
	 */
	bool		(*next) (void *ctx, uint32_t n, const DdirRef *row, int64_t clock,
						 int64_t *instant);
} DdirScheduleFns;

extern DdirNode *ddir_schedule_create(DdirGraph *g, const char *label, DdirNode *in,
									  DdirScheduleFns fns);

/* Output: hands what reaches it to the world outside; owns nothing. */
typedef struct DdirSinkFns
{
	void	   *ctx;
	void		(*rows) (void *ctx, const DdirDeltas *rows);
	void		(*errors) (void *ctx, const DdirDeltas *errs);
} DdirSinkFns;

extern DdirNode *ddir_sink_create(DdirGraph *g, const char *label, DdirNode *in, DdirSinkFns fns);

#endif							/* DDIR_ENGINE_OP_H */
