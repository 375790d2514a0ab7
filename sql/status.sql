-- What can be watched, and the settings.
\getenv srcdir PG_ABS_SRCDIR
\set check_all :srcdir '/test/sql/check_all.sql'
CREATE SCHEMA status;
SET search_path = status;

-- The surface: objects that users see, and their shapes.
SELECT p.oid::regprocedure AS function, provolatile AS volatility, proparallel AS parallel,
	   obj_description(p.oid, 'pg_proc') IS NOT NULL AS described
  FROM pg_proc p
 WHERE pronamespace = 'ddir'::regnamespace AND proname !~ '^_' ORDER BY p.oid::regprocedure::text COLLATE "C";
SELECT relname AS view, attname AS column, format_type(atttypid, atttypmod) AS type,
	   col_description(c.oid, attnum) IS NOT NULL AS described
  FROM pg_class c JOIN pg_attribute a ON attrelid = c.oid
 WHERE relnamespace = 'ddir'::regnamespace AND relkind = 'v' AND attnum > 0
 ORDER BY 1, attnum;

-- A database without ddir views: nothing to see, and no error.
SELECT * FROM ddir.views;
SELECT * FROM ddir.hydration;
SELECT * FROM ddir.sources;
SELECT * FROM ddir.arrangements;
SELECT * FROM ddir.operators;
SELECT ddir.wait();

CREATE TABLE t (a int PRIMARY KEY, b int);
CREATE TABLE u (b int PRIMARY KEY, c text);
INSERT INTO t SELECT i, i % 3 FROM generate_series(1, 30) AS i;
INSERT INTO u VALUES (0, 'zero'), (1, 'one'), (2, 'two');
CREATE MATERIALIZED VIEW joined USING ddir AS SELECT c, a FROM t JOIN u USING (b);
CREATE MATERIALIZED VIEW grouped USING ddir AS SELECT c, count(*) FROM t JOIN u USING (b) GROUP BY c;
SELECT ddir.wait();
INSERT INTO t VALUES (100, 2);
DELETE FROM t WHERE a = 1;
SELECT ddir.wait();

SELECT view, state, reason, frontier_lsn IS NOT NULL AS frontier, frontier_time <= now() AS time,
	   lag_bytes >= 0 AS lag_bytes, lag_ms >= 0 AS lag_ms, rows_applied > 0 AS rows,
	   memory_bytes > 0 AS memory, sqlstate, message
  FROM ddir.views ORDER BY view::text;
SELECT view, phase, reason <> '' AS reason, hydrations, rows_done, rows_total >= 0 AS total,
	   started <= finished AS times
  FROM ddir.hydration ORDER BY view::text;
SELECT pid IS NOT NULL AS pid, database, kind, state IN ('idle', 'running') AS state
  FROM ddir.workers WHERE database IS NULL OR database = current_database();
SELECT source, (capture, identity) IN (('logical', 'full'), ('trigger', 'statement triggers')) AS captured,
	   (SELECT array_agg(v ORDER BY v::text) FROM unnest(views) AS v) AS views
  FROM ddir.sources ORDER BY source::text;
SELECT source, key, views IS NOT NULL AS views, rows, bytes > 0 AS bytes, since <= upper AS times
  FROM ddir.arrangements WHERE source IS NOT NULL ORDER BY source::text, key;
SELECT count(*) > 0 AS some, bool_and(rows_in >= 0 AND rows_out >= 0 AND rows >= 0 AND bytes >= 0) AS sane
  FROM ddir.operators;
SELECT ddir.explain('grouped') <> '' AS explained;
SELECT maintained, code, reason, hint, plan <> '' AS plan, state_bytes > 0 AS bytes
  FROM ddir.explain_query('SELECT c, a FROM status.t JOIN status.u USING (b)');

-- A row error holds a view: it says so, and so do those who wait for it.
CREATE MATERIALIZED VIEW divided USING ddir AS SELECT a, 100 / b AS q FROM t WHERE b <> 0 OR a > 1000;
SELECT ddir.wait('divided');
INSERT INTO t VALUES (2000, 0);
SELECT ddir.wait('divided');
\echo :LAST_ERROR_SQLSTATE
SELECT state, sqlstate, message FROM ddir.views WHERE view = 'divided'::regclass;
SELECT ddir.wait();
SELECT * FROM ddir.check('divided');
DELETE FROM t WHERE a = 2000;
\i :check_all
SELECT state, sqlstate FROM ddir.views WHERE view = 'divided'::regclass;

-- A view that lost its rights is suspended until it has them again.
CREATE ROLE status_owner;
GRANT USAGE, CREATE ON SCHEMA status TO status_owner;
GRANT SELECT ON t TO status_owner;
ALTER MATERIALIZED VIEW divided OWNER TO status_owner;
SELECT ddir.wait('divided');
REVOKE SELECT ON t FROM status_owner;
SELECT ddir.wait('divided');
\echo :LAST_ERROR_SQLSTATE
SELECT state FROM ddir.views WHERE view = 'divided'::regclass;
GRANT SELECT ON t TO status_owner;
\i :check_all
SELECT state FROM ddir.views WHERE view = 'divided'::regclass;

-- Settings.
SELECT name, setting, unit, context, vartype, min_val, max_val, enumvals
  FROM pg_settings WHERE name LIKE 'ddir.%' ORDER BY name;
SET ddir.capture = 'telepathy';
\set VERBOSITY sqlstate
SET ddir.memory_limit = '1kB';
\set VERBOSITY default
SET ddir.max_views = 1;
SET ddir.max_slot_lag = '1GB';
SET ddir.no_such_setting = 1;
SET ddir.debug_points = 'here:there';
SET ddir.debug_points = 'nothing';
SET ddir.debug_points = 'one:error', 'two:wait';
SHOW ddir.debug_points;
RESET ddir.debug_points;

SET client_min_messages = warning;
DROP SCHEMA status CASCADE;
DROP ROLE status_owner;
