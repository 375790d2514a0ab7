-- Every aggregate: ordered and hypothetical sets, arrays, strings, JSON, ranges, statistics,
-- bits, users' own; with ORDER BY, DISTINCT and FILTER, over rows that come and go.

CREATE TABLE g (id int PRIMARY KEY, k int, x int, y float8, n numeric, s text, b bit(4), f boolean, r int4range, j jsonb, d date);
INSERT INTO g SELECT i, i % 3, i % 5 - 2, i / 4.0, i % 4 * 1.50, chr(97 + i % 6), (i % 16)::bit(4), i % 2 = 0,
	int4range(i, i + 2), jsonb_build_object('i', i), '2020-01-01'::date + i FROM generate_series(1, 20) i;
INSERT INTO g (id, k) VALUES (21, 2), (22, NULL);

CREATE FUNCTION add_all(numeric, VARIADIC numeric[]) RETURNS numeric IMMUTABLE LANGUAGE sql AS 'SELECT $1 + coalesce(sum(v), 0) FROM unnest($2) v';
CREATE AGGREGATE total_of(VARIADIC numeric[]) (SFUNC = add_all, STYPE = numeric, INITCOND = '0');
CREATE FUNCTION append(anyarray, anyelement) RETURNS anyarray IMMUTABLE LANGUAGE sql AS 'SELECT $1 || $2';
CREATE FUNCTION half(anyarray) RETURNS anyarray IMMUTABLE LANGUAGE sql AS 'SELECT $1[1:cardinality($1) / 2]';
CREATE AGGREGATE half_of(anyelement) (SFUNC = append, STYPE = anyarray, INITCOND = '{}', FINALFUNC = half);
CREATE AGGREGATE all_of(anyelement) (SFUNC = append, STYPE = anyarray, INITCOND = '{}');
CREATE FUNCTION inverse_step(float8, int) RETURNS float8 IMMUTABLE LANGUAGE plpgsql AS
$$ BEGIN IF $2 = 0 THEN RAISE 'none of that' USING ERRCODE = 'P0001'; END IF; RETURN $1 + 1.0 / $2; END $$;
CREATE AGGREGATE inverses(int) (SFUNC = inverse_step, STYPE = float8, INITCOND = '0');
-- an ordered set of the user's, by the server's own functions
CREATE AGGREGATE my_disc(float8 ORDER BY anyelement) (SFUNC = ordered_set_transition, STYPE = internal,
	FINALFUNC = percentile_disc_final, FINALFUNC_EXTRA);

CREATE MATERIALIZED VIEW a_ordered USING ddir AS
	SELECT k, percentile_cont(0.25) WITHIN GROUP (ORDER BY y) AS c, percentile_disc(0.75) WITHIN GROUP (ORDER BY n DESC) AS d,
	       percentile_cont(ARRAY[0, 0.5, NULL, 1]) WITHIN GROUP (ORDER BY x::float8) AS cs, percentile_disc('{0.1,0.9}'::float8[]) WITHIN GROUP (ORDER BY s) AS ds,
	       mode() WITHIN GROUP (ORDER BY s) AS m, percentile_cont(0.5) WITHIN GROUP (ORDER BY d - '2020-01-01'::date) FILTER (WHERE f) AS pf,
	       my_disc(0.5) WITHIN GROUP (ORDER BY d) AS u
	  FROM g GROUP BY k;
CREATE MATERIALIZED VIEW a_hypothetical USING ddir AS
	SELECT k, rank(0) WITHIN GROUP (ORDER BY x) AS r, dense_rank(0, 'c') WITHIN GROUP (ORDER BY x DESC NULLS LAST, s) AS dr,
	       percent_rank(1.5) WITHIN GROUP (ORDER BY n) FILTER (WHERE f) AS pr, cume_dist(NULL::text) WITHIN GROUP (ORDER BY s) AS cd
	  FROM g GROUP BY k;
