-- Tables with values out of line and a key: their replica identity stays as it
-- is, and old rows are known by their key.  Other tables log them whole.

CREATE SCHEMA keymode;
SET search_path = keymode;
SET client_min_messages = warning;

CREATE FUNCTION identity_of(regclass) RETURNS "char" LANGUAGE sql AS 'SELECT relreplident FROM pg_class WHERE oid = $1';
-- text that does not compress well, of 32 * n bytes
CREATE FUNCTION long(i int, n int DEFAULT 200) RETURNS text LANGUAGE sql AS
	$$ SELECT string_agg(md5(i::text || ',' || j::text), '') FROM generate_series(1, n) AS j $$;
CREATE VIEW known AS SELECT source, identity FROM ddir.sources WHERE source::text !~ '^s_' ORDER BY source::text COLLATE "C";

-- who is known by key, and who is not
CREATE TABLE doc (id int PRIMARY KEY, kind int, body text);
INSERT INTO doc SELECT i, i % 3, long(i) FROM generate_series(1, 30) AS i;
CREATE TABLE s_small (id int PRIMARY KEY, kind int, body text);
INSERT INTO s_small SELECT i, i % 3, 'small' FROM generate_series(1, 30) AS i;
CREATE TABLE s_nokey (id int, kind int, body text);
INSERT INTO s_nokey SELECT * FROM doc;
CREATE TABLE s_late (id int PRIMARY KEY DEFERRABLE, kind int, body text);
INSERT INTO s_late SELECT * FROM doc;
CREATE TABLE s_full (id int PRIMARY KEY, kind int, body text);
INSERT INTO s_full SELECT * FROM doc;
ALTER TABLE s_full REPLICA IDENTITY FULL;
CREATE TABLE s_index (id int NOT NULL, kind int, body text);
INSERT INTO s_index SELECT * FROM doc;
CREATE UNIQUE INDEX s_index_id ON s_index (id) INCLUDE (kind);
ALTER TABLE s_index REPLICA IDENTITY USING INDEX s_index_id;
CREATE TABLE s_tree (id int PRIMARY KEY, kind int, body text) PARTITION BY RANGE (id);
CREATE TABLE s_leaf PARTITION OF s_tree DEFAULT;
INSERT INTO s_tree SELECT * FROM doc;
CREATE MATERIALIZED VIEW v USING ddir AS SELECT id, kind, body FROM doc;
CREATE MATERIALIZED VIEW n USING ddir AS SELECT kind, count(*) AS n FROM doc GROUP BY kind;
CREATE MATERIALIZED VIEW v_small USING ddir AS SELECT * FROM s_small;
CREATE MATERIALIZED VIEW v_nokey USING ddir AS SELECT * FROM s_nokey;
CREATE MATERIALIZED VIEW v_late USING ddir AS SELECT * FROM s_late;
CREATE MATERIALIZED VIEW v_full USING ddir AS SELECT * FROM s_full;
CREATE MATERIALIZED VIEW v_index USING ddir AS SELECT * FROM s_index;
CREATE MATERIALIZED VIEW v_tree USING ddir AS SELECT * FROM s_tree;
CREATE MATERIALIZED VIEW v_leaf USING ddir AS SELECT * FROM s_leaf;
SELECT ddir.wait();
SELECT source, identity, identity_of(source) FROM ddir.sources ORDER BY source::text COLLATE "C";
UPDATE s_small SET kind = kind + 1 WHERE id < 10;
UPDATE s_nokey SET kind = kind + 1 WHERE id < 10;
UPDATE s_late SET kind = kind + 1 WHERE id < 10;
UPDATE s_full SET kind = kind + 1 WHERE id < 10;
UPDATE s_index SET kind = kind + 1 WHERE id < 10;
UPDATE s_index SET id = -id WHERE id < 5;
DELETE FROM s_index WHERE id = -2;
UPDATE s_tree SET kind = kind + 1 WHERE id < 10;
\i test/sql/check_all.sql
DROP TABLE s_small, s_nokey, s_late, s_full, s_index, s_tree CASCADE;

