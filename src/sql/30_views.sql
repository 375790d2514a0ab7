/* src/sql/30_views.sql: functions on views and on the database */

-- Without the library at work nothing would keep views current.
CREATE FUNCTION ddir._require_preload() RETURNS void
	LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'ddir_require_preload';
COMMENT ON FUNCTION ddir._require_preload() IS
	'raises an error unless ddir is in shared_preload_libraries; internal';
SELECT ddir._require_preload();

CREATE FUNCTION ddir.wait(view regclass DEFAULT NULL, timeout interval DEFAULT '30 s') RETURNS void
	LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'ddir_wait';
COMMENT ON FUNCTION ddir.wait(regclass, interval) IS
	'waits until everything committed before the call is in the view, or in all ddir views of the database';

CREATE FUNCTION ddir.check(view regclass, OUT kind text, OUT count bigint, OUT row_data text)
	RETURNS SETOF record
	LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'ddir_check_view';
COMMENT ON FUNCTION ddir.check(regclass) IS
	'compares the view with its own query at one instant: rows missing and extra; none if the view is right';

CREATE FUNCTION ddir.repair(view regclass) RETURNS void
	LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'ddir_repair';
COMMENT ON FUNCTION ddir.repair(regclass) IS
	'has the view hydrated again, also if it is suspended';

CREATE FUNCTION ddir.explain(view regclass, format text DEFAULT 'text') RETURNS text
	LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'ddir_explain';
COMMENT ON FUNCTION ddir.explain(regclass, text) IS
	'how the view is maintained: its operators, the arrangements they read, estimates and what is held; as text or json';

CREATE FUNCTION ddir.explain_query(query text, OUT maintained boolean, OUT code text,
								   OUT construct text, OUT reason text, OUT hint text,
								   OUT plan text, OUT state_bytes bigint)
	RETURNS SETOF record
	LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 1 AS 'MODULE_PATHNAME', 'ddir_explain_query';
COMMENT ON FUNCTION ddir.explain_query(text) IS
	'whether a view defined by the query can be maintained, how, with about how much state; or why not';

CREATE FUNCTION ddir.disable() RETURNS void
	LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'ddir_disable';
COMMENT ON FUNCTION ddir.disable() IS
	'stops maintenance in this database and drops its replication slot; views stay readable';

CREATE FUNCTION ddir.enable() RETURNS void
	LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'ddir_enable';
COMMENT ON FUNCTION ddir.enable() IS
	'starts maintenance in this database again; views are hydrated';
