--
-- Programs: expressions over bundles, and their errors.
--
\set VERBOSITY terse
CREATE SCHEMA test_program;
SET search_path = test_program;
\getenv builddir PG_ABS_BUILDDIR
\set library :builddir '/test_ddir.so'
CREATE FUNCTION run_(regclass, int, oid) RETURNS text[]
  LANGUAGE c STRICT AS :'library', 'test_ddir_run';
CREATE FUNCTION run(view regclass, nkeys int DEFAULT 0, owner oid DEFAULT 0) RETURNS SETOF text
  LANGUAGE sql AS 'SELECT left(r, 100) FROM unnest(run_(view, nkeys, owner)) r';
CREATE FUNCTION total(regclass) RETURNS boolean[]
  LANGUAGE c STRICT AS :'library', 'test_ddir_total';
CREATE FUNCTION ns_per_row(regclass, nkeys int, loops int) RETURNS float8
  LANGUAGE c STRICT AS :'library', 'test_ddir_time';

CREATE TABLE t (a int, b int8, c text, d numeric);
INSERT INTO t VALUES (1, 10, 'one', 1.50), (2, 0, 'two', NULL), (NULL, 30, NULL, 3),
  (4, 40, repeat('x', 200), 4), (5, 0, 'five', 5);

-- rows as they are, some columns, constants, expressions, a condition
CREATE VIEW whole AS SELECT a, b, c, d FROM t;
SELECT run('whole');
CREATE VIEW chosen AS SELECT d, NULL::text AS n, a, 42 AS k, c FROM t WHERE b <> 30;
SELECT run('chosen');
CREATE VIEW computed AS SELECT upper(c) AS u, a, a + b AS s, d * 2 AS m, c || d AS both FROM t WHERE a IS NOT NULL;
SELECT run('computed');
CREATE VIEW empty AS SELECT FROM t WHERE a = 1;
SELECT run('empty');
CREATE VIEW none AS SELECT a FROM t WHERE false;
SELECT run('none');

-- keys: no row where a column of a join key is NULL
SELECT run('whole', 1);
SELECT run('chosen', 1);
CREATE VIEW swapped AS SELECT b, a, b AS again FROM t;
SELECT run('swapped', 2);

-- several relations
CREATE TABLE u (x int, y text);
INSERT INTO u VALUES (1, 'uno'), (2, 'dos'), (NULL, 'nada');
CREATE VIEW joined AS SELECT t.c, u.y, t.a * u.x AS p FROM u, t WHERE t.a >= u.x;
SELECT run('joined');
SELECT (SELECT count(*) FROM run('joined')) = (SELECT count(*) FROM joined) AS same;

-- whatever an executor can do: CASE, IN, rows, arrays, domains, PL/pgSQL, SQL
CREATE DOMAIN even AS int CHECK (value % 2 = 0);
CREATE FUNCTION twice(i int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN i * 2; END';
CREATE FUNCTION longest(x text, y text) RETURNS text IMMUTABLE LANGUAGE sql
  AS 'SELECT v FROM unnest(ARRAY[x, y]) v ORDER BY length(v) DESC LIMIT 1';
CREATE FUNCTION built(i int) RETURNS int[] IMMUTABLE LANGUAGE plpgsql AS
  'DECLARE r int[]; BEGIN FOR k IN 1..i LOOP r[k] := k; END LOOP; RETURN r; END';
CREATE VIEW various AS SELECT CASE WHEN b = 0 THEN -1 ELSE 100 / b END AS c1,
  a IN (1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12) AS c2, ROW(a, c) = ROW(1, 'one') AS c3,
  ARRAY[a, b] AS c4, (ARRAY[b, 7])[2] AS c5, twice(a) AS c6, longest(c, d::text) AS c7,
  COALESCE(d, 0) AS c8, GREATEST(a, b) AS c9, c LIKE '%e' AS c10, built(a) AS c11
  FROM t WHERE length(c) < 100 OR c IS NULL;
SELECT run('various');

-- errors are rows, in their row's place; the others come out once
CREATE VIEW divided AS SELECT a, 100 / b AS q FROM t;
SELECT run('divided');
SELECT run('divided', 1);
CREATE VIEW cast_ AS SELECT c::int FROM t;
SELECT run('cast_');
CREATE VIEW domains AS SELECT a::even FROM t;
SELECT run('domains');
CREATE VIEW filtered AS SELECT a FROM t WHERE 100 / b > 5;
SELECT run('filtered');
CREATE FUNCTION picky(i int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
  $$ BEGIN IF i % 100 <> 0 THEN RETURN i; END IF; RAISE 'no %', i; END $$;
CREATE TABLE many (i int);
INSERT INTO many SELECT generate_series(1, 5000);
CREATE VIEW picked AS SELECT picky(i) FROM many;
SELECT count(*), count(DISTINCT r), count(*) FILTER (WHERE r LIKE '%error P0001: no %') AS errors FROM run('picked') r;

-- all else fails the call, as it was raised
CREATE FUNCTION cancelled(i int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
  $$ BEGIN IF i = 3 THEN RAISE 'stop it' USING ERRCODE = '57014'; END IF; RETURN 1 / (i - 1); END $$;
CREATE VIEW stops AS SELECT cancelled(i) FROM many;
\set VERBOSITY default
\set SHOW_CONTEXT never
SELECT run('stops');
\set VERBOSITY sqlstate
SELECT run('stops');
\set VERBOSITY terse

-- as the owner, who may not do everything
CREATE ROLE test_ddir_owner;
CREATE FUNCTION who(i int) RETURNS text STABLE LANGUAGE sql AS 'SELECT current_user::text WHERE i > 0';
CREATE VIEW names AS SELECT who(a) = session_user AS mine, who(a) = 'test_ddir_owner' AS owners, current_setting('search_path') FROM t WHERE a = 1;
SELECT run('names');
SELECT run('names', 0, 'test_ddir_owner'::regrole);
SELECT current_user = session_user AS same;
CREATE FUNCTION makes(i int) RETURNS int STABLE LANGUAGE plpgsql AS
  $$ BEGIN PERFORM set_config('role', 'none', false); RETURN i; END $$;
CREATE VIEW made AS SELECT makes(a) FROM t;
SELECT run('made', 0, 'test_ddir_owner'::regrole);
REVOKE EXECUTE ON FUNCTION twice FROM public;
CREATE VIEW denied AS SELECT twice(a) FROM t;
SELECT run('denied', 0, 'test_ddir_owner'::regrole);
SELECT current_user = session_user AS same;

-- which expressions cannot raise errors
CREATE VIEW totals (c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12) AS
  SELECT a, a = 1, b > a, c = 'x', a + 1, c::int, a IS NULL AND c IS NOT NULL,
  CASE WHEN a = 1 THEN b ELSE 0 END, GREATEST(a, 3), twice(a), ROW(a, b) IS NULL, c::varchar FROM t;
SELECT total('totals');

DROP OWNED BY test_ddir_owner;
DROP ROLE test_ddir_owner;
