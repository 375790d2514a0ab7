-- Outer joins of every kind, on any condition, nested in any order.

CREATE TABLE l (id int PRIMARY KEY, k int, n numeric, s text);
CREATE TABLE r (id int PRIMARY KEY, k bigint, n float8, s text);
CREATE TABLE x (k int, s text);
INSERT INTO l VALUES (1, 1, 1.0, 'a'), (2, 2, 1.00, 'b'), (3, NULL, NULL, NULL), (4, 2, 3, 'b'), (5, 9, 0, 'z');
INSERT INTO r VALUES (10, 1, 1, 'a'), (11, 2, 2, 'b'), (12, 2, -0.0, NULL), (13, NULL, 0, 'z'), (14, 7, 1, 'q');
INSERT INTO x VALUES (1, 'a'), (2, 'z'), (2, 'z'), (NULL, 'b');

CREATE MATERIALIZED VIEW v_less USING ddir AS SELECT l.id AS l, r.id AS r FROM l LEFT JOIN r ON l.k < r.k;
CREATE MATERIALIZED VIEW v_mixed USING ddir AS
	SELECT l.id AS l, r.id AS r FROM l LEFT JOIN r ON l.k = r.k AND l.n < r.n;
CREATE MATERIALIZED VIEW v_or USING ddir AS
	SELECT l.id AS l, r.id AS r FROM l RIGHT JOIN r ON l.k = r.k OR l.s = r.s;
CREATE MATERIALIZED VIEW v_types USING ddir AS SELECT l.id AS l, r.id AS r FROM l LEFT JOIN r ON l.n = r.n::numeric;
CREATE MATERIALIZED VIEW v_full USING ddir AS SELECT l.id AS l, r.id AS r FROM l FULL JOIN r ON l.k = r.k;
CREATE MATERIALIZED VIEW v_full_mixed USING ddir AS
	SELECT l.id AS l, r.id AS r FROM l FULL JOIN r ON l.k = r.k AND l.id + r.id > 13 AND r.s IS NOT NULL AND l.n > 0;
CREATE MATERIALIZED VIEW v_full_cross USING ddir AS SELECT l.id AS l, x.s FROM l FULL JOIN x ON true;
CREATE MATERIALIZED VIEW v_full_using USING ddir AS
	SELECT k, count(l.id) AS l, count(r.id) AS r, count(x.s) AS x FROM l FULL JOIN r USING (k) FULL JOIN x USING (k) GROUP BY k;
CREATE MATERIALIZED VIEW v_full_where USING ddir AS
	SELECT l.id AS l, r.id AS r FROM l FULL JOIN r ON l.k = r.k WHERE l.id IS NULL OR r.id IS NULL;
CREATE MATERIALIZED VIEW v_stack USING ddir AS
	SELECT l.id AS l, r.id AS r, x.s FROM l LEFT JOIN r ON l.k = r.k AND l.n <> r.n LEFT JOIN x ON x.k > r.k OR x.s = l.s;
CREATE MATERIALIZED VIEW v_nested USING ddir AS
	SELECT l.id AS l, q.id AS r, q.xs FROM l LEFT JOIN (SELECT r.id, r.n, x.s AS xs FROM r FULL JOIN x ON r.k = x.k) q ON q.n >= l.n AND q.xs <> l.s;
CREATE MATERIALIZED VIEW v_subquery USING ddir AS
	SELECT l.id AS l, r.id AS r FROM l LEFT JOIN r ON l.k = r.k AND EXISTS (SELECT FROM x WHERE x.k = l.k AND x.s <> r.s);
CREATE MATERIALIZED VIEW v_in USING ddir AS
	SELECT l.id AS l, r.id AS r FROM l LEFT JOIN r ON r.k = l.k AND l.s IN (SELECT s FROM x);
CREATE MATERIALIZED VIEW v_lateral USING ddir AS
	SELECT l.id AS l, j.id AS r, j.xs FROM l LEFT JOIN (r JOIN LATERAL (SELECT x.s AS xs FROM x WHERE x.k >= l.k AND x.k <= r.k) y ON true) j ON j.n > 0;
CREATE MATERIALIZED VIEW v_full_lateral USING ddir AS
	SELECT l.id AS l, q.r, q.s FROM l, LATERAL (SELECT r.id AS r, y.s FROM r FULL JOIN (SELECT k, s FROM x WHERE x.s <> l.s) y ON r.k = y.k AND r.n > l.n) q;
\i test/sql/check_all.sql
TABLE v_mixed ORDER BY l, r;
TABLE v_full ORDER BY l, r;
TABLE v_full_mixed ORDER BY l, r;
TABLE v_full_using ORDER BY k;

-- both sides at once
BEGIN;
UPDATE l SET k = 3 - k WHERE k < 3;
UPDATE r SET k = NULL WHERE id = 11;
INSERT INTO r VALUES (15, 9, 5, 'z'), (16, 9, 5, 'z');
DELETE FROM x WHERE k = 1;
INSERT INTO x VALUES (9, 'z'), (NULL, 'b');
COMMIT;
\i test/sql/check_all.sql
TABLE v_full ORDER BY l, r;
-- the last match of a row, and of its double
DELETE FROM r WHERE id = 15;
\i test/sql/check_all.sql
DELETE FROM r WHERE id = 16;
\i test/sql/check_all.sql
-- rows that differ in looks only
UPDATE l SET n = 1 WHERE id = 1;
UPDATE l SET n = n + 0.00 WHERE n IS NOT NULL;
\i test/sql/check_all.sql
BEGIN;
UPDATE l SET k = NULL, s = NULL WHERE id IN (2, 4);
UPDATE r SET n = 0.0 WHERE n = 0;
UPDATE x SET s = 'b', k = 2 WHERE k = 9;
COMMIT;
\i test/sql/check_all.sql
TRUNCATE x;
\i test/sql/check_all.sql
DELETE FROM l;
\i test/sql/check_all.sql
TABLE v_full ORDER BY l, r;
BEGIN;
DELETE FROM r;
INSERT INTO l SELECT i, i % 3, i % 2, chr(97 + i % 4) FROM generate_series(1, 9) i;
INSERT INTO x SELECT i % 4, chr(97 + i % 3) FROM generate_series(1, 6) i;
COMMIT;
\i test/sql/check_all.sql
TABLE v_full_using ORDER BY k;

-- an error in ON is one where the server evaluates it, and goes with its rows
CREATE MATERIALIZED VIEW v_error USING ddir AS
	SELECT l.id AS l, r.id AS r FROM l LEFT JOIN r ON l.k = r.k AND 10 / (l.id - r.id) > 0 WHERE l.s <> 'c';
INSERT INTO r VALUES (7, 2, 1, 'a'), (3, 1, 1, 'a'), (6, 0, 1, 'c');
\i test/sql/check_all.sql
INSERT INTO r VALUES (4, 1, 1, 'a');
SELECT ddir.wait('v_error');
DELETE FROM r WHERE id = 4;
\i test/sql/check_all.sql
TABLE v_error ORDER BY l, r;

-- what PostgreSQL cannot join
CREATE MATERIALIZED VIEW v_refused USING ddir AS SELECT l.id FROM l FULL JOIN r ON l.k < r.k WITH NO DATA;
SET client_min_messages = warning;
DROP TABLE l, r, x CASCADE;
