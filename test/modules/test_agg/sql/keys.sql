--
-- Groups of all kinds of keys: those whose bytes do not give their columns
-- back are shown as some row of the group has them, always the same; those
-- that meet others under the same bytes are told apart.
--
\set VERBOSITY terse
\getenv builddir PG_ABS_BUILDDIR
\set library :builddir '/test_agg.so'
CREATE SCHEMA keys;
SET search_path = keys;
CREATE FUNCTION run(query text, expected text DEFAULT NULL, seed int DEFAULT 1, steps int DEFAULT 60) RETURNS text
  LANGUAGE c AS :'library', 'test_agg_run';
CREATE FUNCTION image(anyelement) RETURNS bytea
  LANGUAGE c AS :'library', 'test_agg_image';
CREATE FUNCTION image2(float8, interval) RETURNS bytea
  LANGUAGE c AS :'library', 'test_agg_image';

-- plain keys, short and long, of several columns
CREATE TABLE pool (a int, b text, c bool, x int);
INSERT INTO pool
  SELECT CASE WHEN i % 5 > 0 THEN i % 3 END, CASE i % 4 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN 'abc' ELSE repeat('long', 50) END,
         i % 2 = 0, i
    FROM generate_series(1, 30) i;
CREATE TABLE bag (LIKE pool);
SELECT run('SELECT a, b, c, count(*), sum(x), min(x), array_agg(x ORDER BY x) FROM bag GROUP BY a, b, c', steps => 100);
SELECT run('SELECT b, count(DISTINCT a), max(x) FROM bag GROUP BY b');
SELECT run('SELECT a + 1, c FROM bag GROUP BY a + 1, c');
SELECT run('SELECT a, count(*) FROM bag GROUP BY a', seed => s, steps => 150) FROM generate_series(1, 2) s;

-- equal keys of different images: the first image is shown
DROP TABLE pool, bag;
CREATE TABLE pool (n numeric, x float8, t char(5), i interval, v int);
INSERT INTO pool
  SELECT (ARRAY['1', '1.0', '1.00', '2.5', '2.50', NULL, 'NaN'])[1 + i % 7]::numeric,
         (ARRAY['0', '-0', '1', 'NaN', NULL])[1 + i % 5]::float8,
         (ARRAY['a', 'a ', 'b'])[1 + i % 3],
         (ARRAY['1 mon', '30 days', '720:00:00', '1 day'])[1 + i % 4]::interval, i
    FROM generate_series(1, 42) i;
CREATE TABLE bag (LIKE pool);
SELECT run('SELECT n, count(*), sum(v), max(v) FROM bag GROUP BY n',
           'SELECT (array_agg(n ORDER BY image(n)))[1], count(*), sum(v), max(v) FROM bag GROUP BY n', s, 100) FROM generate_series(1, 3) s;
SELECT run('SELECT x, i, count(*), array_agg(v ORDER BY v) FROM bag GROUP BY x, i',
           'SELECT (array_agg(x ORDER BY image2(x, i)))[1], (array_agg(i ORDER BY image2(x, i)))[1], count(*), array_agg(v ORDER BY v) FROM bag GROUP BY x, i', s, 100)
  FROM generate_series(1, 2) s;
SELECT run('SELECT t, max(v), count(DISTINCT x) FROM bag GROUP BY t');
SELECT run('SELECT i, count(DISTINCT n), count(DISTINCT x), count(DISTINCT v % 5) FROM bag GROUP BY i',
           'SELECT (array_agg(i ORDER BY image(i)))[1], count(DISTINCT n), count(DISTINCT x), count(DISTINCT v % 5) FROM bag GROUP BY i');

-- keys that are only hashed, and keys that all meet under one hash
DROP TABLE pool, bag;
CREATE TABLE pool (j jsonb, w tsvector, r int4range, v int, y float8);
INSERT INTO pool
  SELECT (ARRAY['1', '1.0', '{"a": 1}', '{"a": 1.0}', 'null', NULL])[1 + i % 6]::jsonb,
         (ARRAY['a b', 'b a', 'c', '', NULL])[1 + i % 5]::tsvector,
         int4range(0, i % 4), i, i / 4.0
    FROM generate_series(1, 30) i;
CREATE TABLE bag (LIKE pool);
SELECT run('SELECT w, count(*), sum(v), min(v), max(v), array_agg(v ORDER BY v) FROM bag GROUP BY w', NULL, s, 100) FROM generate_series(1, 3) s;
SELECT run('SELECT w, r, sum(y), count(DISTINCT v % 3), max(v) FROM bag GROUP BY w, r', NULL, 1, 100);
SELECT run('SELECT j, count(*), min(v), string_agg(v::text, '','' ORDER BY v) FROM bag GROUP BY j',
           'SELECT (array_agg(j ORDER BY image(j)))[1], count(*), min(v), string_agg(v::text, '','' ORDER BY v) FROM bag GROUP BY j', s, 100) FROM generate_series(1, 3) s;
SELECT run('SELECT count(DISTINCT w), count(DISTINCT j), array_agg(DISTINCT w) FROM bag');
