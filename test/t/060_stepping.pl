# A view that the server crashes over, again and again, is left alone; all
# others go on, and ddir.repair() tries it again.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

use DdirNode;

my $node = DdirNode::start('stepping',
	conf => "restart_after_crash = on\nddir.debug_points = 'hydrate-public.bad:crash'\n");

$node->safe_psql('postgres', q{
	CREATE TABLE t (id int PRIMARY KEY, k int);
	INSERT INTO t SELECT i, i % 10 FROM generate_series(1, 1000) i;
	CREATE MATERIALIZED VIEW good USING ddir AS SELECT k, count(*) AS n FROM t GROUP BY k;
	SELECT ddir.wait('good');
	CREATE MATERIALIZED VIEW bad USING ddir AS SELECT id FROM t WHERE k = 1 WITH NO DATA});

DdirNode::until_true($node, 'postgres',
	q{SELECT state = 'suspended' FROM ddir.views WHERE view = 'bad'::regclass},
	'the view is left alone after three crashes');
is($node->safe_psql('postgres',
		q{SELECT sqlstate, message FROM ddir.views WHERE view = 'bad'::regclass}),
	'57P02|its maintainer crashed 3 times in a row while it was at work on it',
	'with the reason');
$node->safe_psql('postgres', q{
	INSERT INTO t VALUES (2000, 1);
	SELECT ddir.wait('good')});
is($node->safe_psql('postgres', 'SELECT n FROM good WHERE k = 1'), '101',
	'another view goes on');

$node->append_conf('postgresql.conf', "ddir.debug_points = ''");
$node->reload;
$node->safe_psql('postgres', q{SELECT ddir.repair('bad')});
DdirNode::views_equal_queries($node, 'postgres');
$node->stop;
done_testing();
