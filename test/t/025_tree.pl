#
# 025_tree.pl: what is done to partitions for the sake of views, and undone; a
# maintainer that dies while partitions come and go.
#
use strict;
use warnings;

use DdirNode;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = DdirNode::start('main', conf => "restart_after_crash = on\n");
my $logical = $node->safe_psql('postgres', 'SHOW wal_level') eq 'logical';

sub sql { return $node->safe_psql('postgres', $_[0]); }

# a table's replica identity, and how many triggers of ours it has
sub prepared
{
	return sql(qq{
		SELECT relreplident, (SELECT count(*) FROM pg_trigger WHERE tgrelid = c.oid AND tgname ~ '^ddir_')
		  FROM pg_class AS c WHERE oid = '$_[0]'::regclass});
}

my $by_row = $logical ? 'f|0' : 'd|2';
my $nothing = 'd|0';

sub await_prepared
{
	my ($table, $what, $name) = @_;
	my ($identity, $triggers) = split(/\|/, $what);
	DdirNode::until_true($node, 'postgres', qq{
		SELECT relreplident = '$identity' AND $triggers = (SELECT count(*) FROM pg_trigger WHERE tgrelid = c.oid AND tgname ~ '^ddir_')
		  FROM pg_class AS c WHERE oid = '$table'::regclass}, $name);
}

sql(q{
	CREATE TABLE t (id int, g int, x int) PARTITION BY LIST (g);
	CREATE TABLE t_1 PARTITION OF t FOR VALUES IN (1);
	CREATE TABLE t_2 PARTITION OF t FOR VALUES IN (2) PARTITION BY RANGE (id);
	CREATE TABLE t_2a PARTITION OF t_2 FOR VALUES FROM (0) TO (100);
	CREATE TABLE base (id int, x int);
	CREATE TABLE child () INHERITS (base);
	INSERT INTO t SELECT i, 1 + i % 2, i FROM generate_series(1, 50) AS i;
	CREATE MATERIALIZED VIEW sums USING ddir AS SELECT g, count(*) AS n, sum(x) AS x FROM t GROUP BY g;
	CREATE MATERIALIZED VIEW part USING ddir AS SELECT id, x FROM t_1;
	CREATE MATERIALIZED VIEW heirs USING ddir AS SELECT sum(x) AS x FROM base});
DdirNode::await($node, 'postgres');
is(prepared($_), $by_row, "$_ is prepared") for ('t_1', 't_2a', 'base', 'child');
is(prepared($_), $nothing, "$_ needs nothing") for ('t', 't_2');

# ----
# In the transaction that makes it one
# ----

my $writer = $node->background_psql('postgres');
my %made = (
	t_3 => 'CREATE TABLE t_3 PARTITION OF t FOR VALUES IN (3)',
	t_2b => 'CREATE TABLE t_2b (x int, id int, g int); ALTER TABLE t_2 ATTACH PARTITION t_2b FOR VALUES FROM (100) TO (200)',
	t_4a => 'CREATE TABLE t_4 (id int, g int, x int) PARTITION BY HASH (id); CREATE TABLE t_4a PARTITION OF t_4 FOR VALUES WITH (MODULUS 1, REMAINDER 0); ALTER TABLE t ATTACH PARTITION t_4 FOR VALUES IN (4)',
	second => 'CREATE TABLE second (y int) INHERITS (base)',
	third => 'CREATE TABLE third (id int, x int); ALTER TABLE third INHERIT child',
	inner_5 => 'CREATE SCHEMA AUTHORIZATION CURRENT_USER CREATE TABLE inner_5 PARTITION OF public.t FOR VALUES IN (5)');