-- what is looked for is of the group
CREATE MATERIALIZED VIEW a_direct USING ddir AS
	SELECT k, x, percentile_disc(abs(k) / 4.0) WITHIN GROUP (ORDER BY y) AS d, rank(x, k) WITHIN GROUP (ORDER BY id, n) FILTER (WHERE y > 2) AS r FROM g GROUP BY k, x;
CREATE MATERIALIZED VIEW a_direct_sets USING ddir AS
	SELECT k, f, rank(k) WITHIN GROUP (ORDER BY x) AS r, GROUPING(k, f) AS g FROM g GROUP BY CUBE (k, f);
CREATE MATERIALIZED VIEW a_correlated USING ddir AS
	SELECT o.id, (SELECT rank(o.x) WITHIN GROUP (ORDER BY i.x) FROM g i WHERE i.k = o.k AND i.id < o.id) AS r,
	       (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY i.s) FROM g i WHERE i.x > o.x) AS d FROM g o;
CREATE MATERIALIZED VIEW a_global USING ddir AS
	SELECT mode() WITHIN GROUP (ORDER BY k) AS m, rank(3) WITHIN GROUP (ORDER BY k) AS r, percentile_cont(0.5) WITHIN GROUP (ORDER BY y) AS c FROM g WHERE id > 10;
CREATE MATERIALIZED VIEW a_lists USING ddir AS
	SELECT k, array_agg(x ORDER BY x DESC NULLS LAST, id) AS xs, array_agg(DISTINCT s) AS ss, string_agg(s, ',' ORDER BY id) AS st, string_agg(DISTINCT s, '' ORDER BY s DESC) AS sd,
	       array_agg(ARRAY[x, id] ORDER BY id) FILTER (WHERE x IS NOT NULL) AS aa, string_agg(s::bytea, '\x00' ORDER BY id) AS sb, array_agg(n) AS free
	  FROM g GROUP BY k;
CREATE MATERIALIZED VIEW a_json USING ddir AS
	SELECT k, json_agg(x ORDER BY id) AS ja, jsonb_agg(j ORDER BY id) FILTER (WHERE f) AS jb, json_object_agg(id, s ORDER BY id) AS jo,
	       jsonb_object_agg(s, x ORDER BY id) FILTER (WHERE s IS NOT NULL) AS jbo, jsonb_agg(DISTINCT n ORDER BY n) AS jd
	  FROM g GROUP BY k;
CREATE MATERIALIZED VIEW a_others USING ddir AS
	SELECT k, range_agg(r) AS ra, range_intersect_agg(r) FILTER (WHERE id < 3) AS ri, bit_and(b) AS ba, bit_or(b) AS bo, bit_xor(b) AS bx,
	       bit_xor(x) AS ix, xmlagg(xmlelement(name e, s) ORDER BY id)::text AS xm, every(f) AS e, bool_or(f) AS bf
	  FROM g GROUP BY k;
CREATE MATERIALIZED VIEW a_statistics USING ddir AS
	SELECT k, corr(x, y) AS c, covar_pop(x, y) AS cp, covar_samp(x, y) AS cs, regr_avgx(x, y) AS ax, regr_avgy(x, y) AS ay, regr_count(x, y) AS rc,
	       regr_intercept(x, y) AS ri, regr_r2(x, y) AS r2, regr_slope(x, y) AS rs, regr_sxx(x, y) AS xx, regr_sxy(x, y) AS xy, regr_syy(x, y) AS yy
	  FROM g GROUP BY k;
CREATE MATERIALIZED VIEW a_own USING ddir AS
	SELECT k, total_of(n, x) AS t, half_of(x ORDER BY id) AS h, all_of(s ORDER BY id) AS a, all_of(DISTINCT x) AS ad, inverses(id) AS i FROM g GROUP BY k;
\i test/sql/check_all.sql
TABLE a_ordered ORDER BY k;
TABLE a_hypothetical ORDER BY k;
TABLE a_direct_sets ORDER BY g, k, f;
TABLE a_correlated ORDER BY id;
TABLE a_global;
TABLE a_lists ORDER BY k;
TABLE a_json ORDER BY k;
TABLE a_others ORDER BY k;
TABLE a_own ORDER BY k;

