# ALTER EXTENSION UPDATE: an updated extension is the same as a new one, and
# views are maintained before, meanwhile and after.
#
# Released install scripts and those that update them are in src/sql/upgrade,
# and installed.  The server is a copy of its own, so that the second part can
# give it a next version.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

use DdirNode;

my $copy = PostgreSQL::Test::Utils::tempdir() . '/server';
chomp(my $bin = `test/tools/private-server $copy $ENV{PG_CONFIG}`);
$bin =~ s/\/bin\/pg_config$//;
my $node = DdirNode::start('main', install_path => $bin);

# Everything the extension has, as it is defined.
my $objects = q{
	WITH member AS (
		SELECT classid, objid FROM pg_depend
		 WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
		   AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'ddir'))
	SELECT pg_describe_object(classid, objid, 0), obj_description(objid, classid::regclass::text::name),
		   (SELECT concat(privtype, initprivs) FROM pg_init_privs i
			 WHERE i.classoid = m.classid AND i.objoid = m.objid AND i.objsubid = 0),
		   CASE classid
		   WHEN 'pg_proc'::regclass THEN
				(SELECT concat(CASE prokind WHEN 'a' THEN pg_get_function_arguments(oid) ELSE pg_get_functiondef(oid) END,
							   (SELECT to_jsonb(a) - 'aggfnoid' FROM pg_aggregate a WHERE aggfnoid = p.oid), proacl)
				   FROM pg_proc p WHERE oid = objid)
		   WHEN 'pg_class'::regclass THEN
				(SELECT concat(relkind, relam, relpersistence, relacl, reloptions,
							   (SELECT reloptions FROM pg_class WHERE oid = c.reltoastrelid), pg_get_viewdef(oid),
							   (SELECT string_agg(format('%s %s %s %s %s', attname, format_type(atttypid, atttypmod),
														 attnotnull, attstorage, col_description(attrelid, attnum)), ', ' ORDER BY attnum)
								  FROM pg_attribute WHERE attrelid = objid AND attnum > 0 AND NOT attisdropped),
							   (SELECT string_agg(pg_get_indexdef(indexrelid), ', ' ORDER BY indexrelid::regclass::text)
								  FROM pg_index WHERE indrelid = objid))
				   FROM pg_class c WHERE oid = objid)
		   END
	  FROM member m ORDER BY 1};
my $fresh = $node->safe_psql('postgres', $objects);
my $tables = q{
	CREATE TABLE t (id int PRIMARY KEY, g int, f float8);
	ALTER TABLE t REPLICA IDENTITY NOTHING;
	INSERT INTO t SELECT i, i % 5, i / 7.0 FROM generate_series(1, 100) AS i;
	CREATE MATERIALIZED VIEW v USING ddir AS SELECT g, count(*) AS n FROM t GROUP BY g;
	CREATE MATERIALIZED VIEW w USING ddir AS SELECT t.id, v.n, sum(t.f) FROM t JOIN v USING (g) GROUP BY 1, 2;
	CREATE MATERIALIZED VIEW x USING ddir AS
		SELECT id, (SELECT max(n) FROM v) AS most FROM t WHERE g = (SELECT min(g) FROM v)};
my $move = q{
	\set id random(1, 100)
	UPDATE t SET g = (g + 1) % 5 WHERE id = :id;};

sub identity
{
	my ($db) = @_;

	return $node->safe_psql($db, q{SELECT relreplident FROM pg_class WHERE oid = 't'::regclass});
}
my $nothing = identity_of_new();

sub identity_of_new
{
	$node->safe_psql('postgres', 'CREATE TABLE u (a int); ALTER TABLE u REPLICA IDENTITY NOTHING');
	return $node->safe_psql('postgres', q{SELECT relreplident FROM pg_class WHERE oid = 'u'::regclass});
}

# ----
# From what was released
# ----

my @versions = split /\n/, $node->safe_psql('postgres', q{
	SELECT v.version FROM pg_available_extension_versions v JOIN pg_available_extensions e USING (name)
	 WHERE name = 'ddir' AND v.version <> e.default_version ORDER BY 1});
is($versions[0], '1.0', 'the first version can be had');
for my $version (@versions)
{
	my $db = "from_$version" =~ s/\W/_/gr;

	$node->safe_psql('postgres', "CREATE DATABASE $db");
	$node->safe_psql($db, "CREATE EXTENSION ddir VERSION '$version'; $tables");
	DdirNode::views_equal_queries($node, $db, "$version: views");
	$node->safe_psql($db, join(';', map { "TABLE ddir.$_" } qw(views hydration workers sources arrangements operators)));
	like($node->safe_psql($db, q{SELECT ddir.explain('w'), ddir.explain_query('SELECT count(*) FROM t')}),
		qr/reduce/i, "$version: what is said of them");
	DdirNode::await($node, $db, 'v');
	my $pid = DdirNode::maintainer($node, $db);
	my $hydrations = $node->safe_psql($db, 'SELECT view, hydrations FROM ddir.hydration ORDER BY 1');

	my $bench = DdirNode::pgbench($node, $db, $move, '-T', '300');
	$node->safe_psql($db, 'ALTER EXTENSION ddir UPDATE');
	$node->safe_psql($db, 'DELETE FROM t WHERE g = 1');
	DdirNode::pgbench_stop($bench);
	DdirNode::views_equal_queries($node, $db, "$version: and after the update");
	is($node->safe_psql($db, $objects), $fresh, "$version: updated, it is as a new one");
	is(DdirNode::maintainer($node, $db), $pid, "$version: the maintainer is the same");
	is($node->safe_psql($db, 'SELECT view, hydrations FROM ddir.hydration ORDER BY 1'),
		$hydrations, "$version: and no view was hydrated");
	$node->safe_psql($db, 'DROP MATERIALIZED VIEW v CASCADE');
	is(identity($db), $nothing, "$version: replica identities are remembered");
}
my ($ret, $out, $err) = $node->psql('postgres', 'ALTER EXTENSION ddir UPDATE');
like($err, qr/is already installed/, 'there is nothing newer');

