-- Joins: inner, cross, self, of many tables, outer; both sides at once.

CREATE TABLE l (id int PRIMARY KEY, k int, s text);
CREATE TABLE r (id int PRIMARY KEY, k bigint, w int);
CREATE TABLE x (id int, r int, l smallint);
INSERT INTO l VALUES (1, 7, 'a'), (2, 8, 'b'), (3, NULL, 'c'), (4, 7, 'd');
INSERT INTO r VALUES (10, 7, 1), (11, 9, 2), (12, NULL, 3), (13, 7, 4);
INSERT INTO x VALUES (100, 10, 1), (101, 10, 2), (102, 13, 4), (103, NULL, NULL);

CREATE MATERIALIZED VIEW v_inner USING ddir AS
	SELECT l.id AS l, r.id AS r, l.s, r.w FROM l JOIN r ON l.k = r.k;
CREATE MATERIALIZED VIEW v_residual USING ddir AS
	SELECT l.id AS l, r.id AS r FROM l JOIN r ON l.k = r.k AND l.id + r.w < 5;
CREATE MATERIALIZED VIEW v_cross USING ddir AS
	SELECT l.id AS l, r.id AS r FROM l CROSS JOIN r WHERE l.id < r.w;
CREATE MATERIALIZED VIEW v_three USING ddir AS
	SELECT l.s, r.w, x.id FROM l, r, x WHERE x.l = l.id AND x.r = r.id;
CREATE MATERIALIZED VIEW v_cycle USING ddir AS
	SELECT l.id AS l, r.id AS r, x.id AS x FROM l JOIN r ON l.k = r.k JOIN x ON x.l = l.id AND x.r = r.id;
CREATE MATERIALIZED VIEW v_self USING ddir AS
	SELECT a.id AS a, b.id AS b FROM l a JOIN l b ON a.k = b.k AND a.id <> b.id;
CREATE MATERIALIZED VIEW v_using USING ddir AS SELECT k, s, w FROM l JOIN r USING (k);
CREATE MATERIALIZED VIEW v_left USING ddir AS
	SELECT l.id AS l, r.id AS r, r.w FROM l LEFT JOIN r ON l.k = r.k;
CREATE MATERIALIZED VIEW v_right USING ddir AS
	SELECT l.id AS l, r.id AS r FROM l RIGHT JOIN r ON l.k = r.k;
CREATE MATERIALIZED VIEW v_left_on USING ddir AS
	SELECT l.id AS l, r.id AS r FROM l LEFT JOIN r ON l.k = r.k AND r.w > 1 AND l.s <> 'd';
CREATE MATERIALIZED VIEW v_left_where USING ddir AS
	SELECT l.id AS l FROM l LEFT JOIN r ON l.k = r.k WHERE r.id IS NULL;
CREATE MATERIALIZED VIEW v_stack USING ddir AS
	SELECT l.id AS l, r.id AS r, x.id AS x
	  FROM l LEFT JOIN r ON l.k = r.k LEFT JOIN x ON x.r = r.id;
CREATE MATERIALIZED VIEW v_nested USING ddir AS
	SELECT l.id AS l, j.r, j.x FROM l LEFT JOIN (SELECT r.k, r.id AS r, x.id AS x FROM r JOIN x ON x.r = r.id) j ON j.k = l.k;
CREATE MATERIALIZED VIEW v_grouped USING ddir AS
	SELECT l.s, count(r.id) AS n, sum(r.w) AS w FROM l LEFT JOIN r ON l.k = r.k GROUP BY l.s;
CREATE MATERIALIZED VIEW v_exists USING ddir AS
	SELECT id FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.k = l.k AND r.w > 1);
CREATE MATERIALIZED VIEW v_not_exists USING ddir AS
	SELECT id FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.k = l.k);
CREATE MATERIALIZED VIEW v_in USING ddir AS SELECT id FROM l WHERE k IN (SELECT k FROM r);
CREATE MATERIALIZED VIEW v_not_in USING ddir AS SELECT id FROM l WHERE k NOT IN (SELECT k FROM r);
CREATE MATERIALIZED VIEW v_not_in_correlated USING ddir AS
	SELECT id FROM l WHERE k NOT IN (SELECT r.k FROM r WHERE r.w = l.id);
CREATE MATERIALIZED VIEW v_row_in USING ddir AS
	SELECT id FROM l WHERE (id, k) NOT IN (SELECT w, k FROM r);