-- values left alone, changed, made inline, moved out of line, made and unmade NULL
UPDATE doc SET kind = kind + 1 WHERE id <= 10;
UPDATE doc SET body = long(-id) WHERE id BETWEEN 5 AND 12;
UPDATE doc SET body = 'inline' WHERE id IN (1, 2);
UPDATE doc SET body = NULL WHERE id IN (3, 4);
\i test/sql/check_all.sql
UPDATE doc SET body = long(id, 300), kind = 7 WHERE id <= 3;
UPDATE doc SET body = body WHERE id = 20;
UPDATE doc SET body = body || 'more' WHERE id = 21;
UPDATE doc SET body = repeat('compressed ', 5000) WHERE id = 22;
UPDATE doc SET kind = 9 WHERE id = 22;
\i test/sql/check_all.sql
SELECT kind, count(*), count(body), sum(length(body)) FROM v GROUP BY kind ORDER BY kind;

-- several changes of a row in one transaction, some of them rolled back
BEGIN;
UPDATE doc SET kind = 20 WHERE id = 1;
UPDATE doc SET body = long(100) WHERE id = 1;
UPDATE doc SET kind = 21 WHERE id = 1;
SAVEPOINT a;
UPDATE doc SET body = 'gone', id = 1000 WHERE id = 1;
ROLLBACK TO a;
UPDATE doc SET id = 1001 WHERE id = 1;
SAVEPOINT b;
UPDATE doc SET kind = 22 WHERE id = 1001;
RELEASE b;
DELETE FROM doc WHERE id = 2;
INSERT INTO doc VALUES (2, 30, long(102));
UPDATE doc SET kind = 31 WHERE id = 2;
INSERT INTO doc VALUES (1, 40, long(101));
DELETE FROM doc WHERE id = 1;
INSERT INTO doc VALUES (1, 41, 'short');
INSERT INTO doc VALUES (50, 1, long(50));
UPDATE doc SET kind = 2 WHERE id = 50;
DELETE FROM doc WHERE id = 50;
INSERT INTO doc VALUES (3, 50, 'x') ON CONFLICT (id) DO UPDATE SET kind = excluded.kind;
COMMIT;
\i test/sql/check_all.sql
SELECT id, kind, md5(body) = md5(CASE id WHEN 1001 THEN long(100) WHEN 2 THEN long(102) WHEN 3 THEN long(3, 300) ELSE 'short' END) AS body
  FROM v WHERE id IN (1, 2, 3, 50, 1000, 1001) ORDER BY id;

-- keys that move along, each onto one that has just become free
BEGIN;
UPDATE doc SET id = -id;
UPDATE doc SET id = 1 - id, kind = kind + 1 WHERE id < 0;
COMMIT;
BEGIN;
UPDATE doc SET id = 0 WHERE id = 2;
UPDATE doc SET id = 2 WHERE id = 3;
UPDATE doc SET id = 3 WHERE id = 0;
COMMIT;
MERGE INTO doc USING (VALUES (2, 1), (3, 2), (4, 3), (2000, 4)) AS new (id, what) ON doc.id = new.id
  WHEN MATCHED AND what = 1 THEN DELETE
  WHEN MATCHED AND what = 2 THEN UPDATE SET id = 2
  WHEN MATCHED THEN UPDATE SET kind = 77
  WHEN NOT MATCHED THEN INSERT VALUES (new.id, 5, long(5));
DELETE FROM doc WHERE id % 5 = 0;
\i test/sql/check_all.sql
SELECT reason, hydrations FROM ddir.hydration WHERE view = 'v'::regclass;

-- a view that uses more columns: the rows are held once, for all of them; and
-- a join by the key uses what is held
CREATE TABLE wide (id int PRIMARY KEY, a int, b text, c text, d jsonb);
INSERT INTO wide SELECT i, i % 4, long(i), long(-i, 100), jsonb_build_object('x', i, 'y', long(i)) FROM generate_series(1, 20) AS i;
CREATE MATERIALIZED VIEW w1 USING ddir AS SELECT a, count(*) AS n FROM wide GROUP BY a;
SELECT ddir.wait('w1');
SELECT key, columns, cardinality(views) AS views, rows FROM ddir.arrangements WHERE source = 'wide'::regclass;
CREATE MATERIALIZED VIEW w2 USING ddir AS SELECT a, max(c) AS c FROM wide GROUP BY a;
CREATE MATERIALIZED VIEW w3 USING ddir AS SELECT w.id, w.c, doc.kind FROM wide AS w JOIN doc ON doc.id = w.id;
SELECT ddir.wait();
SELECT key, columns, cardinality(views) AS views, rows FROM ddir.arrangements ORDER BY key;
SELECT view, substring(line FROM '^.*?\d+ rows') AS held
  FROM unnest('{w1,w2,w3}'::regclass[]) AS view, string_to_table(ddir.explain(view), E'\n') AS line
 WHERE line LIKE 'arrangement%' ORDER BY view, line COLLATE "C";
