# Delta tables that nobody reads: beyond ddir.max_slot_lag writers go on without
# them, and all is filled again, with the reason; in between nothing is missed.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

use DdirNode;

my $node = DdirNode::start('main',
	conf => DdirNode::points() . "wal_level = replica\nddir.max_slot_lag = '4MB'\n");

sub sql { return $node->safe_psql('postgres', @_); }

sub delta_bytes
{
	return sql(q{SELECT sum(pg_relation_size(oid)) FROM pg_class WHERE relname ~ '^_delta_.$'});
}

sub reason { return sql(q{SELECT reason FROM ddir.hydration WHERE view = 'v'::regclass}); }

sql(q{
	CREATE TABLE t (id int PRIMARY KEY, g int, note text);
	INSERT INTO t SELECT i, i % 7, repeat('x', 100) FROM generate_series(1, 1000) AS i;
	CREATE MATERIALIZED VIEW v USING ddir AS SELECT g, count(*) AS n, max(note) AS note FROM t GROUP BY g;
	CREATE MATERIALIZED VIEW w USING ddir AS SELECT a.id FROM t a JOIN t b ON b.id = a.g WHERE b.g = 2});
DdirNode::views_equal_queries($node, 'postgres', 'made');

# The maintainer comes to a halt with a cut read, and what follows is not read.
sub unread
{
	my ($name, @statements) = @_;
	my $held = DdirNode::hold($node, 'postgres', 'step-commit');

	sql('UPDATE t SET g = g + 1 WHERE id = 5');
	DdirNode::reached($node, 'postgres', 'step-commit');
	sql($_) for @statements;
	return $held;
}

my $much = 'UPDATE t SET g = g + 1;' x 30;

# ----
# Below the limit, all of it are changes
# ----

my $hydrations = sql('SELECT sum(hydrations) FROM ddir.hydration');
my $held = unread('little', 'UPDATE t SET g = g + 1');
$held->quit;
DdirNode::views_equal_queries($node, 'postgres', 'a little unread');
is(sql('SELECT sum(hydrations) FROM ddir.hydration'), $hydrations, 'is taken as changes');

# ----
# Beyond it
# ----

my $from = -s $node->logfile;
$held = unread('much', $much);
my $grown = delta_bytes();
cmp_ok($grown, '<', 6 * 1024 * 1024, 'writers stop to write what nobody reads');
sql(q{UPDATE t SET g = g + 1; DELETE FROM t WHERE id > 900; INSERT INTO t VALUES (5000, 2, 'new')});
is(delta_bytes(), $grown, 'altogether');

# Open while views are filled again, the newest of all, and it wrote nothing down.
my $open = $node->background_psql('postgres');
$open->query_safe(q{BEGIN; INSERT INTO t VALUES (5001, 3, 'open')});
$held->quit;
DdirNode::until_true($node, 'postgres',
	q{SELECT reason ~ 'not read in time' FROM ddir.hydration WHERE view = 'v'::regclass},
	'they are to be filled again');
$open->query_safe('COMMIT');
$open->quit;
DdirNode::views_equal_queries($node, 'postgres', 'filled again');
is(sql('SELECT count(*) FROM w'), sql('SELECT count(*) FROM t a JOIN t b ON b.id = a.g WHERE b.g = 2'), 'both views');
is(reason(), 'what triggers wrote was not read in time, as ddir.max_slot_lag demands', 'the reason is told');
like(substr(slurp_file($node->logfile), $from),
	qr/ERROR:  changes were not captured any more\n.*DETAIL:  A delta table has grown beyond ddir\.max_slot_lag = 4 MB/,
	'the log says why');

# ----
# And from here on changes are captured
# ----

$hydrations = sql('SELECT sum(hydrations) FROM ddir.hydration');
sql('UPDATE t SET g = g + 1 WHERE id < 100');
DdirNode::views_equal_queries($node, 'postgres', 'changes come');
is(sql('SELECT sum(hydrations) FROM ddir.hydration'), $hydrations, 'as changes');
DdirNode::until_true($node, 'postgres', q{
	WITH written AS (INSERT INTO t VALUES ((SELECT max(id) + 1 FROM t), 1, ''))
	SELECT sum(pg_relation_size(oid)) < 1000000 FROM pg_class WHERE relname ~ '^_delta_.$'},
	'delta tables are emptied');
DdirNode::views_equal_queries($node, 'postgres', 'at the end');

# ----
# A transaction outlives two maintainers: the one that finds that changes were
# lost, and the one that waits for those who may have written meanwhile
# ----

$held = unread('outlived', $much);
$open = $node->background_psql('postgres');
$open->query_safe(q{BEGIN; INSERT INTO t VALUES (6000, 3, 'outlived')});
$held->quit;
my $settling = q{SELECT state = 'hydrating' AND phase = 'settling' FROM ddir.hydration JOIN ddir.views USING (view)
				  WHERE view = 'v'::regclass};
DdirNode::until_true($node, 'postgres', $settling, 'it is waited for');
my $second = DdirNode::maintainer($node, 'postgres');
sql("SELECT pg_terminate_backend($second)");
DdirNode::until_true($node, 'postgres', qq{
	SELECT pid <> $second AND (v.state = 'live' OR phase = 'settling')
	  FROM ddir.workers AS w, ddir.hydration JOIN ddir.views AS v USING (view)
	 WHERE w.kind = 'maintainer' AND w.pid IS NOT NULL AND view = 'v'::regclass}, 'there is another maintainer');
is(sql($settling), 't', 'which waits for it, too');
$open->query_safe('COMMIT');
$open->quit;
DdirNode::views_equal_queries($node, 'postgres', 'outlived');

# ----
# Prepared while nothing was written, and that forgotten by a crash or a restart
# ----

my %stop = (
	immediate => sub { $node->stop('immediate') },
	fast => sub { $node->stop },
	crash => sub { });
my $key = 6001;
foreach my $how (qw(immediate fast crash))
{
	$held = unread($how, $much);
	sql(qq{
		BEGIN; INSERT INTO t VALUES ($key, 4, 'prepared');
		SAVEPOINT s; DELETE FROM t WHERE id = $key - 6000; ROLLBACK TO s;
		PREPARE TRANSACTION 'p'});
	$stop{$how}->();
	$how eq 'crash' ? DdirNode::crash_and_start($node) : $node->start;
	$held->{run}->kill_kill;
	DdirNode::views_equal_queries($node, 'postgres', "after: $how");
	sql(q{COMMIT PREPARED 'p'});
	DdirNode::views_equal_queries($node, 'postgres', "prepared before: $how");
	$key++;
}

# ----
# One commit with more than a tray may hold, and many commits with it in sum
# ----

sql(q{ALTER SYSTEM SET ddir.max_slot_lag = '1GB'; ALTER SYSTEM SET ddir.memory_limit = '16MB'});
$node->reload;
sql(q{DO $$ BEGIN FOR i IN 1 .. 150 LOOP UPDATE t SET g = g + 1; END LOOP; END $$});
DdirNode::views_equal_queries($node, 'postgres', 'too large for a tray');
is(reason(), 'a transaction was too large to be taken as changes', 'it is told');
$hydrations = sql('SELECT sum(hydrations) FROM ddir.hydration');
$held = unread('many', 'UPDATE t SET g = g + 1;' x 150);
$held->quit;
DdirNode::views_equal_queries($node, 'postgres', 'many commits, unread');
is(sql('SELECT sum(hydrations) FROM ddir.hydration'), $hydrations, 'each of which is small, are changes');

$node->stop;
done_testing();