\i test/sql/check_all.sql
TABLE v_inner ORDER BY l, r;
TABLE v_three ORDER BY id;
TABLE v_left ORDER BY l, r;
TABLE v_right ORDER BY r, l;
TABLE v_left_on ORDER BY l, r;
TABLE v_stack ORDER BY l, r, x;
TABLE v_not_in;
TABLE v_row_in ORDER BY id;

-- both sides in one transaction, matches that come and go
BEGIN;
UPDATE l SET k = 15 - k;
UPDATE r SET k = 8 WHERE id = 10;
INSERT INTO r VALUES (20, 7, 9);
DELETE FROM x WHERE id = 100;
INSERT INTO x VALUES (104, 20, 2);
COMMIT;
\i test/sql/check_all.sql
TABLE v_left ORDER BY l, r;
BEGIN;
UPDATE r SET k = NULL WHERE id = 20;
UPDATE l SET k = NULL WHERE id = 2;
COMMIT;
\i test/sql/check_all.sql

-- NULLs on the right decide NOT IN
DELETE FROM r WHERE k IS NULL;
\i test/sql/check_all.sql
TABLE v_not_in ORDER BY id;
DELETE FROM r;
\i test/sql/check_all.sql
TABLE v_not_in ORDER BY id;
TABLE v_not_exists ORDER BY id;
TABLE v_left ORDER BY l;
INSERT INTO r SELECT i, i % 5, i % 4 FROM generate_series(1, 40) i;
INSERT INTO l SELECT i, i % 6, 's' || i % 3 FROM generate_series(10, 60) i;
INSERT INTO x SELECT i, i % 40, i % 60 FROM generate_series(1, 200) i;
\i test/sql/check_all.sql
UPDATE l SET k = k + 1 WHERE id % 2 = 0;
UPDATE r SET k = k + 1, w = w + 1 WHERE id % 3 = 0;
DELETE FROM x WHERE id % 7 = 0;
\i test/sql/check_all.sql

-- second and third order terms of a join with itself
CREATE TABLE ring (id int PRIMARY KEY, nxt int, w int);
INSERT INTO ring VALUES (1, 2, 1), (2, 3, 1), (3, 1, 1);
CREATE MATERIALIZED VIEW v_ring USING ddir AS
	SELECT a.id, a.w * b.w * c.w AS p FROM ring a JOIN ring b ON b.id = a.nxt JOIN ring c ON c.id = b.nxt;
\i test/sql/check_all.sql
UPDATE ring SET w = w + 1;
\i test/sql/check_all.sql
TABLE v_ring ORDER BY id;
BEGIN;
DELETE FROM ring WHERE id = 2;
INSERT INTO ring VALUES (2, 1, 5);
UPDATE ring SET nxt = 2 WHERE id = 3;
COMMIT;
\i test/sql/check_all.sql
TABLE v_ring ORDER BY id;

-- a table that once had another column, in all that keeps rows whole
CREATE TABLE shrunk (id int, former text, k numeric, c bpchar);
CREATE TABLE other (k numeric, c bpchar);
INSERT INTO shrunk VALUES (1, 'a', 1, 'x'), (2, 'b', 2.0, 'y'), (3, 'c', NULL, 'z');
INSERT INTO other VALUES (1.0, 'y');
ALTER TABLE shrunk DROP COLUMN former;
CREATE MATERIALIZED VIEW v_shrunk_not_exists USING ddir AS
	SELECT id FROM shrunk s WHERE NOT EXISTS (SELECT FROM other o WHERE o.k = s.k);
CREATE MATERIALIZED VIEW v_shrunk_not_in USING ddir AS
	SELECT * FROM shrunk WHERE c NOT IN (SELECT c FROM other);
CREATE MATERIALIZED VIEW v_shrunk_left USING ddir AS
	SELECT s.*, o.c AS found FROM shrunk s LEFT JOIN other o ON o.k = s.k;
\i test/sql/check_all.sql
DELETE FROM other;
INSERT INTO other VALUES (2, 'x  ');
\i test/sql/check_all.sql
TABLE v_shrunk_not_exists ORDER BY id;
TABLE v_shrunk_not_in ORDER BY id;
TABLE v_shrunk_left ORDER BY id;

SET client_min_messages = warning;
DROP TABLE l, r, x, ring, shrunk, other CASCADE;
