-- Partitioned tables and inheritance as what views read: a tree of tables is
-- written to at the root, in the middle and at the leaves, and gets others.

CREATE SCHEMA tree;
SET search_path = tree;

-- A reason depends on the moment where triggers capture.
SELECT set_config('look.reasons', 'off', false) WHERE current_setting('wal_level') <> 'logical' \g /dev/null
\i test/sql/look.sql

-- The same, where it has one of several reasons, by the moment.
CREATE PROCEDURE settle() LANGUAGE plpgsql AS
$$BEGIN
	PERFORM ddir.wait(timeout => '2 min');
	UPDATE seen SET hydrations = h.hydrations FROM ddir.hydration AS h WHERE h.view = seen.view;
	CALL look();
END$$;

-- Lists, of which one is partitioned by ranges, one by hash; their columns are
-- in another order, and some have had more.
CREATE TABLE sale (id int, region text, day date, amount numeric, note text) PARTITION BY LIST (region);
CREATE TABLE north (note text, gone int, amount numeric, day date, id int, region text);
ALTER TABLE north DROP COLUMN gone;
CREATE TABLE south (id int, x int, region text, day date, amount numeric, note text) PARTITION BY RANGE (day);
ALTER TABLE south DROP COLUMN x;
CREATE TABLE south_1 PARTITION OF south FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
CREATE TABLE south_2 (y int, note text, day date, region text, id int, amount numeric);
ALTER TABLE south_2 DROP COLUMN y;
ALTER TABLE south ATTACH PARTITION south_2 FOR VALUES FROM ('2025-01-01') TO ('2026-01-01');
CREATE TABLE west PARTITION OF sale FOR VALUES IN ('west', 'far west') PARTITION BY HASH (id);
CREATE TABLE west_0 PARTITION OF west FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE west_1 PARTITION OF west FOR VALUES WITH (MODULUS 2, REMAINDER 1);
ALTER TABLE sale ATTACH PARTITION north FOR VALUES IN ('north');
ALTER TABLE sale ATTACH PARTITION south FOR VALUES IN ('south');
INSERT INTO sale SELECT i, (ARRAY['north', 'south', 'west', 'far west'])[1 + i % 4],
	date '2024-11-01' + i * 5, i * 1.5, 'n' || i FROM generate_series(1, 40) AS i;
CREATE TABLE region (region text, name text);
INSERT INTO region VALUES ('north', 'North'), ('south', 'South'), ('west', 'West');

CREATE MATERIALIZED VIEW by_region USING ddir AS
	SELECT region, count(*) AS n, sum(amount) AS amount, max(day) AS last FROM sale GROUP BY region;
CREATE MATERIALIZED VIEW notes USING ddir AS SELECT id, upper(note) AS note FROM sale WHERE amount > 10;
CREATE MATERIALIZED VIEW named USING ddir AS
	SELECT r.name, s.id, s.note FROM sale AS s JOIN region AS r USING (region);
CREATE MATERIALIZED VIEW twice USING ddir AS
	SELECT a.id, b.id AS other FROM sale AS a JOIN sale AS b ON b.id = a.id + 1 AND a.day < b.day;
CREATE MATERIALIZED VIEW middle USING ddir AS SELECT day, count(*) AS n FROM south GROUP BY day;
CREATE MATERIALIZED VIEW leaf USING ddir AS SELECT note, id, amount FROM south_2;
CREATE MATERIALIZED VIEW sides USING ddir AS
	SELECT s.id, l.note FROM sale AS s LEFT JOIN south_2 AS l ON l.id = s.id;
CREATE MATERIALIZED VIEW nothing USING ddir AS SELECT id FROM ONLY sale;
CALL look();
SELECT * FROM by_region ORDER BY region;
SELECT source, views FROM ddir.sources ORDER BY source::text;
SELECT plan FROM ddir.explain_query('SELECT id, note FROM tree.sale WHERE amount > 1');

-- at the root, in the middle, at the leaves
INSERT INTO sale VALUES (101, 'north', '2025-01-01', 1, 'root'), (102, 'south', '2025-02-01', 2, 'root'), (103, 'west', '2025-03-01', 3, 'root');
INSERT INTO south VALUES (104, 'south', '2024-04-04', 4, 'middle');
INSERT INTO north (id, region, day, amount, note) VALUES (105, 'north', '2024-04-04', 55, 'leaf');
INSERT INTO west_0 SELECT id, 'west', '2024-04-04', 66, 'leaf' FROM generate_series(200, 210) AS id WHERE satisfies_hash_partition('west'::regclass, 2, 0, id);
COPY sale FROM stdin;
107	south	2025-06-06	77	copied
108	far west	2025-06-06	88	copied
\.
CALL look();
UPDATE sale SET amount = amount + 1, note = note || '!' WHERE id % 3 = 0;
UPDATE south SET amount = amount * 2;
UPDATE south_2 SET note = 'second', amount = 9 WHERE id % 2 = 0;
UPDATE north SET note = NULL WHERE id % 5 = 0;
CALL look();

