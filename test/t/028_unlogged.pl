# Unlogged tables as sources, where triggers capture: their rows survive a clean
# restart, and a crash, a promotion or a restored backup takes them from views,
# too.  Where the log is decoded, such views wait until the table is logged.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use DdirNode;

my $node = DdirNode::start('main', allows_streaming => 1, conf => "wal_level = replica\n");

sub sql { return $node->safe_psql('postgres', @_); }

# Do it, and the law holds.
sub right
{
	my ($name, $statements) = @_;

	sql($statements);
	DdirNode::views_equal_queries($node, 'postgres', $name);
	return;
}

my $rows = 'SELECT coalesce(sum(n), 0) FROM v';

sql(q{
	CREATE UNLOGGED TABLE t (id int PRIMARY KEY, g int);
	CREATE TABLE kept (g int PRIMARY KEY, name text);
	INSERT INTO kept SELECT i, 'kept ' || i FROM generate_series(0, 4) AS i;
	INSERT INTO t SELECT i, i % 5 FROM generate_series(1, 100) AS i;
	CREATE MATERIALIZED VIEW v USING ddir AS SELECT g, count(*) AS n FROM t GROUP BY g;
	CREATE MATERIALIZED VIEW w USING ddir AS SELECT id, name FROM t JOIN kept USING (g);
	CREATE TABLE part (id int, g int) PARTITION BY LIST (g);
	CREATE TABLE part_1 PARTITION OF part FOR VALUES IN (1);
	CREATE MATERIALIZED VIEW p USING ddir AS SELECT g, count(*) AS n FROM part GROUP BY g});
DdirNode::views_equal_queries($node, 'postgres', 'made');

# ----
# Changes
# ----

my $hydrations = sql(q{SELECT sum(hydrations) FROM ddir.hydration WHERE view <> 'p'::regclass});
right('written to', q{
	INSERT INTO t VALUES (101, 1); UPDATE t SET g = g + 1 WHERE id < 50; DELETE FROM t WHERE id > 90;
	BEGIN; UPDATE t SET g = 0; ROLLBACK});
right('logged', 'ALTER TABLE t SET LOGGED; UPDATE t SET g = g + 1 WHERE id < 50');
right('and unlogged again', 'ALTER TABLE t SET UNLOGGED; UPDATE t SET g = g - 1 WHERE id < 50; INSERT INTO t VALUES (102, 1)');
is(sql(q{SELECT sum(hydrations) FROM ddir.hydration WHERE view <> 'p'::regclass}), $hydrations, 'all that as changes');
right('a partition', q{
	CREATE UNLOGGED TABLE part_2 PARTITION OF part FOR VALUES IN (2);
	INSERT INTO part VALUES (1, 1), (2, 2), (3, 2); UPDATE part SET g = 3 - g WHERE id < 3});
is(sql('SELECT string_agg(n::text, $$,$$ ORDER BY g) FROM p'), '1,2', 'has rows');

# ----
# Restarts
# ----

$node->restart;
DdirNode::views_equal_queries($node, 'postgres', 'after a restart');
cmp_ok(sql($rows), '>', 0, 'rows are there');
sql(q{
	BEGIN; INSERT INTO t VALUES (201, 3); DELETE FROM t WHERE id < 10; INSERT INTO kept VALUES (17, 'prepared');
	PREPARE TRANSACTION 'p'});
$node->restart;
sql(q{COMMIT PREPARED 'p'});
DdirNode::views_equal_queries($node, 'postgres', 'prepared before a restart');
is(sql('SELECT count(*) FROM w WHERE id = 201'), 1, 'it is in the views');

sql(q{
	BEGIN; INSERT INTO t VALUES (202, 3); DELETE FROM t WHERE id < 20; INSERT INTO kept VALUES (18, 'prepared');
	PREPARE TRANSACTION 'p'});
DdirNode::crash_and_start($node);
DdirNode::views_equal_queries($node, 'postgres', 'after a crash');
is(sql($rows), 0, 'all rows are gone');
is(sql('SELECT string_agg(g::text, $$,$$) FROM p'), '1', 'those of the unlogged partition, too');
sql(q{COMMIT PREPARED 'p'});
DdirNode::views_equal_queries($node, 'postgres', 'what was prepared before it is gone, too');
is(sql($rows), 0, 'there is no row');
right('written to again', 'INSERT INTO t SELECT i, i % 5 FROM generate_series(1, 50) AS i; DELETE FROM t WHERE g = 1');
cmp_ok(sql($rows), '>', 0, 'rows are there');

# ----
# A standby, a promotion
# ----

$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
sql('INSERT INTO t VALUES (301, 4)');
DdirNode::await($node, 'postgres');
$node->wait_for_catchup($standby);
is($standby->safe_psql('postgres', $rows), sql($rows), 'a standby has the views');
$standby->promote;
DdirNode::views_equal_queries($standby, 'postgres', 'promoted');
is($standby->safe_psql('postgres', $rows), 0, 'the table was emptied, and the view');
$standby->safe_psql('postgres', 'INSERT INTO t VALUES (302, 4)');
DdirNode::views_equal_queries($standby, 'postgres', 'written to');
$standby->stop;

# ----
# Logical decoding cannot have it
# ----

$node->append_conf('postgresql.conf', 'wal_level = logical');
$node->restart;
DdirNode::until_true($node, 'postgres',
	q{SELECT count(*) = 3 FROM ddir.views WHERE state = 'suspended' AND reason = 'its query cannot be maintained'
	   AND message ~ '^It reads the unlogged table (t|part_2), whose changes are not in the log'}, 'views are suspended');
$node->psql('postgres', q{SELECT ddir.wait('v')}, stderr => \my $err);
like($err, qr/DETAIL:  its query cannot be maintained: It reads the unlogged table t.*\nHINT:  It comes back by itself/, 'who waits is told');
sql('INSERT INTO t VALUES (401, 4)');
sql('ALTER TABLE t SET LOGGED; DROP TABLE part_2');
right('logged: they come back', 'INSERT INTO t VALUES (402, 4)');
is(sql(q{SELECT count(*) FROM pg_trigger WHERE tgname ~ '^ddir'}), 0, 'triggers are gone');
sql('ALTER TABLE t SET UNLOGGED');
DdirNode::until_true($node, 'postgres', q{SELECT count(*) = 2 FROM ddir.views WHERE state = 'suspended'}, 'unlogged: suspended');
sql('ALTER DATABASE postgres SET ddir.capture = trigger; INSERT INTO t VALUES (403, 4)');
right('triggers capture: they come back', 'INSERT INTO t VALUES (404, 4)');

$node->stop;
done_testing();
