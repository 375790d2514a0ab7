/*-------------------------------------------------------------------------
 *
 * program.h
 *	  Programs: the executor's expressions over packed rows, as functions the
 *	  engine can call.
 *
 * A program takes a tuple of rows, tests quals, and makes an output row
 * and/or a key.  In its expressions Var(varno = r + 1, varattno = a) is column
 * a of relation r of the tuple; there are no other Vars, no Params, no
 * SubLinks.  Expressions have been through eval_const_expressions.
 *
 * A bundle is run inside one internal subtransaction if any expression can
 * raise an error (is not total).  An error rolls it back and ends the run at
 * the row it came from; what was made of the rows before stays, and the run
 * goes on behind it in another subtransaction.  A row error (SQLSTATE classes
 * 21, 22, 23, 2F, 38, 39, P0) becomes an error row in that row's place, with
 * its diff and time; any other error makes the call fail, and
 * ddir_failure_rethrow raises it.  A program never longjmps.
 *
 * Expressions run as "owner" in a security-restricted context with a pinned
 * search_path; the caller of the graph's step sets that up once for runs of
 * programs by ddir_rights_enter (programs switch only the user).
 *
 * guard.c holds what is about errors and rights, total.c the question which
 * expressions cannot raise one, program.c the rest.
 *
 * src/rows/program.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_ROWS_PROGRAM_H
#define DDIR_ROWS_PROGRAM_H

#include "postgres.h"

#include "base/compat.h"
#include "engine/delta.h"
#include "rows/key.h"
#include "rows/rowtype.h"

typedef struct DdirProgramSpec
{
	const char *label;			/* for errors and explain */
	Oid			owner;			/* InvalidOid: as it is */
	int			nrel;
	const DdirRowType *const *rel;	/* NULL: not bound here, not used */
	List	   *quals;			/* implicitly ANDed; NULL is false */
	List	   *targets;		/* Exprs of the output row; NIL: empty row */
	bool		no_row;			/* leave the val lane empty */
	bool		row_is_key;		/* the row's image is the key; the val lane
								 * stays empty */
	List	   *keys;			/* Exprs of the key; used if key is set */
	DdirKeySpec *key;			/* NULL: unkeyed */
	List	   *order;			/* Exprs whose order encoding goes before the
								 * image */
	const bool *descending;		/* for each of order; NULL: none is */
	const bool *nulls_first;	/* likewise */
} DdirProgramSpec;

/* Copies what it needs into cxt.  Needs a transaction. */
extern DdirFunc ddir_program_make(MemoryContext cxt, const DdirProgramSpec *spec);

/* Are all functions in the expression free of errors (leakproof and strict)? */
extern bool ddir_expr_is_total(Node *expr);

/* the same of a node alone, whatever its arguments are */
extern bool ddir_node_is_total(Node *node);

/* The error row: sqlstate (int32), message (text), as an image of this type. */
extern const DdirRowType *ddir_error_rowtype(void);
extern bool ddir_sqlstate_is_row_error(int sqlstate);

/* append one to err, closing it */
extern void ddir_error_row_push(DdirDeltas *err, int sqlstate, const char *message,
								const uint64_t *t, int64 diff, uint32 from);

/*
 * Run fn(arg) catching errors.  0: it went well.  Otherwise the SQLSTATE; the
 * message of a row error is in *message (palloc'd in the caller's context),
 * any other error is kept for ddir_failure_rethrow.  With "subxact" effects
 * are rolled back by an internal subtransaction, in which fn finds an active
 * snapshot; without it fn must be something whose errors leave nothing behind
 * but memory.
 */
extern int	ddir_guard(void (*fn) (void *arg), void *arg, bool subxact, char **message);

/* An error row pushed under the guard, of now and whole; false: that failed. */
extern bool ddir_error_row_try_push(DdirDeltas *err, int sqlstate, const char *message,
									int64 diff);

/* raise again the last error that was not a row's */
pg_noreturn extern void ddir_failure_rethrow(void);

/*
 * Around all that runs expressions: pins search_path.  A transaction that ends
 * by an error takes it back by itself.
 */
extern int	ddir_rights_enter(void);
extern void ddir_rights_leave(int level);

/* What programs do themselves: act as the owner of a view. */
typedef struct DdirActing
{
	Oid			userid;
	int			sec_context;
} DdirActing;

/* InvalidOid: changes nothing */
extern DdirActing ddir_act_as(Oid owner);
extern void ddir_act_back(const DdirActing *before);

#endif							/* DDIR_ROWS_PROGRAM_H */
