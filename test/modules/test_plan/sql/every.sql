--
-- Every kind of refusal can be met, and is what it says.
--
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;

SELECT format('CREATE TABLE wide (%s)', string_agg('c' || g || ' int', ', ')) FROM generate_series(1, 33) g \gexec
CREATE TABLE stamps (t pg_lsn, long text);
-- a table access method that is not heap, though it works like it
\getenv builddir PG_ABS_BUILDDIR
\set lib :builddir '/test_plan.so'
CREATE FUNCTION test_am(internal) RETURNS table_am_handler LANGUAGE c AS :'lib';
CREATE ACCESS METHOD other TYPE TABLE HANDLER test_am;
-- an equality of two types without a commutator
CREATE FUNCTION lsn_is(pg_lsn, int8) RETURNS bool IMMUTABLE STRICT LANGUAGE plpgsql AS 'BEGIN RETURN $1 - ''0/0'' = $2; END';
CREATE OPERATOR ==== (LEFTARG = pg_lsn, RIGHTARG = int8, FUNCTION = lsn_is, HASHES);
CREATE TABLE kept_otherwise (x int) USING other;
CREATE TEMP TABLE temporary (x int);
CREATE UNLOGGED TABLE unlogged (x int);
CREATE SEQUENCE sequence;
CREATE MATERIALIZED VIEW plain AS SELECT 1 AS x;
CREATE EXTENSION postgres_fdw;
CREATE SERVER nowhere FOREIGN DATA WRAPPER postgres_fdw;
CREATE FOREIGN TABLE distant (x int) SERVER nowhere;
CREATE FUNCTION stable(int) RETURNS int STABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
CREATE FUNCTION hidden(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
REVOKE EXECUTE ON FUNCTION hidden FROM public;
CREATE ROLE plan_nobody;
GRANT SELECT ON c TO plan_nobody;

CREATE TABLE every (code text PRIMARY KEY, query text);
INSERT INTO every VALUES
	('command', 'DELETE FROM a'),
	('window_frame', 'SELECT l.* FROM a, LATERAL (SELECT sum(x) OVER (ORDER BY x ROWS a.y PRECEDING) FROM b) l'),
	('recursive_with', 'WITH RECURSIVE r AS (SELECT 1 AS n UNION SELECT n FROM r) SELECT n FROM r'),
	('row_locking', 'SELECT x FROM a FOR UPDATE'),
	('table_function', 'SELECT q FROM xmltable(''/a'' PASSING xml ''<a/>'' COLUMNS q text) t'),
	('tablesample', 'SELECT x FROM a TABLESAMPLE SYSTEM (1)'),
	('full_join', 'SELECT 1 FROM a FULL JOIN b ON a.x < b.x'),
	('many_relations', (SELECT 'SELECT 1 FROM ' || string_agg('a t' || g, ', ') FROM generate_series(1, 65) g)),
	('system_column', 'SELECT ctid FROM a'),
	('expression', (SELECT 'SELECT 1 FROM wide v WHERE NOT EXISTS (SELECT FROM wide w WHERE ' || string_agg(format('v.c%s = w.c%1$s', g), ' AND ') || ')' FROM generate_series(1, 33) g)),
	-- a guard: what the server compares at all has a key
	('no_equality', NULL),
	('many_distinct', (SELECT 'SELECT ' || string_agg(format('count(DISTINCT x + %s)', g), ', ') || ' FROM a' FROM generate_series(1, 64) g)),
	('volatile_function', 'SELECT random() FROM a'),
	('clock_function', 'SELECT clock_timestamp() FROM a'),
	('clock_value', 'SELECT now() FROM a'),
	('text_to_datetime', 'SELECT z::date FROM a'),
	('session_function', 'SELECT CURRENT_USER FROM a'),
	('transaction_function', 'SELECT pg_current_snapshot() FROM a'),
	('catalog_function', 'SELECT pg_get_viewdef(x::oid) FROM a'),
	('stable_function', 'SELECT stable(x) FROM a'),
	('system_catalog', 'SELECT relname FROM pg_class'),
	('foreign_table', 'SELECT x FROM distant'),
	('temporary_table', 'SELECT x FROM temporary'),
	('unlogged_table', 'SELECT x FROM unlogged'),
	('sequence', 'SELECT last_value FROM sequence'),
	('materialized_view', 'SELECT x FROM plain'),
	('table_access_method', 'SELECT x FROM kept_otherwise'),
	('relation', (SELECT 'SELECT chunk_id FROM ' || reltoastrelid::regclass FROM pg_class WHERE oid = 'stamps'::regclass)),
	('table_privilege', 'SELECT x FROM a'),
	('function_privilege', 'SELECT hidden(1) FROM c');
GRANT SELECT ON every TO plan_nobody;

-- kinds that have no query, queries of no kind
SELECT k.code, e.code FROM test_refusals() k FULL JOIN every e USING (code) WHERE k.code IS NULL OR e.code IS NULL;
-- and what else it was
SELECT e.code, split_part(test_lower(e.query), E'\n', 1) FROM every e
 WHERE e.code !~ 'privilege' AND split_part(test_lower(e.query), ' ', 2) <> e.code;
SET ROLE plan_nobody;
SELECT e.code, split_part(test_lower(e.query), E'\n', 1) FROM every e WHERE e.code ~ 'privilege';
RESET ROLE;
-- with their own SQLSTATEs
SELECT e.code, split_part(test_lower(e.query), ' ', 1) FROM every e
 WHERE e.code !~ 'privilege' AND split_part(test_lower(e.query), ' ', 1) <> '0A000' ORDER BY 1;

-- such an equality is a condition like others
SELECT test_lower('SELECT 1 FROM orders o JOIN stamps s ON s.t ==== o.id');

-- 64 relations are not too many, nor are views of them
SELECT test_lower('SELECT count(*) FROM ' || string_agg('a t' || g, ', ')) ~ 'Join' FROM generate_series(1, 64) g;
DO $$BEGIN EXECUTE 'CREATE VIEW many AS SELECT t1.x FROM ' || (SELECT string_agg('a t' || g, ', ') FROM generate_series(1, 40) g); END$$;
SELECT test_lower('SELECT m.x FROM many m, many n WHERE m.x = n.x') ~ 'Join.*Join';

DROP VIEW many;
REVOKE ALL ON c FROM plan_nobody;
DROP TABLE wide, stamps, kept_otherwise, temporary, unlogged, every;
DROP SEQUENCE sequence;
DROP MATERIALIZED VIEW plain;
DROP OPERATOR ==== (pg_lsn, int8);
DROP FUNCTION stable, hidden, lsn_is;
DROP FUNCTION test_am CASCADE;
DROP EXTENSION postgres_fdw CASCADE;
DROP ROLE plan_nobody;
