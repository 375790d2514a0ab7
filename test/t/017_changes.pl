# Every way to change a table: statements, keys, shapes, TOAST, truncation, and
# a transaction of a million rows.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

use DdirNode;

my $node = DdirNode::start('main', conf => "max_wal_size = '4GB'\nlog_statement = none\n");

# Do this, and the views are right.
sub right
{
	my ($what, $sql) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$node->safe_psql('postgres', $sql);
	return DdirNode::views_equal_queries($node, 'postgres', $what);
}

right('made', q{
	CREATE TABLE item (id int PRIMARY KEY, g int, x numeric, note text);
	CREATE TABLE part (item int REFERENCES item ON DELETE CASCADE ON UPDATE CASCADE, k int);
	CREATE TABLE keyless (a int, b text);
	INSERT INTO item SELECT i, i % 10, i, 'item ' || i FROM generate_series(1, 1000) AS i;
	INSERT INTO part SELECT 1 + i % 1000, i FROM generate_series(1, 3000) AS i;
	INSERT INTO keyless SELECT i % 5, 'same' FROM generate_series(1, 20) AS i;
	CREATE MATERIALIZED VIEW totals USING ddir AS
		SELECT g, count(*) AS n, sum(x) AS x, max(note) AS note FROM item GROUP BY g;
	CREATE MATERIALIZED VIEW parts USING ddir AS
		SELECT i.g, count(p.k) AS parts FROM item i LEFT JOIN part p ON p.item = i.id GROUP BY i.g;
	CREATE MATERIALIZED VIEW rows USING ddir AS SELECT a, b FROM keyless WHERE a > 0;
	CREATE MATERIALIZED VIEW notes USING ddir AS SELECT id, note FROM item WHERE g = 3;
	CREATE MATERIALIZED VIEW joined USING ddir AS
		SELECT t.g, t.x FROM totals t JOIN keyless k ON k.a = t.g});

# ----
# Statements
# ----

right('INSERT', q{INSERT INTO item SELECT i, i % 4, 1, NULL FROM generate_series(1001, 1100) AS i});
right('UPDATE', q{UPDATE item SET x = x * 2, g = g + 1 WHERE id % 3 = 0});
right('UPDATE of keys, which cascades', q{UPDATE item SET id = id + 10000 WHERE id <= 20});
right('DELETE, which cascades', q{DELETE FROM item WHERE id BETWEEN 30 AND 50});
right('COPY', qq{COPY item (id, g, x) FROM stdin;\n3001\t7\t1.50\n3002\t8\t\\N\n\\.\n});
right('ON CONFLICT', q{
	INSERT INTO item SELECT i, 5, 5, 'again' FROM generate_series(90, 110) AS i
		ON CONFLICT (id) DO UPDATE SET x = item.x + EXCLUDED.x, note = EXCLUDED.note;
	INSERT INTO item SELECT i, 5, 5 FROM generate_series(90, 5110, 1000) AS i ON CONFLICT DO NOTHING});
right('MERGE', q{
	MERGE INTO item USING (SELECT i AS id FROM generate_series(95, 3100, 5) AS i) AS s ON item.id = s.id
		WHEN MATCHED AND item.g > 8 THEN DELETE
		WHEN MATCHED THEN UPDATE SET x = 0
		WHEN NOT MATCHED THEN INSERT VALUES (s.id, 1, 2, 'merged')});
right('triggers of the user', q{
	CREATE FUNCTION more() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO keyless VALUES (NEW.g, 'by trigger');
		NEW.note := 'seen by a trigger';
		RETURN NEW;
	END $$;
	CREATE TRIGGER more BEFORE INSERT OR UPDATE ON item FOR EACH ROW EXECUTE FUNCTION more();
	UPDATE item SET x = 1 WHERE id < 70;
	INSERT INTO item VALUES (7001, 1, 1, NULL);
	DROP TRIGGER more ON item});
right('savepoints', q{
	BEGIN;
	INSERT INTO keyless VALUES (1, 'kept');
	SAVEPOINT s;
	DELETE FROM keyless;
	ROLLBACK TO s;
	UPDATE keyless SET b = 'other' WHERE ctid IN (SELECT ctid FROM keyless WHERE a = 2 LIMIT 1);
	COMMIT});
right('rollback', q{BEGIN; DELETE FROM item; DELETE FROM keyless; ROLLBACK});
right('nothing at all', q{UPDATE item SET x = x; UPDATE keyless SET a = a});
right('one of equal rows', q{DELETE FROM keyless WHERE ctid = (SELECT max(ctid) FROM keyless WHERE a = 3)});
right('an asynchronous commit', q{SET synchronous_commit = off; UPDATE item SET g = 2 WHERE id = 77});
right('several tables at once', q{
	BEGIN;
	DELETE FROM item WHERE g = 1;
	UPDATE keyless SET a = a + 1;
	INSERT INTO part SELECT id, 1 FROM item WHERE g = 2;
	COMMIT});