-- rows move, between lists, ranges and levels
UPDATE sale SET region = 'south' WHERE id % 7 = 0;
UPDATE sale SET region = 'north' WHERE region = 'west' AND id % 2 = 0;
UPDATE south SET day = day + 365 WHERE day < '2024-12-31' AND id % 2 = 1;
UPDATE west SET id = id + 1 WHERE id % 3 = 0;
BEGIN;
UPDATE sale SET region = 'west' WHERE region = 'north';
UPDATE sale SET region = 'north' WHERE region = 'west' AND id % 2 = 1;
COMMIT;
CALL look();
DELETE FROM sale WHERE id % 11 = 0;
DELETE FROM south_1 WHERE id % 3 = 1;
MERGE INTO sale AS s USING (VALUES (3), (4), (999)) AS n (id) ON s.id = n.id
	WHEN MATCHED AND s.id = 3 THEN DELETE
	WHEN MATCHED THEN UPDATE SET region = 'south', day = '2025-12-12'
	WHEN NOT MATCHED THEN INSERT VALUES (n.id, 'north', '2025-12-12', 1, 'merged');
CALL look();
BEGIN;
SAVEPOINT a;
UPDATE sale SET region = 'south', day = '2024-05-05';
ROLLBACK TO a;
UPDATE sale SET region = 'far west' WHERE id = 7;
COMMIT;
CALL look();
SELECT * FROM by_region ORDER BY region;

-- a leaf is emptied, and the middle, and all
TRUNCATE west_1; CALL look();
INSERT INTO sale SELECT i, 'west', '2025-01-01', i, 'again' FROM generate_series(300, 310) AS i; CALL look();
TRUNCATE south; CALL look();
INSERT INTO sale VALUES (320, 'south', '2024-02-02', 1, 'again'), (321, 'south', '2025-02-02', 1, 'again'); CALL look();
BEGIN; TRUNCATE sale; INSERT INTO sale SELECT i, (ARRAY['north', 'south', 'west'])[1 + i % 3], '2025-01-01', i, 'all' FROM generate_series(1, 12) AS i; COMMIT;
CALL look();

-- a partition is made, and written to in the same transaction
BEGIN;
CREATE TABLE east PARTITION OF sale FOR VALUES IN ('east');
INSERT INTO sale VALUES (401, 'east', '2025-01-01', 41, 'east'), (402, 'east', '2025-01-01', 42, 'east');
UPDATE sale SET amount = 43, note = 'changed' WHERE id = 402;
UPDATE sale SET region = 'east' WHERE id = 1;
UPDATE sale SET region = 'north' WHERE id = 401;
DELETE FROM east WHERE id = 402;
COMMIT;
CALL look();
UPDATE east SET amount = 0; INSERT INTO sale VALUES (403, 'east', '2025-01-01', 1, 'east'); CALL look();
BEGIN; CREATE TABLE never PARTITION OF sale FOR VALUES IN ('never'); INSERT INTO sale VALUES (1, 'never'); ROLLBACK; CALL look();
-- two levels at once
BEGIN;
CREATE TABLE more PARTITION OF sale FOR VALUES IN ('more') PARTITION BY LIST (id);
CREATE TABLE more_1 PARTITION OF more FOR VALUES IN (501);
CREATE TABLE more_2 (LIKE more);
INSERT INTO more_2 VALUES (502, 'more', '2025-01-01', 1, 'before');
ALTER TABLE more ATTACH PARTITION more_2 FOR VALUES IN (502);
INSERT INTO sale VALUES (501, 'more', '2025-01-01', 1, 'in it'), (502, 'more', '2025-01-01', 1, 'after');
UPDATE sale SET id = 1003 - id WHERE region = 'more';
COMMIT;
CALL look();
-- a default partition takes what has no other
CREATE TABLE rest PARTITION OF sale DEFAULT; CALL look();
INSERT INTO sale VALUES (601, 'nowhere', '2025-01-01', 1, 'rest'), (602, 'else', '2025-01-01', 1, 'rest'); CALL look();
UPDATE sale SET region = 'anywhere' WHERE id = 2; CALL look();

