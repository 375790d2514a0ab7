# Commands on databases and on the extension, while maintainers run.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

use DdirNode;

my $node = DdirNode::start('main');
my $space = $node->basedir . '/space';
mkdir $space or die "$space: $!";

sub sql { return $node->safe_psql(@_); }

# The maintainer of this database runs, and its views are right.
sub settle
{
	my ($db, $name) = @_;

	sql($db, q{SELECT ddir.wait(timeout => '2 min')});
	is(sql($db, 'SELECT count(*) FROM ddir.views, ddir.check(view)'),
		'0', "$name: views equal their queries");
}

# Slots and origins that are left of ours.
sub leftovers
{
	return sql('postgres', q{
		SELECT (SELECT count(*) FROM pg_replication_slots WHERE plugin = 'ddir') || ' '
			|| (SELECT count(*) FROM pg_replication_origin WHERE roname LIKE 'ddir%')});
}

sub make_views
{
	my ($db) = @_;

	sql($db, q{
		CREATE EXTENSION IF NOT EXISTS ddir;
		CREATE TABLE t (a int PRIMARY KEY, b int);
		INSERT INTO t SELECT i, i % 5 FROM generate_series(1, 100) AS i;
		CREATE MATERIALIZED VIEW v USING ddir AS SELECT b, count(*) FROM t GROUP BY b;
		CREATE MATERIALIZED VIEW w USING ddir AS SELECT b FROM v WHERE count > 10});
	settle($db, "$db made");
}

# ----
# Databases
# ----

sql('postgres', "CREATE TABLESPACE space LOCATION '$space'");
sql('postgres', 'CREATE DATABASE one');
make_views('one');

sql('postgres', 'CREATE DATABASE copy TEMPLATE one');
sql('one', 'INSERT INTO t VALUES (1000, 7)');
sql('copy', 'DELETE FROM t WHERE b = 2');
settle('one', 'after being copied');
settle('copy', 'the copy');
is(sql('copy', 'SELECT count(*) FROM v'), '4', 'the copy is maintained by itself');

sql('postgres', 'ALTER DATABASE copy RENAME TO renamed');
sql('renamed', 'INSERT INTO t VALUES (1001, 8)');
settle('renamed', 'renamed');
sql('postgres', 'BEGIN; ALTER DATABASE renamed RENAME TO undone; ROLLBACK');
settle('renamed', 'not renamed after all');

sql('postgres', 'ALTER DATABASE renamed SET TABLESPACE space');
sql('renamed', 'INSERT INTO t VALUES (1002, 8)');
settle('renamed', 'moved');

# Who may not do it makes nobody leave.
sql('postgres', 'CREATE ROLE nobody LOGIN');
my $pid = sql('renamed', q{SELECT pid FROM ddir.workers WHERE kind = 'maintainer' AND database = 'renamed'});
for my $command (
	'DROP DATABASE renamed',
	'ALTER DATABASE renamed RENAME TO stolen',
	'CREATE DATABASE stolen TEMPLATE renamed')
{
	my ($ret) = $node->psql('postgres', $command, extra_params => [ '-U', 'nobody' ]);
	isnt($ret, 0, "a stranger may not: $command");
}
is(sql('renamed', q{SELECT pid FROM ddir.workers WHERE kind = 'maintainer' AND database = 'renamed'}),
	$pid, 'and the maintainer has stayed');

sql('postgres', 'ALTER DATABASE renamed IS_TEMPLATE true');
sql('postgres', 'CREATE DATABASE third TEMPLATE renamed');
settle('third', 'from a template');
sql('postgres', 'ALTER DATABASE renamed IS_TEMPLATE false');
settle('renamed', 'a template no longer');

sql('postgres', 'DROP DATABASE renamed');
sql('postgres', 'DROP DATABASE third WITH (FORCE)');
sql('one', 'INSERT INTO t VALUES (1003, 9)');
settle('one', 'others dropped');
is($node->poll_query_until('postgres',
		q{SELECT count(*) = 1 FROM pg_replication_origin WHERE roname LIKE 'ddir%'}),
	1, 'origins of dropped databases go');
is(leftovers(), '1 1', 'and nothing else is left of them');

# ----
# The extension
# ----

my ($ret, $out, $err) = $node->psql('one', 'DROP EXTENSION ddir');
like($err, qr/cannot drop extension ddir/, 'views keep the extension');
settle('one', 'extension kept');
sql('one', 'BEGIN; DROP EXTENSION ddir CASCADE; ROLLBACK');
settle('one', 'extension not dropped after all');
is(sql('one', q{SELECT relreplident FROM pg_class WHERE oid = 't'::regclass}),
	'f', 'a source logs its old rows');
sql('one', 'DROP EXTENSION ddir CASCADE');
is(leftovers(), '0 0', 'no slot and no origin when it returns');
is(sql('one', q{SELECT relreplident FROM pg_class WHERE oid = 't'::regclass}),
	'd', 'and the source as it was');
sql('postgres', 'DROP DATABASE one');

sql('postgres', 'CREATE DATABASE one');
make_views('one');
sql('one', 'ALTER TABLE t REPLICA IDENTITY FULL');
sql('one', 'DROP SCHEMA ddir CASCADE');
is(leftovers(), '0 0', 'the same by its schema');

make_views('postgres');
sql('postgres', 'DROP TABLE t CASCADE');
is( $node->poll_query_until('postgres',
		q{SELECT count(*) = 0 FROM pg_replication_slots WHERE plugin = 'ddir'}),
	1, 'the slot goes with the last view');

$node->stop;
done_testing();
