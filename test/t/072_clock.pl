# Views that read the clock: rows come and go on time with the server's clock,
# and with one that the test sets, over restarts, crashes, long outages and in
# time zones where clocks are put forward and back.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

use DdirNode;

my $node = DdirNode::start('main', conf => DdirNode::points());

sub sql { return $node->safe_psql('postgres', @_); }

# What time it is from here on; without one, it is the server's.
sub set_time
{
	my ($time) = @_;

	sql($time
		? "ALTER SYSTEM SET ddir.debug_clock = " . sql("SELECT extract(epoch FROM timestamptz '$time')")
		: 'ALTER SYSTEM RESET ddir.debug_clock');
	$node->reload;
	return;
}

# All that is due by now has come and gone.
sub await_time
{
	my ($time) = @_;
	my $epoch = sql("SELECT extract(epoch FROM timestamptz '$time')");

	sql("SET ddir.debug_clock = $epoch; SELECT ddir.wait(NULL, '$DdirNode::patience')");
	return;
}

sub all_right
{
	my ($name) = @_;
	my $wrong = sql(q{SELECT v.view, c.* FROM ddir.views AS v, ddir.check(v.view) AS c});

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is($wrong, '', $name);
}

# ----
# The server's clock
# ----

sql(q{
	CREATE TABLE session (id int PRIMARY KEY, expires timestamptz);
	CREATE MATERIALIZED VIEW open USING ddir AS SELECT id FROM session WHERE expires > now();
	CREATE MATERIALIZED VIEW closed USING ddir AS SELECT count(*) AS n FROM session WHERE expires <= CURRENT_TIMESTAMP});
DdirNode::await($node, 'postgres');
my $clock = sql(q{SELECT clock FROM ddir.views WHERE view = 'open'::regclass});
sql(q{INSERT INTO session SELECT i, now() + i * interval '100 ms' FROM generate_series(1, 20) AS i});
DdirNode::await($node, 'postgres');
DdirNode::until_true($node, 'postgres', 'SELECT n >= 15 FROM closed', 'rows go with time');
is(sql(q{
	BEGIN ISOLATION LEVEL REPEATABLE READ;
	SELECT (SELECT count(*) FROM open) + n FROM closed}), '20', 'from one view to the other, at once');
DdirNode::until_true($node, 'postgres', 'SELECT n = 20 FROM closed', 'all of them');
is(sql('SELECT count(*) FROM open'), '0', 'and none is left');
all_right('right by the clock');
is(sql(qq{SELECT clock > '$clock' FROM ddir.views WHERE view = 'open'::regclass}), 't', 'the clock is shown');

# what is waited for is the time of the call
is(sql(q{
	INSERT INTO session VALUES (100, clock_timestamp() + interval '300 ms');
	SELECT ddir.wait();
	SELECT pg_sleep(0.3);
	SELECT ddir.wait();
	SELECT count(*) FROM open}), "\n\n\n0", 'ddir.wait waits for what is due');

# ----
# Over a restart the clock goes on from where it was
# ----

set_time('2090-05-01 00:00:00+00');
await_time('2090-05-01 00:00:00+00');
set_time('2090-05-01 01:00:00+00');
sql(q{INSERT INTO session VALUES (101, '2090-05-01 02:00:00+00')});
await_time('2090-05-01 01:00:00+00');
$clock = sql(q{SELECT clock FROM ddir._clock});
sql(q{ALTER SYSTEM SET ddir.debug_clock = 1});
$node->restart;
DdirNode::await($node, 'postgres');
is(sql('SELECT clock FROM ddir._clock'), $clock, 'the clock does not go back');
is(sql('SELECT id FROM open'), '101', 'nor do rows');
all_right('right after a restart');

# ----
# An outage: what has become due meanwhile comes in steps of bounded size
# ----

sql(q{
	TRUNCATE session;
	INSERT INTO session SELECT i, timestamptz '2090-05-02 00:00:00+00' + i * interval '1 second' FROM generate_series(1, 120000) AS i});
set_time('2090-05-01 03:00:00+00');
await_time('2090-05-01 03:00:00+00');
is(sql('SELECT count(*) FROM open'), '120000', 'all are open');
my $late = sql(q{SELECT extract(epoch FROM timestamptz '2090-05-10 00:00:00+00')});
sql("ALTER SYSTEM SET ddir.debug_clock = $late");
$node->stop;
# the step after the hydration, and then step by step
$node->start;
my $hydrated = DdirNode::hold($node, 'postgres', 'hydrate-commit');
DdirNode::reached($node, 'postgres', 'hydrate-commit');
my $session = DdirNode::hold($node, 'postgres', 'step-apply');
$hydrated->quit;
for my $left (120000, 70000, 20000)
{
	DdirNode::reached($node, 'postgres', 'step-apply');
	is(sql('SELECT count(*) FROM open'), $left, "$left rows are left after the outage");
	is(sql('SELECT n FROM closed'), 120000 - $left, 'and gone in the other view');
	is(sql(q{SELECT count(*) FROM session WHERE expires > (SELECT clock FROM ddir._clock)}), $left,
		'as the clock says');
	is(sql(qq{
		SET ddir.debug_clock = $late;
		SELECT state, lag_ms > 0 FROM ddir.views WHERE view = 'open'::regclass}), 'live|t', 'it lags');
	my ($out, $err);
	$node->psql('postgres', "SET ddir.debug_clock = $late; SELECT ddir.wait('open', '10 ms')",
		stdout => \$out, stderr => \$err);
	like($err, qr/did not become current/, 'whoever waits is not served before');

	my $commit = DdirNode::hold($node, 'postgres', 'step-commit');
	$session->quit;
	DdirNode::reached($node, 'postgres', 'step-commit');
	$session = DdirNode::hold($node, 'postgres', 'step-apply') if $left > 20000;
	$commit->quit;
}
await_time('2090-05-10 00:00:00+00');
is(sql('SELECT count(*) FROM open'), '0', 'all are closed in the end');
all_right('right after an outage');