-- attached with rows, detached, and attached again
CREATE TABLE loaded (amount numeric, id int, region text NOT NULL, note text, day date);
INSERT INTO loaded VALUES (1, 701, 'loaded', 'with rows', '2025-01-01'), (2, 702, 'loaded', 'with rows', '2025-01-01');
ALTER TABLE sale ATTACH PARTITION loaded FOR VALUES IN ('loaded'); CALL look();
UPDATE sale SET amount = amount + 1 WHERE region = 'loaded'; UPDATE loaded SET note = 'leaf'; CALL look();
ALTER TABLE sale DETACH PARTITION loaded; CALL look();
UPDATE loaded SET amount = 100; CALL look();
BEGIN;
ALTER TABLE sale ATTACH PARTITION loaded FOR VALUES IN ('loaded');
UPDATE sale SET amount = amount + 1 WHERE region = 'loaded';
ALTER TABLE sale DETACH PARTITION loaded;
UPDATE loaded SET amount = amount + 1;
ALTER TABLE sale ATTACH PARTITION loaded FOR VALUES IN ('loaded');
INSERT INTO sale VALUES (703, 'loaded', '2025-01-01', 1, 'third');
COMMIT;
CALL look();
BEGIN;
ALTER TABLE sale DETACH PARTITION loaded;
DELETE FROM loaded WHERE id = 701;
ALTER TABLE sale ATTACH PARTITION loaded FOR VALUES IN ('loaded', 'loaded too');
COMMIT;
CALL look();
-- not in a transaction; the default partition has to go
DROP TABLE rest; CALL look();
ALTER TABLE sale DETACH PARTITION loaded CONCURRENTLY; CALL look();
UPDATE loaded SET amount = 1; CALL look();
DROP TABLE east; CALL look();
DROP TABLE more; CALL look();
ALTER TABLE south DETACH PARTITION south_2; CALL look();
UPDATE south_2 SET amount = amount + 5; INSERT INTO south_2 (id, note, region, day) VALUES (801, 'alone', 'south', '2025-05-05'); CALL look();
ALTER TABLE south ATTACH PARTITION south_2 FOR VALUES FROM ('2025-01-01') TO ('2026-01-01'); CALL look();
UPDATE sale SET amount = amount + 1; CALL look();
SELECT * FROM by_region ORDER BY region;

-- columns of all
ALTER TABLE sale ADD COLUMN extra int DEFAULT 5; UPDATE sale SET extra = 6 WHERE id % 2 = 0; CALL settle();
CREATE MATERIALIZED VIEW extra USING ddir AS SELECT extra, count(*) AS n FROM sale GROUP BY extra; CALL settle();
UPDATE sale SET extra = 7 WHERE id % 3 = 0; CALL look();
ALTER TABLE sale RENAME COLUMN note TO remark; UPDATE sale SET remark = 'renamed' WHERE id % 2 = 0; CALL look();
ALTER TABLE sale ALTER COLUMN extra TYPE bigint;
DROP MATERIALIZED VIEW extra;
ALTER TABLE sale DROP COLUMN extra; INSERT INTO sale VALUES (901, 'south', '2025-05-05', 1, 'dropped'); CALL settle();

-- empty partitions come: what is written to them are changes
CALL settle();
CREATE TABLE filled AS SELECT sum(hydrations) AS before FROM ddir.hydration;
CREATE TABLE far_1 PARTITION OF sale FOR VALUES IN ('far 1');
INSERT INTO sale VALUES (951, 'far 1', '2025-05-05', 1, 'one'), (952, 'far 1', '2025-05-05', 2, 'two');
BEGIN;
CREATE TABLE far_2 PARTITION OF sale FOR VALUES IN ('far 2') PARTITION BY HASH (id);
CREATE TABLE far_2_0 PARTITION OF far_2 FOR VALUES WITH (MODULUS 1, REMAINDER 0);
INSERT INTO sale VALUES (953, 'far 2', '2025-05-05', 3, 'three');
SAVEPOINT a;
CREATE TABLE far_3 PARTITION OF sale FOR VALUES IN ('far 3');
INSERT INTO sale VALUES (954, 'far 3', '2025-05-05', 4, 'never');
ROLLBACK TO a;
UPDATE sale SET region = 'far 2', amount = 5 WHERE id = 951;
COMMIT;
CREATE TABLE far_3 (amount numeric, id int, region text, remark text, day date);
BEGIN;
ALTER TABLE sale ATTACH PARTITION far_3 FOR VALUES IN ('far 3');
INSERT INTO far_3 VALUES (4, 954, 'far 3', 'four', '2025-05-05');
COMMIT;
UPDATE sale SET amount = amount + 1 WHERE region LIKE 'far %';
DELETE FROM sale WHERE id = 952;
CALL look();
SELECT sum(hydrations) - before AS filled FROM ddir.hydration, filled GROUP BY before;
SELECT id, note FROM notes WHERE id > 950 UNION ALL SELECT NULL, region || ' ' || n FROM by_region WHERE region LIKE 'far _' ORDER BY 1, 2;

