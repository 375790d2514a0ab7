/*-------------------------------------------------------------------------
 *
 * numeric.c
 *	  A numeric value taken apart, and its canonical bytes.
 *
 * The first 16 bits tell the form:
 *
 *	00ss ssss ssss ssss	 long, positive: s display scale; then 16 bits weight
 *	01ss ssss ssss ssss	 long, negative
 *	10ns ssss sxww wwww	 short: n negative, s display scale, x sign of weight w
 *	1100, 1101, 1111 ...	 NaN, infinity, -infinity
 *
 * Then come the digits.  A value from the server has no zeros at the ends of
 * its digits; they are skipped here all the same, since equality of keys hangs
 * on it.
 *
 * src/rows/numeric.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/compat.h"
#include "rows/numeric.h"
#include "rows/rowtype.h"

#define FORM_MASK 0xC000
#define FORM_NEGATIVE 0x4000
#define FORM_SHORT 0x8000
#define FORM_SPECIAL 0xC000
#define LONG_SCALE_MASK 0x3FFF
#define SHORT_NEGATIVE 0x2000
#define SHORT_SCALE_MASK 0x1F80
#define SHORT_SCALE_SHIFT 7
#define SHORT_WEIGHT_SIGN 0x0040
#define SHORT_WEIGHT_MASK 0x003F
#define SPECIAL_MASK 0xF000
#define SPECIAL_NAN 0xC000
#define SPECIAL_PLUS_INF 0xD000
#define SPECIAL_MINUS_INF 0xF000

/* First bytes of canonical forms, in their order. */
#define CANONICAL_MINUS_INF 0
#define CANONICAL_NEGATIVE 1
#define CANONICAL_ZERO 2
#define CANONICAL_POSITIVE 3
#define CANONICAL_PLUS_INF 4
#define CANONICAL_NAN 5

static bool
open_special(uint16 header, DdirNumeric *n)
{
	switch (header & SPECIAL_MASK)
	{
		case SPECIAL_NAN:
			n->class = DDIR_NUMERIC_NAN;
			return true;
		case SPECIAL_PLUS_INF:
			n->class = DDIR_NUMERIC_PLUS_INF;
			return true;
		case SPECIAL_MINUS_INF:
			n->class = DDIR_NUMERIC_MINUS_INF;
			n->neg = true;
			return true;
		default:
			return false;
	}
}

bool
ddir_numeric_open(const struct varlena *value, DdirNumeric *n)
{
	const uint8_t *p = (const uint8_t *) VARDATA_ANY(value);
	Size		left = VARSIZE_ANY_EXHDR(value);
	uint16		header;

	memset(n, 0, sizeof(*n));
	if (left < sizeof(header))
		return false;
	memcpy(&header, p, sizeof(header));
	p += sizeof(header);
	left -= sizeof(header);

	if ((header & FORM_MASK) == FORM_SPECIAL)
		return open_special(header, n);
	if ((header & FORM_MASK) == FORM_SHORT)
	{
		n->neg = (header & SHORT_NEGATIVE) != 0;
		n->dscale = (header & SHORT_SCALE_MASK) >> SHORT_SCALE_SHIFT;
		n->weight = header & SHORT_WEIGHT_MASK;
		if (header & SHORT_WEIGHT_SIGN)
			n->weight -= SHORT_WEIGHT_MASK + 1;
	}
	else
	{
		int16		weight;

		if (left < sizeof(weight))
			return false;
		memcpy(&weight, p, sizeof(weight));
		p += sizeof(weight);
		left -= sizeof(weight);
		n->neg = (header & FORM_MASK) == FORM_NEGATIVE;
		n->dscale = header & LONG_SCALE_MASK;
		n->weight = weight;
	}
	if (left % sizeof(int16) != 0)
		return false;
	n->digits = p;
	n->ndigits = left / sizeof(int16);

	while (n->ndigits > 0 && ddir_numeric_digit(n, 0) == 0)
	{
		n->digits += sizeof(int16);
		n->ndigits--;
		n->weight--;
	}
	while (n->ndigits > 0 && ddir_numeric_digit(n, n->ndigits - 1) == 0)
		n->ndigits--;
	for (int i = 0; i < n->ndigits; i++)
		if (ddir_numeric_digit(n, i) < 0 || ddir_numeric_digit(n, i) >= DDIR_NUMERIC_BASE)
			return false;
	if (n->ndigits == 0)
	{
		n->neg = false;
		n->weight = 0;
	}
	return true;
}

void
ddir_numeric_get(Datum value, DdirNumeric *n)
{
	if (!ddir_numeric_open(ddir_varlena_flat(value, false), n))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("malformed value of type numeric")));
}

static inline uint8_t *
put_word(uint8_t *to, uint16 word, uint8_t flip)
{
	to[0] = (uint8_t) (word >> 8) ^ flip;
	to[1] = (uint8_t) word ^ flip;
	return to + 2;
}

uint32
ddir_numeric_canonical(const DdirNumeric *n, uint8_t *to)
{
	uint8_t    *start = to;
	uint8_t		flip = n->neg ? 0xFF : 0;

	switch (n->class)
	{
		case DDIR_NUMERIC_NAN:
			*to = CANONICAL_NAN;
			return 1;
		case DDIR_NUMERIC_PLUS_INF:
			*to = CANONICAL_PLUS_INF;
			return 1;
		case DDIR_NUMERIC_MINUS_INF:
			*to = CANONICAL_MINUS_INF;
			return 1;
		case DDIR_NUMERIC_FINITE:
			break;
	}
	if (n->ndigits == 0)
	{
		*to = CANONICAL_ZERO;
		return 1;
	}
	*to++ = n->neg ? CANONICAL_NEGATIVE : CANONICAL_POSITIVE;
	/* stripping leading zeros may have taken the weight below 16 bits' least */
	ddir_check(n->weight >= PG_INT16_MIN && n->weight <= PG_INT16_MAX);
	to = put_word(to, (uint16) (n->weight - PG_INT16_MIN), flip);
	for (int i = 0; i < n->ndigits; i++)
		to = put_word(to, ddir_numeric_digit(n, i) + 1, flip);
	to = put_word(to, 0, flip);
	return to - start;
}

uint32
ddir_numeric_canonical_length(const uint8_t *p, size_t left, uint8_t flip)
{
	const uint8_t *start = p;

	if (left < 1)
		return 0;
	switch (*p ^ flip)
	{
		case CANONICAL_NEGATIVE:
			flip ^= 0xFF;
			break;
		case CANONICAL_POSITIVE:
			break;
		case CANONICAL_MINUS_INF:
		case CANONICAL_ZERO:
		case CANONICAL_PLUS_INF:
		case CANONICAL_NAN:
			return 1;
		default:
			return 0;
	}
	if (left < 3)
		return 0;
	p += 3;
	left -= 3;
	for (; left >= 2; p += 2, left -= 2)
		if ((p[0] ^ flip) == 0 && (p[1] ^ flip) == 0)
			return p + 2 - start;
	return 0;
}
