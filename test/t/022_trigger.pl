# Capture by triggers, where the WAL is not decoded: every way to write to a
# table, in every order, is in its views once; what the user does to triggers and
# tables is noticed; delta tables stay small, disturb no publication and no dump;
# nothing is left behind.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

use DdirNode;

my $node = DdirNode::start('main', conf => DdirNode::points() . "wal_level = replica\n");

sub sql { return $node->safe_psql('postgres', @_); }

# Do it, and the law holds.
sub right
{
	my ($name, $statements) = @_;

	sql($statements);
	DdirNode::views_equal_queries($node, 'postgres', $name);
	return;
}

sub hydrations { return sql('SELECT sum(hydrations) FROM ddir.hydration'); }

my $triggers = q{SELECT count(*) FROM pg_trigger WHERE tgfoid = 'ddir._capture()'::regprocedure};

sql(q{
	CREATE TABLE item (id int PRIMARY KEY, g int, x int, note text);
	CREATE TABLE piece (id serial PRIMARY KEY, item int REFERENCES item ON UPDATE CASCADE ON DELETE CASCADE DEFERRABLE,
						n int);
	INSERT INTO item SELECT i, i % 3, i, 'item ' || i FROM generate_series(1, 100) AS i;
	INSERT INTO piece (item, n) SELECT 1 + i % 100, i FROM generate_series(1, 300) AS i;
	CREATE MATERIALIZED VIEW by_g USING ddir AS
		SELECT g, count(*) AS n, sum(x) AS x FROM item GROUP BY g;
	CREATE MATERIALIZED VIEW joined USING ddir AS
		SELECT i.id, i.note, p.n FROM item i JOIN piece p ON p.item = i.id;
	CREATE MATERIALIZED VIEW over USING ddir AS SELECT max(n) AS most FROM by_g});
DdirNode::views_equal_queries($node, 'postgres', 'made');
is(sql('SELECT DISTINCT capture, identity FROM ddir.sources'), 'trigger|statement triggers', 'triggers capture');
like(sql(q{SELECT ddir.explain('by_g')}), qr/in cuts/, 'explain says what a tray is');
is(sql('SELECT count(*) FROM pg_replication_slots'), 0, 'there is no slot');
is(sql($triggers . q{ AND tgisinternal}), 10, 'triggers are internal');

# ----
# Ways to write
# ----

my $before = hydrations();
right('INSERT, UPDATE, DELETE', q{
	INSERT INTO item VALUES (201, 1, 5, 'new'), (202, NULL, NULL, NULL);
	UPDATE item SET x = x + 1 WHERE g = 1;
	UPDATE item SET x = x WHERE g = 2;
	DELETE FROM item WHERE id = 202});
right('several in a transaction, savepoints', q{
	BEGIN;
	INSERT INTO item VALUES (203, 1, 5, 'a');
	SAVEPOINT s;
	UPDATE item SET x = 1000 WHERE id < 50;
	ROLLBACK TO s;
	SAVEPOINT t;
	UPDATE item SET g = 0 WHERE id = 203;
	RELEASE t;
	DELETE FROM item WHERE id = 201;
	COMMIT});
right('ON CONFLICT', q{
	INSERT INTO item VALUES (203, 2, 7, 'again'), (204, 2, 7, 'first')
		ON CONFLICT (id) DO UPDATE SET x = excluded.x, note = excluded.note;
	INSERT INTO item VALUES (203, 2, 8, 'never') ON CONFLICT DO NOTHING});
right('MERGE', q{
	MERGE INTO item USING (VALUES (204, 1), (205, 2), (1, 3)) AS s (id, x) ON item.id = s.id
		WHEN MATCHED AND s.x = 1 THEN DELETE
		WHEN MATCHED THEN UPDATE SET x = s.x
		WHEN NOT MATCHED THEN INSERT VALUES (s.id, 0, s.x, 'merged')});
right('COPY', "COPY item FROM stdin;\n301\t1\t1\tx\n302\t2\t\\N\ty\n\\.\n");
right('cascades', q{
	UPDATE item SET id = 401 WHERE id = 2;
	DELETE FROM item WHERE id IN (3, 4);
	BEGIN;
	SET CONSTRAINTS ALL DEFERRED;
	DELETE FROM item WHERE id = 5;
	UPDATE item SET id = 406 WHERE id = 6;
	COMMIT});
