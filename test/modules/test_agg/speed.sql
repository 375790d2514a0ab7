--
-- What folding a row and making a group's output cost, in nanoseconds of CPU.
-- Not a test; run by hand where the library was built:
--
--	PG_ABS_BUILDDIR=$PWD psql -f speed.sql
--
\getenv builddir PG_ABS_BUILDDIR
\set library :builddir '/test_agg.so'
BEGIN;
CREATE SCHEMA speed;
SET search_path = speed;
CREATE FUNCTION fold_ns(query text, groups int, chunks int) RETURNS float8
  LANGUAGE c STRICT AS :'library', 'test_agg_fold_ns';
CREATE FUNCTION emit_ns(query text, groups int, chunks int) RETURNS float8
  LANGUAGE c STRICT AS :'library', 'test_agg_emit_ns';

CREATE TABLE pool (k bigint, a int, b bigint, c float8, n numeric(12, 2));
INSERT INTO pool SELECT i % 100, i, i * 100000, i / 7.0, i / 100.0 FROM generate_series(1, 4096) i;
CREATE TABLE bag (LIKE pool);
SELECT aggs, round(fold_ns(query, 4096, 400)::numeric, 1) AS fold_ns, round(emit_ns(query, 1024, 100)::numeric, 1) AS emit_ns
  FROM unnest(ARRAY['count(*)', 'sum(a)', 'sum(b)', 'count(*), sum(a), sum(b), avg(b)', 'sum(c)', 'avg(c)',
                    'var_samp(c)', 'sum(n)', 'avg(n)', 'variance(n)', 'variance(b)', 'bit_or(a)']) aggs,
       format('SELECT k, %s FROM bag GROUP BY k', aggs) query;
ROLLBACK;
