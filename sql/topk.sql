-- LIMIT, OFFSET, WITH TIES and DISTINCT ON: the rows that are counted off, in
-- PostgreSQL's order, rows equal in it by their images.

SET client_min_messages = warning;
CREATE TABLE m (id int, g int, x int, s text COLLATE "C", n numeric);
INSERT INTO m SELECT i, i % 4, i * 7 % 10, chr(97 + i % 5), ((i % 3) || CASE WHEN i % 2 = 0 THEN '.0' ELSE '.00' END)::numeric FROM generate_series(1, 30) i;
INSERT INTO m VALUES (31, NULL, NULL, NULL, NULL), (32, NULL, 3, '', 0), (32, NULL, 3, '', 0), (33, 0, NULL, 'a', 'NaN');
CREATE TABLE o (id int, g int, k int);
INSERT INTO o VALUES (1, 0, 3), (2, 1, 5), (3, 1, 5), (4, NULL, 1), (5, 9, 2);

CREATE MATERIALIZED VIEW v_limit USING ddir AS SELECT id, x FROM m ORDER BY x, id LIMIT 4;
CREATE MATERIALIZED VIEW v_desc USING ddir AS SELECT id, x FROM m ORDER BY x DESC, id DESC LIMIT 4;
CREATE MATERIALIZED VIEW v_desc_last USING ddir AS SELECT id, x, s FROM m ORDER BY x DESC NULLS LAST, s NULLS FIRST, id LIMIT 7 OFFSET 2;
CREATE MATERIALIZED VIEW v_offset USING ddir AS SELECT id FROM m ORDER BY id OFFSET 30;
CREATE MATERIALIZED VIEW v_using USING ddir AS SELECT id, n FROM m ORDER BY n USING >, id USING < LIMIT 5;
CREATE MATERIALIZED VIEW v_ties USING ddir AS SELECT x, g FROM m ORDER BY x FETCH FIRST 2 ROWS WITH TIES;
CREATE MATERIALIZED VIEW v_ties_offset USING ddir AS SELECT x, g FROM m ORDER BY x DESC OFFSET 1 FETCH FIRST 3 ROWS WITH TIES;
-- nothing says which: the least image does
CREATE MATERIALIZED VIEW v_any USING ddir AS SELECT g, x FROM m LIMIT 5;
CREATE MATERIALIZED VIEW v_any_ties USING ddir AS SELECT s FROM m ORDER BY g LIMIT 3 OFFSET 1;
-- ordered by what is not shown, computed, aggregated
CREATE MATERIALIZED VIEW v_hidden USING ddir AS SELECT s FROM m ORDER BY abs(x - 5), id LIMIT 3;
CREATE MATERIALIZED VIEW v_group USING ddir AS SELECT g, count(*) FROM m GROUP BY g ORDER BY sum(x) DESC NULLS LAST, g LIMIT 2;
CREATE MATERIALIZED VIEW v_distinct USING ddir AS SELECT DISTINCT x FROM m ORDER BY x DESC NULLS LAST LIMIT 3;
CREATE MATERIALIZED VIEW v_union USING ddir AS SELECT g FROM m UNION ALL SELECT g FROM o ORDER BY g LIMIT 9;
CREATE MATERIALIZED VIEW v_values USING ddir AS SELECT * FROM (VALUES (3), (1), (2)) v (a) ORDER BY a LIMIT 2;
-- DISTINCT ON
CREATE MATERIALIZED VIEW v_on USING ddir AS SELECT DISTINCT ON (g) g, id, x FROM m ORDER BY g, x DESC, id;
CREATE MATERIALIZED VIEW v_on_any USING ddir AS SELECT DISTINCT ON (n) n, s FROM m;
CREATE MATERIALIZED VIEW v_on_two USING ddir AS SELECT DISTINCT ON (g, s) id FROM m ORDER BY s, g DESC, id LIMIT 6;
CREATE MATERIALIZED VIEW v_on_none USING ddir AS SELECT DISTINCT ON (1) id, x FROM m ORDER BY 1, id;
-- in subqueries, and for each row around them
CREATE MATERIALIZED VIEW v_from USING ddir AS
	SELECT g, count(*) FROM (SELECT g FROM m ORDER BY x, id LIMIT 10) s GROUP BY g;
CREATE MATERIALIZED VIEW v_in USING ddir AS
	SELECT id FROM o WHERE g IN (SELECT g FROM m ORDER BY x DESC, id LIMIT 3);
CREATE MATERIALIZED VIEW v_in_each USING ddir AS
	SELECT id FROM o WHERE k IN (SELECT x FROM m WHERE m.g = o.g ORDER BY id LIMIT 3);
CREATE MATERIALIZED VIEW v_scalar USING ddir AS
	SELECT id, (SELECT s FROM m WHERE m.g = o.g ORDER BY x NULLS FIRST, m.id LIMIT 1) AS s FROM o;
CREATE MATERIALIZED VIEW v_exists USING ddir AS
	SELECT id FROM o WHERE EXISTS (SELECT FROM m WHERE m.g = o.g OFFSET 8);
