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
# It may have been filled before it was found too large.
like(sql('SELECT count(*) FROM much'), qr/^(90|100)$/, 'where it stays readable, too');

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

# Every row of a small table, again and again: old and new rows of 100 bytes in all,
# of which half the limit's worth is kept.
sub update_often
{
	my ($times) = @_;

	return sql(qq{
		DO \$\$ BEGIN
			FOR i IN 1 .. $times LOOP
				UPDATE often SET x = x + 1, t = md5(x::text);
			END LOOP;
		END \$\$});
}

sub hydrations
{
	return sql(q{SELECT hydrations, reason FROM ddir.hydration WHERE view = 'sums'::regclass});
}

sql(q{DROP MATERIALIZED VIEW much CASCADE});
sql(q{
	CREATE TABLE often (id int PRIMARY KEY, x int, t text);
	INSERT INTO often SELECT i, i, md5(i::text) FROM generate_series(1, 1000) AS i;
	CREATE MATERIALIZED VIEW sums USING ddir AS
		SELECT id % 10 AS g, sum(x) AS x, max(t) AS t FROM often GROUP BY 1});
DdirNode::views_equal_queries($node, 'postgres', 'made');
limit('16MB');
is(hydrations(), '1|it is new here', 'it was filled when it was made');

update_often(50);
DdirNode::views_equal_queries($node, 'postgres', 'less than that: changes');
is(hydrations(), '1|it is new here', 'are taken as such');

sql(q{ALTER SYSTEM SET ddir.debug_points = 'hydrate-compute:wait'});
$node->reload;
my $held = DdirNode::hold($node, 'postgres', 'hydrate-compute');
my $before = sql('SELECT * FROM sums ORDER BY g');
update_often(150);
DdirNode::reached($node, 'postgres', 'hydrate-compute');
is(state_of('sums'), 'hydrating|a transaction was too large to be taken as changes|',
	'more than that: it is filled again, and says why');
is(sql('SELECT * FROM sums ORDER BY g'), $before, 'meanwhile it shows what it did');
is(sql(q{SELECT state FROM ddir.views WHERE view = 'little'::regclass}), 'live', 'the others live');
# what comes during that hydration
update_often(150);
$held->quit;
DdirNode::views_equal_queries($node, 'postgres', 'too large, twice');
like(hydrations(), qr/\|a transaction was too large to be taken as changes$/, 'the reason stays');
like(slurp_file($node->logfile),
	qr/LOG:  ddir: view "public\.sums" will be hydrated\n.*DETAIL:  a transaction was too large to be taken as changes/,
	'and is in the log');

$node->stop;
done_testing();
