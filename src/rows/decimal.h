/*-------------------------------------------------------------------------
 *
 * decimal.h
 *	  Exact sums of numeric values, and their display scale.
 *
 * A sum is a fixed-point number in the server's base 10000, with a lane for
 * each digit that was ever touched.  It cannot overflow, so values may be
 * added and taken away in any order; the limits of numeric are checked when a
 * result is made.
 *
 * The display scale of a sum is the greatest one among its inputs.  Scales are
 * counted, so that it falls again when the last input with it is deleted.
 *
 *	ddir_decimal_add		- a value, so many times (negative: taken away)
 *	ddir_decimal_add_square	- its square, in a sum of its own
 *	ddir_decimal_digits		- the sum as the server's digits
 *	ddir_decimal_int64		- the sum as an integer, where it fits
 *	ddir_decimal_save		- its value as bytes, however it came about
 *	ddir_decimal_load		- an empty sum becomes that value
 *
 * Zeroed structs are empty.  Lanes and counts live in the context given.
 *
 * src/rows/decimal.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_ROWS_DECIMAL_H
#define DDIR_ROWS_DECIMAL_H

#include "postgres.h"

#include "engine/delta.h"
#include "rows/numeric.h"

/*
 * The value is the sum of digit[i] * 10000^(low + i).  Between two carries
 * digits may be of any size and sign; "slack" bounds their size.
 */
typedef struct DdirDecimal
{
	int64	   *digit;
	int64		slack;			/* |digit[i]| <= slack * 10000 */
	int32		low;
	int32		n;
	int32		cap;
} DdirDecimal;

extern void ddir_decimal_add(DdirDecimal *sum, MemoryContext cxt,
							 const DdirNumeric *value, int64 diff);
extern void ddir_decimal_add_square(DdirDecimal *sum, MemoryContext cxt,
									const DdirNumeric *value, int64 diff);
extern void ddir_decimal_free(DdirDecimal *sum);

/* Digits of a value: digit[i] * 10000^(weight - i), the first one not zero. */
typedef struct DdirDigits
{
	bool		neg;
	int			weight;
	int			n;
	int16	   *digit;
} DdirDigits;

/* in CurrentMemoryContext */
extern void ddir_decimal_digits(const DdirDecimal *sum, DdirDigits *out);

/* the sum times 10^scale, if that is an integer that fits */
extern bool ddir_decimal_int64(const DdirDecimal *sum, int scale, int64 *out);

/* "from" goes on to what is behind the bytes */
extern void ddir_decimal_save(const DdirDecimal *sum, DdirBytes *to);
extern void ddir_decimal_load(DdirDecimal *sum, MemoryContext cxt, const uint8_t **from);

typedef struct DdirScaleCount
{
	int64		count;
	int32		scale;
} DdirScaleCount;

/* One scale is counted in the struct, the others outside of it. */
typedef struct DdirScales
{
	int64		count;
	DdirScaleCount *more;
	int32		scale;
	int16		n;
	int16		cap;
} DdirScales;

extern void ddir_scales_add(DdirScales *scales, MemoryContext cxt, int scale, int64 diff);
extern int	ddir_scales_max(const DdirScales *scales);	/* 0 if there is none */
extern void ddir_scales_free(DdirScales *scales);
extern void ddir_scales_save(const DdirScales *scales, DdirBytes *to);
extern void ddir_scales_load(DdirScales *scales, MemoryContext cxt, const uint8_t **from);

#endif							/* DDIR_ROWS_DECIMAL_H */