UPDATE wide SET a = a + 1, c = long(id, 101) WHERE id < 10;
UPDATE wide SET b = NULL WHERE id < 5;
UPDATE doc SET kind = 4 WHERE id = 10;
DELETE FROM wide WHERE id = 7;
\i test/sql/check_all.sql
DROP MATERIALIZED VIEW w2;
UPDATE wide SET a = 0 WHERE id < 15;
\i test/sql/check_all.sql
DROP MATERIALIZED VIEW w3;
UPDATE wide SET a = 1, d = '{}' WHERE id < 10;
\i test/sql/check_all.sql
SELECT hydrations FROM ddir.hydration WHERE view = 'w1'::regclass;
DROP TABLE wide CASCADE;

-- keys of every kind: their form changes, they are out of line, and indexed
CREATE TABLE num (id numeric PRIMARY KEY, body text);
INSERT INTO num SELECT i, long(i) FROM generate_series(1, 10) AS i;
CREATE TABLE two (a text COLLATE "C", gone int, b int, body text, PRIMARY KEY (b, a));
INSERT INTO two SELECT 'k' || i, 1, i % 3, long(i) FROM generate_series(1, 10) AS i;
ALTER TABLE two DROP COLUMN gone;
CREATE TABLE arr (id int[] PRIMARY KEY, body text);
INSERT INTO arr SELECT ARRAY[i, i + 1], long(i) FROM generate_series(1, 10) AS i;
CREATE TABLE toasted (id text PRIMARY KEY, n int, body text);
ALTER TABLE toasted ALTER id SET STORAGE EXTERNAL, ALTER body SET STORAGE MAIN;
INSERT INTO toasted SELECT long(i, 70), i, repeat(i::text, 1500) FROM generate_series(1, 10) AS i;
CREATE INDEX ON toasted (left(body, 20));
CREATE TABLE gen (id int PRIMARY KEY, a int, body text, twice int GENERATED ALWAYS AS (a * 2) STORED, tail text GENERATED ALWAYS AS (body || body) STORED, big numeric);
INSERT INTO gen (id, a, body, big) SELECT i, i, long(i), repeat((i + 12)::text, 3000)::numeric FROM generate_series(1, 10) AS i;
CREATE MATERIALIZED VIEW v_num USING ddir AS SELECT * FROM num;
CREATE MATERIALIZED VIEW v_two USING ddir AS SELECT * FROM two;
CREATE MATERIALIZED VIEW v_arr USING ddir AS SELECT * FROM arr;
CREATE MATERIALIZED VIEW v_toasted USING ddir AS SELECT * FROM toasted;
CREATE MATERIALIZED VIEW n_toasted USING ddir AS SELECT n, count(*) AS rows FROM toasted GROUP BY n;
CREATE MATERIALIZED VIEW v_gen USING ddir AS SELECT * FROM gen;
SELECT ddir.wait();
TABLE known;
UPDATE num SET id = 1.00 WHERE id = 1;
UPDATE num SET id = 2.50, body = 'x' WHERE id = 2;
UPDATE num SET body = long(id::int, 201) WHERE id = 3;
UPDATE num SET id = 1.0 WHERE id = 1;
DELETE FROM num WHERE id = 2.5;
UPDATE two SET a = a || 'x' WHERE b = 1;
UPDATE two SET b = b + 10;
UPDATE two SET body = 'x' WHERE b = 12;
UPDATE arr SET id[1] = 100 + id[1] WHERE id[1] % 2 = 0;
UPDATE arr SET id = id || 7;
DELETE FROM arr WHERE id[1] = 3;
UPDATE toasted SET n = n + 1 WHERE n < 5;
UPDATE toasted SET id = 'short' || n WHERE n = 9;
UPDATE toasted SET body = body || 'y' WHERE n = 7;
UPDATE toasted SET id = long(n, 71) WHERE n = 8;
DELETE FROM toasted WHERE n IN (6, 10);
UPDATE gen SET a = a + 1 WHERE id < 5;
UPDATE gen SET body = long(-id) WHERE id = 6;
UPDATE gen SET big = big + 1 WHERE id IN (7, 8);
\i test/sql/check_all.sql
DROP TABLE num, two, arr, toasted, gen CASCADE;

