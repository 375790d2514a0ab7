# Virtual generated columns, which 18 has: rows do not hold them, views do.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

use DdirNode;

my $node = DdirNode::init('main');
plan skip_all => 'there are virtual columns from 18 on' if $node->pg_version < 18;
$node->start;

# b and c are computed; c is never NULL, but the column of an outer join is
$node->safe_psql('postgres', q{
	CREATE EXTENSION ddir;
	CREATE TABLE t (id int PRIMARY KEY, gone int, a int, b int GENERATED ALWAYS AS (a * 2) VIRTUAL,
					c text GENERATED ALWAYS AS (coalesce('x' || a, 'none')) VIRTUAL);
	ALTER TABLE t DROP gone;
	CREATE TABLE u (id int PRIMARY KEY, a int);
	INSERT INTO t VALUES (1, 10), (2, NULL), (3, 30);
	INSERT INTO u VALUES (1, 20), (4, 40);
	CREATE MATERIALIZED VIEW v_all USING ddir AS SELECT * FROM t;
	CREATE MATERIALIZED VIEW v_none USING ddir AS SELECT id, a FROM t;
	CREATE MATERIALIZED VIEW v_group USING ddir AS
		SELECT b, count(*) AS n, min(c) AS c FROM t WHERE b > 5 OR b IS NULL GROUP BY b;
	CREATE MATERIALIZED VIEW v_outer USING ddir AS SELECT u.id, t.b, t.c FROM u LEFT JOIN t ON t.b = u.a;
	CREATE MATERIALIZED VIEW v_exists USING ddir AS
		SELECT id FROM u WHERE EXISTS (SELECT FROM t WHERE t.b = u.a AND t.c <> 'none')});
DdirNode::views_equal_queries($node, 'postgres', 'hydrated');
is($node->safe_psql('postgres', 'SELECT * FROM v_outer ORDER BY id'), "1|20|x10\n4||", 'outer join');

$node->safe_psql('postgres', q{
	UPDATE t SET a = a + 10 WHERE id < 3;
	INSERT INTO t VALUES (7, 8), (8, NULL);
	DELETE FROM t WHERE id = 3});
DdirNode::views_equal_queries($node, 'postgres', 'changed');
is($node->safe_psql('postgres', 'SELECT * FROM v_all ORDER BY id'),
	"1|20|40|x20\n2|||none\n7|8|16|x8\n8|||none", 'computed');

# The expression is part of what a view means; no row is rewritten.
$node->safe_psql('postgres', 'ALTER TABLE t ALTER b SET EXPRESSION AS (a * 3)');
DdirNode::views_equal_queries($node, 'postgres', 'another expression');
is($node->safe_psql('postgres', 'SELECT b FROM v_all WHERE id = 1'), 60, 'as it says now');

# Row security by a virtual column.
$node->safe_psql('postgres', q{
	CREATE ROLE o;
	GRANT ALL ON SCHEMA public TO o;
	GRANT ALL ON t TO o;
	ALTER TABLE t ENABLE ROW LEVEL SECURITY;
	CREATE POLICY p ON t USING (b > 30);
	SET ROLE o;
	CREATE MATERIALIZED VIEW v_secure USING ddir AS SELECT id, c FROM t;
	RESET ROLE;
	INSERT INTO t VALUES (9, 9), (10, 100)});
DdirNode::await($node, 'postgres');
is($node->safe_psql('postgres', 'SELECT * FROM v_secure ORDER BY id'), "1|x20\n10|x100", 'row security');

$node->stop;
done_testing();