CREATE MATERIALIZED VIEW v_lateral USING ddir AS
	SELECT o.id, l.* FROM o, LATERAL (SELECT m.id AS mid, x FROM m WHERE m.g = o.g ORDER BY x, m.id LIMIT 2) l;
CREATE MATERIALIZED VIEW v_nearest USING ddir AS
	SELECT o.id, l.* FROM o LEFT JOIN LATERAL
	(SELECT m.id AS mid, x FROM m WHERE m.x > o.k ORDER BY abs(m.x - o.k), m.id LIMIT 2 OFFSET 1) l ON true;
CREATE MATERIALIZED VIEW v_lateral_on USING ddir AS
	SELECT o.id, l.* FROM o, LATERAL (SELECT DISTINCT ON (s) s, m.id AS mid FROM m WHERE m.g <> o.g ORDER BY s, m.id LIMIT 2) l;
CREATE MATERIALIZED VIEW v_lateral_union USING ddir AS
	SELECT o.id, l.* FROM o, LATERAL
	((SELECT x FROM m WHERE m.g = o.g ORDER BY x LIMIT 1) UNION ALL (SELECT o.k) ORDER BY 1 DESC LIMIT 1) l;
CREATE MATERIALIZED VIEW v_one_row USING ddir AS
	SELECT o.id, l.n FROM o, LATERAL (SELECT count(*) AS n FROM m WHERE m.g = o.g LIMIT 1) l;
CREATE MATERIALIZED VIEW v_array USING ddir AS
	SELECT id, ARRAY(SELECT x FROM m WHERE m.g = o.g ORDER BY x DESC NULLS LAST, m.id LIMIT 3) AS a FROM o;
-- read by others
CREATE MATERIALIZED VIEW v_above USING ddir AS SELECT max(id), min(x) FROM v_limit;
CREATE MATERIALIZED VIEW v_again USING ddir AS SELECT id FROM v_desc_last ORDER BY id DESC LIMIT 2;
\i test/sql/check_all.sql
TABLE v_limit ORDER BY x, id;
TABLE v_desc ORDER BY x DESC, id DESC;
TABLE v_desc_last ORDER BY x DESC NULLS LAST, s NULLS FIRST, id;
TABLE v_ties ORDER BY x, g;
TABLE v_ties_offset ORDER BY x DESC, g;
TABLE v_on ORDER BY g;
TABLE v_lateral ORDER BY id, mid;
TABLE v_scalar ORDER BY id;

-- what is first goes, what comes is first; groups are emptied and come again
DELETE FROM m WHERE x = 0;
\i test/sql/check_all.sql
INSERT INTO m VALUES (40, 1, -1, 'a', 7), (40, 1, -1, 'a', 7), (41, 2, 99, 'z', 7.0);
\i test/sql/check_all.sql
TABLE v_limit ORDER BY x, id;
BEGIN;
DELETE FROM m WHERE g = 1;
UPDATE o SET g = 2 WHERE id = 1;
UPDATE m SET x = NULL WHERE x = 7;
COMMIT;
\i test/sql/check_all.sql
TABLE v_lateral ORDER BY id, mid;
BEGIN;
INSERT INTO m SELECT 50 + i, 1, i, 'q', 1 FROM generate_series(1, 12) i;
INSERT INTO o VALUES (6, 1, 100), (6, 1, 100), (7, NULL, NULL);
SAVEPOINT s;
DELETE FROM m;
ROLLBACK TO s;
UPDATE m SET g = g + 1 WHERE id % 5 = 0;
COMMIT;
\i test/sql/check_all.sql
UPDATE m SET n = (n::text || '0')::numeric WHERE n < 5;
\i test/sql/check_all.sql
DELETE FROM m WHERE id < 50;
\i test/sql/check_all.sql
TRUNCATE m;
\i test/sql/check_all.sql
SELECT count(*) FROM v_one_row;
INSERT INTO m VALUES (1, 1, 1, 'a', 1);
\i test/sql/check_all.sql
TABLE v_on;

-- limits that are none, or nothing
CREATE MATERIALIZED VIEW v_all USING ddir AS SELECT id FROM m ORDER BY x LIMIT ALL;
CREATE MATERIALIZED VIEW v_null USING ddir AS SELECT id FROM m LIMIT NULL OFFSET NULL;
CREATE MATERIALIZED VIEW v_zero USING ddir AS SELECT id FROM m LIMIT 0;
CREATE MATERIALIZED VIEW v_zero_ties USING ddir AS SELECT id FROM m ORDER BY id FETCH FIRST 0 ROWS WITH TIES;
CREATE MATERIALIZED VIEW v_constant USING ddir AS SELECT id FROM m ORDER BY id LIMIT 5 - 3 OFFSET length('a');
CREATE MATERIALIZED VIEW v_huge USING ddir AS SELECT id FROM m ORDER BY id LIMIT 9223372036854775807 OFFSET 2;
INSERT INTO m SELECT i, i % 2, i, 'x', i FROM generate_series(2, 6) i;
\i test/sql/check_all.sql
CREATE MATERIALIZED VIEW v_bad USING ddir AS SELECT id FROM m LIMIT -1;
CREATE MATERIALIZED VIEW v_bad USING ddir AS SELECT id FROM m OFFSET -1;