right('a trigger that writes', q{
	CREATE FUNCTION follow() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO piece (item, n) VALUES (new.id, 1000);
		UPDATE item SET note = 'followed' WHERE id = new.id + 1;
		RETURN new;
	END $$;
	CREATE TRIGGER follow AFTER INSERT ON item FOR EACH ROW EXECUTE FUNCTION follow();
	INSERT INTO item VALUES (501, 1, 1, 'a'), (502, 2, 2, 'b');
	DROP TRIGGER follow ON item});
right('with triggers off, as by replication', q{
	SET session_replication_role = replica;
	INSERT INTO item VALUES (601, 1, 1, 'a'), (602, 2, 2, 'b');
	UPDATE item SET x = x * 2 WHERE id > 90;
	DELETE FROM item WHERE id = 10;
	SET session_replication_role = local;
	INSERT INTO item VALUES (603, 1, 1, 'c')});
right('values out of line', q{
	INSERT INTO item SELECT i, 1, 1, string_agg(md5(i::text || k), '') FROM generate_series(701, 703) i, generate_series(1, 2000) k GROUP BY i;
	UPDATE item SET x = 2 WHERE id BETWEEN 701 AND 703;
	UPDATE item SET note = note || 'more' WHERE id = 702;
	DELETE FROM item WHERE id = 703});
is(hydrations(), $before, 'all that as changes');

# ----
# Transactions in every order
# ----

my $old = $node->background_psql('postgres');
my $new = $node->background_psql('postgres');
$old->query_safe('BEGIN; INSERT INTO item VALUES (801, 0, 1)');
$new->query_safe(q{BEGIN; UPDATE item SET x = 2000 WHERE id = 20; COMMIT});
$old->query_safe('UPDATE item SET x = x + 1, g = 1 WHERE id = 20');
DdirNode::await($node, 'postgres');
$old->query_safe('COMMIT');
DdirNode::views_equal_queries($node, 'postgres', 'commits in the reverse order of xids');
$old->query_safe('BEGIN; SAVEPOINT a; DELETE FROM item WHERE id = 801; RELEASE a');
$new->query_safe('BEGIN; UPDATE item SET x = 1 WHERE id = 21');
DdirNode::await($node, 'postgres');
$new->query_safe('ROLLBACK');
$old->query_safe('COMMIT');
DdirNode::views_equal_queries($node, 'postgres', 'one of two rolls back');
$old->query_safe(q{BEGIN; UPDATE item SET x = x + 7 WHERE id = 22; PREPARE TRANSACTION 'p'});
DdirNode::views_equal_queries($node, 'postgres', 'a prepared transaction is not in it');
$old->query_safe(q{COMMIT PREPARED 'p'});
DdirNode::views_equal_queries($node, 'postgres', 'until it is committed');
$old->query_safe(q{SET synchronous_commit = off; INSERT INTO item VALUES (802, 0, 1)});
DdirNode::views_equal_queries($node, 'postgres', 'an asynchronous commit');
is(hydrations(), $before, 'all that as changes, too');

# ----
# Much
# ----

right('a million rows', q{
	INSERT INTO item SELECT i, i % 3, i FROM generate_series(1000001, 1200000) i;
	UPDATE item SET x = x + 1 WHERE id > 1000000;
	DELETE FROM item WHERE id > 1000000});
DdirNode::until_true($node, 'postgres', q{
	WITH written AS (INSERT INTO item VALUES ((SELECT greatest(max(id), 5000000) + 1 FROM item), 1, 1))
	SELECT sum(pg_relation_size(oid)) < 10000000 FROM pg_class WHERE relname ~ '^_delta_.$'},
	'delta tables are emptied');
$old->query_safe('BEGIN; INSERT INTO item VALUES (803, 0, 1)');
right('beside an open writer', q{
	INSERT INTO item SELECT i, i % 3, i FROM generate_series(1000001, 1100000) i;
	DELETE FROM item WHERE id > 1000000});
$old->query_safe('COMMIT');
DdirNode::views_equal_queries($node, 'postgres', 'which commits');

# ----
# What is no change of rows, or not captured
# ----

right('TRUNCATE', q{TRUNCATE piece; INSERT INTO piece (item, n) SELECT id, 1 FROM item WHERE id < 50});
right('a column more', q{ALTER TABLE item ADD COLUMN y int DEFAULT 5; UPDATE item SET x = 3, y = 6 WHERE id = 30});
right('an unused column of another type', q{
	ALTER TABLE item ALTER y TYPE text;
	UPDATE item SET x = 4, y = 'six' WHERE id IN (30, 31)});
