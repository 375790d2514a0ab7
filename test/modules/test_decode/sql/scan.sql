--
-- Scans: rows under one snapshot, used columns only, errors as answers.
--
CREATE TABLE s (id int, gone int, word text, amount numeric);
ALTER TABLE s DROP gone;
INSERT INTO s VALUES (1, 'one', 1.5), (2, NULL, NULL);
CALL tell('track', 's');
CALL tell('scan', 's');
TABLE got;
TRUNCATE decoded;
CALL tell('track', 's', '{1,4}');
CALL tell('scan', 's', '{1,4}');
TABLE got;
TRUNCATE decoded;

-- what is not committed is not seen, and comes as a change
ALTER TABLE s REPLICA IDENTITY FULL;
BEGIN;
INSERT INTO s VALUES (3, 'three', 3);
PREPARE TRANSACTION 'p';
CALL tell('scan', 's', '{1,4}');
COMMIT PREPARED 'p';
CALL sync();
TABLE got;
TRUNCATE decoded;

-- many rows of many widths, TOASTed and compressed ones too
TRUNCATE s;
CALL tell('track', 's');
INSERT INTO s SELECT i, repeat('word ', i % 50), i FROM generate_series(1, 20000) i;
INSERT INTO s SELECT i, string_agg(md5(i::text || j), ''), i FROM generate_series(1, 3) i, generate_series(1, 50000) j GROUP BY i;
CALL tell('scan', 's');
TRUNCATE decoded;

-- none, and none any more
CREATE TABLE empty (id int);
CALL tell('track', 'empty');
CALL tell('scan', 'empty');
CREATE VIEW no_table AS SELECT 1;
CALL tell('scan', 'no_table');
CALL tell('scan', 's', '{1,5}');
CREATE TABLE bad (id int, x text);
INSERT INTO orders (what, rel) SELECT 'scan', 4294967294;
DO $$ BEGIN
  WHILE EXISTS (SELECT FROM orders WHERE answer IS NULL) LOOP PERFORM pg_sleep(0.01); COMMIT; END LOOP;
END $$;
SELECT answer FROM orders ORDER BY id DESC LIMIT 1;