# ----
# To a next version, in which internal relations have more columns
# ----

chomp(my $share = `$bin/bin/pg_config --sharedir`);
my $current = $node->safe_psql('postgres', q{SELECT extversion FROM pg_extension WHERE extname = 'ddir'});
append_to_file("$share/extension/ddir--$current--next.sql", q{
	CREATE FUNCTION ddir._carry(regclass, regclass) RETURNS void
		LANGUAGE C VOLATILE AS 'MODULE_PATHNAME', 'ddir_carry';

	ALTER MATERIALIZED VIEW ddir._database RENAME TO _database_was;
	ALTER INDEX ddir._database_singleton_idx RENAME TO _database_was_singleton_idx;
	CREATE MATERIALIZED VIEW ddir._database USING heap AS
		SELECT true AS singleton, false AS disabled, 0 AS generation,
			   NULL::pg_catalog.pg_lsn AS confirmed, NULL::pg_catalog.text AS capture, 42 AS more, NULL::text AS less;
	CREATE UNIQUE INDEX ON ddir._database (singleton);
	SELECT ddir._carry('ddir._database_was', 'ddir._database');
	DROP MATERIALIZED VIEW ddir._database_was;

	ALTER MATERIALIZED VIEW ddir._identity RENAME TO _identity_was;
	ALTER INDEX ddir._identity_relid_idx RENAME TO _identity_was_relid_idx;
	CREATE MATERIALIZED VIEW ddir._identity USING heap AS
		SELECT NULL::pg_catalog.oid AS relid, NULL::pg_catalog."char" AS former,
			   NULL::pg_catalog.name AS index_name, 0 AS more WHERE false;
	CREATE UNIQUE INDEX ON ddir._identity (relid);
	SELECT ddir._carry('ddir._identity_was', 'ddir._identity');
	DROP MATERIALIZED VIEW ddir._identity_was;

	DROP FUNCTION ddir._carry(regclass, regclass);
	CREATE FUNCTION ddir.next() RETURNS int LANGUAGE sql AS 'SELECT 1'});

# a generation that no new database has, and a view that stays behind
my $database = 'SELECT singleton, disabled, generation > 1 AS renewed, confirmed, capture FROM ddir._database';
$node->safe_psql('postgres', $tables);
DdirNode::views_equal_queries($node, 'postgres', 'views');
$node->safe_psql('postgres', "SELECT ddir.$_()") for qw(disable enable disable enable);
DdirNode::views_equal_queries($node, 'postgres', 'views that were switched off and on');
my $kept = $node->safe_psql('postgres', $database);
my $remembered = $node->safe_psql('postgres', 'SELECT relid, former, index_name FROM ddir._identity ORDER BY 1');
note "$kept\n$remembered";
my $pid = DdirNode::maintainer($node, 'postgres');
my $bench = DdirNode::pgbench($node, 'postgres', $move, '-T', '300');
$node->safe_psql('postgres', q{ALTER EXTENSION ddir UPDATE TO 'next'});
is($node->safe_psql('postgres', 'SELECT ddir.next()'), '1', 'there is what is new');
is($node->safe_psql('postgres', $database), $kept, 'the state of the database is what it was');
is($node->safe_psql('postgres', 'SELECT more, less FROM ddir._database'), '42|', 'with more columns');
is($node->safe_psql('postgres', 'SELECT relid, former, index_name FROM ddir._identity ORDER BY 1'),
	$remembered, 'and so are the identities');
DdirNode::await($node, 'postgres', 'v');
DdirNode::pgbench_stop($bench);
DdirNode::views_equal_queries($node, 'postgres', 'views equal their queries');
is(DdirNode::maintainer($node, 'postgres'), $pid, 'by the same maintainer');
$node->restart;
$node->safe_psql('postgres', 'DELETE FROM t WHERE g = 2');
DdirNode::views_equal_queries($node, 'postgres', 'after a restart, too');
$node->safe_psql('postgres', q{SELECT ddir.disable(); DROP EXTENSION ddir CASCADE});
is(identity('postgres'), $nothing, 'the identity is as it was');
is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_replication_slots WHERE database = 'postgres'}),
	'0', 'and no slot is left');

$node->stop;
done_testing();
