# ddir.memory_limit: the view that does not fit is suspended, with the reason;
# the others live.  With more memory it can be repaired.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

use DdirNode;

my $node = DdirNode::start('main', conf => "ddir.memory_limit = '32MB'\n");

sub sql { return $node->safe_psql('postgres', @_); }

sub state_of
{
	my ($view) = @_;

	return sql("SELECT state, reason, sqlstate FROM ddir.views WHERE view = '$view'::regclass");
}

sub limit
{
	my ($limit) = @_;

	sql("ALTER SYSTEM SET ddir.memory_limit = '$limit'");
	$node->reload;
	return;
}

sql(q{
	CREATE TABLE small (id int PRIMARY KEY, g int);
	INSERT INTO small SELECT i, i % 5 FROM generate_series(1, 100) AS i;
	CREATE TABLE large (id int PRIMARY KEY, g int, filler text);
	INSERT INTO large SELECT i, i % 5, repeat(md5(i::text), 10) FROM generate_series(1, 1000) AS i;
	CREATE MATERIALIZED VIEW little USING ddir AS SELECT g, count(*) AS n FROM small GROUP BY g;
	CREATE MATERIALIZED VIEW much USING ddir AS SELECT l.filler, s.id FROM large l JOIN small s ON s.id = l.id;
	CREATE MATERIALIZED VIEW above USING ddir AS SELECT count(*) AS n FROM much});
DdirNode::views_equal_queries($node, 'postgres', 'all fit');

# ----
# It grows beyond the limit
# ----

for my $n (1 .. 12)
{
	sql(qq{
		INSERT INTO large SELECT i, i % 5, repeat(md5(i::text), 10)
		  FROM generate_series($n * 10000, $n * 10000 + 9999) AS i});
	DdirNode::await($node, 'postgres', 'little');
}
DdirNode::until_true($node, 'postgres',
	q{SELECT state = 'suspended' FROM ddir.views WHERE view = 'much'::regclass},
	'a view grows out of the limit');
is(state_of('much'), 'suspended|out of memory|53200', 'why is told');
like(state_of('above'), qr/^suspended\|view ".*much", which it reads, is suspended\|/, 'with those that read it');
is(sql('SELECT count(*) FROM much'), '100', 'it stays readable, as it was');
like(($node->psql('postgres', "\\set VERBOSITY verbose\nSELECT ddir.wait('much')"))[2],
	qr/ERROR:  53200: view public\.much is suspended\nDETAIL:  .*ddir\.memory_limit.*\nHINT:  .*ddir\.repair/,
	'waiting for it fails');
sql('DELETE FROM small WHERE id > 90');
DdirNode::await($node, 'postgres', 'little');
is(sql('SELECT sum(n) FROM little'), '90', 'the others live');
like(slurp_file($node->logfile), qr/LOG:  ddir: view "public\.much" is suspended\n.*out of memory/, 'the log says so');

# ----
# It does not even fit when it is filled
# ----

sql(q{SELECT ddir.repair('much')});
DdirNode::until_true($node, 'postgres',
	q{SELECT v.state = 'suspended' AND h.reason = 'ddir.repair() was called'
		FROM ddir.views v JOIN ddir.hydration h USING (view) WHERE v.view = 'much'::regclass},
	'it does not fit at all');
is(state_of('much'), 'suspended|out of memory|53200', 'why is told again');
DdirNode::await($node, 'postgres', 'little');

# After a restart it is tried again, and again left alone.
$node->restart;
DdirNode::await($node, 'postgres', 'little');
DdirNode::until_true($node, 'postgres',
	q{SELECT state = 'suspended' FROM ddir.views WHERE view = 'much'::regclass},
	'nor after a restart');
is(sql('SELECT count(*) FROM much'), '100', 'where it stays readable, too');

# ----
# With more memory
# ----

limit('1GB');
sql('UPDATE large SET g = 6 WHERE id < 10; DELETE FROM large WHERE id BETWEEN 50 AND 60');
sql(q{SELECT ddir.repair('much')});
DdirNode::views_equal_queries($node, 'postgres', 'repaired');
is(sql('SELECT n FROM above'), '79', 'and what reads it with it');

# ----
# A transaction too large to be taken as changes
# ----

limit('4MB');
sql(q{DROP MATERIALIZED VIEW much CASCADE});
sql(q{CREATE MATERIALIZED VIEW ids USING ddir AS SELECT g, count(*) AS n, sum(id) AS s FROM large GROUP BY g});
sql('TRUNCATE large');
DdirNode::views_equal_queries($node, 'postgres', 'emptied');
sql('INSERT INTO large SELECT i, i % 5 FROM generate_series(1, 20) AS i');
DdirNode::views_equal_queries($node, 'postgres', 'with little memory');
limit('1GB');
sql('INSERT INTO large SELECT i, i % 5 FROM generate_series(21, 100000) AS i');
DdirNode::views_equal_queries($node, 'postgres', 'and with a lot');

$node->stop;
done_testing();
