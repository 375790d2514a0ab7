/*-------------------------------------------------------------------------
 *
 * numeric.h
 *	  A numeric value taken apart, and its canonical bytes.
 *
 * The server keeps the layout of numeric to itself, but it is on disk
 * and so does not change: a header that says sign, display scale and weight,
 * then digits in base 10000.  ddir_numeric_open reads it; the value is
 *
 *	(neg ? -1 : 1) * sum over i of digit[i] * 10000 ^ (weight - i)
 *
 * Canonical bytes are equal iff the values are, and order as they do: display
 * scales do not matter, there is one NaN, and NaN is greatest.
 *
 *	0 -infinity | 1 negative | 2 zero | 3 positive | 4 infinity | 5 NaN
 *
 * and for 1 and 3 the weight (2 bytes), the digits, each plus one (2 bytes),
 * and a zero word; all of that inverted where the number is negative.
 *
 * src/rows/numeric.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_ROWS_NUMERIC_H
#define DDIR_ROWS_NUMERIC_H

#include "postgres.h"

#include "engine/delta.h"

#define DDIR_NUMERIC_BASE 10000

typedef enum DdirNumericClass
{
	DDIR_NUMERIC_FINITE,
	DDIR_NUMERIC_NAN,
	DDIR_NUMERIC_PLUS_INF,
	DDIR_NUMERIC_MINUS_INF
} DdirNumericClass;

typedef struct DdirNumeric
{
	DdirNumericClass class;
	bool		neg;			/* never for zero */
	int			weight;			/* of the first digit; 0 for zero */
	int			dscale;			/* digits shown behind the point */
	int			ndigits;		/* without leading or trailing zeros */
	const uint8_t *digits;		/* unaligned; see ddir_numeric_digit */
} DdirNumeric;

/*
 * value: a numeric that is neither external nor compressed; its header may be
 * short.  What is returned points into it.  False if it is malformed.
 */
extern bool ddir_numeric_open(const struct varlena *value, DdirNumeric *n);

/*
 * The same for any numeric value, detoasted into CurrentMemoryContext if need
 * be; raises XX001 if it is malformed.
 */
extern void ddir_numeric_get(Datum value, DdirNumeric *n);

static inline int
ddir_numeric_digit(const DdirNumeric *n, int i)
{
	int16_t		digit;

	memcpy(&digit, n->digits + i * sizeof(digit), sizeof(digit));
	return digit;
}

/* Bytes that ddir_numeric_canonical writes at most. */
static inline size_t
ddir_numeric_room(const DdirNumeric *n)
{
	return 1 + 2 + 2 * ((size_t) n->ndigits + 1);
}

/* Write the canonical bytes; how many. */
extern uint32 ddir_numeric_canonical(const DdirNumeric *n, uint8_t *to);

/* Length of canonical bytes at p, each byte xor "flip"; 0 if malformed. */
extern uint32 ddir_numeric_canonical_length(const uint8_t *p, size_t left, uint8_t flip);

#endif							/* DDIR_ROWS_NUMERIC_H */
