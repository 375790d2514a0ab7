--
-- Sums, averages and variances of integers and numeric: the server's own
-- answers, with their display scales, after every step of random changes.
--
\set VERBOSITY terse
\getenv builddir PG_ABS_BUILDDIR
\set library :builddir '/test_agg.so'
CREATE SCHEMA numbers;
SET search_path = numbers;
CREATE FUNCTION run(query text, expected text DEFAULT NULL, seed int DEFAULT 1, steps int DEFAULT 60) RETURNS text
  LANGUAGE c AS :'library', 'test_agg_run';
CREATE FUNCTION method(query text) RETURNS text
  LANGUAGE c STRICT AS :'library', 'test_agg_method';

-- small and great integers, zeros, NULLs; one group has nothing but NULLs
CREATE TABLE pool (k int, a smallint, b integer, c bigint);
INSERT INTO pool
  SELECT i % 4,
         CASE WHEN i % 4 <> 3 THEN i * 37 - 500 END,
         CASE WHEN i % 4 <> 3 AND i % 7 <> 0 THEN i * i * 1000 - 300000 END,
         CASE WHEN i % 4 <> 3 AND i % 5 <> 0 THEN 9223372036854775807 - i::bigint * 1000000007 END
    FROM generate_series(1, 32) i;
INSERT INTO pool VALUES
  (0, 32767, 2147483647, 9223372036854775807), (0, -32768, -2147483648, -9223372036854775808),
  (1, -32768, -2147483648, -9223372036854775808), (1, 0, 0, 0), (2, 1, 1, 1), (2, -1, -1, -1),
  (NULL, 5, 5, 5), (NULL, NULL, 7, -7);
CREATE TABLE bag (LIKE pool);
SELECT method('SELECT count(*), count(a), sum(a), avg(b), sum(c), var_pop(a), stddev(b), variance(c) FROM bag');
SELECT run('SELECT k, count(*), count(a), count(b), count(c) FROM bag GROUP BY k');
SELECT run('SELECT k, sum(a), sum(b), sum(c), avg(a), avg(b), avg(c) FROM bag GROUP BY k', seed => s) FROM generate_series(1, 3) s;
SELECT run('SELECT count(*), count(a), sum(a), sum(b), sum(c), avg(a), avg(b), avg(c) FROM bag');
SELECT run('SELECT k, var_pop(a), var_samp(a), variance(a), stddev_pop(a), stddev_samp(a), stddev(a) FROM bag GROUP BY k');
SELECT run('SELECT k, var_pop(b), var_samp(b), variance(b), stddev_pop(b), stddev_samp(b), stddev(b) FROM bag GROUP BY k');
SELECT run('SELECT k, var_pop(c), var_samp(c), variance(c), stddev_pop(c), stddev_samp(c), stddev(c) FROM bag GROUP BY k', seed => s) FROM generate_series(1, 3) s;
SELECT run('SELECT var_pop(c), stddev_samp(c), var_samp(a), stddev_pop(b) FROM bag');
SELECT run('SELECT k, sum(a + b), avg(c / 3) FROM bag GROUP BY k');

-- FILTER and DISTINCT
SELECT run('SELECT k, count(*) FILTER (WHERE a > 0), count(b) FILTER (WHERE a > 0), sum(b) FILTER (WHERE c IS NULL), avg(c) FILTER (WHERE a > b) FROM bag GROUP BY k');
SELECT run('SELECT count(*) FILTER (WHERE a > 0), sum(b) FILTER (WHERE false) FROM bag');
SELECT run('SELECT k, count(DISTINCT a % 5), sum(DISTINCT b), avg(DISTINCT c), count(*) FROM bag GROUP BY k');
SELECT run('SELECT count(DISTINCT k), sum(DISTINCT a), stddev(DISTINCT b), count(DISTINCT a % 3) FILTER (WHERE b > 0) FROM bag');
SELECT run('SELECT k, sum(b ORDER BY a), count(c ORDER BY b DESC, a) FROM bag GROUP BY k');

-- numeric: the scale of a sum is the greatest among its inputs, and falls again
DROP TABLE pool, bag;
CREATE TABLE pool (k int, n numeric);
INSERT INTO pool VALUES
  (0, '1.0'), (0, '1.00'), (0, '1'), (0, NULL),
  (1, '0.0001'), (1, '-0.00010'), (1, '99999999999999999999.99'), (1, '0.000'), (1, '1e-30'),
  (2, '12345678901234567890123456789.123456789'), (2, '-12345678901234567890123456789.123456789'),
  (2, '-1'), (2, '7.5'), (2, '1000000'), (2, '0.3333'),
  (3, 'NaN'), (3, 'Infinity'), (3, '-Infinity'), (3, '1.5'), (3, '-2.25'),
  (4, '1e500'), (4, '1e-500'), (4, '-1e500'), (4, '4.2'),
  (5, '0'), (5, '0.00'), (5, NULL),
  (6, '19.99'), (6, '5.49'), (6, '100'), (6, '0.01'), (6, '-19.99'), (6, '250.5'), (6, '3.14159');
CREATE TABLE bag (LIKE pool);
SELECT run('SELECT k, sum(n), avg(n), count(n) FROM bag GROUP BY k', seed => s, steps => 150) FROM generate_series(1, 4) s;
SELECT run('SELECT sum(n), avg(n), count(n) FROM bag', steps => 150);
SELECT run('SELECT k, var_pop(n), var_samp(n), variance(n), stddev_pop(n), stddev_samp(n), stddev(n) FROM bag GROUP BY k', seed => s, steps => 100) FROM generate_series(1, 3) s;
SELECT run('SELECT k, sum(n * n), avg(n + 0.005), sum(-n) FILTER (WHERE n < 10) FROM bag GROUP BY k', steps => 100);
SELECT run('SELECT k, sum(DISTINCT n + 0.00000), count(DISTINCT n) FROM bag GROUP BY k', steps => 100);

-- the case that the scale rule is named after
DELETE FROM pool;
INSERT INTO pool VALUES (0, '1.0'), (0, '1.00'), (0, '1');
SELECT run('SELECT k, sum(n), avg(n), var_pop(n) FROM bag GROUP BY k', seed => s) FROM generate_series(1, 3) s;

-- sums beyond the limits of numeric for a while, and as a result
DELETE FROM pool;
INSERT INTO pool VALUES (0, '1'), (0, '2.5');
INSERT INTO pool SELECT 0, s::numeric * (10::numeric ^ 131071 * 6) FROM unnest('{1,-1,1,-1}'::int[]) s;
SELECT run('SELECT k, sum(n), count(n) FROM bag GROUP BY k', steps => 40);
