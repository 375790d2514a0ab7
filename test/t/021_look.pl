# A commit may be read from the WAL before its invalidations are absorbed.
# What a view's frontier says of it holds only after the next look at the
# catalog, and ddir.wait waits for that.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

use DdirNode;

my $node = DdirNode::start('main', conf => DdirNode::points());

sub sql { return $node->safe_psql('postgres', @_); }

sql(q{
	CREATE DOMAIN small AS int;
	CREATE TABLE t (a int);
	CREATE TABLE unread (a int);
	INSERT INTO t VALUES (1), (20);
	CREATE MATERIALIZED VIEW v USING ddir AS SELECT a::small AS a FROM t});
DdirNode::views_equal_queries($node, 'postgres', 'before');

# The maintainer has looked; then the command comes, and somebody waits; then
# it is read.  Before the next look the wait must not end.  Gives its SQLSTATE.
sub wait_over
{
	my ($command) = @_;
	my $read = DdirNode::hold($node, 'postgres', 'turn-read');
	my ($look, $waiter);

	sql('INSERT INTO unread VALUES (1)');
	DdirNode::reached($node, 'postgres', 'turn-read');
	sql($command);
	$look = DdirNode::hold($node, 'postgres', 'turn-look');

	$waiter = $node->background_psql('postgres', on_error_stop => 0);
	my $pid = $waiter->query_safe('SELECT pg_backend_pid()');
	$waiter->{stdin} .= "SELECT ddir.wait('v');\n\\echo ended :SQLSTATE\n";
	$waiter->{run}->pump_nb;
	DdirNode::until_true($node, 'postgres',
		"SELECT wait_event_type = 'Extension' FROM pg_stat_activity WHERE pid = $pid",
		"$command: it is waited for");

	$read->quit;
	DdirNode::reached($node, 'postgres', 'turn-look');
	# woken by the frontier, it has decided by now or sleeps again
	$waiter->{run}->pump_nb;
	is($node->safe_psql('postgres', qq{
		SELECT state FROM pg_stat_activity WHERE pid = $pid}),
		'active', "$command: what was read does not end the wait");
	$look->quit;
	$waiter->{run}->pump
	  until $waiter->{stdout} =~ /ended \w+/ || $waiter->{timeout}->is_expired;
	my ($sqlstate) = $waiter->{stdout} =~ /ended (\w+)/;
	$waiter->quit;
	return $sqlstate;
}

is(wait_over('ALTER DOMAIN small ADD CONSTRAINT below_ten CHECK (VALUE < 10) NOT VALID'),
	'23514', 'a row that has become an error is raised');
is(sql('SELECT string_agg(a::text, \',\' ORDER BY a) FROM v'), '1,20',
	'the view keeps what it had');
is(wait_over('ALTER DOMAIN small DROP CONSTRAINT below_ten'), '00000',
	'an error that is mended is not raised');
DdirNode::views_equal_queries($node, 'postgres', 'after');

# What the look itself cannot see because it is locked is not known either.
sql('CREATE TABLE free (a int); CREATE MATERIALIZED VIEW other USING ddir AS SELECT a FROM free;
	CREATE MATERIALIZED VIEW above USING ddir AS SELECT a + 1 AS a FROM v');
DdirNode::views_equal_queries($node, 'postgres', 'before what is read is locked');
my %locking = (
	t => 'LOCK t IN ACCESS EXCLUSIVE MODE',
	v => 'ALTER MATERIALIZED VIEW v RENAME COLUMN a TO b');
for my $locked (qw(t v))
{
	my $lock = $node->background_psql('postgres');
	my ($out, $err);

	$lock->query_safe("BEGIN; $locking{$locked}");
	sql('ALTER DOMAIN small ADD CONSTRAINT below_ten CHECK (VALUE < 10) NOT VALID');
	for my $view (qw(v above))
	{
		(undef, $out, $err) = $node->psql('postgres', "SELECT ddir.wait('$view', '100 ms')");
		like($err, qr/did not become current.*what it reads is locked/s,
			"$locked is locked: what $view is to be is not known");
	}
	sql(q{INSERT INTO free VALUES (1); SELECT ddir.wait('other', '170 s')});
	is(sql('SELECT count(*) > 0 FROM other'), 't', "$locked is locked: other views go on");
	$lock->query_safe('ROLLBACK');
	$lock->quit;
	for my $view (qw(v above))
	{
		(undef, $out, $err) = $node->psql('postgres', "SELECT ddir.wait('$view', '170 s')");
		like($err, qr/violates check constraint "below_ten"/, "$locked is free: now it is, of $view");
	}
	sql('ALTER DOMAIN small DROP CONSTRAINT below_ten');
	DdirNode::views_equal_queries($node, 'postgres', "$locked is free");
}

$node->stop;
done_testing();
