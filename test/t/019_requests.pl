# Sessions that ask the maintainer are answered at once, not when it wakes up
# for another reason; and so are those that wait for asynchronous commits.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

use DdirNode;

my $node = DdirNode::start('main', conf => "log_statement = none\nsynchronous_commit = off\n");

$node->safe_psql('postgres', q{
	CREATE TABLE t (id int PRIMARY KEY, x int);
	CREATE MATERIALIZED VIEW v USING ddir AS SELECT count(*) AS n, sum(x) AS x FROM t;
	CREATE MATERIALIZED VIEW w USING ddir AS SELECT x FROM t WHERE id < 10});
DdirNode::await($node, 'postgres');

# One after the other, so that nothing but the request can be what wakes it: an
# idle maintainer looks around only every five seconds.
sub at_once
{
	my ($name, $sql) = @_;
	my $script = $node->basedir . "/script.sql";

	unlink $script;
	append_to_file($script, "SET statement_timeout = '4s';\n$sql;\n");
	$node->command_ok([ 'pgbench', '-n', '-c', '1', '-t', '300', '-f', $script, 'postgres' ], $name);
	return;
}

at_once('requests', q{SELECT count(*) FROM ddir.sources});
at_once('explanations', q{SELECT ddir.explain('v')});
at_once('checks', q{SELECT count(*) FROM ddir.check('v')});
at_once('asynchronous commits', q{INSERT INTO t SELECT max(id) + 1, 1 FROM t HAVING max(id) < 1000 ON CONFLICT DO NOTHING;
SELECT ddir.wait()});
DdirNode::views_equal_queries($node, 'postgres');

# More at once than there are places.
my $script = $node->basedir . '/all.sql';
append_to_file($script, "SELECT count(*) FROM ddir.arrangements;\n");
$node->command_ok([ 'pgbench', '-n', '-c', '6', '-t', '50', '-f', $script, 'postgres' ], 'six at a time');
DdirNode::views_equal_queries($node, 'postgres', 'in the end');

$node->stop;
done_testing();
