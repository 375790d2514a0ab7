-- UNION, INTERSECT, EXCEPT, with and without ALL: exact multiplicities.

CREATE TABLE l (x int, s text, n numeric);
CREATE TABLE r (x bigint, s text, n numeric);
INSERT INTO l VALUES (1, 'a', 1.0), (1, 'a', 1.00), (1, 'a', 1.0), (2, 'b', 2), (NULL, NULL, NULL), (NULL, NULL, NULL), (3, 'c', 3.10);
INSERT INTO r VALUES (1, 'a', 1.000), (2, 'b', 2.0), (2, 'b', 2.0), (NULL, NULL, NULL), (4, 'd', 4);

CREATE MATERIALIZED VIEW v_union USING ddir AS SELECT x, s FROM l UNION SELECT x, s FROM r;
CREATE MATERIALIZED VIEW v_union_all USING ddir AS SELECT x, s FROM l UNION ALL SELECT x, s FROM r;
CREATE MATERIALIZED VIEW v_intersect USING ddir AS SELECT x, s FROM l INTERSECT SELECT x, s FROM r;
CREATE MATERIALIZED VIEW v_intersect_all USING ddir AS SELECT x, s FROM l INTERSECT ALL SELECT x, s FROM r;
CREATE MATERIALIZED VIEW v_except USING ddir AS SELECT x, s FROM l EXCEPT SELECT x, s FROM r;
CREATE MATERIALIZED VIEW v_except_all USING ddir AS SELECT x, s FROM l EXCEPT ALL SELECT x, s FROM r;
-- equal values that look different: what is shown is in the left operand
CREATE MATERIALIZED VIEW v_numeric_all USING ddir AS SELECT n FROM l EXCEPT ALL SELECT n FROM r;
CREATE MATERIALIZED VIEW v_numeric USING ddir AS SELECT n FROM l INTERSECT SELECT n FROM r;
CREATE MATERIALIZED VIEW v_numeric_both USING ddir AS SELECT n FROM l INTERSECT ALL SELECT n FROM r;
-- nested, and read by others
CREATE MATERIALIZED VIEW v_nested USING ddir AS
	(SELECT x FROM l EXCEPT ALL SELECT x FROM r) UNION ALL (SELECT x FROM r EXCEPT ALL SELECT x FROM l);
CREATE MATERIALIZED VIEW v_grouped USING ddir AS
	SELECT x, count(*) AS n FROM (SELECT x FROM l INTERSECT ALL SELECT x FROM r) i GROUP BY x;
CREATE MATERIALIZED VIEW v_above USING ddir AS SELECT x FROM v_except_all EXCEPT SELECT x FROM v_intersect;
CREATE MATERIALIZED VIEW v_rows USING ddir AS SELECT FROM l EXCEPT ALL SELECT FROM r;
\i test/sql/check_all.sql
TABLE v_intersect_all ORDER BY x;
TABLE v_except_all ORDER BY x;
TABLE v_numeric_all ORDER BY n;
SELECT count(*) FROM v_rows;

-- both sides at once; NULLs; the last row of a group
BEGIN;
DELETE FROM l WHERE x = 2;
INSERT INTO r VALUES (1, 'a', 1), (1, 'a', 1), (NULL, NULL, NULL);
INSERT INTO l VALUES (NULL, NULL, NULL), (4, 'd', 4.0), (4, 'd', 4.00);
COMMIT;
\i test/sql/check_all.sql
TABLE v_except_all ORDER BY x;
-- the row whose looks stood for its group goes
DELETE FROM l WHERE n::text = '1.0';
\i test/sql/check_all.sql
TABLE v_numeric_all ORDER BY n;
UPDATE r SET x = x + 1, s = s || 'x' WHERE x < 3;
UPDATE l SET x = x + 1, s = s || 'x' WHERE x < 3;
\i test/sql/check_all.sql
BEGIN;
DELETE FROM r;
INSERT INTO r SELECT * FROM l;
COMMIT;
\i test/sql/check_all.sql
SELECT count(*) FROM v_except_all;
TRUNCATE l;
\i test/sql/check_all.sql
TABLE v_nested ORDER BY x;
DELETE FROM r;
\i test/sql/check_all.sql

-- an error of an operand is one of the view, and goes with its row
CREATE MATERIALIZED VIEW v_error USING ddir AS SELECT 6 / x AS q FROM l EXCEPT ALL SELECT x FROM r;
INSERT INTO l VALUES (2, 'b', 2), (0, 'z', 0);
INSERT INTO r VALUES (3, 'c', 3);
SELECT ddir.wait('v_error');
DELETE FROM l WHERE x = 0;
\i test/sql/check_all.sql
TABLE v_error;
SET client_min_messages = warning;
DROP TABLE l, r CASCADE;
