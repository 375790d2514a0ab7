-- What cannot be is refused, with a code, a reason and a hint, and leaves
-- nothing behind.
\getenv srcdir PG_ABS_SRCDIR
\set check_all :srcdir '/test/sql/check_all.sql'
CREATE SCHEMA bad;
SET search_path = bad;
CREATE TABLE t (a int PRIMARY KEY, b text);
INSERT INTO t VALUES (1, 'one'), (2, 'two');
CREATE VIEW plain AS SELECT a FROM t;
CREATE MATERIALIZED VIEW ordinary AS SELECT a FROM t;
CREATE MATERIALIZED VIEW good USING ddir AS SELECT a, b FROM t;
SELECT ddir.wait('good');

-- Queries that are not maintained.
CREATE MATERIALIZED VIEW v USING ddir AS SELECT a FROM t TABLESAMPLE SYSTEM (50);
\echo :LAST_ERROR_SQLSTATE
CREATE MATERIALIZED VIEW v USING ddir AS SELECT a, random() FROM t;
\echo :LAST_ERROR_SQLSTATE
CREATE MATERIALIZED VIEW v USING ddir AS SELECT a FROM t WHERE b = current_setting('TimeZone');
CREATE MATERIALIZED VIEW v USING ddir AS SELECT a FROM ordinary;
CREATE MATERIALIZED VIEW v USING ddir AS SELECT relname FROM pg_class;
CREATE TEMP TABLE fleeting (a int);
CREATE MATERIALIZED VIEW v USING ddir AS SELECT a FROM fleeting;
CREATE UNLOGGED TABLE careless (a int);
CREATE FOREIGN DATA WRAPPER nowhere;
CREATE SERVER nowhere FOREIGN DATA WRAPPER nowhere;
CREATE FOREIGN TABLE far (a int) SERVER nowhere;
CREATE MATERIALIZED VIEW v USING ddir AS SELECT a FROM far WITH NO DATA;
CREATE MATERIALIZED VIEW v USING ddir AS SELECT ctid::text AS place FROM t;
CREATE MATERIALIZED VIEW sampled AS SELECT a FROM t TABLESAMPLE SYSTEM (50);
ALTER MATERIALIZED VIEW sampled SET ACCESS METHOD ddir;
\echo :LAST_ERROR_SQLSTATE

-- The access method is for materialized views.
CREATE TABLE x (a int) USING ddir;
\echo :LAST_ERROR_SQLSTATE
CREATE TEMP TABLE x (a int) USING ddir;
CREATE TABLE x USING ddir AS SELECT 1 AS a;
ALTER TABLE t SET ACCESS METHOD ddir;
SET default_table_access_method = ddir;
CREATE TABLE x (a int);
CREATE TABLE x AS SELECT 1 AS a;
SELECT 1 AS a INTO x;
CREATE TABLE pg_temp_1 (a int);
CREATE TABLE parent (a int) PARTITION BY LIST (a);
CREATE TABLE child PARTITION OF parent FOR VALUES IN (1);
CREATE SEQUENCE s;
CREATE VIEW also_plain AS SELECT 1 AS one;
CREATE UNIQUE INDEX ON sampled (a);
REFRESH MATERIALIZED VIEW CONCURRENTLY sampled;
VACUUM FULL t;
ALTER TABLE t ALTER a TYPE bigint;
ALTER TABLE careless ALTER a TYPE bigint;
RESET default_table_access_method;
SELECT amname FROM pg_class c JOIN pg_am a ON a.oid = c.relam
 WHERE c.oid IN ('careless'::regclass, 'sampled'::regclass);

-- A view's rows are nobody's to write.
INSERT INTO good VALUES (3, 'three');
UPDATE good SET b = 'x';
DELETE FROM good;
TRUNCATE good;
COPY good FROM '/dev/null';

-- Relations that are no ddir views.
SELECT ddir.wait('t');
\echo :LAST_ERROR_SQLSTATE
SELECT ddir.wait('plain');
SELECT ddir.wait('ordinary');
SELECT ddir.wait('t_pkey');
SELECT ddir.wait(1);
\echo :LAST_ERROR_SQLSTATE
SELECT ddir.wait('not_there');
SELECT * FROM ddir.check('t');
SELECT * FROM ddir.check('ordinary');
SELECT * FROM ddir.check(NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT ddir.explain('t');
SELECT ddir.explain(NULL);
SELECT ddir.repair('plain');
SELECT ddir.repair(NULL);

-- Other arguments.
SELECT ddir.wait('good', '-1 s');
\echo :LAST_ERROR_SQLSTATE
SELECT ddir.explain('good', 'xml');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM ddir.explain_query(NULL);
SELECT * FROM ddir.explain_query('SELECT 1; SELECT 2');
SELECT * FROM ddir.explain_query('INSERT INTO t VALUES (1)');
SELECT * FROM ddir.explain_query('SELECT 1 AS a INTO x');
SELECT * FROM ddir.explain_query('SELECT nothing FROM t');
SELECT * FROM ddir.explain_query('SELEC');
SELECT * FROM ddir.explain_query('');
SELECT maintained, code, construct FROM ddir.explain_query('SELECT now()');

-- Waiting where it would be in vain.
SELECT ddir.wait('good');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT ddir.wait('good');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT ddir.wait();
ROLLBACK;
BEGIN;
CREATE MATERIALIZED VIEW fresh USING ddir AS SELECT a FROM t;
SELECT ddir.wait('fresh');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
BEGIN;
ALTER MATERIALIZED VIEW good RENAME TO better;
SELECT ddir.wait('better');
ROLLBACK;
BEGIN;
LOCK TABLE t IN ACCESS EXCLUSIVE MODE;
SELECT ddir.wait('good');
ROLLBACK;
BEGIN;
INSERT INTO t VALUES (3, 'three');
SELECT ddir.wait('good');
SELECT * FROM ddir.check('good');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
\set VERBOSITY terse
CREATE MATERIALIZED VIEW unready USING ddir AS SELECT a FROM t WITH NO DATA;
SELECT ddir.wait('unready', '0');
\echo :LAST_ERROR_SQLSTATE
\set VERBOSITY default

-- Nothing of all that is left.
\i :check_all
SELECT view, state FROM ddir.views ORDER BY view::text;
SELECT count(*) FROM pg_class WHERE relnamespace = 'bad'::regnamespace AND relname = 'x';
SET client_min_messages = warning;
DROP SCHEMA bad CASCADE;
DROP FOREIGN DATA WRAPPER nowhere CASCADE;
DROP TABLE fleeting;
