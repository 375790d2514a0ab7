# A commit that is in the log but not yet visible, since it waits for a standby
# that never answers, while views are filled: it is in them once, never twice
# and never not.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

use DdirNode;

my $node = DdirNode::start('main',
	conf => DdirNode::points() . "synchronous_standby_names = 'never'\nsynchronous_commit = local\n");

sub sql { return $node->safe_psql('postgres', @_); }

# A session whose commit does not return.
sub stuck
{
	my ($sql) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0);

	$session->query_safe('SET synchronous_commit = on');
	$session->{stdin} .= "$sql;\n";
	$session->{run}->pump_nb;
	$node->poll_query_until('postgres',
		q{SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'})
	  or die 'the commit is not stuck';
	return $session;
}

# It returns, and its changes are visible.
sub loosen
{
	my ($session) = @_;

	sql(q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'});
	$node->poll_query_until('postgres',
		q{SELECT count(*) = 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'})
	  or die 'the commit is stuck still';
	$session->quit;
	return;
}

sub phase
{
	my ($view, $phase, $name) = @_;

	DdirNode::until_true($node, 'postgres',
		"SELECT phase = '$phase' FROM ddir.hydration WHERE view = '$view'::regclass", $name);
	return;
}

# Where triggers capture, what is not visible yet is not delivered either, and no
# snapshot has to wait for it; only triggers cannot be made beside who has written.
my $triggers = DdirNode::by_triggers();

# Fill it again, which waits for what was delivered.
sub repair
{
	my ($name) = @_;

	sql(q{SELECT ddir.repair('v')});
	if ($triggers) { DdirNode::await($node, 'postgres', 'v') }
	else { phase('v', 'settling', "$name waits") }
	is(sql('SELECT sum(n) FROM v'), 100, "$name: it is not shown");
	return;
}

sub equal { return DdirNode::views_equal_queries($node, 'postgres', @_); }

sql(q{
	CREATE TABLE t (id int PRIMARY KEY, g int, x int);
	ALTER TABLE t REPLICA IDENTITY FULL;
	INSERT INTO t SELECT i, i % 3, i FROM generate_series(1, 100) AS i;
	CREATE TABLE other (a int);
	INSERT INTO other VALUES (1);
	CREATE MATERIALIZED VIEW alive USING ddir AS SELECT a FROM other;
	CREATE VIEW query AS SELECT g, count(*) AS n, sum(x) AS x FROM t GROUP BY g});
equal('made');

my $change = 'BEGIN; INSERT INTO t VALUES (1000, 1, 1000); UPDATE t SET g = 2 WHERE id = 1; DELETE FROM t WHERE id = 2; COMMIT';
my $back = 'DELETE FROM t WHERE id = 1000; UPDATE t SET g = 1 WHERE id = 1; INSERT INTO t VALUES (2, 2, 2)';

# ----
# Stuck before the view is made: the snapshot must wait for it
# ----

my $session = stuck($change);
sql('CREATE MATERIALIZED VIEW v USING ddir AS TABLE query');
is(sql('SELECT count(*) FROM t WHERE id = 1000'), '0', 'the commit is not visible');
phase('v', $triggers ? 'identity' : 'settling', 'filling the view waits for it');
sql('INSERT INTO other VALUES (2)');
DdirNode::await($node, 'postgres', 'alive');
is(sql('SELECT count(*) FROM alive'), '2', 'other views go on');
is(sql('SELECT sum(n) FROM v'), '100', 'the view does not show it');
sql('UPDATE t SET x = x + 1 WHERE id > 50 AND id < 1000');
loosen($session);
equal('stuck before the view');
is(sql('SELECT count(*) FROM t WHERE id = 1000'), '1', 'now it is visible');
sql("$back; DROP MATERIALIZED VIEW v");

# ----
# Stuck at the snapshot: it is not in that, so the change counts
# ----

for my $point (qw(scanner-snapshot scanner-rows hydrate-compute))
{
	my $held = DdirNode::hold($node, 'postgres', $point);

	sql('CREATE MATERIALIZED VIEW v USING ddir AS TABLE query');
	DdirNode::reached($node, 'postgres', $point);
	$session = stuck($change);
	$held->quit;
	DdirNode::until_true($node, 'postgres',
		q{SELECT state = 'live' FROM ddir.views WHERE view = 'v'::regclass},
		"$point: the view is filled meanwhile");
	sql('UPDATE t SET x = x + 1 WHERE id > 50 AND id < 1000');
	DdirNode::await($node, 'postgres');
	loosen($session);
	equal("stuck at $point");
	sql("$back; DROP MATERIALIZED VIEW v");
}

# ----
# Stuck while the view lives, and over a restart
# ----

sql('CREATE MATERIALIZED VIEW v USING ddir AS TABLE query');
equal('made again');
$session = stuck($change);
DdirNode::await($node, 'postgres');
repair('filling it again');
loosen($session);
equal('filled again');
sql($back);
equal();

$session = stuck($change);
repair('again');
$node->stop('immediate');
$node->start;
$session->{run}->kill_kill;
equal('after a restart');
is(sql('SELECT count(*) FROM t WHERE id = 1000'), '1', 'the commit had been made');

# Where it is delivered, ddir.check needs a moment without writers, and there is none.
sql($back);
equal();
$session = stuck($change);
DdirNode::await($node, 'postgres');
my (undef, $wrong, $err) = $node->psql('postgres', q{SET lock_timeout = '100ms'; SELECT * FROM ddir.check('v')});
if ($triggers) { is("$wrong$err", '', 'a check finds it right') }
else { like($err, qr/ERROR:  .*lock timeout/, 'a check cannot be made') }
loosen($session);
equal('at last');

$node->stop;
done_testing();
