-- Filters, projections and every way of writing to a table.

CREATE TABLE t (id int PRIMARY KEY, k int, s text, n numeric);
INSERT INTO t SELECT i, i % 3, 'row ' || i, i * 1.5 FROM generate_series(1, 6) i;
CREATE MATERIALIZED VIEW v_all USING ddir AS SELECT * FROM t;
CREATE MATERIALIZED VIEW v_filter USING ddir AS
	SELECT id, upper(s) AS s, n * 2 AS n FROM t WHERE k <> 1 AND n IS NOT NULL;
CREATE MATERIALIZED VIEW v_none USING ddir AS SELECT k FROM t WHERE false;
\i test/sql/check_all.sql
TABLE v_filter ORDER BY id;

-- single statements
INSERT INTO t VALUES (7, 0, 'seven', 7), (8, NULL, NULL, NULL);
UPDATE t SET s = 'changed' WHERE id IN (2, 7);
UPDATE t SET id = id + 100 WHERE k = 0;
DELETE FROM t WHERE id = 5;
\i test/sql/check_all.sql
TABLE v_filter ORDER BY id;

-- a row changed many times in one transaction nets out
BEGIN;
UPDATE t SET n = n + 1 WHERE id = 2;
UPDATE t SET n = n + 1 WHERE id = 2;
DELETE FROM t WHERE id = 2;
INSERT INTO t VALUES (2, 2, 'again', 20);
COMMIT;
\i test/sql/check_all.sql
TABLE v_filter ORDER BY id;

-- savepoints and rollbacks
BEGIN;
INSERT INTO t VALUES (20, 0, 'kept', 1);
SAVEPOINT a;
INSERT INTO t VALUES (21, 0, 'lost', 1);
UPDATE t SET s = 'lost' WHERE id = 20;
ROLLBACK TO a;
SAVEPOINT b;
INSERT INTO t VALUES (22, 0, 'kept', 1);
RELEASE b;
COMMIT;
BEGIN;
DELETE FROM t;
ROLLBACK;
\i test/sql/check_all.sql
SELECT id, s FROM v_filter WHERE id BETWEEN 20 AND 29 ORDER BY id;

-- COPY, MERGE, ON CONFLICT, INSERT ... SELECT, UPDATE ... FROM, CTEs that write
COPY t FROM stdin;
30	0	copied	30
31	1	copied	\N
\.
MERGE INTO t USING (VALUES (30, 'merged'), (32, 'merged')) AS m(id, s) ON t.id = m.id
	WHEN MATCHED THEN UPDATE SET s = m.s
	WHEN NOT MATCHED THEN INSERT VALUES (m.id, 2, m.s, 0);
INSERT INTO t VALUES (32, 2, 'conflict', 1), (33, 2, 'new', 1)
	ON CONFLICT (id) DO UPDATE SET s = excluded.s, n = t.n + 1;
INSERT INTO t VALUES (33, 2, 'ignored', 1) ON CONFLICT DO NOTHING;
INSERT INTO t SELECT id + 1000, k, s, n FROM t WHERE id < 5;
UPDATE t SET n = x.n FROM (VALUES (1001, 99.0)) AS x(id, n) WHERE t.id = x.id;
WITH gone AS (DELETE FROM t WHERE id = 1002 RETURNING *)
	INSERT INTO t SELECT id + 1, 0, 'moved', n FROM gone ON CONFLICT DO NOTHING;
\i test/sql/check_all.sql
SELECT id, s, n FROM v_filter WHERE id >= 30 ORDER BY id;

-- a table without a key, with equal rows
CREATE TABLE bag (v int, s text);
INSERT INTO bag VALUES (1, 'a'), (1, 'a'), (1, 'a'), (NULL, NULL), (NULL, NULL);
CREATE MATERIALIZED VIEW v_bag USING ddir AS SELECT v, s FROM bag WHERE v IS NULL OR v > 0;
\i test/sql/check_all.sql
DELETE FROM bag WHERE ctid IN (SELECT min(ctid) FROM bag GROUP BY v);
INSERT INTO bag VALUES (2, 'b'), (2, 'b');
UPDATE bag SET v = 1, s = 'a' WHERE ctid = (SELECT min(ctid) FROM bag WHERE v = 2);
\i test/sql/check_all.sql
SELECT v, s, count(*) FROM v_bag GROUP BY v, s ORDER BY v, s;

-- the user's own triggers and foreign keys write too
CREATE TABLE parent (id int PRIMARY KEY);
CREATE TABLE child (id int, parent int REFERENCES parent ON DELETE SET NULL ON UPDATE CASCADE, s text);
CREATE TABLE owned (parent int REFERENCES parent ON DELETE CASCADE ON UPDATE CASCADE);
CREATE FUNCTION finish() RETURNS trigger LANGUAGE plpgsql AS
$$BEGIN
	IF NEW.s = 'raw' THEN UPDATE child SET s = 'done' WHERE id = NEW.id; END IF;
	RETURN NULL;
