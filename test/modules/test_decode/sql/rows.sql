--
-- What statements and transactions give as rows.
--
CREATE TABLE t (id int PRIMARY KEY, word text, amount numeric, note text);
ALTER TABLE t REPLICA IDENTITY FULL;
CREATE TABLE untracked (id int PRIMARY KEY, word text);
CALL tell('track', 't');

INSERT INTO t VALUES (1, 'one', 1.50), (2, 'two', NULL);
INSERT INTO untracked VALUES (1, 'one');
UPDATE t SET id = 3 WHERE id = 1;
UPDATE t SET amount = amount + 1;
DELETE FROM t WHERE id = 2;
COPY t FROM stdin;
4	four	4	\N
5	five	5	note
\.
INSERT INTO t VALUES (4, 'again', 0), (6, 'six', 6) ON CONFLICT (id) DO UPDATE SET word = excluded.word;
MERGE INTO t USING (VALUES (5), (7)) v(i) ON t.id = v.i
  WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (v.i, 'merged');
CALL sync();
TABLE got;
TRUNCATE decoded;

-- one transaction is one tray; what was rolled back is not in it
BEGIN;
INSERT INTO t VALUES (10, 'ten');
SAVEPOINT a;
INSERT INTO t VALUES (11, 'eleven');
SAVEPOINT b;
UPDATE t SET word = 'TEN' WHERE id = 10;
RELEASE b;
ROLLBACK TO a;
INSERT INTO t VALUES (12, 'twelve');
COMMIT;
BEGIN;
INSERT INTO t VALUES (13, 'thirteen');
ROLLBACK;
BEGIN;
INSERT INTO t VALUES (14, 'fourteen');
PREPARE TRANSACTION 'p';
INSERT INTO t VALUES (15, 'fifteen');
COMMIT PREPARED 'p';
BEGIN;
INSERT INTO t VALUES (16, 'sixteen');
PREPARE TRANSACTION 'p';
ROLLBACK PREPARED 'p';
CALL sync();
TABLE got;
TRUNCATE decoded;

-- TOASTed values: changed, left alone, gone
ALTER TABLE t ALTER note SET STORAGE external;
CREATE VIEW lengths AS SELECT tray, rel, regexp_replace(what, '(x{9})x+', '\1...'), length(what), n FROM got;
DELETE FROM t;
INSERT INTO t VALUES (1, 'one', 1, repeat('x', 5000));
UPDATE t SET word = 'ONE';
UPDATE t SET note = note || 'y';
UPDATE t SET note = 'short';
DELETE FROM t;
CALL sync();
DELETE FROM decoded WHERE tray = (SELECT min(tray) FROM decoded);
TABLE lengths;
TRUNCATE decoded;

-- only used columns matter; changes of others are no changes
CALL tell('track', 't', '{1,3}');
INSERT INTO t VALUES (1, 'one', 1, 'note'), (2, 'two', 2, repeat('x', 5000));
UPDATE t SET word = upper(word);
UPDATE t SET amount = amount * 2, note = 'other' WHERE id = 2;
CALL sync();
TABLE got;
TRUNCATE decoded;

-- many rows, in subtransactions too
CREATE TABLE many (i int, j int);
ALTER TABLE many REPLICA IDENTITY FULL;
CALL tell('track', 'many');
DO $$ BEGIN
  FOR s IN 1..10 LOOP
    BEGIN
      INSERT INTO many SELECT i, s FROM generate_series(1, 200) i;
      IF s % 3 = 0 THEN RAISE 'undo'; END IF;
    EXCEPTION WHEN raise_exception THEN NULL;
    END;
  END LOOP;
END $$;
UPDATE many SET j = 0 WHERE j = 1;
CALL sync();
SELECT tray, n, count(*) FROM got GROUP BY tray, n ORDER BY 1, 2;
TRUNCATE decoded;

-- untracked is forgotten
CALL tell('untrack', 'many');
INSERT INTO many VALUES (1, 1);
CALL sync();
TABLE got;
CALL tell('track', arg => '0');
CALL tell('unseen');