-- what was in them before is not missed, nor what was hidden from triggers
BEGIN;
CREATE TABLE far_4 PARTITION OF sale FOR VALUES IN ('far 4');
ALTER TABLE sale DETACH PARTITION far_4;
INSERT INTO far_4 VALUES (961, 'far 4', '2025-05-05', 11, 'detached');
ALTER TABLE sale ATTACH PARTITION far_4 FOR VALUES IN ('far 4');
COMMIT; CALL look();
BEGIN;
CREATE TABLE far_5 PARTITION OF sale FOR VALUES IN ('far 5');
ALTER TABLE far_5 DISABLE TRIGGER ALL;
INSERT INTO sale VALUES (962, 'far 5', '2025-05-05', 12, 'hidden');
ALTER TABLE far_5 ENABLE TRIGGER ALL;
COMMIT; CALL look();
CREATE FUNCTION fill() RETURNS event_trigger LANGUAGE plpgsql AS
$$BEGIN INSERT INTO far_6 VALUES (963, 'far 6', '2025-05-05', 13, 'by an event trigger'); END$$;
CREATE EVENT TRIGGER fill ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION fill();
CREATE TABLE far_6 PARTITION OF sale FOR VALUES IN ('far 6');
DROP EVENT TRIGGER fill; CALL look();
BEGIN;
CREATE TABLE far_7 (LIKE sale);
INSERT INTO far_7 VALUES (964, 'far 7', '2025-05-05', 14, 'attached');
ALTER TABLE sale ATTACH PARTITION far_7 FOR VALUES IN ('far 7');
COMMIT; CALL look();
SELECT id, note FROM notes WHERE id > 960 ORDER BY id;
DROP TABLE far_1, far_2, far_3, far_4, far_5, far_6, far_7; CALL look();

-- what logical decoding cannot follow
CREATE UNLOGGED TABLE unlogged PARTITION OF sale FOR VALUES IN ('unlogged');
SELECT ddir.wait('by_region');
SELECT view, state, message FROM ddir.views WHERE view = 'by_region'::regclass;
DROP TABLE unlogged; CALL look();
INSERT INTO sale VALUES (902, 'south', '2025-05-05', 1, 'goes on'); CALL look();

-- a partition that never had what was the last column
CREATE TABLE shrunk (id int, g int, gone int) PARTITION BY LIST (g);
CREATE TABLE shrunk_1 PARTITION OF shrunk FOR VALUES IN (1);
ALTER TABLE shrunk DROP COLUMN gone;
CREATE TABLE shrunk_2 PARTITION OF shrunk FOR VALUES IN (2);
INSERT INTO shrunk VALUES (1, 1), (2, 2);
CREATE MATERIALIZED VIEW whole USING ddir AS SELECT id, g FROM shrunk; CALL look();
UPDATE shrunk SET g = 3 - g; INSERT INTO shrunk VALUES (3, 2); CALL look();
SELECT * FROM whole ORDER BY id;
DROP MATERIALIZED VIEW whole; DROP TABLE shrunk;

-- whatever the tables were set to comes back when nobody reads them
DROP MATERIALIZED VIEW by_region, notes, named, twice, sides, nothing;
CALL look();
DROP MATERIALIZED VIEW middle, leaf;