right('a column less', q{ALTER TABLE item DROP COLUMN y; UPDATE item SET x = 5 WHERE id IN (30, 31)});
right('rewritten', q{VACUUM FULL item; UPDATE item SET x = 6 WHERE id IN (30, 31)});
# A cut reads rows of before a column was added when the catalog is of after.
sql('ALTER TABLE item ADD COLUMN y int');
DdirNode::await($node, 'postgres');
$before = hydrations();
my $look = DdirNode::hold($node, 'postgres', 'turn-look');
sql('UPDATE item SET x = 7 WHERE id = 30');
DdirNode::reached($node, 'postgres', 'turn-look');
my $cut = DdirNode::hold($node, 'postgres', 'cut-snapshot');
sql('UPDATE item SET x = 8, y = 1 WHERE id = 30');
$look->quit;
DdirNode::reached($node, 'postgres', 'cut-snapshot');
sql('ALTER TABLE item ADD COLUMN z int; UPDATE item SET x = 9, z = 1 WHERE id = 30');
$cut->quit;
right('columns of before and after', 'BEGIN; UPDATE item SET x = 10 WHERE id = 30; ALTER TABLE item DROP COLUMN y, DROP COLUMN z; UPDATE item SET x = 11 WHERE id = 30; COMMIT');
is(hydrations(), $before, 'all that as changes');
right('triggers disabled', q{
	BEGIN;
	ALTER TABLE item DISABLE TRIGGER ALL;
	INSERT INTO item VALUES (901, 1, 1);
	ALTER TABLE item ENABLE TRIGGER ALL;
	COMMIT;
	INSERT INTO item VALUES (902, 1, 1);
	SET session_replication_role = replica;
	INSERT INTO item VALUES (903, 1, 1)});
is(sql($triggers), 10, 'all triggers are there again');
is(sql($triggers . q{ AND tgenabled = CASE WHEN tgname ~ 'truncate' THEN 'A' WHEN tgname ~ 'replica' THEN 'R' ELSE 'O' END::"char"}),
	10, 'and enabled as they were');
right('a trigger dropped', q{
	DO $$ BEGIN EXECUTE (SELECT format('DROP TRIGGER %I ON item', tgname) FROM pg_trigger
						  WHERE tgrelid = 'item'::regclass AND tgname ~ '^ddir_insert'); END $$;
	INSERT INTO item VALUES (904, 1, 1)});

# ----
# Delta tables: nobody writes to them, and who rewrites them harms nothing
# ----

foreach my $statement ('TRUNCATE ddir._delta_0', 'DELETE FROM ddir._delta_1', 'DROP MATERIALIZED VIEW ddir._delta_2 CASCADE',
	'ALTER MATERIALIZED VIEW ddir._delta_0 RENAME TO x', 'CREATE INDEX ON ddir._delta_0 (xid)')
{
	isnt($node->psql('postgres', $statement, stderr => \my $err), 0, "refused: $statement");
	like($err, qr/_delta_/, "... $err");
}
right('emptied by REFRESH', q{
	REFRESH MATERIALIZED VIEW ddir._delta_0; REFRESH MATERIALIZED VIEW ddir._delta_1; REFRESH MATERIALIZED VIEW ddir._delta_2});

# What was rolled back goes, and what comes behind moves to where all was read.
$before = hydrations();
sql('BEGIN; UPDATE item SET x = x + 1; UPDATE item SET x = x + 1; ROLLBACK; INSERT INTO item VALUES (911, 1, 1)');
DdirNode::await($node, 'postgres');
$old->query_safe('BEGIN; INSERT INTO item VALUES (912, 1, 1)');
sql('INSERT INTO item VALUES (913, 1, 1)');
DdirNode::await($node, 'postgres');
$look = DdirNode::hold($node, 'postgres', 'turn-look');
sql('INSERT INTO item VALUES (914, 1, 1)');
DdirNode::reached($node, 'postgres', 'turn-look');
$old->query_safe('COMMIT');
sql('VACUUM FULL ddir._delta_0; VACUUM FULL ddir._delta_1; VACUUM FULL ddir._delta_2');
$look->quit;
DdirNode::views_equal_queries($node, 'postgres', 'moved by VACUUM FULL');
is(hydrations(), $before, 'as changes');

