-- Window functions of every kind and frame; rows that ORDER BY leaves equal come
-- in the order of their images.

SET client_min_messages = warning;
CREATE TABLE w (id int, g int, x int, s text, f float8, n numeric);
INSERT INTO w SELECT i, i % 3, i * 7 % 10, chr(97 + i % 5), i * 0.1, i / 4.0 FROM generate_series(1, 20) i;
INSERT INTO w VALUES (21, NULL, NULL, NULL, NULL, NULL), (22, NULL, 3, 'a', 1, 1.0), (22, NULL, 3, 'a', 1, 1.0), (23, 0, NULL, 'b', 'NaN', 1.00);
CREATE TABLE o (id int, g int);
INSERT INTO o VALUES (1, 0), (2, 1), (3, 1), (4, NULL), (5, 9);
CREATE FUNCTION add(int, int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT coalesce($1, 0) * 2 + coalesce($2, 1)';
CREATE AGGREGATE twice(int) (SFUNC = add, STYPE = int, INITCOND = '0');

CREATE MATERIALIZED VIEW v_rank USING ddir AS
	SELECT id, g, x, row_number() OVER v, rank() OVER v, dense_rank() OVER v, percent_rank() OVER v,
		   cume_dist() OVER v, ntile(3) OVER v
	  FROM w WINDOW v AS (PARTITION BY g ORDER BY x DESC NULLS LAST);
CREATE MATERIALIZED VIEW v_shift USING ddir AS
	SELECT id, lag(x) OVER v AS lag, lag(id, 2, -1) OVER v AS lag2, lead(x, 1, x) OVER v AS lead,
		   first_value(id) OVER v AS first, last_value(id) OVER v AS last, nth_value(id, 2) OVER v AS nth
	  FROM w WINDOW v AS (PARTITION BY g ORDER BY x, id);
CREATE MATERIALIZED VIEW v_sums USING ddir AS
	SELECT id, sum(x) OVER (ORDER BY id) AS running, avg(n) OVER (PARTITION BY g) AS mean, count(*) OVER () AS all,
		   max(x) OVER (PARTITION BY g ORDER BY id ROWS 2 PRECEDING) AS max,
		   sum(x) FILTER (WHERE x > 4) OVER (PARTITION BY g ORDER BY id) AS large,
		   string_agg(s, '') OVER (PARTITION BY g ORDER BY x) AS s,
		   sum(f) OVER (ORDER BY id) AS f, twice(x) OVER (PARTITION BY g ORDER BY id) AS twice
	  FROM w;
CREATE MATERIALIZED VIEW v_frames USING ddir AS
	SELECT id, sum(id) OVER (ORDER BY x, id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS a,
		   sum(id) OVER (ORDER BY x RANGE BETWEEN 2 PRECEDING AND CURRENT ROW) AS b,
		   sum(id) OVER (ORDER BY x GROUPS BETWEEN 1 FOLLOWING AND 2 FOLLOWING) AS c,
		   sum(id) OVER (ORDER BY x RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW) AS d,
		   sum(id) OVER (ORDER BY x RANGE UNBOUNDED PRECEDING EXCLUDE GROUP) AS e,
		   sum(id) OVER (ORDER BY x RANGE UNBOUNDED PRECEDING EXCLUDE TIES) AS f,
		   count(n) OVER (ORDER BY n RANGE BETWEEN 0.5 PRECEDING AND 0.5 FOLLOWING) AS g,
		   array_agg(id) OVER (PARTITION BY s ORDER BY x ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING) AS h
	  FROM w;
-- nothing says which: the order of images does
CREATE MATERIALIZED VIEW v_any USING ddir AS SELECT g, row_number() OVER () AS n, lag(g) OVER (ORDER BY s) AS l FROM w;
CREATE MATERIALIZED VIEW v_alike USING ddir AS SELECT n, row_number() OVER (PARTITION BY n) AS i FROM w;
-- above groups, below DISTINCT and LIMIT, in expressions, with subqueries
CREATE MATERIALIZED VIEW v_group USING ddir AS
	SELECT g, count(*), rank() OVER (ORDER BY count(*) DESC, g), sum(sum(x)) OVER (ORDER BY g) FROM w GROUP BY g;
CREATE MATERIALIZED VIEW v_distinct USING ddir AS SELECT DISTINCT g, count(*) OVER (PARTITION BY g) AS n FROM w;
CREATE MATERIALIZED VIEW v_limit USING ddir AS
	SELECT id FROM w ORDER BY rank() OVER (PARTITION BY g ORDER BY x), id LIMIT 5;
CREATE MATERIALIZED VIEW v_case USING ddir AS
	SELECT id, CASE WHEN row_number() OVER (ORDER BY id) > 1 THEN 10 / x ELSE 0 END AS q FROM w WHERE x <> 0;
CREATE MATERIALIZED VIEW v_share USING ddir AS
	SELECT id, round(x / sum(x) OVER (PARTITION BY g)::numeric, 3) AS share, (SELECT max(o.id) FROM o WHERE o.g = w.g) AS o FROM w;
CREATE MATERIALIZED VIEW v_in USING ddir AS
	SELECT id FROM w WHERE x IN (SELECT rank() OVER (ORDER BY id) FROM o WHERE o.g <> w.g);
-- for each row around them
CREATE MATERIALIZED VIEW v_lateral USING ddir AS
	SELECT o.id, l.* FROM o, LATERAL
	(SELECT w.id AS wid, rank() OVER (ORDER BY x) AS r, sum(x) OVER (ORDER BY w.id) + o.id AS s FROM w WHERE w.g = o.g) l;
-- the first of each group
CREATE MATERIALIZED VIEW v_first USING ddir AS
	SELECT * FROM (SELECT id, g, x, row_number() OVER (PARTITION BY g ORDER BY x, id) AS n FROM w) s WHERE n <= 2;
CREATE MATERIALIZED VIEW v_best USING ddir AS
	SELECT * FROM (SELECT id, g, rank() OVER (PARTITION BY g ORDER BY n DESC NULLS LAST) AS r FROM w) s WHERE r < 3 AND g < 2;
-- orders that bytes cannot have; keys whose bytes are equal
CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE MATERIALIZED VIEW v_icu USING ddir AS
	SELECT id, s, rank() OVER (ORDER BY s COLLATE "en-x-icu") FROM w;
CREATE MATERIALIZED VIEW v_icu_limit USING ddir AS
	SELECT id, s FROM w ORDER BY s COLLATE "en-x-icu" DESC, id LIMIT 4 OFFSET 1;
CREATE MATERIALIZED VIEW v_icu_ties USING ddir AS
	SELECT s FROM w ORDER BY s COLLATE "en-x-icu" FETCH FIRST 2 ROWS WITH TIES;
CREATE MATERIALIZED VIEW v_nocase USING ddir AS
	SELECT id, s, count(*) OVER (PARTITION BY s COLLATE nocase) AS n FROM w;
CREATE MATERIALIZED VIEW v_nocase_first USING ddir AS
	SELECT DISTINCT ON (s COLLATE nocase) id, s FROM w ORDER BY s COLLATE nocase, id DESC;
-- read by others
CREATE MATERIALIZED VIEW v_above USING ddir AS SELECT g, max(n) FROM v_first GROUP BY g;
\i test/sql/check_all.sql
TABLE v_rank ORDER BY g, row_number;
TABLE v_shift ORDER BY id, lag2;
TABLE v_frames ORDER BY id, a;
TABLE v_first ORDER BY g, n;
TABLE v_icu_limit ORDER BY s DESC, id;

-- rows come and go at each end, partitions are emptied and come again, rows move
DELETE FROM w WHERE x = 0 OR id = 20;
\i test/sql/check_all.sql
INSERT INTO w VALUES (30, 1, -1, 'A', 7, 7), (30, 1, -1, 'A', 7, 7), (31, 2, 99, 'b', 1e20, 7.0), (32, 4, 5, NULL, -1e20, NULL);
\i test/sql/check_all.sql
BEGIN;
DELETE FROM w WHERE g = 1;
UPDATE o SET g = 2 WHERE id = 1;
UPDATE w SET x = NULL WHERE x = 7;
UPDATE w SET g = 4 WHERE id % 4 = 0;
COMMIT;
\i test/sql/check_all.sql
TABLE v_rank ORDER BY g, row_number;
BEGIN;
INSERT INTO w SELECT 50 + i, 1, i, 'B', i, 1 FROM generate_series(1, 12) i;
SAVEPOINT s;
DELETE FROM w;
ROLLBACK TO s;
UPDATE w SET s = upper(s) WHERE id % 2 = 0;
COMMIT;
\i test/sql/check_all.sql
TRUNCATE w;
\i test/sql/check_all.sql
INSERT INTO w VALUES (1, 1, 1, 'a', 1, 1), (2, 1, 1, 'a', 1, 1);
\i test/sql/check_all.sql

-- functions of a row's place, over partitions of many rows: from where rows change on
CREATE TABLE big (id int, g int, x int, s text COLLATE "C");
INSERT INTO big SELECT i, i % 2, i / 3 * 2, chr(97 + i % 7) FROM generate_series(1, 3000) i;
CREATE MATERIALIZED VIEW v_places USING ddir AS
	SELECT id, row_number() OVER v, rank() OVER v, dense_rank() OVER v FROM big WINDOW v AS (PARTITION BY g ORDER BY x, s DESC);
CREATE MATERIALIZED VIEW v_around USING ddir AS
	SELECT id, lag(s) OVER v, lag(x, 3, id) OVER v AS lag3, lead(id, 40, -1) OVER v, lead(s, 0) OVER v AS this, lead(x, -2, 7) OVER v AS back
	  FROM big WINDOW v AS (ORDER BY x DESC NULLS LAST, id);
CREATE MATERIALIZED VIEW v_running USING ddir AS
	SELECT id, sum(x) OVER v, count(*) OVER v, count(x) FILTER (WHERE s < 'c') OVER v AS some, avg(x) OVER v,
		   bool_or(x % 5 = 0) OVER v AS b
	  FROM big WINDOW v AS (PARTITION BY g ORDER BY s, x);
CREATE MATERIALIZED VIEW v_running_rows USING ddir AS
	SELECT id, sum(x) OVER v, stddev_pop(id) OVER v, row_number() OVER v
	  FROM big WINDOW v AS (PARTITION BY g ORDER BY x NULLS FIRST ROWS UNBOUNDED PRECEDING);
CREATE MATERIALIZED VIEW v_moving USING ddir AS
	SELECT id, avg(x) OVER v, sum(x / 3.0) OVER v AS n, sum(x) FILTER (WHERE x % 4 <> 0) OVER v AS f, count(*) OVER v,
		   first_value(id) OVER v, last_value(s) OVER v, avg(x) OVER w AS others, first_value(x) OVER w AS next
	  FROM big WINDOW v AS (PARTITION BY g ORDER BY x, id ROWS BETWEEN 6 PRECEDING AND 1 FOLLOWING),
	  w AS (ORDER BY id ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING EXCLUDE CURRENT ROW);
\i test/sql/check_all.sql
INSERT INTO big VALUES (3001, 0, 9999, 'z'), (3002, 1, 9999, 'a'), (3003, 0, 9999, 'z');
\i test/sql/check_all.sql
INSERT INTO big VALUES (0, 0, -1, 'a'), (4000, 1, 700, 'q'), (4001, 1, NULL, 'q'), (4002, 0, 1401, NULL);
\i test/sql/check_all.sql
DELETE FROM big WHERE id IN (1, 500, 501, 502, 1500, 2999, 4000);
\i test/sql/check_all.sql
UPDATE big SET x = x + 1 WHERE id BETWEEN 1000 AND 1200 AND id % 3 = 0;
\i test/sql/check_all.sql
UPDATE big SET s = 'b', g = 1 - g WHERE id % 400 = 0;
\i test/sql/check_all.sql
DELETE FROM big WHERE x BETWEEN 100 AND 1700;
\i test/sql/check_all.sql
BEGIN;
INSERT INTO big SELECT * FROM big WHERE id % 100 = 7;
UPDATE big SET x = 0 WHERE id % 3 = 0;
COMMIT;
\i test/sql/check_all.sql
DELETE FROM big WHERE g = 1;
\i test/sql/check_all.sql
SELECT count(*), max(row_number), sum(dense_rank) FROM v_places;
SELECT v AS how FROM regexp_split_to_table(ddir.explain('v_around'), E'\n') v WHERE v LIKE 'window%';

-- frames of every kind: what their ends pass is added and taken away
CREATE TABLE fr (id int, g int, x int, f float8, r float4, n numeric, s text COLLATE "C", d timestamp, v interval);
INSERT INTO fr SELECT i, i % 2, nullif(i / 4 * 3 % 701, 9), (i * 7919 % 1000) / 8.0, i * 0.1, (i * 31 % 97) / (10 ^ (i % 4))::numeric,
	chr(97 + i * 7 % 23), timestamp '2024-01-31' + i / 3 * interval '7 hours', make_interval(months => i % 3, hours => i % 50)
  FROM generate_series(1, 700) i;
UPDATE fr SET f = 'NaN', n = 'NaN' WHERE id IN (300, 600);
UPDATE fr SET f = '-Infinity', n = '-Infinity', x = NULL WHERE id = 500;
UPDATE fr SET f = '-0', r = '-0', d = 'infinity' WHERE id IN (100, 101, 666);
UPDATE fr SET f = 1e150 WHERE id % 200 = 50;
CREATE MATERIALIZED VIEW fr_running USING ddir AS
	SELECT id, sum(f) OVER v, avg(r) OVER v AS a, sum(n) OVER v AS n, avg(n) OVER v AS an, stddev_samp(f) OVER v AS sd, var_pop(n) OVER v AS vn,
		   min(s) OVER v, max(n) OVER v, min(f) FILTER (WHERE x > 300) OVER v AS mf, max(v) OVER v AS mv, sum(v) OVER v AS sv, min(ARRAY[x, id]) OVER v AS ma
	  FROM fr WINDOW v AS (PARTITION BY g ORDER BY x, s DESC);
CREATE MATERIALIZED VIEW fr_running_rows USING ddir AS
	SELECT id, sum(f) OVER v, sum(n) OVER v AS n, max(s) OVER v, first_value(n) OVER v, last_value(s) OVER v, nth_value(id, 40) OVER v, bool_and(x > 10) OVER v AS b
	  FROM fr WINDOW v AS (ORDER BY n DESC NULLS LAST, id ROWS UNBOUNDED PRECEDING);
CREATE MATERIALIZED VIEW fr_rows USING ddir AS
	SELECT id, sum(n) OVER v, avg(f) OVER v AS f, max(s) OVER v, first_value(x) OVER v, nth_value(id, 3) OVER v, last_value(id) OVER v
	  FROM fr WINDOW v AS (PARTITION BY g ORDER BY f NULLS FIRST ROWS BETWEEN 9 PRECEDING AND 3 PRECEDING);
CREATE MATERIALIZED VIEW fr_ahead USING ddir AS
	SELECT id, sum(n) OVER v, count(*) OVER v, min(n) OVER v, first_value(x) OVER v, nth_value(id, 2) OVER v, last_value(id) OVER v, lead(id, 100) OVER v
	  FROM fr WINDOW v AS (ORDER BY x DESC, id ROWS BETWEEN 2 FOLLOWING AND 2 * 2 + 1 FOLLOWING);
CREATE MATERIALIZED VIEW fr_range USING ddir AS
	SELECT id, sum(f) OVER v, count(n) OVER v, max(s) OVER v, first_value(id) OVER v, nth_value(x, 2) OVER v, rank() OVER v
	  FROM fr WINDOW v AS (PARTITION BY g ORDER BY d RANGE BETWEEN '1 month' PRECEDING AND '1 day' FOLLOWING);
CREATE MATERIALIZED VIEW fr_range_desc USING ddir AS
	SELECT id, sum(x) OVER v, min(id) OVER v, last_value(n) OVER v, avg(n) OVER w AS w, count(*) OVER u AS u
	  FROM fr WINDOW v AS (ORDER BY f DESC NULLS LAST RANGE BETWEEN 2.5 PRECEDING AND 'Infinity' FOLLOWING),
	  w AS (PARTITION BY g ORDER BY n DESC RANGE BETWEEN CURRENT ROW AND 0.5 FOLLOWING),
	  u AS (ORDER BY x NULLS FIRST RANGE BETWEEN UNBOUNDED PRECEDING AND 5 PRECEDING);
CREATE MATERIALIZED VIEW fr_groups USING ddir AS
	SELECT id, sum(n) OVER v, first_value(id) OVER v, max(f) OVER v, dense_rank() OVER v, sum(f) OVER w AS w
	  FROM fr WINDOW v AS (PARTITION BY g ORDER BY x GROUPS BETWEEN 2 PRECEDING AND 1 FOLLOWING),
	  w AS (ORDER BY x GROUPS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING);
CREATE MATERIALIZED VIEW fr_rest USING ddir AS
	SELECT id, sum(n) OVER v, first_value(id) OVER v, last_value(id) OVER v, min(id) OVER w AS min, sum(f) OVER w AS w, sum(f) OVER u AS u, last_value(id) OVER u AS lu
	  FROM fr WINDOW v AS (PARTITION BY g ORDER BY x RANGE UNBOUNDED PRECEDING EXCLUDE GROUP),
	  w AS (PARTITION BY g ORDER BY x ROWS BETWEEN 3 PRECEDING AND 3 FOLLOWING EXCLUDE TIES),
	  u AS (PARTITION BY g ORDER BY s GROUPS BETWEEN CURRENT ROW AND 1 FOLLOWING EXCLUDE CURRENT ROW);
CREATE MATERIALIZED VIEW fr_rest2 USING ddir AS
	SELECT id, sum(n) OVER v, first_value(id) OVER v, last_value(id) OVER v, max(x) OVER w AS max, count(*) OVER w AS w, first_value(id) OVER u AS fu, last_value(id) OVER u AS lu
	  FROM fr WINDOW v AS (PARTITION BY g ORDER BY x ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING EXCLUDE TIES),
	  w AS (PARTITION BY g ORDER BY x GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE GROUP),
	  u AS (PARTITION BY g ORDER BY x ROWS BETWEEN 2 PRECEDING AND 2 PRECEDING EXCLUDE TIES);
\i test/sql/check_all.sql
INSERT INTO fr VALUES (3001, 0, 9999, 1, 1, 1, 'z', '2030-01-01', '1 day'), (3002, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (3003, 0, 9999, 3.5, 1, 1.00000, 'a', '2024-06-01', '-1 day');
\i test/sql/check_all.sql
DELETE FROM fr WHERE id IN (1, 300, 500, 101, 50, 677, 600);
\i test/sql/check_all.sql
UPDATE fr SET x = x + 1, n = n * 1.0, f = f + 1 WHERE id BETWEEN 400 AND 420;
\i test/sql/check_all.sql
INSERT INTO fr SELECT * FROM fr WHERE id % 50 = 7;
\i test/sql/check_all.sql
BEGIN;
DELETE FROM fr WHERE x BETWEEN 100 AND 400;
UPDATE fr SET g = 1 - g WHERE id % 7 = 0;
COMMIT;
\i test/sql/check_all.sql
DELETE FROM fr WHERE g = 0;
\i test/sql/check_all.sql
SELECT h, count(*) FROM ddir.views v, regexp_split_to_table(ddir.explain(v.view), E'\n') h WHERE v.view::text LIKE 'fr\_%' AND h LIKE 'window%' GROUP BY h ORDER BY h;
-- what the whole partition or another function is needed for
CREATE MATERIALIZED VIEW fr_whole USING ddir AS
	SELECT id, row_number() OVER v, ntile(4) OVER v, nth_value(id, id % 3 + 1) OVER u AS nth, lag(id, g) OVER w AS lag
	  FROM fr WINDOW v AS (PARTITION BY g ORDER BY x, id), u AS (ORDER BY id), w AS (ORDER BY n, id);
\i test/sql/check_all.sql
SELECT h, count(*) FROM regexp_split_to_table(ddir.explain('fr_whole'), E'\n') h WHERE h LIKE 'window%' GROUP BY h;
-- offsets that are wrong are so where the server looks at them
TRUNCATE fr;
CREATE MATERIALIZED VIEW fr_below USING ddir AS SELECT x, count(*) OVER (ORDER BY x RANGE BETWEEN -1 PRECEDING AND CURRENT ROW) FROM fr;
CREATE MATERIALIZED VIEW fr_below_rank USING ddir AS SELECT x, rank() OVER (ORDER BY n RANGE BETWEEN UNBOUNDED PRECEDING AND -1 FOLLOWING) FROM fr;
CREATE MATERIALIZED VIEW fr_below_rows USING ddir AS SELECT x, count(*) OVER (ORDER BY n ROWS BETWEEN -1 PRECEDING AND CURRENT ROW) FROM fr;
INSERT INTO fr (x) VALUES (NULL), (NULL);
SELECT ddir.wait('fr_below');
SELECT ddir.wait('fr_below_rank') IS NOT NULL;
INSERT INTO fr (n) VALUES (1), (2);
SELECT ddir.wait('fr_below_rank');
DELETE FROM fr;
\i test/sql/check_all.sql
DROP TABLE fr CASCADE;

-- an error of one partition is one of the view, and goes with its cause
CREATE MATERIALIZED VIEW v_error USING ddir AS SELECT id, nth_value(id, x) OVER (PARTITION BY g ORDER BY id) AS nth FROM w;
INSERT INTO w VALUES (3, 2, 0, 'x', 0, 0);
SELECT ddir.wait('v_error');
INSERT INTO w VALUES (4, 1, 2, 'x', 0, 0);
DELETE FROM w WHERE x = 0;
\i test/sql/check_all.sql
TABLE v_error ORDER BY id;
CREATE MATERIALIZED VIEW v_overflow USING ddir AS SELECT id, sum(n) OVER (PARTITION BY g ORDER BY id)::int2 AS n FROM w;
UPDATE w SET n = 30000;
SELECT ddir.wait('v_overflow');
UPDATE w SET n = n - 29000;
\i test/sql/check_all.sql
TABLE v_overflow ORDER BY id;
CREATE TABLE large (id int, n numeric, p numeric(10, 2));
INSERT INTO large SELECT i, i, i FROM generate_series(1, 4) i;
CREATE MATERIALIZED VIEW v_large USING ddir AS SELECT id, sum(n) OVER (ORDER BY id ROWS 1 PRECEDING) AS n FROM large;
CREATE MATERIALIZED VIEW v_scaled USING ddir AS SELECT id, sum(p) OVER (ORDER BY id ROWS 1 PRECEDING) AS p FROM large;
\i test/sql/check_all.sql
SELECT n, split_part(v, ': ', 2) AS how FROM (VALUES ('v_large'), ('v_scaled')) n (n), regexp_split_to_table(ddir.explain(n::regclass), E'\n') v WHERE v LIKE 'window%' ORDER BY n;
INSERT INTO large VALUES (5, 9e131071, 0), (6, 9e131071, 99999999.99);
SELECT ddir.wait('v_large');
SELECT ddir.wait('v_scaled') IS NOT NULL;
DELETE FROM large WHERE id = 5;
\i test/sql/check_all.sql
TABLE v_scaled ORDER BY id;
DROP TABLE large CASCADE;

-- how it is done
SELECT split_part(ddir.explain('v_first'), E'\n\n', 1) AS plan;
SELECT split_part(ddir.explain('v_frames'), E'\n\n', 1) AS plan;
-- with functions that return rows, and aggregates of an order
CREATE TABLE a (id int, k int, arr int[]);
INSERT INTO a SELECT i, i % 3, ARRAY[i, i % 5, i % 2] FROM generate_series(1, 20) i;
CREATE MATERIALIZED VIEW v_rows1 USING ddir AS SELECT id, unnest(arr) AS u FROM a ORDER BY u DESC, id LIMIT 5;
CREATE MATERIALIZED VIEW v_rows2 USING ddir AS SELECT id, unnest(arr) AS u, row_number() OVER (PARTITION BY k ORDER BY id) AS n FROM a;
CREATE MATERIALIZED VIEW v_rows3 USING ddir AS SELECT k, l.* FROM a, LATERAL (SELECT g, rank() OVER (ORDER BY g DESC) AS r FROM generate_series(1, a.k) g) l;
CREATE MATERIALIZED VIEW v_rows4 USING ddir AS SELECT a.id, l.* FROM a, LATERAL (SELECT x FROM unnest(a.arr) x ORDER BY x LIMIT 2) l;
CREATE MATERIALIZED VIEW v_rows5 USING ddir AS SELECT DISTINCT ON (k) k, generate_series(1, id) AS g FROM a ORDER BY k, g DESC;
CREATE MATERIALIZED VIEW v_rows6 USING ddir AS SELECT k, percentile_cont(0.5) WITHIN GROUP (ORDER BY id) AS p, rank() OVER (ORDER BY count(*), k) FROM a GROUP BY k;
CREATE MATERIALIZED VIEW v_rows7 USING ddir AS SELECT id FROM a ORDER BY generate_series(1, k), id LIMIT 4;
CREATE MATERIALIZED VIEW v_rows8 USING ddir AS SELECT k, string_agg(id::text, ',' ORDER BY id DESC) AS s, first_value(k) OVER (ORDER BY k) FROM a GROUP BY k ORDER BY 2 LIMIT 2;
CREATE MATERIALIZED VIEW v_rows9 USING ddir AS SELECT generate_series(1, (row_number() OVER (ORDER BY id))::int) AS g, id FROM a WHERE id < 5;
\i test/sql/check_all.sql
UPDATE a SET arr = arr || id, k = (k + 1) % 3 WHERE id % 4 = 0;
INSERT INTO a VALUES (0, 0, '{}'), (99, 2, NULL);
\i test/sql/check_all.sql
DELETE FROM a WHERE id > 3;
\i test/sql/check_all.sql
TABLE v_rows9 ORDER BY 2, 1;
-- arguments by name, and one that is left out
CREATE FUNCTION nth(value anyelement, n int = 1) RETURNS anyelement LANGUAGE internal WINDOW IMMUTABLE STRICT AS 'window_nth_value';
CREATE MATERIALIZED VIEW v_named USING ddir AS SELECT id, nth(n := 2, value := id) OVER v, nth(value := k) OVER v AS first FROM a WINDOW v AS (ORDER BY id);
\i test/sql/check_all.sql
INSERT INTO a VALUES (-1, 5, NULL);
\i test/sql/check_all.sql
TABLE v_named ORDER BY id;
DROP TABLE w, o, big, a CASCADE;
DROP FUNCTION add CASCADE;
DROP FUNCTION nth;
DROP COLLATION nocase;
