# Dump and restore: views come back as they were declared, by every route, and
# are maintained where they were restored, while writers go on in both places.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

use DdirNode;

my $node = DdirNode::start('main');
my $dir = $node->basedir;

$node->safe_psql('postgres', q{
	CREATE SCHEMA shop;
	CREATE TABLE shop.customer (id int PRIMARY KEY, region text COLLATE "C");
	CREATE TABLE shop.sale (id int PRIMARY KEY, customer int REFERENCES shop.customer ON DELETE CASCADE, amount numeric);
	ALTER TABLE shop.sale REPLICA IDENTITY NOTHING;
	INSERT INTO shop.customer SELECT i, 'region ' || i % 7 FROM generate_series(1, 200) AS i;
	INSERT INTO shop.sale SELECT i, 1 + i % 200, i / 4.0 FROM generate_series(1, 5000) AS i;
	CREATE MATERIALIZED VIEW shop.by_region (region, sales, total) USING ddir WITH (fillfactor = 70) AS
		SELECT c.region, count(s.id), sum(s.amount)
		  FROM shop.customer c LEFT JOIN shop.sale s ON s.customer = c.id GROUP BY c.region;
	CREATE UNIQUE INDEX ON shop.by_region (region);
	COMMENT ON MATERIALIZED VIEW shop.by_region IS 'kept current';
	CREATE MATERIALIZED VIEW shop.good USING ddir AS SELECT region FROM shop.by_region WHERE total > 80000;
	CREATE MATERIALIZED VIEW empty USING ddir AS SELECT id FROM shop.sale WHERE amount > 100;
	CREATE MATERIALIZED VIEW plain AS SELECT count(*) FROM shop.sale;
	CREATE TABLE afterwards (a int)});
DdirNode::views_equal_queries($node, 'postgres', 'before');
$node->safe_psql('postgres', 'REFRESH MATERIALIZED VIEW empty WITH NO DATA');
my $rows = $node->safe_psql('postgres', 'SELECT * FROM shop.by_region ORDER BY region');

# ----
# Dumps, beside writers
# ----

my $bench = DdirNode::pgbench($node, 'postgres', q{
	\set id random(1, 5000)
	UPDATE shop.sale SET amount = amount + 1 WHERE id = :id;
	UPDATE shop.sale SET amount = amount - 1 WHERE id = :id;
}, '-c', '2', '-T', '300');
$node->command_ok([ 'pg_dump', '-f', "$dir/plain.sql", 'postgres' ], 'dumps as SQL');
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$dir/custom", 'postgres' ], 'dumps as an archive');
$node->command_ok([ 'pg_dump', '-Fd', '-j', '2', '-f', "$dir/directory", 'postgres' ],
	'dumps with two jobs');
DdirNode::pgbench_stop($bench);
DdirNode::views_equal_queries($node, 'postgres', 'where it was dumped');

like(slurp_file("$dir/plain.sql"), qr/SET default_table_access_method = ddir;\n.*CREATE MATERIALIZED VIEW shop\.by_region/s,
	'a dump declares the views');

# ----
# Restores
# ----

