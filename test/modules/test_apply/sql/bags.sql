--
-- Random bags of rows applied to views: without indexes, with a unique one, with
-- one on an expression and a partial one; small rows, equal rows, NULLs, TOASTed
-- values; savepoints and transactions rolled back, VACUUM FULL in between.
-- After every commit the view must hold what the model holds.
--
\set VERBOSITY terse

-- k is unique in "keyed"; everything may be there several times in the others
CREATE TABLE model (k int, g int, amount numeric, word text, note text);
ALTER TABLE model ALTER note SET STORAGE external;
CREATE MATERIALIZED VIEW plain USING ddir AS SELECT * FROM model WITH NO DATA;
CREATE MATERIALIZED VIEW keyed USING ddir AS SELECT * FROM model WITH NO DATA;
CREATE MATERIALIZED VIEW indexed USING ddir AS SELECT * FROM model WITH NO DATA;
CREATE UNIQUE INDEX ON keyed (k);
CREATE INDEX ON indexed (upper(word));
CREATE INDEX ON indexed (g) WHERE amount > 5;
CREATE INDEX ON indexed (k) INCLUDE (amount);

CREATE FUNCTION differences(view regclass) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
  SET LOCAL enable_indexscan = off;
  SET LOCAL enable_bitmapscan = off;
  EXECUTE format('SELECT count(*) FROM ((TABLE model EXCEPT ALL TABLE %1$s) UNION ALL
                                        (TABLE %1$s EXCEPT ALL TABLE model)) d', view) INTO n;
  RETURN n;
END $$;

-- a random change of the model; what changed is left in "changes"
CREATE TEMP TABLE changes (LIKE model, diff bigint);
CREATE FUNCTION random_row(k int) RETURNS model LANGUAGE sql AS $$
  SELECT k, (random() * 5)::int, nullif((random() * 9)::int, 4)::numeric / 2,
         (ARRAY['alpha', 'beta', 'Gamma', NULL, ''])[1 + (random() * 4)::int],
         CASE WHEN random() < 0.02 THEN repeat(md5(k::text), 200) WHEN random() < 0.5 THEN 'short' END $$;
CREATE PROCEDURE change_model(n int, keys int, uniq bool) LANGUAGE plpgsql AS $$
BEGIN
  TRUNCATE changes;
  WITH gone AS (
    DELETE FROM model WHERE ctid IN (SELECT ctid FROM model ORDER BY random() LIMIT (random() * n)::int)
    RETURNING *)
  INSERT INTO changes SELECT gone.*, -1 FROM gone;
  WITH come AS (
    INSERT INTO model
    SELECT (random_row(x)).*
      FROM (SELECT (random() * keys)::int AS x, CASE WHEN NOT uniq THEN i END
              FROM generate_series(1, (random() * n * 1.1)::int) i GROUP BY 1, 2) s
      WHERE NOT uniq OR NOT EXISTS (SELECT FROM model m WHERE m.k = s.x)
    RETURNING *)
  INSERT INTO changes SELECT come.*, 1 FROM come;
END $$;

CREATE PROCEDURE run(view regclass, steps int, n int, keys int, uniq bool, seed float8) LANGUAGE plpgsql AS $$
DECLARE outcome text; fate float8;
BEGIN
  TRUNCATE model;
  PERFORM setseed(seed);
  PERFORM forget(view);
  CALL change_model(n * 4, keys, uniq);
  PERFORM push(view, 'SELECT *, 1::bigint FROM model');
  outcome := reconcile(view);
  IF outcome !~ '^done' THEN RAISE 'reconcile: %', outcome; END IF;
  COMMIT;
  IF differences(view) > 0 THEN RAISE 'reconciled view differs'; END IF;
  FOR i IN 1..steps LOOP
    CALL change_model(n, keys, uniq);
    PERFORM push(view, 'TABLE changes');
    IF random() < 0.2 THEN  -- several steps' changes at once, some undone
      CALL change_model(n, keys, uniq);
      PERFORM push(view, 'TABLE changes');
    END IF;
    COMMIT;
    fate := random();
    IF fate < 0.15 THEN
      outcome := apply(view);
      ROLLBACK;
    ELSIF fate < 0.3 THEN
      BEGIN
        outcome := apply(view);
        RAISE 'undo' USING ERRCODE = 'DD001';
      EXCEPTION WHEN SQLSTATE 'DD001' THEN NULL;
      END;
    END IF;
    outcome := apply(view);
    IF outcome !~ '^done' THEN RAISE 'step %: %', i, outcome; END IF;
    COMMIT;
    IF differences(view) > 0 THEN
      RAISE 'step %: % rows differ', i, differences(view);
    END IF;
  END LOOP;
  IF (SELECT sum(c.n) FROM contents(view) c) <> (SELECT count(*) FROM model) THEN
    RAISE 'contents differ';
  END IF;
  RAISE NOTICE '% is right', view;
  TRUNCATE changes;
  COMMIT;
