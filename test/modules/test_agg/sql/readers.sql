--
-- Aggregates that read their group's rows: by seeking, and by their own
-- functions.
--
\set VERBOSITY terse
\getenv builddir PG_ABS_BUILDDIR
\set library :builddir '/test_agg.so'
CREATE SCHEMA readers;
SET search_path = readers;
CREATE FUNCTION run(query text, expected text DEFAULT NULL, seed int DEFAULT 1, steps int DEFAULT 60) RETURNS text
  LANGUAGE c AS :'library', 'test_agg_run';
CREATE FUNCTION method(query text) RETURNS text
  LANGUAGE c STRICT AS :'library', 'test_agg_method';
CREATE FUNCTION image(anyelement) RETURNS bytea
  LANGUAGE c AS :'library', 'test_agg_image';
CREATE FUNCTION image2(float8, int) RETURNS bytea
  LANGUAGE c AS :'library', 'test_agg_image';

CREATE TABLE pool (k int, a int, n numeric, x float8, t text, d date, i interval, arr int[], j jsonb);
INSERT INTO pool
  SELECT i % 4, i * 7919 % 100 - 50, (i * 104729 % 1000 - 500) / 8.0, (i * 31 % 17 - 8) / 4.0,
         chr(65 + i * 11 % 26) || repeat('x', i % 3), '2020-01-01'::date + i * 37 % 100, i * 13 % 50 * interval '1 hour',
         ARRAY[i % 3, i % 5, i], jsonb_build_object('a', i % 6)
    FROM generate_series(1, 24) i;
INSERT INTO pool (k) VALUES (0), (1), (5);
INSERT INTO pool VALUES
  (0, 2147483647, 'NaN', 'NaN', '', 'infinity', '-1 year', '{}', '1'),
  (0, -2147483648, '-Infinity', '-Infinity', 'é', '-infinity', '30 days', '{NULL}', 'null'),
  (1, 0, '0.00', '-0', 'Z', '2020-01-01', '1 mon', '{1}', '{}'),
  (1, 0, '0', '0', 'z', '2020-01-01', '30 days', '{1,NULL}', '[]');
CREATE TABLE bag (LIKE pool);
SELECT method('SELECT min(a), max(n), min(x), max(t), min(d), max(i), min(arr), array_agg(a), string_agg(t, t), corr(x, a) FROM bag');