-- between groups; NULLs; duplicates
BEGIN;
UPDATE g SET k = k + 1 WHERE id % 4 = 0;
UPDATE g SET x = NULL, s = NULL WHERE id % 5 = 0;
INSERT INTO g SELECT id + 100, k, x, y, n, s, b, f, r, j, d FROM g WHERE id < 8;
DELETE FROM g WHERE id IN (1, 2, 9);
COMMIT;
\i test/sql/check_all.sql
TABLE a_ordered ORDER BY k;
TABLE a_hypothetical ORDER BY k;
-- the last rows of groups, and of what FILTER lets pass
DELETE FROM g WHERE k IS NULL OR k = 3;
UPDATE g SET f = false WHERE k = 1;
UPDATE g SET y = 0 WHERE k = 2;
\i test/sql/check_all.sql
TABLE a_direct ORDER BY k, x;
-- errors come and go: of a final function, of a transition
UPDATE g SET k = 8 WHERE id = 10;
INSERT INTO g (id, k, n) VALUES (0, 1, 1);
SELECT ddir.wait('a_lists');
SELECT view, state, sqlstate, message FROM ddir.views WHERE state <> 'live' ORDER BY view::text;
UPDATE g SET k = 4 WHERE id = 10;
UPDATE g SET id = 50 WHERE id = 0;
\i test/sql/check_all.sql
-- nothing left
DELETE FROM g;
\i test/sql/check_all.sql
TABLE a_global;
TABLE a_direct_sets;

-- all that the server has
CREATE TYPE mood AS ENUM ('sad');
WITH a AS (
	SELECT p.oid, proname, aggkind, aggnumdirectargs AS direct, (SELECT array_agg('NULL::' ||
	       CASE t::regtype::text WHEN 'anyarray' THEN 'int[]' WHEN 'anyenum' THEN 'mood' WHEN 'anyrange' THEN 'int4range'
	       WHEN 'anymultirange' THEN 'int4multirange' ELSE CASE WHEN t::regtype::text ~ 'any' THEN 'int' ELSE t::regtype::text END END ORDER BY n)
	       FROM unnest(proargtypes) WITH ORDINALITY u(t, n)) AS args
	  FROM pg_aggregate JOIN pg_proc p ON p.oid = aggfnoid WHERE p.oid < 16384 AND NOT 'record'::regtype = ANY (proargtypes)),
q AS (
	SELECT oid, CASE aggkind WHEN 'n' THEN format('SELECT %I(%s) FROM g', proname, coalesce(array_to_string(args, ', '), '*'))
	       WHEN 'h' THEN format('SELECT %I(1) WITHIN GROUP (ORDER BY x) FROM g', proname)
	       ELSE format('SELECT %I(%s) WITHIN GROUP (ORDER BY %s) FROM g', proname, array_to_string(args[:direct], ', '), args[direct + 1]) END AS query FROM a)
SELECT q.oid::regprocedure, q.query, e.code, e.construct FROM q, ddir.explain_query(q.query) e WHERE NOT e.maintained;
DROP TYPE mood;

-- refused, by name
\set VERBOSITY default
CREATE FUNCTION drift(float8, float8) RETURNS float8 LANGUAGE sql AS 'SELECT $1 + $2 + random()';
CREATE AGGREGATE drifting(float8) (SFUNC = drift, STYPE = float8, INITCOND = '0');
CREATE MATERIALIZED VIEW no USING ddir AS SELECT drifting(y) FROM g;
\set VERBOSITY terse

DROP TABLE g CASCADE;
DROP AGGREGATE total_of(VARIADIC numeric[]), half_of(anyelement), all_of(anyelement), inverses(int), my_disc(float8 ORDER BY anyelement), drifting(float8);
DROP FUNCTION add_all, append, half, inverse_step, drift;
