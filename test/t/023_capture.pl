# Which way changes are captured can be changed at any time, and views are filled
# again by the new one.  Triggers, where the WAL could be decoded: a subscription
# that feeds a source, and publications of everything, which see nothing of them.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

use DdirNode;

my $node = DdirNode::start('main', conf => "wal_level = logical\n");

sub sql { return $node->safe_psql('postgres', @_); }

# How table t is captured, and what is there for the other way.
sub captured_by
{
	my ($how, $name) = @_;
	my $logical = $how eq 'logical';

	DdirNode::until_true($node, 'postgres',
		qq{SELECT count(*) = 1 FROM ddir.sources WHERE capture = '$how'}, "$name: by $how");
	DdirNode::views_equal_queries($node, 'postgres', $name);
	sql('INSERT INTO t SELECT max(id) + 1, 1 FROM t; UPDATE t SET g = g + 1 WHERE id < 10');
	DdirNode::views_equal_queries($node, 'postgres', "$name, and changes come");
	is(sql(q{SELECT count(*) FROM pg_trigger WHERE tgrelid = 't'::regclass AND tgname ~ '^ddir'}),
		$logical ? 0 : 5, "$name: triggers");
	is(sql(q{SELECT count(*) FROM pg_replication_slots WHERE plugin = 'ddir'}), $logical ? 1 : 0, "$name: slot");
	is(sql(q{SELECT relreplident FROM pg_class WHERE relname = 't'}), $logical ? 'f' : 'd', "$name: identity");
	return;
}

sub reason { return sql(q{SELECT reason FROM ddir.hydration WHERE view = 'v'::regclass}); }

sql(q{
	CREATE TABLE t (id int PRIMARY KEY, g int);
	INSERT INTO t SELECT i, i % 5 FROM generate_series(1, 100) AS i;
	CREATE MATERIALIZED VIEW v USING ddir AS SELECT g, count(*) AS n FROM t GROUP BY g});
captured_by('logical', 'at first');

# ----
# Switching
# ----

sql('ALTER DATABASE postgres SET ddir.capture = trigger');
captured_by('trigger', 'set for the database');
is(reason(), 'changes are captured by triggers now', 'with the reason');
sql('ALTER DATABASE postgres RESET ddir.capture');
captured_by('logical', 'reset');
is(reason(), 'changes are captured by logical decoding now', 'with the reason');
$node->append_conf('postgresql.conf', 'ddir.capture = trigger');
$node->reload;
captured_by('trigger', 'set in the file');

# now that no slot needs it
$node->append_conf('postgresql.conf', 'wal_level = replica');
$node->restart;
captured_by('trigger', 'wal_level = replica');
is(reason(), 'the maintainer has started anew', 'no other reason');
$node->append_conf('postgresql.conf', "wal_level = logical\nddir.capture = auto");
$node->restart;
captured_by('logical', 'and back');

# ----
# In transactions
# ----

# The maintainer goes when what it would not start with is committed, and only then.
my $before = DdirNode::maintainer($node, 'postgres');
sql(q{
	BEGIN;
	ALTER DATABASE postgres SET ddir.capture = trigger;
	UPDATE t SET g = g + 1 WHERE id = 1;
	ROLLBACK});
captured_by('logical', 'rolled back');
sql(q{
	BEGIN;
	SAVEPOINT s;
	ALTER DATABASE postgres SET ddir.capture = trigger;
	ROLLBACK TO s;
	UPDATE t SET g = g + 1 WHERE id = 1;
	COMMIT});
captured_by('logical', 'rolled back to a savepoint');
sql('ALTER DATABASE postgres SET ddir.capture = logical');
captured_by('logical', 'what auto is already');
my $session = $node->background_psql('postgres');
$session->query_safe('BEGIN');
$session->query_safe('ALTER DATABASE postgres SET ddir.capture = trigger');
$session->query_safe('INSERT INTO t VALUES (-4, 1)');
captured_by('logical', 'not committed yet');
is(DdirNode::maintainer($node, 'postgres'), $before, 'the maintainer is the one that it was');
is(sql('SELECT max(hydrations) FROM ddir.hydration'), '1', 'no view was filled again');
$session->query_safe('COMMIT');
$session->quit;
captured_by('trigger', 'committed');
is(reason(), 'changes are captured by triggers now', 'with the reason');

sql(q{
	BEGIN;
	ALTER DATABASE postgres RESET ALL;
	INSERT INTO t VALUES (-1, 1);
	PREPARE TRANSACTION 'p'});
captured_by('trigger', 'prepared');
$node->restart;
captured_by('trigger', 'prepared, over a restart');
sql(q{COMMIT PREPARED 'p'});
captured_by('logical', 'prepared and committed');
is(reason(), 'changes are captured by logical decoding now', 'with the reason');
sql(q{
	BEGIN;
	ALTER DATABASE postgres SET ddir.capture = trigger;
	PREPARE TRANSACTION 'p'});
