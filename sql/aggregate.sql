-- GROUP BY, HAVING, FILTER, DISTINCT and the aggregates.

CREATE TABLE a (id int PRIMARY KEY, g text, i int, b bigint, n numeric, f float8, t bool, d date);
INSERT INTO a VALUES
	(1, 'x', 1, 10, 1.0, 1.5, true, '2020-01-01'),
	(2, 'x', 2, 20, 1.00, 2.5, false, '2020-01-02'),
	(3, 'y', NULL, 30, 1, 1e16, NULL, NULL),
	(4, NULL, 4, NULL, NULL, NULL, true, '2019-01-01'),
	(5, NULL, 5, 50, 'NaN', 'Infinity', true, 'infinity');

CREATE MATERIALIZED VIEW v_counts USING ddir AS
	SELECT g, count(*) AS n, count(i) AS i, count(DISTINCT t) AS t,
	       count(*) FILTER (WHERE i > 1) AS more
	  FROM a GROUP BY g;
CREATE MATERIALIZED VIEW v_sums USING ddir AS
	SELECT g, sum(i) AS i, sum(b) AS b, sum(n) AS n, sum(f) AS f, avg(i) AS ai, avg(n) AS an, avg(f) AS af
	  FROM a GROUP BY g;
CREATE MATERIALIZED VIEW v_spread USING ddir AS
	SELECT g, variance(i) AS vi, stddev(n) AS sn, var_pop(b) AS vb, stddev_pop(f) AS sf FROM a GROUP BY g;
CREATE MATERIALIZED VIEW v_extremes USING ddir AS
	SELECT g, min(i) AS i, max(n) AS n, min(g) AS s, max(d) AS d, min(f) AS f FROM a GROUP BY g;
CREATE MATERIALIZED VIEW v_bools USING ddir AS
	SELECT g, bool_and(t) AS a, bool_or(t) AS o, every(i > 0) AS e, bit_or(i) AS bo, bit_and(i) AS ba
	  FROM a GROUP BY g;
CREATE MATERIALIZED VIEW v_total USING ddir AS
	SELECT count(*) AS n, sum(i) AS s, max(d) AS d, bool_or(t) AS o FROM a;
CREATE MATERIALIZED VIEW v_having USING ddir AS
	SELECT g, i % 2 AS odd, sum(b) + 1 AS s FROM a GROUP BY g, i % 2 HAVING count(*) > 1 OR max(i) > 3;
CREATE MATERIALIZED VIEW v_other USING ddir AS
	SELECT g, string_agg(i::text, ',' ORDER BY i) AS s, array_agg(id ORDER BY id DESC) AS ids,
	       sum(DISTINCT i) AS d
	  FROM a GROUP BY g;
CREATE MATERIALIZED VIEW v_distinct USING ddir AS SELECT DISTINCT t, i > 2 AS big FROM a;
CREATE MATERIALIZED VIEW v_keys USING ddir AS SELECT n, count(*) AS c FROM a GROUP BY n;
\i test/sql/check_all.sql
TABLE v_counts ORDER BY g;
TABLE v_sums ORDER BY g;
TABLE v_spread ORDER BY g;
TABLE v_extremes ORDER BY g;
TABLE v_bools ORDER BY g;
TABLE v_total;
TABLE v_having ORDER BY g, odd;
TABLE v_other ORDER BY g;
TABLE v_distinct ORDER BY t, big;

-- rows move between groups, the last of a group goes
UPDATE a SET g = 'y' WHERE id = 1;
DELETE FROM a WHERE id = 2;
\i test/sql/check_all.sql
TABLE v_counts ORDER BY g;
TABLE v_extremes ORDER BY g;

-- what cannot be subtracted blindly: NaN, infinities, lost digits
DELETE FROM a WHERE id = 5;
DELETE FROM a WHERE id = 3;
INSERT INTO a VALUES (6, 'y', 7, 1, 2.500, 1, false, '-infinity');
\i test/sql/check_all.sql
TABLE v_sums ORDER BY g;

-- display scale follows the rows that are there
INSERT INTO a (id, g, n) VALUES (10, 's', 1.0), (11, 's', 1.00), (12, 's', 1);
\i test/sql/check_all.sql
SELECT g, n, an FROM v_sums WHERE g = 's';
DELETE FROM a WHERE id = 11;
\i test/sql/check_all.sql
SELECT g, n, an FROM v_sums WHERE g = 's';
DELETE FROM a WHERE id = 10;
\i test/sql/check_all.sql
SELECT g, n, an FROM v_sums WHERE g = 's';

-- an aggregate over nothing has one row, a group over nothing none
DELETE FROM a;
\i test/sql/check_all.sql
TABLE v_total;
TABLE v_counts;
TABLE v_distinct;
INSERT INTO a SELECT i, 'g' || i % 7, i, i * 10, i / 3.0, i / 7.0, i % 2 = 0, '2020-01-01'::date + i
  FROM generate_series(1, 500) i;
\i test/sql/check_all.sql
UPDATE a SET i = i + 1, g = 'g' || (i + 1) % 7 WHERE id % 5 = 0;
DELETE FROM a WHERE id % 3 = 0;
\i test/sql/check_all.sql
TABLE v_total;

SET client_min_messages = warning;
DROP TABLE a CASCADE;
