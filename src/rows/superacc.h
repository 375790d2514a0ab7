/*-------------------------------------------------------------------------
 *
 * superacc.h
 *	  Superaccumulators: exact sums of floating-point numbers.
 *
 * A sum is kept as a fixed-point integer wide enough for any double, in
 * lanes of 32 bits of which only those touched are stored.  Additions and
 * subtractions are exact, so the order of rows makes no difference and a
 * deletion undoes its insertion; a result is rounded once, to nearest even.
 *
 *	ddir_superacc_add		- x, so many times (negative: taken away)
 *	ddir_superacc_add_square	- the square of x, in a sum of its own
 *	ddir_superacc_sum		- the sum, rounded; infinite if it overflows
 *	ddir_superacc_mean		- the sum divided by n, rounded
 *	ddir_superacc_variance	- from both sums and n, rounded
 *	ddir_superacc_save		- its value as bytes, however it came about
 *	ddir_superacc_load		- an empty sum becomes that value
 *
 * Only finite numbers are added; infinities and NaNs are the caller's.  A
 * zeroed struct is an empty sum.  The sum of a number and the sum of squares
 * have different units and must not be mixed.
 *
 * Plain C, so that it can be tested alone.  Lanes live in the arena given.
 *
 * References: Kulisch, "Computer Arithmetic and Validity" (2008), section 8;
 * Neal, "Fast Exact Summation Using Small and Large Superaccumulators" (2015).
 *
 * src/rows/superacc.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_ROWS_SUPERACC_H
#define DDIR_ROWS_SUPERACC_H

#include "engine/delta.h"

/*
 * The value is the sum of lane[i] * 2^(32 * (low + i)) units.  Between two
 * carries a lane may hold more than its 32 bits: "slack" bounds how much.
 */
typedef struct DdirSuperacc
{
	int64_t    *lane;
	uint32_t	slack;			/* multiples of 2^32 that may be in a lane */
	int16_t		low;
	uint8_t		n;
	uint8_t		cap;
} DdirSuperacc;

extern void ddir_superacc_add(DdirSuperacc *acc, DdirArena *arena, double x, int64_t diff);
extern void ddir_superacc_add_square(DdirSuperacc *acc, DdirArena *arena, double x, int64_t diff);
extern void ddir_superacc_free(DdirSuperacc *acc);

/* "from" goes on to what is behind the bytes */
extern void ddir_superacc_save(const DdirSuperacc *acc, DdirBytes *to);
extern void ddir_superacc_load(DdirSuperacc *acc, DdirArena *arena, const uint8_t **from);

extern bool ddir_superacc_is_zero(const DdirSuperacc *acc);
extern double ddir_superacc_sum(const DdirSuperacc *acc);
extern float ddir_superacc_sum_float(const DdirSuperacc *acc);

/* n > 0 */
extern double ddir_superacc_mean(const DdirSuperacc *acc, uint64_t n);

/*
 * Of n numbers (n > 0; for a sample n > 1) with these sums; with "root" its
 * square root, that is the standard deviation.
 */
extern double ddir_superacc_variance(const DdirSuperacc *sum, const DdirSuperacc *squares,
									 uint64_t n, bool sample, bool root);

#endif							/* DDIR_ROWS_SUPERACC_H */