# ----
# Tables in trees
# ----

sql(q{
	CREATE TABLE part (id int, g int, x int) PARTITION BY LIST (g);
	CREATE TABLE part_1 PARTITION OF part FOR VALUES IN (1);
	CREATE TABLE part_2 PARTITION OF part FOR VALUES IN (2);
	CREATE TABLE base (id int, x int);
	CREATE TABLE child () INHERITS (base);
	CREATE MATERIALIZED VIEW leaf USING ddir AS SELECT g, count(*) AS n, sum(x) AS x FROM part_1 GROUP BY g;
	CREATE MATERIALIZED VIEW heir USING ddir AS SELECT sum(x) AS x FROM child});
DdirNode::await($node, 'postgres');
is(sql(q{SELECT DISTINCT identity FROM ddir.sources WHERE source IN ('part_1'::regclass, 'child'::regclass)}),
	'row triggers', 'a partition and a child have row triggers');
right('by the root and by the leaf, and moved', q{
	INSERT INTO part VALUES (1, 1, 1), (2, 2, 2), (3, 1, 3);
	INSERT INTO part_1 VALUES (4, 1, 4);
	UPDATE part SET g = 3 - g WHERE id < 3;
	UPDATE part_1 SET x = x + 1;
	UPDATE part SET x = x * 2;
	DELETE FROM part WHERE id = 3;
	INSERT INTO child VALUES (1, 1), (2, 2);
	UPDATE base SET x = x + 1;
	DELETE FROM base WHERE id = 1;
	SET session_replication_role = replica;
	UPDATE part SET x = x + 1});
right('a table becomes a child', 'CREATE TABLE mother (n int); ALTER TABLE piece INHERIT mother');
right('and is written to as one', 'UPDATE mother SET n = n + 1');
right('and leaves', 'ALTER TABLE piece NO INHERIT mother; UPDATE piece SET n = n + 1; DROP TABLE mother');
sql('DROP MATERIALIZED VIEW leaf, heir');

# ----
# Dumps
# ----

my $dump = $node->backup_dir . '.sql';
$node->command_ok([ 'pg_dump', '-f', $dump, $node->connstr('postgres') ], 'dumped');
my $text = slurp_file($dump);
unlike($text, qr/_delta_|ddir_insert|_capture/, 'the dump has nothing of capture');
sql('CREATE DATABASE restored');
$node->command_ok([ 'psql', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $dump, $node->connstr('restored') ], 'restored');
DdirNode::views_equal_queries($node, 'restored', 'and maintained there');
$node->safe_psql('restored', 'INSERT INTO item VALUES (2000, 1, 1)');
DdirNode::views_equal_queries($node, 'restored', 'and maintained there, by triggers');
sql('DROP DATABASE restored');

# ----
# Leaving
# ----

$old->quit;
$new->quit;
$node->safe_psql('template1', 'CREATE DATABASE copy TEMPLATE postgres');
DdirNode::views_equal_queries($node, 'copy', 'a copy of the database is maintained');
$node->safe_psql('copy', 'INSERT INTO item VALUES (2000, 1, 1)');
DdirNode::views_equal_queries($node, 'copy', 'and captures for itself');
sql('SELECT ddir.disable()');
is(sql($triggers), 0, 'disabled: no triggers');
sql('INSERT INTO item VALUES (2001, 1, 1); SELECT ddir.enable()');
DdirNode::views_equal_queries($node, 'postgres', 'enabled again');
$old = $node->background_psql('postgres');
$old->query_safe('BEGIN; INSERT INTO item VALUES (2002, 0, 1)');
sql('DROP MATERIALIZED VIEW over, by_g, joined');
$old->query_safe('COMMIT');
DdirNode::until_true($node, 'postgres', qq{SELECT ($triggers) = 0}, 'the last view goes: no triggers');
$node->safe_psql('copy', 'DROP EXTENSION ddir CASCADE');
is($node->safe_psql('copy', q{SELECT count(*) FROM pg_trigger WHERE tgname ~ '^ddir'}), 0, 'the extension goes: no triggers');
$node->safe_psql('copy', 'INSERT INTO item VALUES (2001, 1, 1)');
sql('DROP DATABASE copy');
$old->quit;
$node->stop;

done_testing();
