-- Functions that return rows, in FROM and in the select list: any language, any way to return
-- them, what they are given, their errors.

CREATE TABLE o (id int PRIMARY KEY, k int, xs int[], ys text[], doc jsonb, s text);
CREATE TABLE t (k int, v int);
INSERT INTO o VALUES
	(1, 1, '{1,2,3}', '{a,b}', '{"a": [1, 2], "b": {"c": null}}', 'a1b22'),
	(2, 2, '{}', NULL, '{}', ''),
	(3, NULL, NULL, '{c}', NULL, NULL),
	(4, 2, '{7,NULL,7}', '{x,NULL,x,y}', '{"a": [], "z": 1}', 'c333,d4');
INSERT INTO t VALUES (1, 10), (1, 20), (2, 5), (3, NULL), (NULL, 1);

-- user's functions: row by row, all at once, in SQL, not of sets, of rows, of a record
CREATE FUNCTION steps(n int) RETURNS SETOF int IMMUTABLE LANGUAGE plpgsql AS
$$ BEGIN FOR i IN 1 .. coalesce(n, 0) LOOP IF i = 5 THEN RAISE 'five steps are too many' USING ERRCODE = '22003'; END IF; RETURN NEXT i * 10; END LOOP; END $$;
CREATE FUNCTION squares(n int) RETURNS TABLE (i int, square int) IMMUTABLE LANGUAGE plpgsql AS
$$ BEGIN RETURN QUERY SELECT g, g * g FROM generate_series(1, n) g; END $$;
CREATE FUNCTION lazy(n int) RETURNS SETOF int IMMUTABLE STRICT SECURITY DEFINER LANGUAGE sql AS 'SELECT g + 100 FROM generate_series(1, n) g';
CREATE FUNCTION of_k(int) RETURNS SETOF t STABLE LANGUAGE sql AS 'SELECT * FROM public.t WHERE k = $1';
CREATE TYPE pair AS (l int, r text);
CREATE FUNCTION paired(int) RETURNS pair IMMUTABLE LANGUAGE sql AS 'SELECT ROW($1, $1 || ''!'')::public.pair';
CREATE FUNCTION pairs(int) RETURNS SETOF pair IMMUTABLE LANGUAGE plpgsql AS
$$ BEGIN RETURN NEXT ROW($1, 'first')::public.pair; RETURN NEXT NULL; RETURN NEXT ROW(NULL, 'last')::public.pair; END $$;
CREATE FUNCTION any_record(int) RETURNS SETOF record IMMUTABLE LANGUAGE plpgsql AS
$$ BEGIN RETURN QUERY SELECT $1, 'n' || $1; END $$;
CREATE FUNCTION two(int, OUT a int, OUT b int) IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN a := $1 + 1; b := $1 * 2; END $$;

-- FROM
CREATE MATERIALIZED VIEW f_unnest USING ddir AS SELECT id, x FROM o, unnest(xs) x;
CREATE MATERIALIZED VIEW f_ordinal USING ddir AS SELECT id, n, x FROM o CROSS JOIN unnest(xs) WITH ORDINALITY u(x, n);
CREATE MATERIALIZED VIEW f_left USING ddir AS SELECT id, x, n FROM o LEFT JOIN unnest(xs) WITH ORDINALITY u(x, n) ON true;
CREATE MATERIALIZED VIEW f_left_on USING ddir AS SELECT id, x FROM o LEFT JOIN LATERAL unnest(xs) x ON x > 2 AND id < 4;
CREATE MATERIALIZED VIEW f_rows_from USING ddir AS
	SELECT id, r.* FROM o, ROWS FROM (unnest(xs), unnest(ys), generate_series(1, k), abs(id)) WITH ORDINALITY r(x, y, g, i, n);
CREATE MATERIALIZED VIEW f_constant USING ddir AS SELECT g, count(v) AS n FROM generate_series(1, 4) g LEFT JOIN t ON t.k = g GROUP BY g;
CREATE MATERIALIZED VIEW f_series USING ddir AS
	SELECT id, d FROM o, generate_series('2020-01-01'::timestamp, '2020-01-01'::timestamp + k * interval '1 day', '1 day') d;
CREATE MATERIALIZED VIEW f_json USING ddir AS
	SELECT id, e.key, e.value, a.n, a.value AS element FROM o, jsonb_each(doc) e LEFT JOIN LATERAL
	       jsonb_array_elements(CASE WHEN jsonb_typeof(e.value) = 'array' THEN e.value END) WITH ORDINALITY a(value, n) ON true;
