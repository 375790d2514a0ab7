# Restarts, and what outlives them: transactions that were prepared, and a view
# that an open DDL transaction had locked.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

use DdirNode;

my $node = DdirNode::start('main', conf => DdirNode::points());

sub sql { return $node->safe_psql('postgres', @_); }

sub equal
{
	my ($name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return DdirNode::views_equal_queries($node, 'postgres', $name);
}

sql(q{
	CREATE TABLE t (id int PRIMARY KEY, g int, x int);
	CREATE TABLE d (g int PRIMARY KEY, name text);
	INSERT INTO t SELECT i, i % 7, i FROM generate_series(1, 1000) AS i;
	INSERT INTO d SELECT i, 'group ' || i FROM generate_series(0, 5) AS i;
	CREATE MATERIALIZED VIEW sums USING ddir AS
		SELECT d.name, count(t.id) AS n, sum(t.x) AS x FROM t LEFT JOIN d USING (g) GROUP BY d.name;
	CREATE MATERIALIZED VIEW counts USING ddir AS SELECT g, count(*) AS n FROM t GROUP BY g;
	CREATE MATERIALIZED VIEW large USING ddir AS SELECT name FROM sums WHERE n > 143});
equal('made');

# ----
# Plain restarts
# ----

for my $mode ('fast', 'immediate')
{
	my $rows = sql('SELECT * FROM counts ORDER BY g');

	sql('UPDATE t SET x = x + 1 WHERE id % 3 = 0; DELETE FROM d WHERE g = 5; INSERT INTO d VALUES (5, \'five\')');
	$node->stop($mode);
	$node->start;
	is(sql('SELECT * FROM counts ORDER BY g'), $rows, "$mode: readable at once");
	equal("$mode restart");
	is(sql('SELECT count(*) FROM ddir.hydration WHERE hydrations = 1'), '3', "$mode: each view is filled once");
	is(sql(q{SELECT count(*) FROM ddir.hydration WHERE COALESCE(reason, '') <> ''}),
		'3', "$mode: with a reason");
}

# ----
# After a wait, a shutdown leaves nothing behind the slot
# ----

SKIP:
{
	skip 'triggers capture changes', 5 if DdirNode::by_triggers();
	for my $i (1 .. 5)
	{
		my $end = sql('UPDATE t SET x = x + 1 WHERE id % 5 = 0; SELECT pg_current_wal_flush_lsn()');
		sql('SELECT ddir.wait()');
		$node->stop('fast');
		$node->append_conf('postgresql.conf', 'max_worker_processes = 0');
		$node->start;
		is(sql("SELECT confirmed_flush_lsn >= '$end' FROM pg_replication_slots"), 't', "nothing is left, $i");
		$node->stop;
		$node->append_conf('postgresql.conf', 'max_worker_processes = 8');
		$node->start;
	}
}
equal('nothing is left');

# ----
# Prepared transactions
# ----

sub prepare
{
	sql(q{
		BEGIN;
		INSERT INTO t SELECT i, 3, 1 FROM generate_series(2001, 2010) AS i;
		SAVEPOINT s;
		DELETE FROM t WHERE id < 10;
		ROLLBACK TO s;
		UPDATE t SET g = 6 WHERE id = 20;
		PREPARE TRANSACTION 'one';
		BEGIN;
		DELETE FROM t WHERE id BETWEEN 30 AND 40;
		PREPARE TRANSACTION 'two'});
}

for my $mode ('fast', 'immediate')
{
	prepare();
	equal("$mode: prepared is not committed");
	$node->stop($mode);
	$node->start;
	equal("$mode: nor after a restart");
	sql(q{INSERT INTO t VALUES (5000, 1, 1)});
	equal("$mode: nor with later ones");
	sql(q{COMMIT PREPARED 'one'});
	equal("$mode: committed");
	is(sql('SELECT n FROM counts WHERE g = 6'), sql('SELECT count(*) FROM t WHERE g = 6'),
		"$mode: and it shows");
	sql(q{ROLLBACK PREPARED 'two'});
	equal("$mode: rolled back");
	sql('DELETE FROM t WHERE id > 2000');
}

# A view that is made while a prepared transaction has written its source.
prepare();
sql('CREATE MATERIALIZED VIEW later USING ddir AS SELECT g, max(x) AS x FROM t GROUP BY g');
equal('made beside a prepared transaction');
sql(q{COMMIT PREPARED 'one'; COMMIT PREPARED 'two'});
equal('which is committed');

# A view that a prepared transaction makes.
sql(q{
	BEGIN;
	CREATE MATERIALIZED VIEW prepared USING ddir AS SELECT g, min(x) AS x FROM t GROUP BY g;
	PREPARE TRANSACTION 'view'});
sql('DELETE FROM t WHERE id % 11 = 0');
equal('a view is prepared');
$node->restart;
sql(q{COMMIT PREPARED 'view'});
equal('a view was prepared');
is(sql(q{SELECT state FROM ddir.views WHERE view = 'prepared'::regclass}), 'live', 'and lives');

# ----
# A locked view
# ----

sub lock_counts
{
	my $session = $node->background_psql('postgres', on_error_stop => 0);

	$session->query_safe('BEGIN; ALTER MATERIALIZED VIEW counts RENAME COLUMN n TO number');
	sql('INSERT INTO t SELECT i, i % 9, 0 FROM generate_series(10001, 10100) AS i');
	DdirNode::until_true($node, 'postgres',
		q{SELECT state = 'behind' FROM ddir.views WHERE view = 'counts'::regclass},
		'the view is behind');
	DdirNode::await($node, 'postgres', $_) for qw(sums large later);
	is(sql('SELECT view::regclass FROM ddir._lagging'), 'counts', 'it is noted where it stands');
	return $session;
}

my $session = lock_counts();
my $frontier = sql('SELECT frontier FROM ddir._lagging');
my $live = sql('SELECT sum(n) FROM sums');
DdirNode::crash_and_start($node);
$session->{run}->kill_kill;
is(sql('SELECT sum(n) FROM sums'), $live, 'after a crash the others are as they were');
equal('after a crash the locked one catches up');
is(sql('SELECT count(*) FROM ddir._lagging'), '0', 'nothing lags any more');

# Only the maintainer is gone, and the lock stays.
sql('DELETE FROM t WHERE id > 10000');
equal();
$session = lock_counts();
my $pid = DdirNode::maintainer($node, 'postgres');
sql("SELECT pg_terminate_backend($pid)");
sql('DELETE FROM t WHERE id = 10001');
DdirNode::await($node, 'postgres', $_) for qw(sums large later);
is(sql('SELECT sum(n) FROM sums'), sql('SELECT count(*) FROM t'),
	'another maintainer goes on with the others');
isnt(sql(q{SELECT state FROM ddir.views WHERE view = 'counts'::regclass}), 'live', 'not with the locked one');
$session->query_safe('COMMIT');
$session->quit;
equal('until it is unlocked');
is(sql('SELECT sum(number) FROM counts'), sql('SELECT count(*) FROM t'), 'under its new name');

# All views are locked when the maintainer starts.
$session = $node->background_psql('postgres', on_error_stop => 0);
$session->query_safe('BEGIN');
$session->query_safe("ALTER MATERIALIZED VIEW $_ RENAME TO ${_}_renamed")
  for qw(counts sums large later prepared);
$pid = DdirNode::maintainer($node, 'postgres');
sql("SELECT pg_terminate_backend($pid)");
sql('DELETE FROM t WHERE id = 10002');
$node->poll_query_until('postgres', qq{
	SELECT count(*) = 1 FROM ddir.workers WHERE kind = 'maintainer' AND pid <> $pid})
  or die 'no maintainer';
$session->query_safe('ROLLBACK');
$session->quit;
equal('all views were locked');

$node->stop;
done_testing();
