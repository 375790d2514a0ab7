# ALTER EXTENSION UPDATE: an updated extension is the same as a new one, and
# views are maintained before, meanwhile and after.
#
# A released install script is kept as src/sql/upgrade/ddir--A.sql beside the
# script ddir--A--B.sql that leads on; both are installed.  The last part makes
# a next version for itself, where it may write to the server's directory.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

use DdirNode;

my $node = DdirNode::start('main');

# Everything the extension has, as it is defined.
my $objects = q{
	WITH member AS (
		SELECT classid, objid FROM pg_depend
		 WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
		   AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'ddir'))
	SELECT pg_describe_object(classid, objid, 0), obj_description(objid, classid::regclass::text::name),
		   CASE classid WHEN 'pg_proc'::regclass THEN
					(SELECT CASE prokind WHEN 'a' THEN pg_get_function_arguments(oid) ELSE pg_get_functiondef(oid) END
							|| coalesce(proacl::text, '') FROM pg_proc WHERE oid = objid)
				WHEN 'pg_class'::regclass THEN
					(SELECT relkind::text || coalesce(relacl::text, '') || coalesce(pg_get_viewdef(oid), '') ||
							(SELECT string_agg(format('%s %s %s %s', attname, format_type(atttypid, atttypmod),
													  attnotnull, col_description(attrelid, attnum)), ', ' ORDER BY attname)
							   FROM pg_attribute WHERE attrelid = objid AND attnum > 0 AND NOT attisdropped)
					   FROM pg_class WHERE oid = objid) END
	  FROM member ORDER BY 1};
my $fresh = $node->safe_psql('postgres', $objects);
my $tables = q{
	CREATE TABLE t (id int PRIMARY KEY, g int);
	INSERT INTO t SELECT i, i % 5 FROM generate_series(1, 100) AS i;
	CREATE MATERIALIZED VIEW v USING ddir AS SELECT g, count(*) AS n FROM t GROUP BY g};

my $versions = $node->safe_psql('postgres', q{
	SELECT v.version FROM pg_available_extension_versions v JOIN pg_available_extensions e USING (name)
	 WHERE name = 'ddir' AND v.version <> e.default_version ORDER BY 1});
for my $version (split /\n/, $versions)
{
	my $name = "from_$version" =~ s/\W/_/gr;

	$node->safe_psql('postgres', "CREATE DATABASE $name");
	$node->safe_psql($name, "CREATE EXTENSION ddir VERSION '$version'; $tables");
	DdirNode::views_equal_queries($node, $name, "$version: a view");
	$node->safe_psql($name, 'ALTER EXTENSION ddir UPDATE; DELETE FROM t WHERE g = 1');
	DdirNode::views_equal_queries($node, $name, "$version: and after the update");
	is($node->safe_psql($name, $objects), $fresh, "$version: updated, it is as a new one");
}

$node->safe_psql('postgres', $tables);
DdirNode::views_equal_queries($node, 'postgres', 'a view');
my ($ret, $out, $err) = $node->psql('postgres', 'ALTER EXTENSION ddir UPDATE');
like($err, qr/is already installed/, 'there is nothing newer');

SKIP:
{
	chomp(my $dir = `$ENV{PG_CONFIG} --sharedir`);
	my $current = $node->safe_psql('postgres', q{SELECT extversion FROM pg_extension WHERE extname = 'ddir'});
	my $script = "$dir/extension/ddir--$current--next.sql";

	skip "may not write to $dir/extension", 5 unless -w "$dir/extension";
	append_to_file($script, q{
		CREATE MATERIALIZED VIEW ddir._more USING heap AS SELECT 1 AS more;
		CREATE FUNCTION ddir.next() RETURNS int LANGUAGE sql AS 'SELECT 1'});
	my $pid = DdirNode::maintainer($node, 'postgres');
	my $bench = DdirNode::pgbench($node, 'postgres',
		q{\set id random(1, 100)
		UPDATE t SET g = (g + 1) % 5 WHERE id = :id;}, '-T', '300');
	my $ok = $node->psql('postgres', q{ALTER EXTENSION ddir UPDATE TO 'next'}) == 0;
	unlink $script;
	ok($ok, 'the extension is updated beside a writer');
	is($node->safe_psql('postgres', 'SELECT ddir.next()'), '1', 'and has what is new');
	DdirNode::await($node, 'postgres', 'v');
	DdirNode::pgbench_stop($bench);
	DdirNode::views_equal_queries($node, 'postgres', 'the view equals its query');
	is(DdirNode::maintainer($node, 'postgres'), $pid, 'by the same maintainer');
	$node->safe_psql('postgres', 'DROP EXTENSION ddir CASCADE');
	is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_replication_slots WHERE database = 'postgres'}),
		'0', 'and it can be dropped');
}

$node->stop;
done_testing();
