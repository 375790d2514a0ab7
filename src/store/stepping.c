/*-------------------------------------------------------------------------
 *
 * stepping.c
 *	  Which view the maintainer is at work on, so that a crash tells.
 *
 * The file is a page of this struct.  It is trusted for nothing but counting:
 * a file of another size or without our mark is begun anew.
 *
 * src/store/stepping.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "storage/fd.h"

#include "store/stepping.h"

#define STEPPING_MARK 0x64647331	/* "dds1" */
#define SUSPECTS_MAX 64

typedef struct Suspect
{
	uint32		view;
	uint32		crashes;
} Suspect;

typedef struct Stepping
{
	uint32		mark;
	volatile uint32 view;		/* at work on */
	uint32		nsuspects;
	Suspect		suspect[SUSPECTS_MAX];
} Stepping;

static Stepping *stepping;		/* NULL: not open */
static char path[MAXPGPATH];
static volatile uint32 nowhere; /* where there is no file */

static Suspect *
find_suspect(Oid view)
{
	if (stepping == NULL)
		return NULL;
	for (uint32 i = 0; i < stepping->nsuspects; i++)
		if (stepping->suspect[i].view == view)
			return &stepping->suspect[i];
	return NULL;
}

/* The process before us died at work on this view. */
static void
accuse(Oid view)
{
	Suspect    *s = find_suspect(view);

	if (s == NULL && stepping->nsuspects < SUSPECTS_MAX)
	{
		s = &stepping->suspect[stepping->nsuspects++];
		s->view = view;
		s->crashes = 0;
	}
	if (s)
		s->crashes++;
}

volatile uint32 *
ddir_stepping_open(Oid dbid)
{
	int			fd;
	void	   *map = MAP_FAILED;

	snprintf(path, sizeof(path), "ddir.stepping.%u", dbid);
	fd = OpenTransientFile(path, O_RDWR | O_CREAT | PG_BINARY);
	if (fd >= 0)
	{
		if (ftruncate(fd, sizeof(Stepping)) == 0)
			map = mmap(NULL, sizeof(Stepping), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		CloseTransientFile(fd);
	}
	if (map == MAP_FAILED)
	{
		/* maintenance goes on; only a crash will not be blamed on anything */
		ereport(LOG,
				(errcode_for_file_access(),
				 errmsg("could not map file \"%s\": %m", path)));
		return &nowhere;
	}
	stepping = map;
	if (stepping->mark != STEPPING_MARK || stepping->nsuspects > SUSPECTS_MAX)
	{
		memset(stepping, 0, sizeof(Stepping));
		stepping->mark = STEPPING_MARK;
	}
	if (stepping->view != 0)
		accuse(stepping->view);
	stepping->view = 0;
	return &stepping->view;
}

int
ddir_stepping_crashes(Oid view)
{
	Suspect    *s = find_suspect(view);

	return s ? (int) Min(s->crashes, (uint32) PG_INT32_MAX) : 0;
}

void
ddir_stepping_clear(Oid view)
{
	Suspect    *s = find_suspect(view);

	if (s)
		*s = stepping->suspect[--stepping->nsuspects];
}

void
ddir_stepping_close(bool forget)
{
	if (stepping == NULL)
		return;
	stepping->view = 0;
	munmap(stepping, sizeof(Stepping));
	stepping = NULL;
	if (forget)
		(void) unlink(path);
}