-- columns come and go
ALTER TABLE doc ADD COLUMN note text DEFAULT 'none', ADD COLUMN extra jsonb;
UPDATE doc SET kind = kind + 1 WHERE id < 15;
UPDATE doc SET extra = jsonb_build_array(long(id), id) WHERE id < 12;
\i test/sql/check_all.sql
CREATE MATERIALIZED VIEW e USING ddir AS SELECT note, extra, body FROM doc;
UPDATE doc SET note = long(id) WHERE id < 9;
UPDATE doc SET kind = 0 WHERE id < 20;
\i test/sql/check_all.sql
DROP MATERIALIZED VIEW e;
ALTER TABLE doc DROP COLUMN extra;
UPDATE doc SET kind = kind + 1, note = 'again';
\i test/sql/check_all.sql
TRUNCATE doc;
INSERT INTO doc SELECT i, i % 3, long(i) FROM generate_series(1, 20) AS i;
UPDATE doc SET kind = 5 WHERE id < 4;
\i test/sql/check_all.sql
SELECT reason FROM ddir.hydration WHERE view = 'v'::regclass;
BEGIN;
UPDATE doc SET kind = 6 WHERE id < 4;
TRUNCATE doc;
INSERT INTO doc SELECT i, i % 3, long(i) FROM generate_series(1, 20) AS i;
UPDATE doc SET kind = 7 WHERE id < 4;
COMMIT;
\i test/sql/check_all.sql
ALTER TABLE doc ALTER note DROP DEFAULT, ALTER note TYPE bytea USING note::bytea;
UPDATE doc SET kind = 6 WHERE id < 5;
\i test/sql/check_all.sql
TABLE known;

-- the identity is changed by others: known from the catalog, or by a change
-- without the old key
ALTER TABLE doc REPLICA IDENTITY NOTHING;
SELECT ddir.wait('v');
SELECT reason FROM ddir.hydration WHERE view = 'v'::regclass;
SELECT identity, identity_of('doc') FROM known;
UPDATE doc SET kind = 7 WHERE id < 5;
\i test/sql/check_all.sql
ALTER TABLE doc REPLICA IDENTITY DEFAULT;
UPDATE doc SET kind = 8 WHERE id < 6;
\i test/sql/check_all.sql
SELECT identity, identity_of('doc') FROM known;
BEGIN;
ALTER TABLE doc REPLICA IDENTITY NOTHING;
UPDATE doc SET kind = 9 WHERE id < 5;
ALTER TABLE doc REPLICA IDENTITY DEFAULT;
COMMIT;
SELECT ddir.wait('v');
SELECT reason FROM ddir.hydration WHERE view = 'v'::regclass;
\i test/sql/check_all.sql
BEGIN;
ALTER TABLE doc REPLICA IDENTITY FULL;
UPDATE doc SET kind = 10 WHERE id < 5;
UPDATE doc SET id = id + 100 WHERE id < 5;
DELETE FROM doc WHERE id = 6;
ALTER TABLE doc REPLICA IDENTITY DEFAULT;
COMMIT;
\i test/sql/check_all.sql
CREATE UNIQUE INDEX doc_both ON doc (id, kind);
ALTER TABLE doc ALTER kind SET NOT NULL;
ALTER TABLE doc REPLICA IDENTITY USING INDEX doc_both;
SELECT ddir.wait('v');
SELECT reason FROM ddir.hydration WHERE view = 'v'::regclass;
SELECT identity, identity_of('doc') FROM known;
SELECT key FROM ddir.arrangements;
UPDATE doc SET kind = kind + 1;
UPDATE doc SET id = 900, body = 'one' WHERE id = 9;
\i test/sql/check_all.sql
ALTER TABLE doc REPLICA IDENTITY FULL;
UPDATE doc SET kind = kind + 1 WHERE id > 7;
\i test/sql/check_all.sql
SELECT identity, identity_of('doc') FROM known;
ALTER TABLE doc REPLICA IDENTITY DEFAULT;
UPDATE doc SET kind = kind + 1 WHERE id > 7;
\i test/sql/check_all.sql
SELECT identity, identity_of('doc') FROM known;