# ----
# Columns
# ----

right('a column is added', q{ALTER TABLE item ADD COLUMN added int; UPDATE item SET added = 5 WHERE id < 100});
right('and one with a default', q{ALTER TABLE item ADD COLUMN more text DEFAULT 'more'; INSERT INTO item VALUES (8001, 3, 1)});
right('an unused one is dropped', q{ALTER TABLE item DROP COLUMN added; UPDATE item SET x = 3 WHERE id < 80});
right('a used one is renamed', q{ALTER TABLE keyless RENAME COLUMN b TO c; INSERT INTO keyless VALUES (4, 'renamed')});
right('a table is rewritten', q{ALTER TABLE item ALTER COLUMN more TYPE varchar(100); VACUUM FULL item; CLUSTER item USING item_pkey; UPDATE item SET g = 4 WHERE id = 8001});
right('a view reads the new one', q{
	CREATE MATERIALIZED VIEW added USING ddir AS SELECT more, count(*) AS n FROM item GROUP BY more;
	UPDATE item SET more = 'less' WHERE g = 3});
like(($node->psql('postgres', 'ALTER TABLE item DROP COLUMN more'))[2],
	qr/ERROR:  cannot drop column more of table item because other objects depend on it/,
	'a used column is not dropped');
right('it goes with its view', q{ALTER TABLE item DROP COLUMN more CASCADE; UPDATE item SET x = 4 WHERE id < 70});
right('a key is dropped', q{ALTER TABLE item DROP CONSTRAINT item_pkey CASCADE; UPDATE item SET x = 5 WHERE id < 100; INSERT INTO item SELECT * FROM item WHERE g = 3});
right('a table is renamed and moved', q{
	CREATE SCHEMA elsewhere;
	ALTER TABLE part SET SCHEMA elsewhere;
	ALTER TABLE elsewhere.part RENAME TO piece;
	DELETE FROM elsewhere.piece WHERE k % 2 = 0});

# ----
# TOAST
# ----

right('long values', q{
	UPDATE item SET note = (SELECT string_agg(md5(i::text || item.id::text), '') FROM generate_series(1, 300) AS i) WHERE g = 3;
	ALTER TABLE keyless ALTER COLUMN c SET STORAGE EXTERNAL;
	INSERT INTO keyless SELECT i % 3, repeat('long', 5000) FROM generate_series(1, 6) AS i});
right('unchanged by an update', q{UPDATE item SET x = x + 1 WHERE g = 3; UPDATE keyless SET a = a + 1});
right('moved with their row', q{UPDATE item SET g = 4 WHERE g = 3 AND id % 2 = 0; UPDATE item SET g = 3 WHERE g = 5});
right('changed and deleted', q{
	UPDATE item SET note = note || 'x' WHERE g = 3;
	DELETE FROM item WHERE g = 4;
	DELETE FROM keyless WHERE ctid = (SELECT min(ctid) FROM keyless WHERE length(c) > 1000)});

# ----
# TRUNCATE
# ----

right('TRUNCATE', q{TRUNCATE keyless});
right('and filled again', q{INSERT INTO keyless SELECT i % 4, 'new' FROM generate_series(1, 10) AS i});
right('in a transaction', q{BEGIN; INSERT INTO keyless VALUES (1, 'lost'); TRUNCATE keyless; INSERT INTO keyless VALUES (2, 'kept'); COMMIT});
right('rolled back', q{BEGIN; TRUNCATE item, keyless; INSERT INTO keyless VALUES (9, 'lost'); ROLLBACK; INSERT INTO keyless VALUES (3, 'kept')});
right('several, with a new sequence', q{TRUNCATE item, elsewhere.piece RESTART IDENTITY CASCADE; INSERT INTO item VALUES (1, 3, 3, 'first')});
is( $node->safe_psql('postgres',
		q{SELECT reason FROM ddir.hydration WHERE view = 'totals'::regclass}),
	'a table it reads was truncated', 'which is why they were filled');

# ----
# A million rows
# ----

right('a million rows in one transaction', q{
	DROP MATERIALIZED VIEW parts;
	ALTER TABLE item ALTER COLUMN note SET DEFAULT 'one of many';
	INSERT INTO item SELECT i, i % 100, i % 1000 FROM generate_series(1, 1000000) AS i});
right('few changes among them', q{UPDATE item SET x = 0 WHERE id % 10000 = 0; DELETE FROM item WHERE id BETWEEN 500 AND 600});
right('many at once', q{
	BEGIN;
	UPDATE item SET g = g + 1 WHERE id % 10 = 0;
	DELETE FROM item WHERE id > 800000;
	COMMIT});

$node->stop;
done_testing();