# ----
# A crash in the midst of it
# ----

sql(q{
	TRUNCATE session;
	INSERT INTO session SELECT i, timestamptz '2090-06-01 00:00:00+00' + i * interval '1 second' FROM generate_series(1, 120000) AS i});
await_time('2090-05-10 00:00:00+00');
$session = DdirNode::hold($node, 'postgres', 'step-commit');
set_time('2090-06-10 00:00:00+00');
DdirNode::reached($node, 'postgres', 'step-commit');
$node->stop('immediate');
eval { $session->quit; };
$node->start;
is(sql(q{
	BEGIN ISOLATION LEVEL REPEATABLE READ;
	SELECT (SELECT count(*) FROM open) + n FROM closed}), '120000', 'views agree after a crash');
await_time('2090-06-10 00:00:00+00');
all_right('and are right');

# ----
# Zones, months, and days that are shorter or longer
# ----

sql('DROP MATERIALIZED VIEW open, closed');
sql(q{
	CREATE TABLE at (id int, t timestamptz, l timestamp, d date, i interval);
	INSERT INTO at SELECT row_number() OVER (), t, t AT TIME ZONE 'America/New_York', t::date, (n % 5) * interval '8 hours 7 minutes' + (n % 3) * interval '1 day'
	  FROM generate_series(timestamptz '2091-01-27 00:00+00', '2091-04-06', '97 minutes 13 seconds') WITH ORDINALITY AS s (t, n);
	CREATE MATERIALIZED VIEW v1 USING ddir AS SELECT id FROM at WHERE t > now() - interval '1 month';
	CREATE MATERIALIZED VIEW v2 USING ddir AS SELECT id FROM at WHERE t < now() + interval '1 month 1 day 5 minutes' AND t >= now() - interval '1 day';
	CREATE MATERIALIZED VIEW v3 USING ddir AS SELECT id FROM at WHERE d = CURRENT_DATE OR l BETWEEN LOCALTIMESTAMP AND LOCALTIMESTAMP + interval '1 day';
	CREATE MATERIALIZED VIEW v4 USING ddir AS SELECT id, date_trunc('day', now()) - t < interval '1 day' AS b FROM at WHERE id % 7 = 0;
	CREATE MATERIALIZED VIEW v5 USING ddir AS SELECT id FROM at WHERE t < date_trunc('hour', now()) - i OR l = (now() - interval '3 days') AT TIME ZONE 'Australia/Lord_Howe';
	CREATE MATERIALIZED VIEW v6 USING ddir AS SELECT d, count(*) FILTER (WHERE t > now()), CURRENT_DATE - d AS ago FROM at GROUP BY d;
	CREATE MATERIALIZED VIEW v7 USING ddir AS SELECT id FROM at WHERE l < now() - interval '1 month' AND (l, d) IS NOT NULL});
foreach my $at (
	[ 'America/New_York', '2091-01-28 12:00+00', '4 days', '5 hours 17 minutes' ],
	[ 'America/New_York', '2091-03-11 04:00+00', '6 hours', '47 minutes' ],
	[ 'Europe/Dublin', '2091-03-24 22:00+00', '6 hours', '53 minutes' ],
	[ 'Australia/Lord_Howe', '2091-03-30 14:00+00', '2 days', '2 hours 31 minutes' ])
{
	my ($zone, $from, $span, $every) = @$at;
	my $wrong = '';

	sql("ALTER SYSTEM SET timezone = '$zone'");
	foreach my $time (split /\n/, sql(qq{
		SET timezone = 'UTC';
		SELECT extract(epoch FROM t)
		  FROM generate_series(timestamptz '$from', timestamptz '$from' + interval '$span', '$every') AS t}))
	{
		$wrong .= sql(qq{
			ALTER SYSTEM SET ddir.debug_clock = $time;
			SELECT FROM pg_reload_conf();
			SET ddir.debug_clock = $time;
			SELECT FROM (SELECT ddir.wait(NULL, '$DdirNode::patience')) AS waited;
			SELECT to_timestamp($time), v.view, c.* FROM ddir.views AS v, ddir.check(v.view) AS c});
	}
	$wrong =~ s/^\n+//;
	is($wrong, '', "right in zone $zone, for $span from $from");
}
like(sql(q{SELECT DISTINCT reason FROM ddir.hydration}), qr/settings that its expressions read have changed/,
	'a change of the zone fills views again');

$node->stop;
done_testing();