END$$;
CREATE TRIGGER finish AFTER INSERT ON child FOR EACH ROW EXECUTE FUNCTION finish();
CREATE MATERIALIZED VIEW v_child USING ddir AS SELECT id, parent, s FROM child;
CREATE MATERIALIZED VIEW v_owned USING ddir AS SELECT parent FROM owned;
INSERT INTO parent VALUES (1), (2), (3);
INSERT INTO child VALUES (1, 1, 'raw'), (2, 2, 'x');
INSERT INTO owned VALUES (1), (2), (3), (3);
UPDATE parent SET id = 20 WHERE id = 2;
DELETE FROM parent WHERE id IN (1, 3);
\i test/sql/check_all.sql
TABLE v_child ORDER BY id;
TABLE v_owned ORDER BY parent;

-- TRUNCATE, alone, with other changes around it, and rolled back
TRUNCATE bag;
\i test/sql/check_all.sql
TABLE v_bag;
BEGIN;
INSERT INTO bag VALUES (5, 'before');
TRUNCATE bag;
INSERT INTO bag VALUES (6, 'after');
COMMIT;
\i test/sql/check_all.sql
TABLE v_bag;
BEGIN;
INSERT INTO bag VALUES (7, 'kept');
SAVEPOINT a;
TRUNCATE bag;
INSERT INTO bag VALUES (8, 'lost');
ROLLBACK TO a;
INSERT INTO bag VALUES (9, 'kept');
COMMIT;
\i test/sql/check_all.sql
TABLE v_bag ORDER BY v;

-- prepared transactions are seen when they are committed
BEGIN;
INSERT INTO bag VALUES (100, 'prepared');
PREPARE TRANSACTION 'one';
INSERT INTO bag VALUES (101, 'not');
SELECT ddir.wait();
SELECT * FROM v_bag WHERE v >= 100 ORDER BY v;
COMMIT PREPARED 'one';
\i test/sql/check_all.sql
SELECT * FROM v_bag WHERE v >= 100 ORDER BY v;

-- columns come and go
ALTER TABLE bag ADD COLUMN extra int DEFAULT 7;
INSERT INTO bag VALUES (200, 'x', 8);
ALTER TABLE bag DROP COLUMN extra;
INSERT INTO bag VALUES (201, 'y');
\i test/sql/check_all.sql
CREATE TABLE shape (a int, b int, c text);
INSERT INTO shape VALUES (1, 2, 'x');
ALTER TABLE shape DROP COLUMN b;
ALTER TABLE shape ADD COLUMN d int DEFAULT 5;
CREATE MATERIALIZED VIEW v_shape USING ddir AS SELECT a, c, d FROM shape;
\i test/sql/check_all.sql
INSERT INTO shape VALUES (2, 'y', 6);
UPDATE shape SET d = 9 WHERE a = 1;
\i test/sql/check_all.sql
TABLE v_shape ORDER BY a;

-- values that are kept out of line, changed and left alone
CREATE TABLE wide (id int PRIMARY KEY, n int, big text);
ALTER TABLE wide ALTER big SET STORAGE EXTERNAL;
INSERT INTO wide VALUES (1, 1, repeat('x', 9000)), (2, 1, repeat('y', 9000));
CREATE MATERIALIZED VIEW v_wide USING ddir AS SELECT id, n, length(big) AS len, big FROM wide;
\i test/sql/check_all.sql
UPDATE wide SET n = 2;
UPDATE wide SET id = 10 WHERE id = 1;
UPDATE wide SET big = repeat('z', 12000) WHERE id = 2;
\i test/sql/check_all.sql
SELECT id, n, len, left(big, 3) AS start FROM v_wide ORDER BY id;
DELETE FROM wide WHERE id = 2;
\i test/sql/check_all.sql

-- types that are altered under a view
CREATE TYPE mood AS ENUM ('low', 'high');
CREATE DOMAIN few AS int;
CREATE TYPE pair AS (a int, b text);
CREATE TABLE typed (id int, m mood, n int, p pair);
INSERT INTO typed VALUES (1, 'low', 5, (1, 'x')), (2, 'high', 50, (1, 'x'));
CREATE MATERIALIZED VIEW v_label USING ddir AS SELECT id, m::text AS label FROM typed;
CREATE MATERIALIZED VIEW v_domain USING ddir AS SELECT id, n::few AS n FROM typed;
CREATE MATERIALIZED VIEW v_pair USING ddir AS SELECT p, (p).b, count(*) AS n FROM typed GROUP BY p;
\i test/sql/check_all.sql
ALTER TYPE mood RENAME VALUE 'high' TO 'up';
ALTER TYPE pair ADD ATTRIBUTE c int;
ALTER TYPE pair DROP ATTRIBUTE a;
INSERT INTO typed VALUES (3, 'up', 6, ('x', NULL)), (4, 'low', 7, ('x', 1));
\i test/sql/check_all.sql
TABLE v_label ORDER BY id;
TABLE v_pair ORDER BY p;
ALTER DOMAIN few ADD CONSTRAINT few CHECK (value < 10) NOT VALID;
SELECT ddir.wait('v_domain');
DELETE FROM typed WHERE n = 50;
\i test/sql/check_all.sql

-- readers' snapshots keep their rows
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM v_owned;
COMMIT;

SET client_min_messages = warning;
DROP TABLE t, bag, parent, child, owned, shape, wide, typed CASCADE;
DROP TYPE mood, pair;
DROP DOMAIN few;
DROP FUNCTION finish();