-- inheritance: each table is a source, and whoever reads the parent reads all
SET client_min_messages = warning;
CREATE TABLE base (id int, v int, s text);
CREATE TABLE child (more text) INHERITS (base);
CREATE TABLE other (n numeric, v int, id int, s text);
ALTER TABLE other INHERIT base;
CREATE TABLE grandchild (deep int) INHERITS (child);
CREATE TABLE second (s text, extra int);
CREATE TABLE mixed () INHERITS (base, second);
CREATE TABLE under_both () INHERITS (child, mixed);
INSERT INTO base VALUES (1, 1, 'base'), (2, 2, 'base');
INSERT INTO child VALUES (3, 3, 'child', 'more');
INSERT INTO other (id, v, s, n) VALUES (4, 4, 'other', 0.5);
INSERT INTO grandchild VALUES (5, 5, 'grandchild', 'more', 6);
INSERT INTO mixed VALUES (7, 7, 'mixed', 8);
INSERT INTO under_both (id, v, s, more, extra) VALUES (9, 9, 'both', 'more', 10);
CREATE MATERIALIZED VIEW family USING ddir AS SELECT s, count(*) AS n, sum(v) AS v FROM base GROUP BY s;
CREATE MATERIALIZED VIEW pairs USING ddir AS SELECT a.id, b.s FROM base AS a JOIN base AS b USING (v) JOIN second AS c ON c.s = b.s;
CREATE MATERIALIZED VIEW alone USING ddir AS SELECT id, v, s FROM ONLY base;
CREATE MATERIALIZED VIEW children USING ddir AS SELECT id, v, more FROM child;
CREATE MATERIALIZED VIEW others USING ddir AS SELECT id, n FROM other;
CALL look();
SELECT * FROM family ORDER BY s;
SELECT source, views FROM ddir.sources ORDER BY source::text;
SELECT plan FROM ddir.explain_query('SELECT id FROM tree.base WHERE v > 1');

UPDATE base SET v = v + 1; CALL look();
UPDATE ONLY base SET v = v + 1; CALL look();
UPDATE child SET s = s || '!', more = 'less'; CALL look();
UPDATE second SET s = 'second'; CALL look();
DELETE FROM base WHERE id IN (2, 5); DELETE FROM ONLY child WHERE id = 3;
INSERT INTO other (id, v, s, n) VALUES (14, 4, 'other', 1.5); INSERT INTO under_both (id, v, s) VALUES (15, 1, 'both'); CALL look();
TRUNCATE ONLY base; CALL look();
TRUNCATE child; CALL look();
INSERT INTO base SELECT i, i, 'base' FROM generate_series(1, 5) AS i; INSERT INTO child SELECT i, i, 'child', 'more' FROM generate_series(6, 8) AS i; CALL look();

BEGIN; CREATE TABLE late () INHERITS (child); INSERT INTO late VALUES (20, 20, 'late', 'more'); UPDATE base SET v = v + 1; COMMIT; CALL look();
UPDATE base SET v = v + 1; CALL look();
ALTER TABLE other NO INHERIT base; CALL look();
UPDATE other SET v = 100; UPDATE base SET v = v + 1; CALL look();
ALTER TABLE other INHERIT base; CALL look();
UPDATE base SET v = v - 1; CALL look();
BEGIN; ALTER TABLE other NO INHERIT base; UPDATE other SET v = 7; ALTER TABLE other INHERIT base; COMMIT; CALL look();
DROP TABLE late; CALL look();
-- another table of the same name
BEGIN; DROP TABLE other CASCADE; CREATE TABLE other (id int, v int, s text) INHERITS (base); INSERT INTO other VALUES (1, 1, 'another'); COMMIT; CALL look();
ALTER TABLE base ADD COLUMN w int DEFAULT 3; UPDATE base SET w = 4 WHERE v > 3; CALL settle();
CREATE MATERIALIZED VIEW w USING ddir AS SELECT w, count(*) AS n FROM base GROUP BY w; CALL look();
UPDATE base SET w = w + 1; CALL look();
SELECT * FROM family ORDER BY s;

-- a table that is read alone gets its first child, and loses it
CREATE TABLE lone (id int, v int);
INSERT INTO lone VALUES (1, 1);
CREATE MATERIALIZED VIEW only_lone USING ddir AS SELECT id, v FROM ONLY lone;
CREATE MATERIALIZED VIEW all_lone USING ddir AS SELECT id, v FROM lone;
SELECT ddir.wait();
CREATE TABLE first () INHERITS (lone);
INSERT INTO first VALUES (2, 2);
UPDATE lone SET v = v + 1;
SELECT ddir.wait();
SELECT view, c.* FROM ddir.views, ddir.check(view) AS c;
SELECT * FROM only_lone UNION ALL SELECT * FROM all_lone ORDER BY 1, 2;
DROP TABLE first;
INSERT INTO lone VALUES (3, 3);
SELECT ddir.wait();
SELECT view, c.* FROM ddir.views, ddir.check(view) AS c;
SELECT * FROM only_lone UNION ALL SELECT * FROM all_lone ORDER BY 1, 2;

SET client_min_messages = error;
DROP SCHEMA tree CASCADE;