-- an error of a row that is not counted off is one of the view all the same
CREATE MATERIALIZED VIEW v_error USING ddir AS SELECT id, 6 / x AS q FROM m ORDER BY id LIMIT 2;
INSERT INTO m VALUES (100, 0, 0, 'x', 0);
SELECT ddir.wait('v_error');
DELETE FROM m WHERE x = 0;
\i test/sql/check_all.sql
TABLE v_error ORDER BY id;

-- how it is done
SELECT split_part(ddir.explain('v_lateral'), E'\n\n', 1) AS plan;
SELECT construct, maintained, reason LIKE '%several%' FROM ddir.explain_query('SELECT x FROM m LIMIT 1');
DROP TABLE m, o CASCADE;
DROP MATERIALIZED VIEW v_values;

-- numbers that are computed: of the row around, by subqueries, in every kind of query
CREATE TABLE a (id int, n int);
CREATE TABLE b (k int, v int);
INSERT INTO a VALUES (1, 1), (2, 2), (3, NULL), (4, 0);
INSERT INTO b SELECT i % 4 + 1, i FROM generate_series(1, 20) i;
CREATE MATERIALIZED VIEW c_limit USING ddir AS SELECT id, l.* FROM a, LATERAL (SELECT v FROM b WHERE k = id ORDER BY v LIMIT a.n) l;
CREATE MATERIALIZED VIEW c_offset USING ddir AS
	SELECT id, l.* FROM a LEFT JOIN LATERAL (SELECT v FROM b ORDER BY v DESC LIMIT 2 OFFSET a.n) l ON true;
CREATE MATERIALIZED VIEW c_count USING ddir AS SELECT v FROM b ORDER BY v LIMIT (SELECT count(*) FROM a WHERE n IS NOT NULL);
CREATE MATERIALIZED VIEW c_both USING ddir AS SELECT v FROM b ORDER BY v OFFSET (SELECT max(n) FROM a) LIMIT (SELECT min(id) FROM a) + 2;
CREATE MATERIALIZED VIEW c_ties USING ddir AS
	SELECT k, v FROM b ORDER BY k OFFSET (SELECT min(n) + 1 FROM a) FETCH FIRST (SELECT max(n) FROM a) ROWS WITH TIES;
CREATE MATERIALIZED VIEW c_value USING ddir AS SELECT id, (SELECT v FROM b WHERE k <> id ORDER BY v LIMIT 1 OFFSET n) AS x FROM a;
CREATE MATERIALIZED VIEW c_with USING ddir AS
	WITH c AS (SELECT count(*) AS n FROM a), d AS (SELECT n + 1 AS n FROM c) SELECT v FROM b ORDER BY v LIMIT (SELECT n FROM d);
CREATE MATERIALIZED VIEW c_window USING ddir AS
	SELECT id, l.* FROM a, LATERAL (WITH c AS (SELECT a.n FROM b)
		SELECT k, row_number() OVER (ORDER BY v) AS r, v FROM b ORDER BY v LIMIT (SELECT max(n) FROM c)) l;
CREATE MATERIALIZED VIEW c_group USING ddir AS SELECT id, l.* FROM a, LATERAL (SELECT k, count(*) FROM b GROUP BY k ORDER BY k LIMIT a.n) l;
CREATE MATERIALIZED VIEW c_distinct USING ddir AS
	SELECT id, l.* FROM a, LATERAL (SELECT DISTINCT ON (k) k, v FROM b ORDER BY k, v LIMIT greatest(a.n + (SELECT count(*) FROM b WHERE k = a.id) - 4, 0)) l;
CREATE MATERIALIZED VIEW c_union USING ddir AS SELECT id, l.* FROM a, LATERAL (SELECT v FROM b UNION SELECT id FROM a ORDER BY 1 OFFSET 1 LIMIT a.n) l;
CREATE MATERIALIZED VIEW c_exists USING ddir AS SELECT id FROM a WHERE EXISTS (SELECT FROM b WHERE k = id ORDER BY v LIMIT a.n);
\i test/sql/check_all.sql
TABLE c_limit ORDER BY id, v;
TABLE c_both ORDER BY v;
TABLE c_ties ORDER BY k, v;
TABLE c_value ORDER BY id;
BEGIN;
UPDATE a SET n = 3 WHERE id = 1;
INSERT INTO a VALUES (5, 1), (6, 2);
DELETE FROM b WHERE v < 4;
UPDATE b SET v = v + 1 WHERE k = 2;
COMMIT;
\i test/sql/check_all.sql
TABLE c_window ORDER BY id, v;
-- less than nothing is an error, but not of another query
UPDATE a SET n = -1 WHERE id = 2;
SELECT ddir.wait('c_limit');
SELECT ddir.wait('c_offset');
SELECT ddir.wait('c_with');
DELETE FROM b WHERE k = 2;
UPDATE a SET n = 4 WHERE id = 2;
\i test/sql/check_all.sql
DELETE FROM a;
\i test/sql/check_all.sql
TABLE c_ties ORDER BY k, v;
DROP TABLE a, b CASCADE;
