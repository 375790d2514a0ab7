-- GROUPING SETS, ROLLUP, CUBE: a reduction for each set.

CREATE TABLE sale (id int PRIMARY KEY, region text, product int, amount numeric);
INSERT INTO sale VALUES (1, 'north', 1, 10), (2, 'north', 2, 5.5), (3, 'south', 1, 7), (4, NULL, 2, 1), (5, 'south', NULL, 2);

CREATE MATERIALIZED VIEW v_rollup USING ddir AS
	SELECT region, product, sum(amount) AS total, count(*) AS n, grouping(region, product) AS g
	  FROM sale GROUP BY ROLLUP (region, product);
CREATE MATERIALIZED VIEW v_cube USING ddir AS
	SELECT region, product, max(amount) AS most FROM sale GROUP BY CUBE (region, product) HAVING count(*) > 1 OR grouping(region) = 1;
CREATE MATERIALIZED VIEW v_sets USING ddir AS
	SELECT region, product, count(DISTINCT amount) AS n FROM sale GROUP BY GROUPING SETS ((region), (product), (), ());
CREATE MATERIALIZED VIEW v_distinct USING ddir AS
	SELECT region, product, count(*) AS n FROM sale GROUP BY DISTINCT ROLLUP (region, product), ROLLUP (region);
CREATE MATERIALIZED VIEW v_expression USING ddir AS
	SELECT coalesce(region, '?') || '!' AS r, CASE grouping(coalesce(region, '?')) WHEN 1 THEN 'all' ELSE 'one' END AS what, sum(amount) AS total
	  FROM sale GROUP BY ROLLUP (coalesce(region, '?'));
CREATE MATERIALIZED VIEW v_dependent USING ddir AS
	SELECT id, amount, product, count(*) AS n FROM sale GROUP BY id, ROLLUP (product);
CREATE MATERIALIZED VIEW v_correlated USING ddir AS
	SELECT s.id, q.product, q.n FROM sale s, LATERAL (SELECT product, count(*) AS n FROM sale WHERE amount > s.amount GROUP BY ROLLUP (product)) q;
\i test/sql/check_all.sql
TABLE v_rollup ORDER BY g, region, product;
TABLE v_sets ORDER BY region, product, n;

-- rows move between groups
UPDATE sale SET region = CASE region WHEN 'north' THEN NULL ELSE 'north' END, product = product % 2 + 1;
\i test/sql/check_all.sql
BEGIN;
DELETE FROM sale WHERE region IS NULL;
INSERT INTO sale VALUES (6, 'west', 3, 4), (7, 'west', 3, 4.0);
COMMIT;
\i test/sql/check_all.sql
TABLE v_rollup ORDER BY g, region, product;
-- the empty set has a row over nothing, and no other has
DELETE FROM sale;
\i test/sql/check_all.sql
TABLE v_rollup;
TABLE v_sets;
INSERT INTO sale SELECT i, CASE i % 3 WHEN 0 THEN 'north' WHEN 1 THEN 'south' END, i % 4, i FROM generate_series(1, 12) i;
\i test/sql/check_all.sql
TABLE v_expression ORDER BY r, what;
-- keys that can only be hashed beside such as can only be sorted
CREATE TABLE odd (x xid, b bit(4));
INSERT INTO odd VALUES ('1', '0001'), ('1', '0010'), ('2', '0010'), (NULL, NULL);
CREATE MATERIALIZED VIEW v_odd USING ddir AS SELECT x, b, count(*), GROUPING(x, b) AS g FROM odd GROUP BY GROUPING SETS (x, b);
\i test/sql/check_all.sql
UPDATE odd SET b = '0001' WHERE x = '2';
\i test/sql/check_all.sql
SELECT * FROM v_odd ORDER BY g, x::text, b;
SET client_min_messages = warning;
DROP TABLE sale, odd CASCADE;
