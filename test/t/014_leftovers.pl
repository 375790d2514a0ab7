# Nothing is left behind when the last view goes, however that comes about: no
# slot, no origin, no maintainer, no trigger, and tables have the replica
# identity they had.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

use DdirNode;

my $node = DdirNode::start('main',
	conf => DdirNode::points() . "restart_after_crash = on\n");

sub sql { return $node->safe_psql('postgres', @_); }

# One view over t and nothing else.
sub make
{
	sql(q{CREATE MATERIALIZED VIEW v USING ddir AS SELECT g, count(*) AS n FROM t GROUP BY g});
	DdirNode::views_equal_queries($node, 'postgres', 'made');
	is(sql('SELECT ' . DdirNode::is_prepared(q{'t'::regclass})), 't', 'the table is captured');
	return;
}

sub nothing_left
{
	my ($what) = @_;

	DdirNode::until_true($node, 'postgres', q{
		SELECT (SELECT count(*) FROM pg_replication_slots WHERE plugin = 'ddir') = 0
		   AND (SELECT count(*) FROM pg_replication_origin WHERE roname LIKE 'ddir%') = 0
		   AND (SELECT count(*) FROM ddir.workers WHERE kind <> 'launcher' AND pid IS NOT NULL) = 0
		   AND (SELECT relreplident FROM pg_class WHERE relname = 't') = 'd'
		   AND (SELECT count(*) FROM ddir._identity) = 0
		   AND (SELECT count(*) FROM pg_trigger WHERE tgfoid = 'ddir._capture()'::regprocedure) = 0},
		"$what: nothing is left");
	return;
}

sql(q{CREATE TABLE t (id int PRIMARY KEY, g int); INSERT INTO t SELECT i, i % 3 FROM generate_series(1, 100) AS i});

make();
sql('DROP MATERIALIZED VIEW v');
nothing_left('dropped');

# A writer keeps the table from being changed back, until it ends.
make();
my $writer = $node->background_psql('postgres');
$writer->query_safe('BEGIN; INSERT INTO t VALUES (1001, 1)');
sql('DROP MATERIALIZED VIEW v');
DdirNode::until_true($node, 'postgres', q{
	SELECT count(*) = 0 FROM ddir.sources WHERE views <> '{}'},
	'beside a writer: the maintainer has noticed');
$writer->query_safe('COMMIT');
$writer->quit;
nothing_left('beside a writer');

# The same, and the server crashes before.
make();
$writer = $node->background_psql('postgres');
$writer->query_safe('BEGIN; INSERT INTO t VALUES (1002, 1)');
sql('DROP MATERIALIZED VIEW v');
DdirNode::until_true($node, 'postgres', q{
	SELECT count(*) = 0 FROM ddir.sources WHERE views <> '{}'},
	'before a crash: the maintainer has noticed');
DdirNode::crash_and_start($node);
$writer->{run}->kill_kill;
nothing_left('after a crash');

# The maintainer dies before it sees that the view is gone.
make();
my $held = DdirNode::hold($node, 'postgres', 'step-apply');
sql('INSERT INTO t VALUES (1003, 1)');
DdirNode::reached($node, 'postgres', 'step-apply');
sql('DROP MATERIALIZED VIEW v');
kill(9, DdirNode::maintainer($node, 'postgres'));
$held->{run}->kill_kill;
DdirNode::until_up($node);
nothing_left('unseen');

# And the next view is not told of a lost slot.
make();
is(sql('SELECT reason FROM ddir.hydration'), 'it is new here', 'views begin again');
sql('DELETE FROM t WHERE id < 10');
DdirNode::views_equal_queries($node, 'postgres');

$node->stop;
done_testing();
