# A view whose hydration fails in the midst of the dataflow takes it down; the
# others are hydrated again and go on, and it is suspended, with the error.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

use DdirNode;

my $node = DdirNode::start('main', conf => "ddir.debug_points = 'load-public.bad:error'\n");

sub sql { return $node->safe_psql('postgres', @_); }

sql(q{
	CREATE TABLE t (id int PRIMARY KEY, g int);
	INSERT INTO t SELECT i, i % 5 FROM generate_series(1, 100) AS i;
	CREATE MATERIALIZED VIEW good USING ddir AS SELECT g, count(*) AS n FROM t GROUP BY g});
DdirNode::views_equal_queries($node, 'postgres', 'made');
my $pid = DdirNode::maintainer($node, 'postgres');

sql(q{
	CREATE MATERIALIZED VIEW bad USING ddir AS SELECT g, max(id) AS id FROM t GROUP BY g;
	CREATE MATERIALIZED VIEW above USING ddir AS SELECT count(*) AS n FROM bad;
	CREATE MATERIALIZED VIEW other USING ddir AS SELECT id FROM t WHERE g = 1;
	INSERT INTO t VALUES (1000, 1)});
DdirNode::until_true($node, 'postgres',
	q{SELECT state = 'suspended' FROM ddir.views WHERE view = 'bad'::regclass}, 'it is suspended');
DdirNode::await($node, 'postgres', 'good');
DdirNode::await($node, 'postgres', 'other');
is(sql(q{SELECT view, state, reason FROM ddir.views ORDER BY view::text}),
	"above|suspended|view \"public.bad\", which it reads, is suspended\nbad|suspended|its hydration failed\n"
	  . "good|live|\nother|live|",
	'with what reads it, and the others are live');
is(sql('SELECT n FROM good WHERE g = 1'), '21', 'and current');
like(sql(q{SELECT message FROM ddir.views WHERE view = 'bad'::regclass}), qr/load-public\.bad/, 'the error is told');
is(DdirNode::maintainer($node, 'postgres'), $pid, 'the maintainer lives');

sql(q{ALTER SYSTEM SET ddir.debug_points = ''});
$node->reload;
sql(q{SELECT ddir.repair('bad')});
DdirNode::views_equal_queries($node, 'postgres', 'repaired');

# ----
# One whose table cannot be written, for an index of the user's, is alone in it
# ----

sql(q{
	CREATE MATERIALIZED VIEW single USING ddir AS SELECT id, g FROM t WHERE id < 4;
	CREATE UNIQUE INDEX one_of_a_group ON single (g);
	CREATE MATERIALIZED VIEW upon USING ddir AS SELECT count(*) AS n FROM single});
DdirNode::views_equal_queries($node, 'postgres', 'unique');
sql('SELECT ddir.disable(); UPDATE t SET g = 1 WHERE id = 2; SELECT ddir.enable()');
DdirNode::await($node, 'postgres', $_) for qw(good bad above other);
is(sql(q{SELECT view, state, reason FROM ddir.views WHERE state <> 'live' ORDER BY view::text}),
	"single|suspended|its table could not be written\nupon|suspended|view \"public.single\", which it reads, is suspended",
	'it is suspended with what reads it, the others are live');
like(sql(q{SELECT message FROM ddir.views WHERE view = 'single'::regclass}), qr/one_of_a_group/, 'the index is told');
is(sql(q{SELECT count(*) FROM ddir.hydration WHERE reason ~ 'dataflow'}), 0, 'and were filled once');
sql('INSERT INTO t VALUES (1001, 1)');
DdirNode::await($node, 'postgres', 'good');
is(sql('SELECT n FROM good WHERE g = 1'), '23', 'and are current');
sql(q{UPDATE t SET g = 2 WHERE id = 2; SELECT ddir.repair('single')});
DdirNode::views_equal_queries($node, 'postgres', 'written again');

$node->stop;
done_testing();
