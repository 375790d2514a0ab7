/*-------------------------------------------------------------------------
 *
 * publication.c
 *	  What the publications of a table forbid.
 *
 * A publication of updates wants the columns of its row filter to be in the
 * replica identity, all of the identity in its column list, and an identity at
 * all; or the server refuses the update.  With REPLICA IDENTITY FULL no column
 * list will do, and any row filter.
 *
 * src/meta/publication.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_class.h"
#include "catalog/pg_publication.h"
#include "utils/rel.h"
#include "utils/relcache.h"

#include "base/compat.h"
#include "meta/publication.h"

/* As CheckCmdReplicaIdentity() says it by an error. */
bool
ddir_publication_refuses(Oid relid)
{
	Relation	rel = try_relation_open(relid, AccessShareLock);
	PublicationDesc desc;
	bool		refuses = false;

	if (rel == NULL)
		return false;
	if (rel->rd_rel->relkind == RELKIND_RELATION ||
		rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
	{
		RelationBuildPublicationDesc(rel, &desc);
		refuses = !ddir_publication_desc_valid(&desc) ||
			((desc.pubactions.pubupdate || desc.pubactions.pubdelete) &&
			 rel->rd_rel->relreplident != REPLICA_IDENTITY_FULL &&
			 !OidIsValid(RelationGetReplicaIndex(rel)));
	}
	relation_close(rel, NoLock);
	return refuses;
}