CREATE MATERIALIZED VIEW f_record USING ddir AS
	SELECT id, r.a, r.z FROM o, jsonb_to_record(doc) AS r(a int[], z numeric);
CREATE MATERIALIZED VIEW f_recordset USING ddir AS
	SELECT id, r.* FROM o, ROWS FROM (jsonb_to_recordset(jsonb_build_array(coalesce(doc, '{}'), '{"z": 5}'::jsonb)) AS (z numeric, b jsonb), any_record(id) AS (i int, s text)) r;
CREATE MATERIALIZED VIEW f_populate USING ddir AS
	SELECT id, p.* FROM o, jsonb_populate_recordset(NULL::pair, jsonb_build_array(jsonb_build_object('l', k, 'r', s))) p;
CREATE MATERIALIZED VIEW f_text USING ddir AS
	SELECT id, m[1] AS letter, m[2] AS digits, w FROM o, regexp_matches(s, '([a-z])([0-9]+)', 'g') m, string_to_table(s, ',') w;
CREATE MATERIALIZED VIEW f_scalar USING ddir AS SELECT id, a, n FROM o, abs(k - 3) WITH ORDINALITY AS f(a, n);
CREATE MATERIALIZED VIEW f_user USING ddir AS
	SELECT id, p AS s, i, square, l FROM o LEFT JOIN steps(k) p ON true LEFT JOIN squares(id) q ON q.square < 10 LEFT JOIN lazy(k) l ON true;
CREATE MATERIALIZED VIEW f_inlined USING ddir AS SELECT id, f.v FROM o LEFT JOIN of_k(o.k) f ON true;
CREATE MATERIALIZED VIEW f_composite USING ddir AS
	SELECT id, p.l, p.r, q.l AS ql, q.r AS qr, b.a, b.b FROM o, paired(id) p, pairs(k) q, two(id) b;
CREATE MATERIALIZED VIEW f_subquery USING ddir AS
	SELECT id, x FROM o, unnest(ARRAY(SELECT v FROM t WHERE t.k = o.k)) x WHERE x < (SELECT max(v) FROM t);
CREATE MATERIALIZED VIEW f_lateral USING ddir AS
	SELECT id, l.total, l.n FROM o, LATERAL (SELECT sum(x) AS total, count(*) AS n FROM unnest(xs) x WHERE x <> o.id) l;
CREATE MATERIALIZED VIEW f_exists USING ddir AS
	SELECT id, 7 IN (SELECT unnest(xs)) AS seven, EXISTS (SELECT FROM unnest(ys) y WHERE y > s) AS e, (SELECT max(x) FROM unnest(xs) x) AS m FROM o;
CREATE MATERIALIZED VIEW f_join USING ddir AS SELECT o.id, x, v FROM o CROSS JOIN unnest(xs) x LEFT JOIN t ON t.k = x;
CREATE MATERIALIZED VIEW f_chain USING ddir AS SELECT id, a, b FROM o, generate_series(1, k) a, generate_series(a, k) b WHERE a + b <> id;

-- the select list
CREATE MATERIALIZED VIEW l_unnest USING ddir AS SELECT id, unnest(xs) AS x FROM o;
CREATE MATERIALIZED VIEW l_lockstep USING ddir AS SELECT id, unnest(xs) AS x, unnest(ys) AS y, generate_series(1, k) AS g, k AS same FROM o;
CREATE MATERIALIZED VIEW l_nested USING ddir AS
	SELECT id, generate_series(1, unnest(xs)) + 1 AS g, unnest(ys) || id AS y, generate_series(1, generate_series(1, k)) AS h FROM o WHERE id < 4;
CREATE MATERIALIZED VIEW l_composite USING ddir AS SELECT id, pairs(k) AS p, (jsonb_each(doc)).* FROM o;
CREATE MATERIALIZED VIEW l_user USING ddir AS SELECT id, steps(k) AS s, lazy(id) AS l FROM o;
CREATE MATERIALIZED VIEW l_group USING ddir AS SELECT unnest(xs) AS x, count(*) AS n, sum(k) AS k FROM o GROUP BY 1;
CREATE MATERIALIZED VIEW l_above USING ddir AS SELECT k, unnest(array_agg(id ORDER BY id)) AS i, count(*) AS n FROM o GROUP BY k HAVING count(*) > 0;
CREATE MATERIALIZED VIEW l_distinct USING ddir AS SELECT DISTINCT unnest(xs || k) AS x FROM o;
CREATE MATERIALIZED VIEW l_order USING ddir AS SELECT id FROM o ORDER BY generate_series(1, 2), unnest(xs);
CREATE MATERIALIZED VIEW l_union USING ddir AS SELECT unnest(xs) AS x FROM o UNION SELECT v FROM t EXCEPT SELECT generate_series(1, 2);
CREATE MATERIALIZED VIEW l_values USING ddir AS SELECT id, unnest(ARRAY(SELECT v FROM t WHERE t.k = o.k)) AS v FROM o;
\i test/sql/check_all.sql
TABLE f_ordinal ORDER BY id, n;
TABLE f_left ORDER BY id, n;
TABLE f_rows_from ORDER BY id, n;
TABLE f_record ORDER BY id;
TABLE f_recordset ORDER BY id, i;
TABLE f_composite ORDER BY id, ql, qr;
TABLE f_user ORDER BY 1, 2, 3, 5;
TABLE l_lockstep ORDER BY id, g, x, y;
TABLE l_nested ORDER BY 1, 2, 3, 4;
TABLE l_composite ORDER BY id, key, p;

