--
-- Floats: sums are exact and rounded once.  The oracle adds them as numeric,
-- which is exact for numbers of few digits.  (Other numbers: the unit test.)
--
\set VERBOSITY terse
\getenv builddir PG_ABS_BUILDDIR
\set library :builddir '/test_agg.so'
CREATE SCHEMA floats;
SET search_path = floats;
CREATE FUNCTION run(query text, expected text DEFAULT NULL, seed int DEFAULT 1, steps int DEFAULT 60) RETURNS text
  LANGUAGE c AS :'library', 'test_agg_run';
SET extra_float_digits = 1;

CREATE TABLE pool (k int, x float8, y float4);
INSERT INTO pool
  SELECT i % 3, (i * 7919 % 1000 - 500) / 1024.0, (i * 104729 % 1000 - 500) / 256.0
    FROM generate_series(1, 20) i;
INSERT INTO pool VALUES
  (0, 1e15, 16777216), (0, -1e15, -16777216), (0, 0.5, 1), (1, 123456789012345, 8388607.5),
  (1, NULL, NULL), (2, 0.0009765625, 0.00390625), (2, 0, 0), (3, NULL, NULL), (3, 0.1875, 3);
CREATE TABLE bag (LIKE pool);
SELECT run('SELECT k, count(x), sum(x), sum(y) FROM bag GROUP BY k',
           'SELECT k, count(x), sum(x::numeric)::float8, sum(y::float8::numeric)::float4 FROM bag GROUP BY k', s)
  FROM generate_series(1, 3) s;
-- quotients of numerics stop after some digits; these have far more than floats
CREATE FUNCTION quotient(a numeric, b numeric) RETURNS numeric IMMUTABLE LANGUAGE sql AS
$$ SELECT (a + 0e-70) / b $$;
SELECT run('SELECT k, avg(x), avg(y) FROM bag GROUP BY k',
           'SELECT k, quotient(sum(x::numeric), nullif(count(x), 0))::float8,
                   quotient(sum(y::float8::numeric), nullif(count(y), 0))::float8 FROM bag GROUP BY k', s)
  FROM generate_series(1, 3) s;
CREATE FUNCTION var(n bigint, sum numeric, squares numeric, less int) RETURNS numeric
  IMMUTABLE LANGUAGE sql AS
$$ SELECT CASE WHEN n > less THEN quotient(n * squares - sum * sum, n * (n - less)) END $$;
CREATE VIEW sums AS
  SELECT k, count(x) AS n, sum(x::numeric) AS sx, sum(x::numeric * x::numeric) AS sxx,
         count(y) AS m, sum(y::float8::numeric) AS sy, sum(y::float8::numeric * y::float8::numeric) AS syy
    FROM bag GROUP BY k;
SELECT run('SELECT k, var_pop(x), var_samp(x), variance(x), var_pop(y), var_samp(y) FROM bag GROUP BY k',
           'SELECT k, var(n, sx, sxx, 0)::float8, var(n, sx, sxx, 1)::float8, var(n, sx, sxx, 1)::float8,
                   var(m, sy, syy, 0)::float8, var(m, sy, syy, 1)::float8 FROM sums', s)
  FROM generate_series(1, 2) s;
SELECT run('SELECT k, stddev_pop(x), stddev_samp(x), stddev(x), stddev_pop(y), stddev_samp(y) FROM bag GROUP BY k',
           'SELECT k, sqrt(var(n, sx, sxx, 0))::float8, sqrt(var(n, sx, sxx, 1))::float8, sqrt(var(n, sx, sxx, 1))::float8,
                   sqrt(var(m, sy, syy, 0))::float8, sqrt(var(m, sy, syy, 1))::float8 FROM sums', s)
  FROM generate_series(1, 2) s;
SELECT run('SELECT sum(x), avg(y), count(*) FILTER (WHERE x > 0), sum(x) FILTER (WHERE x > 0), sum(DISTINCT y) FROM bag',
           'SELECT sum(x::numeric)::float8, quotient(sum(y::float8::numeric), nullif(count(y), 0))::float8, count(*) FILTER (WHERE x > 0),
                   (sum(x::numeric) FILTER (WHERE x > 0))::float8, sum(DISTINCT y::float8::numeric)::float4 FROM bag');

-- what is no number, zeros of either sign; here no order of rows matters
DELETE FROM pool;
INSERT INTO pool VALUES
  (0, 'NaN', 'NaN'), (0, 1, 1), (0, 2, 2),
  (1, 'Infinity', 'Infinity'), (1, 5, 5), (1, NULL, NULL),
  (2, '-Infinity', '-Infinity'), (2, 'Infinity', 'Infinity'), (2, 1, 1),
  (3, '-0', '-0'), (3, '-0', '-0'), (3, 0, 0), (3, 4, 4), (3, -4, -4);
SELECT run('SELECT k, sum(x), avg(x), sum(y), avg(y) FROM bag GROUP BY k', NULL, s) FROM generate_series(1, 4) s;
SELECT run('SELECT k, var_pop(x) FILTER (WHERE k IN (1, 2)), var_samp(x) FILTER (WHERE k IN (1, 2)), stddev_pop(y) FILTER (WHERE k IN (1, 2)) FROM bag GROUP BY k', NULL, s) FROM generate_series(1, 2) s;

-- beyond the greatest float: an error, until it is deleted
DELETE FROM pool;
INSERT INTO pool VALUES (0, 1e308, 3e38), (0, 1e308, 3e38), (0, 1e308, 3e38), (0, 1, 1), (1, 2, 2);
SELECT run('SELECT k, sum(x), count(y) FROM bag GROUP BY k');
SELECT run('SELECT k, sum(y), count(x) FROM bag GROUP BY k');