sql('CREATE FUNCTION look() RETURNS event_trigger LANGUAGE plpgsql AS $$BEGIN PERFORM * FROM pg_event_trigger_ddl_commands(); END$$');
sql('CREATE EVENT TRIGGER looks ON ddl_command_end EXECUTE FUNCTION look()');
for my $table (sort keys %made)
{
	$writer->query_safe('BEGIN');
	$writer->query_safe($made{$table});
	is($writer->query_safe(qq{
		SELECT relreplident::text || '|' || (SELECT count(*) FROM pg_trigger WHERE tgrelid = c.oid AND tgname ~ '^ddir_')
		  FROM pg_class AS c WHERE relname = '$table'}), $by_row, "$table is prepared before the commit");
	$writer->query_safe('COMMIT');
}
$writer->query_safe('INSERT INTO t VALUES (60, 3, 1), (61, 4, 1), (62, 5, 1), (160, 2, 1); INSERT INTO second VALUES (1, 1); INSERT INTO third VALUES (2, 2)');
$writer->query_safe('UPDATE t SET x = x + 1; UPDATE base SET x = x + 1');
DdirNode::views_equal_queries($node, 'postgres', 'what was made is followed');
$writer->query_safe('CREATE TABLE aside (LIKE t); CREATE TABLE apart () INHERITS (aside)');
is(prepared('apart'), $nothing, 'a child of what nobody reads needs nothing');
sql('DROP EVENT TRIGGER looks');

# ----
# Given back
# ----

sql('ALTER TABLE t DETACH PARTITION t_3; ALTER TABLE t_2 DETACH PARTITION t_2b; ALTER TABLE third NO INHERIT child');
await_prepared($_, $nothing, "$_ is given back") for ('t_3', 't_2b', 'third');
sql('ALTER TABLE t DETACH PARTITION t_1');
DdirNode::views_equal_queries($node, 'postgres', 'what is read alone is followed');
is(prepared('t_1'), $logical ? 'f|0' : 'd|5', 'and prepared as such');
sql('UPDATE t_1 SET x = x + 1; ALTER TABLE t ATTACH PARTITION t_1 FOR VALUES IN (1); UPDATE t SET x = x + 1');
DdirNode::views_equal_queries($node, 'postgres', 'and as a partition again');

# ----
# Crashes
# ----

sql(q{
	CREATE TABLE t_6 (id int, x int, g int);
	INSERT INTO t_6 SELECT i, i, 6 FROM generate_series(1, 10) AS i});
my $maintainer = q{SELECT pid FROM ddir.workers WHERE kind = 'maintainer' AND database = current_database() AND pid IS NOT NULL};
for my $round (1 .. 2)
{
	kill 'STOP', my $pid = sql($maintainer);
	sql('ALTER TABLE t ATTACH PARTITION t_6 FOR VALUES IN (6); UPDATE t SET x = x + 1 WHERE g = 6');
	sql('DROP TABLE t_4') if $round == 2;
	kill 'KILL', $pid;
	$node->poll_query_until('postgres', 'SELECT 1', '1');
	DdirNode::views_equal_queries($node, 'postgres', "partitions attached while the maintainer died, $round");
	sql('UPDATE t SET x = x + 1');
	sql('ALTER TABLE t DETACH PARTITION t_6');
	DdirNode::crash_and_start($node);
	DdirNode::views_equal_queries($node, 'postgres', "and detached before a crash, $round");
}

# ----
# When nobody reads it any more
# ----

sql('DROP MATERIALIZED VIEW sums, heirs, part');
await_prepared($_, $nothing, "$_ is given back with the last view") for ('t_1', 't_2a', 'base', 'child', 'second', 't_6');
sql('CREATE MATERIALIZED VIEW sums USING ddir AS SELECT g, count(*) AS n FROM t GROUP BY g');
DdirNode::await($node, 'postgres');
is(prepared('t_2a'), $by_row, 'prepared again');
sql('SELECT ddir.disable()');
is(prepared($_), $nothing, "disabled: $_ is given back") for ('t_1', 't_2a');
sql('CREATE TABLE t_7 PARTITION OF t FOR VALUES IN (7)');
is(prepared('t_7'), $nothing, 'disabled: a new one needs nothing');
sql('INSERT INTO t VALUES (70, 7, 1); SELECT ddir.enable()');
DdirNode::views_equal_queries($node, 'postgres', 'enabled again');
is(prepared('t_7'), $by_row, 'and the new one is prepared');
sql('DROP EXTENSION ddir CASCADE');
is(prepared($_), $nothing, "the extension is dropped: $_ is given back") for ('t_1', 't_2a', 't_7');
$writer->quit;
$node->stop;

done_testing();