my %restore = (
	plain => [ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/plain.sql", '-d' ],
	single => [ 'psql', '-X', '-q', '-1', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/plain.sql", '-d' ],
	custom => [ 'pg_restore', '-e', "$dir/custom", '-d' ],
	once => [ 'pg_restore', '-e', '-1', "$dir/custom", '-d' ],
	jobs => [ 'pg_restore', '-e', '-j', '2', "$dir/directory", '-d' ]);

for my $how (sort keys %restore)
{
	$node->safe_psql('postgres', "CREATE DATABASE $how");
	$node->command_ok([ @{ $restore{$how} }, $how ], "$how: restores");
	is( $node->safe_psql($how, q{
			SELECT string_agg(c.oid::regclass::text, ' ' ORDER BY c.oid::regclass::text)
			  FROM pg_class c JOIN pg_am a ON a.oid = c.relam WHERE a.amname = 'ddir' AND c.relkind = 'm'}),
		'empty shop.by_region shop.good', "$how: the views are ddir's");
	is( $node->safe_psql($how, q{
			SELECT amname FROM pg_class c JOIN pg_am a ON a.oid = c.relam WHERE c.oid = 'plain'::regclass}),
		'heap', "$how: and others are not");
	$node->safe_psql($how, q{
		DELETE FROM shop.customer WHERE id % 9 = 0;
		INSERT INTO shop.customer VALUES (1000, 'region 8');
		INSERT INTO shop.sale VALUES (10000, 1000, 90000)});
	DdirNode::views_equal_queries($node, $how, "$how: views equal their queries");
	is($node->safe_psql($how, q{SELECT sales FROM shop.by_region WHERE region = 'region 8'}),
		'1', "$how: and are kept current");
	is( $node->safe_psql($how, q{
			SELECT reloptions, obj_description(oid) FROM pg_class WHERE oid = 'shop.by_region'::regclass}),
		'{fillfactor=70}|kept current', "$how: as they were declared");
	given_back($how) if $how eq 'plain';
	$node->safe_psql('postgres', "DROP DATABASE $how") unless $how eq 'once';
}

# The dump has the replica identity that ddir set.  Told there what it was
# before, ddir gives it that back.
sub given_back
{
	my ($db) = @_;
	my $identity = q{SELECT relreplident FROM pg_class WHERE oid = 'shop.sale'::regclass};

	$node->safe_psql($db, 'ALTER TABLE shop.sale REPLICA IDENTITY NOTHING');
	$node->safe_psql($db, 'UPDATE shop.sale SET amount = amount + 1 WHERE id < 10');
	DdirNode::views_equal_queries($node, $db, "$db: with another replica identity");
	$node->safe_psql($db, 'DROP MATERIALIZED VIEW empty, shop.by_region CASCADE');
	DdirNode::until_true($node, $db, "SELECT ($identity) = 'n'", "$db: which it has afterwards");
	return;
}

# Without access methods views are plain ones, which can be adopted.
$node->command_ok([ 'pg_dump', '--no-table-access-method', '-f', "$dir/plain_views.sql", 'postgres' ],
	'dumps without access methods');
$node->safe_psql('postgres', 'CREATE DATABASE adopted');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/plain_views.sql", 'adopted' ],
	'and restores it');
is($node->safe_psql('adopted', 'SELECT count(*) FROM ddir.views'), '0', 'no view is maintained');
is($node->safe_psql('adopted', 'SELECT * FROM shop.by_region ORDER BY region'),
	$node->safe_psql('postgres', 'SELECT * FROM shop.by_region ORDER BY region'), 'but has its rows');
$node->safe_psql('adopted', "ALTER MATERIALIZED VIEW $_ SET ACCESS METHOD ddir") for qw(shop.by_region shop.good);
$node->safe_psql('adopted', 'DELETE FROM shop.customer WHERE id % 5 = 0');
DdirNode::views_equal_queries($node, 'adopted', 'adopted views equal their queries');
$node->safe_psql('postgres', 'DROP DATABASE adopted');

# ----
# Over again: a dump of what was restored
# ----

$node->command_ok([ 'pg_dump', '-f', "$dir/again.sql", 'once' ], 'dumps what was restored');
$node->safe_psql('postgres', 'CREATE DATABASE again');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/again.sql", 'again' ],
	'and restores it');
DdirNode::views_equal_queries($node, $_) for qw(again once postgres);

# Only the schema: views without rows, filled as rows come.
$node->command_ok([ 'pg_dump', '-s', '-f', "$dir/schema.sql", 'postgres' ], 'dumps a schema');
$node->safe_psql('postgres', 'CREATE DATABASE schema_only');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/schema.sql", 'schema_only' ],
	'and restores it');
$node->safe_psql('schema_only', q{INSERT INTO shop.customer VALUES (1, 'north')});
DdirNode::views_equal_queries($node, 'schema_only');

$node->stop;
done_testing();