sql(q{ROLLBACK PREPARED 'p'});
captured_by('logical', 'prepared and rolled back');

# Of the bootstrap superuser, as which maintainers run, and of all; written to beside
# what is prepared.
sql(q{
	BEGIN;
	ALTER ROLE ALL SET ddir.capture = trigger;
	INSERT INTO t VALUES (-2, 1);
	PREPARE TRANSACTION 'p'});
sql('INSERT INTO t VALUES (-3, 1)');
sql(q{COMMIT PREPARED 'p'});
captured_by('trigger', 'set for all roles');
sql('ALTER DATABASE postgres SET ddir.capture = logical');
captured_by('logical', 'the database is more than all roles');
sql('ALTER ROLE CURRENT_USER SET ddir.capture = trigger');
captured_by('trigger', 'the role is more than the database');
sql('ALTER ROLE CURRENT_USER IN DATABASE postgres SET ddir.capture = logical');
captured_by('logical', 'the role in the database is more than that');
sql(q{
	ALTER ROLE CURRENT_USER RESET ddir.capture;
	ALTER ROLE CURRENT_USER IN DATABASE postgres RESET ddir.capture;
	ALTER DATABASE postgres RESET ddir.capture});
captured_by('trigger', 'back to that of all');
sql('ALTER ROLE ALL RESET ALL');
captured_by('logical', 'none is left');

# ----
# Publications and subscriptions
# ----

sql('ALTER DATABASE postgres SET ddir.capture = trigger');
captured_by('trigger', 'beside publications');
sql(q{
	CREATE DATABASE other;
	CREATE TABLE fed (id int PRIMARY KEY, x int);
	CREATE MATERIALIZED VIEW of_fed USING ddir AS SELECT count(*) AS n, sum(x) AS x FROM fed});
$node->safe_psql('other', q{
	CREATE TABLE fed (id int PRIMARY KEY, x int);
	INSERT INTO fed SELECT i, i FROM generate_series(1, 100) AS i;
	CREATE PUBLICATION p FOR TABLE fed});
$node->safe_psql('other', q{SELECT pg_create_logical_replication_slot('feed', 'pgoutput')});
DdirNode::await($node, 'postgres');
sql(sprintf(q{CREATE SUBSCRIPTION s CONNECTION '%s' PUBLICATION p WITH (create_slot = false, slot_name = 'feed')},
		$node->connstr('other') =~ s/'/''/gr));
DdirNode::until_true($node, 'postgres', 'SELECT count(*) = 100 FROM fed', 'the table is copied');
DdirNode::views_equal_queries($node, 'postgres', 'copied by the subscription');
$node->safe_psql('other', 'UPDATE fed SET x = x + 1 WHERE id < 50; DELETE FROM fed WHERE id > 90; INSERT INTO fed VALUES (500, 1)');
DdirNode::until_true($node, 'postgres', 'SELECT count(*) = 91 FROM fed', 'changes are applied');
DdirNode::views_equal_queries($node, 'postgres', 'changed by the subscription');
is(sql('SELECT n FROM of_fed'), '91', 'and current');
$node->safe_psql('other', 'TRUNCATE fed');
DdirNode::until_true($node, 'postgres', 'SELECT count(*) = 0 FROM fed', 'truncated');
DdirNode::views_equal_queries($node, 'postgres', 'truncated by the subscription');
sql('DROP SUBSCRIPTION s');

# A publication of everything has the user's changes, and none of the delta tables'.
sql(q{CREATE PUBLICATION everything FOR ALL TABLES});
sql(q{SELECT pg_create_logical_replication_slot('all_of_it', 'pgoutput')});
sql(q{INSERT INTO t SELECT i, i FROM generate_series(1001, 200000) i; UPDATE t SET g = 7 WHERE id > 1000});
sql(q{UPDATE t SET g = 8 WHERE id > 1000; DELETE FROM t WHERE id > 1000});
DdirNode::views_equal_queries($node, 'postgres', 'beside a publication of all tables');
DdirNode::until_true($node, 'postgres', q{
	WITH written AS (INSERT INTO t VALUES ((SELECT max(id) + 1 FROM t), 1))
	SELECT sum(pg_relation_size(oid)) < 10000000 FROM pg_class WHERE relname ~ '^_delta_.$'},
	'delta tables are emptied');
my $relations = q{
	SELECT string_agg(DISTINCT split_part(encode(substr(data, 6), 'escape'), '\000', 2), ',')
	  FROM pg_logical_slot_get_binary_changes('all_of_it', NULL, NULL, 'proto_version', '1', 'publication_names', 'everything')
	 WHERE get_byte(data, 0) IN (ascii('R'), ascii('T'))};
is(sql($relations), 't', 'it has the table, and none of ours');
sql(q{SELECT pg_drop_replication_slot('all_of_it')});
$node->stop;

done_testing();
