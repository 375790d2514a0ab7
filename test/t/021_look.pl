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

$node->stop;
done_testing();
