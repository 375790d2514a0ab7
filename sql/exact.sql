-- Where the server's answer depends on the order of rows, ddir has one answer,
-- and ddir.check compares with that.
\getenv srcdir PG_ABS_SRCDIR
\set check_all :srcdir '/test/sql/check_all.sql'
SET client_min_messages = warning;
CREATE SCHEMA exact;
SET search_path = exact;

-- Sums of floats are exact and rounded once.
CREATE TABLE f (id int PRIMARY KEY, g int, x float8, y float4);
INSERT INTO f SELECT i, i % 3, 0.1 * i, 0.1 * i FROM generate_series(1, 1000) AS i;
INSERT INTO f VALUES (2001, 5, 1e100, 1e15), (2002, 5, 1, 1), (2003, 5, -1e100, -1e15),
	(2004, 6, 'NaN', 'NaN'), (2005, 7, 'Infinity', '-Infinity'), (2006, 8, NULL, NULL),
	(2007, 9, -0.0, -0.0);
CREATE MATERIALIZED VIEW sums USING ddir AS
	SELECT g, count(x), sum(x), avg(x), var_pop(x), var_samp(x), variance(x),
		   stddev_pop(x), stddev_samp(x), stddev(x),
		   sum(y) AS sum4, avg(y) AS avg4, variance(y) AS variance4, stddev_pop(y) AS stddev4,
		   sum(DISTINCT x) AS sum_distinct, sum(x) FILTER (WHERE id % 2 = 0) AS sum_even
	  FROM f GROUP BY g;
CREATE VIEW plain AS SELECT g, sum(x) FROM f GROUP BY g HAVING sum(x) > 0;
CREATE MATERIALIZED VIEW over_plain USING ddir AS SELECT sum FROM plain;
\i :check_all
SELECT g, sum, avg, sum4 FROM sums WHERE g >= 5 ORDER BY g;
UPDATE f SET x = x * 1.1, y = y / 3 WHERE id % 7 = 0;
DELETE FROM f WHERE id % 11 = 0;
INSERT INTO f SELECT i, i % 3, 1e10 / i, 1e5 / i FROM generate_series(3001, 3500) AS i;
\i :check_all

-- The aggregates that it compares with, beside the server's.
SELECT ddir._sum(x) AS sum, ddir._avg(x) AS avg, ddir._var_pop(x) AS var_pop,
	   ddir._var_samp(x) AS var_samp, ddir._stddev_pop(x) AS stddev_pop,
	   ddir._stddev_samp(x) AS stddev_samp
  FROM (VALUES (1::float8), (2), (4), (NULL)) AS v (x);
SELECT ddir._sum(x), ddir._avg(x), ddir._var_samp(x), ddir._stddev_samp(x)
  FROM (VALUES (1::float4)) AS v (x);
SELECT ddir._sum(x), ddir._avg(x), ddir._var_pop(x) FROM (SELECT 1::float8 WHERE false) AS v (x);
SELECT ddir._sum(x) = sum(x::numeric)::float8 AS same
  FROM (SELECT (i * 0.1)::float8 FROM generate_series(1, 10000) AS i) AS v (x);
SELECT ddir._image(1, 'a'::text, NULL::int) = ddir._image(1, 'a'::text, NULL::int) AS same,
	   ddir._image(1.0) <> ddir._image(1.00) AS different;

-- Types that have no equality compare by their images, others by it.
CREATE TABLE odd (id int PRIMARY KEY, p point, j json, n numeric);
INSERT INTO odd VALUES (1, '(1,2)', '{"a": 1}', 1.0), (2, '(3,4)', '{"a":  1}', 1.00), (3, NULL, NULL, NULL);
CREATE MATERIALIZED VIEW copies USING ddir AS SELECT p, j, n FROM odd;
UPDATE odd SET j = '[]' WHERE id = 3;
\i :check_all

-- What ddir.check says of a view that is wrong.
CREATE TABLE base (a int, b text);
INSERT INTO base VALUES (1, 'one'), (2, 'two'), (2, 'two'), (3, NULL);
CREATE MATERIALIZED VIEW wrong USING ddir AS SELECT a, b FROM base;
DO $$ BEGIN PERFORM ddir.wait('wrong'); END $$;
-- written behind its back, which takes some doing
BEGIN;
SET LOCAL allow_system_table_mods = on;
UPDATE pg_class SET relkind = 'r', relhasrules = false WHERE oid = 'wrong'::regclass;
DELETE FROM wrong WHERE a = 2;
INSERT INTO wrong VALUES (1, 'one'), (9, 'nine');
UPDATE pg_class SET relkind = 'm', relhasrules = true WHERE oid = 'wrong'::regclass;
COMMIT;
DO $$ BEGIN PERFORM ddir.wait('wrong'); END $$;
SELECT * FROM ddir.check('wrong');
SELECT ddir.repair('wrong');
\i :check_all
SELECT * FROM wrong ORDER BY a;
DROP SCHEMA exact CASCADE;