-- seek; equal values of different images are the first image
SELECT run('SELECT k, min(a), max(a), min(d), max(d), min(t), max(t) FROM bag GROUP BY k', seed => s) FROM generate_series(1, 2) s;
SELECT run('SELECT k, min(n), max(n), min(x), max(x), min(i), max(i) FROM bag GROUP BY k',
           'SELECT k, (array_agg(n ORDER BY n, image(n)))[1], (array_agg(n ORDER BY n DESC NULLS LAST, image(n)))[1],
                   (array_agg(x ORDER BY x, image(x)))[1], (array_agg(x ORDER BY x DESC NULLS LAST, image(x)))[1],
                   (array_agg(i ORDER BY i, image(i)))[1], (array_agg(i ORDER BY i DESC NULLS LAST, image(i)))[1]
              FROM bag GROUP BY k', s) FROM generate_series(1, 2) s;
SELECT run('SELECT min(a), max(a) FILTER (WHERE a < 0), min(DISTINCT d), max(a + 1), max(t COLLATE "C"), count(*) FROM bag');

-- recomputed: in the order of images unless there is another
SELECT run('SELECT k, array_agg(a), array_agg(t), string_agg(t, ''+''), json_agg(a) FROM bag GROUP BY k',
           'SELECT k, array_agg(a ORDER BY image(a)), array_agg(t ORDER BY image(t)),
                   string_agg(t, ''+'' ORDER BY image(t)), json_agg(a ORDER BY image(a)) FROM bag GROUP BY k');
SELECT run('SELECT k, array_agg(a ORDER BY a), array_agg(t ORDER BY a DESC NULLS LAST, t), string_agg(t, '','' ORDER BY t DESC), jsonb_agg(j ORDER BY a NULLS FIRST, j) FROM bag GROUP BY k');
SELECT run('SELECT k, array_agg(DISTINCT a % 3), string_agg(DISTINCT t, ''/''), array_agg(DISTINCT a / 20 ORDER BY a / 20 DESC), array_agg(DISTINCT d ORDER BY d DESC NULLS LAST) FROM bag GROUP BY k');
SELECT run('SELECT array_agg(a ORDER BY a, t), jsonb_object_agg(coalesce(t, ''?''), a ORDER BY a), min(arr), max(arr), array_agg(arr ORDER BY arr) FILTER (WHERE array_length(arr, 1) = 3) FROM bag');
SELECT run('SELECT k, regr_count(x, a), regr_count(n, a), count((a, t)) FROM bag GROUP BY k');
SELECT run('SELECT k, range_agg(int4range(a, a + 5)) FILTER (WHERE a > 0 AND a < 1000), range_intersect_agg(int4range(0, a)) FILTER (WHERE a > 0) FROM bag GROUP BY k');
SELECT run('SELECT k, regr_slope(x, a), corr(x, a), covar_pop(x, a) FROM bag GROUP BY k',
           'SELECT k, regr_slope(x, a ORDER BY image2(x, a)), corr(x, a ORDER BY image2(x, a)), covar_pop(x, a ORDER BY image2(x, a))
              FROM bag GROUP BY k');

-- aggregates of users
CREATE AGGREGATE product(numeric) (SFUNC = numeric_mul, STYPE = numeric, INITCOND = '1');
CREATE FUNCTION append(anyarray, anyelement) RETURNS anyarray IMMUTABLE LANGUAGE sql AS 'SELECT $1 || $2';
CREATE FUNCTION head(anyarray, anyelement) RETURNS anyelement IMMUTABLE LANGUAGE sql AS 'SELECT $1[1]';
CREATE AGGREGATE first_of(anyelement) (SFUNC = append, STYPE = anyarray, INITCOND = '{}', FINALFUNC = head, FINALFUNC_EXTRA);
CREATE FUNCTION longer(text, text) RETURNS text IMMUTABLE STRICT LANGUAGE plpgsql AS
$$ BEGIN RETURN CASE WHEN length($2) > length($1) THEN $2 ELSE $1 END; END $$;
CREATE AGGREGATE longest(text) (SFUNC = longer, STYPE = text);
CREATE FUNCTION append_all(text, VARIADIC text[]) RETURNS text IMMUTABLE LANGUAGE sql AS
$$ SELECT $1 || array_to_string($2, ',', '*') || ';' $$;
CREATE AGGREGATE texts(VARIADIC text[]) (SFUNC = append_all, STYPE = text, INITCOND = '>');
SELECT method('SELECT product(n), first_of(a), longest(t), texts(t, t) FROM bag');
SELECT run('SELECT k, product(n ORDER BY n), first_of(a ORDER BY a), longest(t ORDER BY t), texts(t, a::text ORDER BY t, a) FROM bag GROUP BY k', seed => s)
  FROM generate_series(1, 2) s;
SELECT run('SELECT longest(t ORDER BY t), product(DISTINCT n) FILTER (WHERE n > 100), texts(VARIADIC ARRAY[t, t] ORDER BY t) FROM bag');

-- an error of theirs takes its group's place, and goes with the row
CREATE FUNCTION inverse_step(float8, int) RETURNS float8 IMMUTABLE LANGUAGE plpgsql AS
$$ BEGIN IF $2 = 0 THEN RAISE 'none of that' USING ERRCODE = 'P0001'; END IF; RETURN $1 + 1.0 / $2; END $$;
CREATE AGGREGATE inverses(int) (SFUNC = inverse_step, STYPE = float8, INITCOND = '0');
SELECT run('SELECT k, inverses(a ORDER BY a), count(*) FROM bag GROUP BY k', seed => s) FROM generate_series(1, 2) s;

-- ordered and hypothetical sets
SELECT run('SELECT k, percentile_cont(0.3) WITHIN GROUP (ORDER BY a), mode() WITHIN GROUP (ORDER BY t), rank(1, 2) WITHIN GROUP (ORDER BY a, n DESC) FROM bag GROUP BY k', seed => s)
  FROM generate_series(1, 2) s;

-- refused
\set VERBOSITY default
CREATE FUNCTION drift(float8, float8) RETURNS float8 LANGUAGE sql AS 'SELECT $1 + $2 + random()';
CREATE AGGREGATE drifting(float8) (SFUNC = drift, STYPE = float8, INITCOND = '0');
SELECT method('SELECT drifting(x) FROM bag');
CREATE FUNCTION lookup(bigint, int) RETURNS bigint STABLE LANGUAGE sql AS 'SELECT $1 + $2 + (SELECT count(*) FROM pool)';
CREATE AGGREGATE looking(int) (SFUNC = lookup, STYPE = bigint, INITCOND = '0');
SELECT method('SELECT looking(a) FROM bag');

\set VERBOSITY terse
-- rights: the aggregate for its caller, the functions for its owner
CREATE ROLE nobody_agg;
REVOKE EXECUTE ON FUNCTION product(numeric) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION longer(text, text) FROM PUBLIC;
GRANT USAGE ON SCHEMA readers TO nobody_agg;
GRANT SELECT ON pool, bag TO nobody_agg;
SET ROLE nobody_agg;
SELECT method('SELECT product(n) FROM bag');
RESET ROLE;
GRANT CREATE ON SCHEMA readers TO nobody_agg;
ALTER AGGREGATE longest(text) OWNER TO nobody_agg;
SELECT method('SELECT longest(t) FROM bag');
DROP OWNED BY nobody_agg CASCADE;
DROP ROLE nobody_agg;