-- the key itself goes, and another one comes
ALTER TABLE doc DROP CONSTRAINT doc_pkey;
UPDATE doc SET body = long(id::int, 150) WHERE id > 10;
\i test/sql/check_all.sql
SELECT identity, identity_of('doc') FROM known;
UPDATE doc SET kind = -id;
BEGIN;
ALTER TABLE doc ADD PRIMARY KEY (kind);
ALTER TABLE doc REPLICA IDENTITY DEFAULT;
INSERT INTO doc (id, kind, body) SELECT id, 1000 + id, body FROM doc WHERE id < 12;
UPDATE doc SET id = 12 WHERE kind > 1005;
COMMIT;
\i test/sql/check_all.sql
UPDATE doc SET body = body || 'z' WHERE id = 12;
\i test/sql/check_all.sql
BEGIN;
ALTER TABLE doc DROP CONSTRAINT doc_pkey;
INSERT INTO doc (id, kind, body) SELECT -id, kind, body FROM doc WHERE id = 12;
ALTER TABLE doc ADD PRIMARY KEY (kind, id);
UPDATE doc SET body = 'z' WHERE id = -12;
COMMIT;
\i test/sql/check_all.sql
BEGIN;
ALTER TABLE doc DROP CONSTRAINT doc_pkey;
DROP INDEX doc_both;
INSERT INTO doc (id, kind, body) SELECT id, kind, body FROM doc WHERE id = 12;
COMMIT;
\i test/sql/check_all.sql

-- it becomes a partition, and is none any more
CREATE TABLE part (id int PRIMARY KEY, kind int, body text);
INSERT INTO part SELECT i, i % 3, long(i) FROM generate_series(1, 20) AS i;
CREATE TABLE root (id int PRIMARY KEY, kind int, body text) PARTITION BY RANGE (id);
CREATE MATERIALIZED VIEW v_part USING ddir AS SELECT * FROM part;
CREATE MATERIALIZED VIEW v_root USING ddir AS SELECT * FROM root;
SELECT ddir.wait();
SELECT source, identity FROM known WHERE source = 'part'::regclass;
ALTER TABLE root ATTACH PARTITION part FOR VALUES FROM (0) TO (1000);
UPDATE root SET kind = kind + 1 WHERE id < 10;
UPDATE part SET body = 'x' WHERE id = 3;
\i test/sql/check_all.sql
SELECT source, identity, identity_of(source) FROM known WHERE source = 'part'::regclass;
ALTER TABLE root DETACH PARTITION part;
UPDATE part SET kind = kind + 1 WHERE id < 10;
\i test/sql/check_all.sql

-- a publication that does not let old rows be logged whole: a table with a key
-- need not
CREATE TABLE pub (id int PRIMARY KEY, b int, c text);
INSERT INTO pub SELECT i, i % 3, 'x' FROM generate_series(1, 6) AS i;
CREATE PUBLICATION keymode_listed FOR TABLE pub (id, b);
CREATE MATERIALIZED VIEW v_pub USING ddir AS SELECT b, count(*) AS n, max(c) AS c FROM pub GROUP BY b;
UPDATE pub SET b = 1 WHERE id = 3;
DELETE FROM pub WHERE id = 6;
\i test/sql/check_all.sql
SELECT source, identity, identity_of(source) FROM known WHERE source = 'pub'::regclass;
DROP PUBLICATION keymode_listed;
CREATE TABLE pub2 (id int PRIMARY KEY, b int, c text);
INSERT INTO pub2 SELECT * FROM pub;
CREATE MATERIALIZED VIEW v_pub2 USING ddir AS SELECT b, count(*) AS n, max(c) AS c FROM pub2 GROUP BY b;
SELECT ddir.wait('v_pub2');
SELECT source, identity, identity_of(source) FROM known WHERE source = 'pub2'::regclass;
SET client_min_messages = notice;
CREATE PUBLICATION keymode_listed FOR TABLE pub2 (id, b);
SET client_min_messages = warning;
UPDATE pub2 SET b = 1 WHERE id = 3;
DELETE FROM pub2 WHERE id = 5;
\i test/sql/check_all.sql
SELECT source, identity, identity_of(source) FROM known WHERE source = 'pub2'::regclass;
DROP PUBLICATION keymode_listed;

-- all is left as it was
SELECT ddir.disable();
SELECT relname, relreplident FROM pg_class WHERE relnamespace = 'keymode'::regnamespace AND relkind IN ('r', 'p') ORDER BY relname COLLATE "C";
SELECT ddir.enable();
\i test/sql/check_all.sql

DROP SCHEMA keymode CASCADE;