-- rows change under them; duplicates; NULLs
BEGIN;
UPDATE o SET xs = xs || 4, k = k + 1 WHERE id IN (1, 4);
UPDATE o SET xs = '{9}', ys = '{}', doc = '{"a": [5]}', s = 'e5,e5' WHERE id = 3;
INSERT INTO o VALUES (5, 3, '{1,1,1}', '{q}', '{"z": 2.50}', 'f6'), (6, 3, '{1,1,1}', '{q}', '{"z": 2.50}', 'f6');
INSERT INTO t VALUES (3, 30), (4, 7), (9, 9);
DELETE FROM t WHERE k = 1 AND v = 10;
COMMIT;
\i test/sql/check_all.sql
TABLE l_group ORDER BY x;
-- the last row of a group, and of a function
BEGIN;
DELETE FROM o WHERE id IN (3, 5);
UPDATE o SET xs = NULL WHERE id = 6;
UPDATE o SET doc = NULL, ys = NULL WHERE id = 1;
COMMIT;
\i test/sql/check_all.sql
-- many rows of one
UPDATE o SET k = 200 WHERE id = 2;
SELECT ddir.wait('f_chain');
SELECT count(*) FROM f_chain WHERE id = 2;
UPDATE o SET k = 2 WHERE id = 2;
\i test/sql/check_all.sql

-- errors come and go, and hold up no other view; of the row nothing stays
UPDATE o SET k = 6 WHERE id = 1;
SELECT ddir.wait('l_unnest');
SELECT view, state, sqlstate, message FROM ddir.views WHERE state <> 'live' ORDER BY view::text;
SELECT ddir.wait('f_user');
UPDATE o SET k = 4 WHERE id = 1;
\i test/sql/check_all.sql
BEGIN;
UPDATE o SET doc = '{"a": 1}' WHERE id = 4;
INSERT INTO o VALUES (7, 5, '{1}', '{}', NULL, NULL);
COMMIT;
SELECT ddir.wait('l_unnest');
SELECT view, state, sqlstate, message FROM ddir.views WHERE state <> 'live' ORDER BY view::text;
DELETE FROM o WHERE id = 7;
UPDATE o SET doc = '{"a": [3]}' WHERE id = 4;
\i test/sql/check_all.sql

-- a function is redefined; a type altered
CREATE OR REPLACE FUNCTION of_k(int) RETURNS SETOF t STABLE LANGUAGE sql AS 'SELECT k, -v FROM public.t WHERE k = $1';
CREATE OR REPLACE FUNCTION lazy(n int) RETURNS SETOF int IMMUTABLE STRICT SECURITY DEFINER LANGUAGE sql AS 'SELECT g + 200 FROM generate_series(1, n) g';
\i test/sql/check_all.sql
SELECT id, min(l) FROM f_user WHERE l IS NOT NULL GROUP BY id ORDER BY id;

-- refused, by name
\set VERBOSITY default
CREATE FUNCTION rolls(int) RETURNS SETOF float8 LANGUAGE sql VOLATILE AS 'SELECT random() FROM generate_series(1, $1)';
CREATE MATERIALIZED VIEW no USING ddir AS SELECT id, r FROM o, rolls(k) r;
CREATE MATERIALIZED VIEW no USING ddir AS SELECT id, rolls(k) FROM o;
CREATE MATERIALIZED VIEW no USING ddir AS SELECT id, r.* FROM o, jsonb_to_record(doc) AS r(at timestamptz);
\set VERBOSITY terse

DROP TABLE o, t CASCADE;
DROP FUNCTION steps, squares, lazy, paired, pairs, any_record, two, rolls;
DROP TYPE pair CASCADE;
