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

-- Of equal values that look different, the one with the least image is shown,
-- and what tells them apart sees that one.
CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE alike (id int PRIMARY KEY, t text COLLATE nocase, n numeric, f float8, c char(4), i interval);
INSERT INTO alike VALUES (1, 'b', 1.00, 0, 'x', '1 day'), (2, 'B', 1.0, '-0', 'x ', '24 hours'),
	(3, 'b', 1.000, 0, 'y', '1 mon'), (4, 'Äb', 2.50, 1, 'y', '30 days'), (5, 'äB', 2.5, 1, 'z', NULL),
	(6, NULL, NULL, NULL, NULL, NULL), (7, 'c', 10, '-0', 'z', '720 hours');
CREATE MATERIALIZED VIEW groups USING ddir AS
	SELECT t, n, f, i, c, count(*) AS count FROM alike GROUP BY t, n, f, i, c;
CREATE MATERIALIZED VIEW group_c USING ddir AS
	SELECT t COLLATE "C" AS t, count(*) FROM alike GROUP BY t;
CREATE MATERIALIZED VIEW group_text USING ddir AS
	SELECT n::text || '/' || f::text AS text, sum(id) FROM alike GROUP BY n, f
	HAVING n::text <> '10';
CREATE MATERIALIZED VIEW group_upper USING ddir AS
	SELECT lower(t) AS l, t || '!' AS t FROM alike GROUP BY t, lower(t);
CREATE MATERIALIZED VIEW group_sub USING ddir AS
	SELECT g.l COLLATE "C" AS l, count(*) FROM (SELECT t AS l, i FROM alike GROUP BY t, i) AS g GROUP BY g.l;
CREATE MATERIALIZED VIEW group_above USING ddir AS SELECT length(text), text FROM group_text;
CREATE MATERIALIZED VIEW group_other USING ddir AS SELECT t COLLATE "C" AS t, i::text FROM groups;
CREATE MATERIALIZED VIEW distincts USING ddir AS
	SELECT d.t COLLATE "C" AS t, d.n::text, d.i::text FROM (SELECT DISTINCT t, n, i FROM alike) AS d;
CREATE MATERIALIZED VIEW distinct_groups USING ddir AS
	SELECT g.n::text, g.count FROM (SELECT DISTINCT n, count(*) FROM alike GROUP BY n, f) AS g;
CREATE MATERIALIZED VIEW unions USING ddir AS
	SELECT u.t COLLATE "C" AS t, u.n::text
	  FROM (SELECT t, n FROM alike WHERE id < 4 UNION SELECT t, n FROM alike UNION SELECT 'C', 10.0) AS u;
CREATE MATERIALIZED VIEW union_alone USING ddir AS SELECT n FROM alike UNION SELECT n FROM alike WHERE id > 3;
CREATE MATERIALIZED VIEW extremes USING ddir AS
	SELECT id % 2 AS odd, min(t) COLLATE "C" AS t, max(t) COLLATE "C" AS tt, min(n)::text AS n, max(n)::text AS nn,
		   max(i)::text AS i, min(f)::text AS f, max(n) FILTER (WHERE id < 4)::text AS few
	  FROM alike GROUP BY 1;
CREATE MATERIALIZED VIEW distinct_args USING ddir AS
	SELECT count(DISTINCT n), sum(DISTINCT n) AS sum, count(DISTINCT t) AS words FROM alike;
CREATE MATERIALIZED VIEW distinct_shown USING ddir AS
	SELECT id % 2 AS odd, array_to_string(array_agg(DISTINCT n), ' ') AS n, sum(DISTINCT n)::text AS sum,
		   array_to_string(array_agg(DISTINCT t ORDER BY t DESC) FILTER (WHERE id > 1), ' ') COLLATE "C" AS t
	  FROM alike GROUP BY 1;
CREATE MATERIALIZED VIEW distinct_of_groups USING ddir AS
	SELECT f::text, array_to_string(array_agg(DISTINCT n), ' ') AS n, avg(DISTINCT n)::text AS avg
	  FROM alike GROUP BY f HAVING sum(DISTINCT n)::text <> '0';
CREATE MATERIALIZED VIEW distinct_of_all USING ddir AS
	SELECT (array_agg(DISTINCT n))[1]::text AS n, max((SELECT count(*) FROM groups)) AS of FROM alike;
CREATE MATERIALIZED VIEW intersections USING ddir AS
	SELECT d.t COLLATE "C" AS t, d.n::text FROM (SELECT t, n FROM alike WHERE id > 2 INTERSECT SELECT t, n FROM alike) AS d;
CREATE MATERIALIZED VIEW intersections_all USING ddir AS
	SELECT d.n::text FROM (SELECT n FROM alike WHERE id > 2 INTERSECT ALL SELECT n FROM alike WHERE id < 5) AS d;
CREATE MATERIALIZED VIEW differences USING ddir AS
	SELECT d.n::text FROM (SELECT n FROM alike EXCEPT SELECT n FROM alike WHERE id = 3) AS d;
CREATE MATERIALIZED VIEW differences_all USING ddir AS
	WITH w AS (SELECT n FROM alike)
	SELECT d.n::text FROM (TABLE w EXCEPT ALL (SELECT n FROM alike WHERE id = 2 INTERSECT TABLE w)) AS d;
CREATE MATERIALIZED VIEW unions_within USING ddir AS
	SELECT d.n::text FROM ((SELECT n FROM alike UNION SELECT n FROM alike WHERE id > 3)
		UNION ALL (SELECT n FROM alike EXCEPT SELECT n FROM alike WHERE id = 1) UNION ALL SELECT 7.70) AS d;
\i :check_all
UPDATE alike SET n = n * 1.0, t = upper(t), f = -f WHERE id IN (1, 3, 5);
\i :check_all
DELETE FROM alike WHERE id IN (2, 4);
INSERT INTO alike SELECT id + 10, lower(t), round(n, 1), -f, c, justify_hours(i) FROM alike;
\i :check_all
SELECT * FROM group_c ORDER BY t;
SELECT * FROM group_text ORDER BY text;
SELECT * FROM unions ORDER BY t, n;
SELECT * FROM extremes ORDER BY odd;
SELECT * FROM distinct_args;
SELECT * FROM distinct_shown ORDER BY odd;
SELECT * FROM distinct_of_groups ORDER BY f;
SELECT * FROM intersections ORDER BY t, n;
SELECT * FROM differences_all ORDER BY n;
SELECT * FROM unions_within ORDER BY n;
CREATE EXTENSION citext SCHEMA exact;
CREATE TABLE words (id int PRIMARY KEY, w citext);
INSERT INTO words SELECT i, (ARRAY['one', 'One', 'two', 'ONE', 'tWo', NULL])[i] FROM generate_series(1, 6) AS i;
CREATE MATERIALIZED VIEW words_grouped USING ddir AS SELECT w::text || '.' AS w, count(*) FROM words GROUP BY w;
CREATE MATERIALIZED VIEW words_distinct USING ddir AS SELECT d.w::text FROM (SELECT DISTINCT w FROM words) AS d;
CREATE MATERIALIZED VIEW words_union USING ddir AS SELECT d.w::text FROM (SELECT w FROM words UNION SELECT 'TWO') AS d;
CREATE MATERIALIZED VIEW words_max USING ddir AS SELECT max(w)::text, min(w)::text FROM words;
\i :check_all
DELETE FROM words WHERE id IN (1, 4);
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
