-- Errors of rows are data: they come and go, and hold only the views they are of.

CREATE TABLE q (id int PRIMARY KEY, q int);
INSERT INTO q VALUES (1, 4);
CREATE MATERIALIZED VIEW v_div USING ddir AS SELECT id, 100 / q AS r FROM q;
CREATE MATERIALIZED VIEW v_sum USING ddir AS SELECT sum(100 / q) AS s FROM q WHERE id < 10;
CREATE MATERIALIZED VIEW v_over USING ddir AS SELECT r, count(*) AS n FROM v_div GROUP BY r;
CREATE MATERIALIZED VIEW v_plain USING ddir AS SELECT id FROM q;
\i test/sql/check_all.sql
INSERT INTO q VALUES (2, 0), (30, 0);
SELECT ddir.wait('v_plain');
TABLE v_plain ORDER BY id;
\set VERBOSITY sqlstate
SELECT ddir.wait('v_div');
SELECT ddir.wait('v_sum');
SELECT ddir.wait('v_over');
\set VERBOSITY default
SELECT view, state, sqlstate, message FROM ddir.views ORDER BY view::text;
-- the last contents without the error stay readable
TABLE v_div;
DELETE FROM q WHERE id = 2;
SELECT ddir.wait('v_sum');
TABLE v_sum;
SELECT state FROM ddir.views WHERE view = 'v_div'::regclass;
UPDATE q SET q = 50 WHERE id = 30;
\i test/sql/check_all.sql
TABLE v_div ORDER BY id;
TABLE v_over ORDER BY r;

-- an aggregate's own error, in one group
CREATE TABLE big (g int, n int8);
CREATE MATERIALIZED VIEW v_big USING ddir AS SELECT g, sum(n::int4) AS s FROM big GROUP BY g;
INSERT INTO big VALUES (1, 1), (2, 3000000000);
\set VERBOSITY sqlstate
SELECT ddir.wait('v_big');
\set VERBOSITY default
DELETE FROM big WHERE g = 2;
\i test/sql/check_all.sql
TABLE v_big;

-- no error that the query itself does not raise
CREATE MATERIALIZED VIEW v_guarded USING ddir AS
	SELECT a.id, 100 / a.q AS r FROM q a JOIN q b ON a.id = b.id WHERE a.q <> 0;
INSERT INTO q VALUES (40, 0);
SELECT ddir.wait('v_guarded');
SELECT count(*) FROM v_guarded;
DELETE FROM q WHERE q = 0;
\i test/sql/check_all.sql
-- a subquery that fails is an error only where its value is asked for
CREATE TABLE asks (id int PRIMARY KEY, wants bool);
CREATE TABLE told (d int);
INSERT INTO told VALUES (0), (5);
CREATE MATERIALIZED VIEW v_value USING ddir AS SELECT id, (SELECT max(10 / d) FROM told) AS v FROM asks;
CREATE MATERIALIZED VIEW v_case USING ddir AS
	SELECT id, CASE WHEN wants THEN (SELECT 10 / d FROM told WHERE 10 / d > 1) END AS v FROM asks;
CREATE MATERIALIZED VIEW v_exists USING ddir AS
	SELECT id, wants AND EXISTS (SELECT FROM told WHERE 10 / d > 1) AS v FROM asks;
CREATE MATERIALIZED VIEW v_any USING ddir AS
	SELECT id, wants AND id < ALL (SELECT 10 / d FROM told) AS v FROM asks;
CREATE MATERIALIZED VIEW v_array USING ddir AS
	SELECT id, CASE WHEN wants THEN ARRAY(SELECT 10 / d FROM told ORDER BY 1) END AS v FROM asks;
CREATE MATERIALIZED VIEW v_where USING ddir AS
	SELECT id FROM asks WHERE wants AND id + 0 < (SELECT sum(10 / d) FROM told);
CREATE MATERIALIZED VIEW v_inside USING ddir AS
	SELECT id, (SELECT (SELECT max(10 / d) FROM told) FROM asks AS a WHERE a.id = asks.id AND wants) AS v FROM asks;
\i test/sql/check_all.sql
INSERT INTO asks VALUES (1, false);
SELECT ddir.wait('v_where');
\set VERBOSITY sqlstate
SELECT ddir.wait('v_value');
\set VERBOSITY default
SELECT view, state, message FROM ddir.views WHERE state <> 'live' ORDER BY view::text;
INSERT INTO asks VALUES (2, true);
SELECT ddir.wait('v_plain');
SELECT view, state, message FROM ddir.views WHERE state = 'live' ORDER BY view::text;
-- another error in place of the first
UPDATE told SET d = 2 WHERE d = 0;
\set VERBOSITY sqlstate
SELECT ddir.wait('v_case');
\set VERBOSITY default
DELETE FROM told WHERE d = 2;
\i test/sql/check_all.sql
SELECT * FROM v_any JOIN v_value USING (id) ORDER BY id;
SET client_min_messages = warning;
DROP TABLE q, big, asks, told CASCADE;
