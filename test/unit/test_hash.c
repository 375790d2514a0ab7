/*-------------------------------------------------------------------------
 *
 * test_hash.c
 *	  The hash we order and shard by is the one everybody else computes.
 *
 * xxHash is used from its header, inlined.  Its XXH3-64 has been frozen since
 * 0.8.0; the values below come from the xxhsum program.  Should a header give
 * others, rows of one key would meet in two places.
 *
 * test/unit/test_hash.c
 *
 *-------------------------------------------------------------------------
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static const struct
{
	const char *input;
	uint64_t	hash;
}			known[] =

{
	{"", UINT64_C(0x2d06800538d394c2)},
	{"a", UINT64_C(0xe6c632b61e964e1f)},
	{"abc", UINT64_C(0x78af5f94892f3950)},
};

int
main(void)
{
	int			passed = 0;
	int			failed = 0;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
	{
		uint64_t	hash = XXH3_64bits(known[i].input, strlen(known[i].input));

		if (hash == known[i].hash)
			passed++;
		else
		{
			failed++;
			printf("XXH3-64 of \"%s\" is %016llx\n", known[i].input,
				   (unsigned long long) hash);
		}
	}
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