END $$;

CALL run('plain', 60, 30, 12, false, 0.1);
CALL run('plain', 5, 2000, 100, false, 0.2);
CALL run('indexed', 60, 30, 12, false, 0.3);
CALL run('indexed', 6, 1000, 40, false, 0.4);
CALL run('keyed', 60, 30, 40, true, 0.5);
CALL run('keyed', 8, 800, 1000, true, 0.6);

-- indexes hold all rows, too
SET enable_seqscan = off;
SELECT count(*) = (SELECT count(*) FROM model WHERE k BETWEEN 100 AND 900) AS right
  FROM keyed WHERE k BETWEEN 100 AND 900;
RESET enable_seqscan;

-- the heap is rewritten; rows are where they were not
VACUUM FULL keyed;
CALL change_model(500, 1000, true);
SELECT push('keyed', 'TABLE changes') > 0 AS pushed;
SELECT apply('keyed');
SELECT remap('keyed');
SELECT apply('keyed') ~ '^done' AS applied;
SELECT differences('keyed');
-- remapped and applied in one transaction
CLUSTER keyed USING keyed_k_idx;
CALL change_model(500, 1000, true);
SELECT push('keyed', 'TABLE changes') > 0 AS pushed;
BEGIN;
SELECT apply('keyed');
SELECT remap('keyed');
SELECT apply('keyed') ~ '^done' AS applied;
COMMIT;
SELECT differences('keyed');
-- vacuum moves nothing
VACUUM keyed;
CALL change_model(500, 1000, true);
SELECT push('keyed', 'TABLE changes') > 0 AS pushed;
SELECT apply('keyed') ~ '^done' AS applied;
SELECT differences('keyed');

-- very many equal rows, and back
TRUNCATE model;
SELECT forget('plain');
SELECT push('plain', 'SELECT 1, 1, 1.5, ''x''::text, NULL::text, 100000::bigint');
SELECT reconcile('plain') ~ '^done' AS reconciled;
SELECT push('plain', 'SELECT 1, 1, 1.5, ''x''::text, NULL::text, -60000::bigint UNION ALL
                      SELECT 2, 1, 1.5, ''x''::text, NULL::text, 60000');
SELECT apply('plain');
SELECT k, count(*) FROM plain GROUP BY k ORDER BY k;
SELECT push('plain', 'SELECT 1, 1, 1.5, ''x''::text, NULL::text, -40000::bigint UNION ALL
                      SELECT 2, 1, 1.5, ''x''::text, NULL::text, -60000');
SELECT apply('plain');
SELECT count(*) FROM plain;

-- so many different rows that what is kept of hashes is the same for some
INSERT INTO model SELECT i, i % 7, i / 2.0, 'row', NULL FROM generate_series(1, 200000) i;
SELECT push('plain', 'SELECT *, 1::bigint FROM model');
SELECT apply('plain');
SELECT push('plain', 'SELECT k, g, amount, word, note, -1::bigint FROM model UNION ALL
                      SELECT k, g + 1, amount, word, note, 1 FROM model');
UPDATE model SET g = g + 1;
SELECT apply('plain');
SELECT differences('plain');
SELECT push('plain', 'SELECT *, -1::bigint FROM model WHERE k % 3 > 0');
DELETE FROM model WHERE k % 3 > 0;
SELECT apply('plain');
SELECT differences('plain');
SELECT bytes('plain') / count(*) < 60 AS small FROM plain;
