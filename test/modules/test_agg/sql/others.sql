--
-- Booleans, bits, intervals, money.
--
\set VERBOSITY terse
\getenv builddir PG_ABS_BUILDDIR
\set library :builddir '/test_agg.so'
CREATE SCHEMA others;
SET search_path = others;
CREATE FUNCTION run(query text, expected text DEFAULT NULL, seed int DEFAULT 1, steps int DEFAULT 60) RETURNS text
  LANGUAGE c AS :'library', 'test_agg_run';
CREATE FUNCTION method(query text) RETURNS text
  LANGUAGE c STRICT AS :'library', 'test_agg_method';

CREATE TABLE pool (k int, t bool, a smallint, b integer, c bigint, v bit(5));
INSERT INTO pool
  SELECT i % 3, CASE WHEN i % 5 > 0 THEN i % 4 > 0 END, i * 1789 % 65536 - 32768,
         CASE WHEN i % 7 > 0 THEN hashint4(i) END, hashint8extended(i, 0), i::bit(5)
    FROM generate_series(1, 24) i;
INSERT INTO pool VALUES (3, NULL, NULL, NULL, NULL, NULL), (4, true, -1, -1, -1, '11111'), (4, true, 0, 0, 0, '00000');
CREATE TABLE bag (LIKE pool);
SELECT method('SELECT bool_and(t), every(t), bool_or(t), bit_and(a), bit_or(b), bit_xor(c), bit_and(v) FROM bag');
SELECT run('SELECT k, bool_and(t), every(t), bool_or(t), bool_or(a > b), bool_and(t) FILTER (WHERE a > 0) FROM bag GROUP BY k');
SELECT run('SELECT k, bit_and(a), bit_or(a), bit_xor(a), bit_and(b), bit_or(b), bit_xor(b) FROM bag GROUP BY k', seed => s) FROM generate_series(1, 2) s;
SELECT run('SELECT k, bit_and(c), bit_or(c), bit_xor(c), bit_and(v), bit_or(v), bit_xor(v) FROM bag GROUP BY k', seed => s) FROM generate_series(1, 2) s;
SELECT run('SELECT bool_or(DISTINCT t), bit_and(DISTINCT b), bit_xor(DISTINCT a), bit_xor(b) FROM bag');

DROP TABLE pool, bag;
CREATE TABLE pool (k int, i interval, m money);
INSERT INTO pool VALUES
  (0, '1 mon', '1.25'), (0, '-31 days', '-100'), (0, '25:00:00', '0'), (0, '1 year 2 mons 3 days 04:05:06.789', '99.99'),
  (1, NULL, NULL), (1, '1 day -00:00:00.000001', '0.01'), (1, '-1 mon', '12'), (1, '7 days 12:00', '-12'),
  (2, '0', '5'), (2, '100 years', '5');
CREATE TABLE bag (LIKE pool);
SELECT run('SELECT k, sum(i), avg(i), count(i), sum(m), count(m) FROM bag GROUP BY k', seed => s) FROM generate_series(1, 3) s;
SELECT run('SELECT sum(i), avg(i), sum(m) FILTER (WHERE i > ''0''), sum(DISTINCT m) FROM bag');

-- too much
DELETE FROM pool;
INSERT INTO pool VALUES (0, '2147483647 days', '1'), (0, '2147483647 days', '1'), (0, '1 day', '1');
SELECT run('SELECT k, sum(i) FROM bag GROUP BY k');
