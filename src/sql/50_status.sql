/* src/sql/50_status.sql: what can be watched */

CREATE FUNCTION ddir._views(OUT view oid, OUT state text, OUT reason text,
							OUT frontier_lsn pg_lsn, OUT frontier_time timestamptz,
							OUT lag_bytes bigint, OUT lag_ms bigint,
							OUT rows_applied bigint, OUT memory_bytes bigint,
							OUT sqlstate text, OUT message text)
	RETURNS SETOF record
	LANGUAGE C VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'ddir_status_views';
COMMENT ON FUNCTION ddir._views() IS 'rows of ddir.views; internal';

CREATE FUNCTION ddir._view_clock(oid) RETURNS timestamptz
	LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'ddir_status_view_clock';
COMMENT ON FUNCTION ddir._view_clock(oid) IS 'column clock of ddir.views; internal';

CREATE VIEW ddir.views AS
	SELECT v.view::pg_catalog.regclass AS view, v.state, v.reason, v.frontier_lsn,
		   v.frontier_time, v.lag_bytes, v.lag_ms, v.rows_applied, v.memory_bytes,
		   v.sqlstate, v.message, ddir._view_clock(v.view) AS clock
	  FROM ddir._views() AS v;
COMMENT ON VIEW ddir.views IS
	'the ddir views of this database, and how current they are';
COMMENT ON COLUMN ddir.views.view IS 'the materialized view';
COMMENT ON COLUMN ddir.views.state IS
	'hydrating, live, behind, error (held by a row that cannot be computed), suspended or disabled';
COMMENT ON COLUMN ddir.views.reason IS 'why it is not live';
COMMENT ON COLUMN ddir.views.frontier_lsn IS
	'everything committed before this position is in the view';
COMMENT ON COLUMN ddir.views.frontier_time IS
	'commit time of the newest transaction in the view';
COMMENT ON COLUMN ddir.views.lag_bytes IS 'bytes of WAL that are not in the view yet';
COMMENT ON COLUMN ddir.views.lag_ms IS 'how long ago the view was known to be current; 0: it is';
COMMENT ON COLUMN ddir.views.rows_applied IS 'rows written to the view since the maintainer started';
COMMENT ON COLUMN ddir.views.memory_bytes IS
	'memory of its state, shared state split among its readers';
COMMENT ON COLUMN ddir.views.sqlstate IS 'code of the last error';
COMMENT ON COLUMN ddir.views.message IS 'text of the last error; shown to the owner';
COMMENT ON COLUMN ddir.views.clock IS
	'what now() is in the view, as far as it matters; NULL: it does not read the clock';

CREATE FUNCTION ddir._hydration(OUT view oid, OUT phase text, OUT reason text,
								OUT hydrations bigint, OUT rows_done bigint, OUT rows_total bigint,
								OUT started timestamptz, OUT finished timestamptz)
	RETURNS SETOF record
	LANGUAGE C VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'ddir_status_hydration';
COMMENT ON FUNCTION ddir._hydration() IS 'rows of ddir.hydration; internal';

CREATE VIEW ddir.hydration AS
	SELECT h.view::pg_catalog.regclass AS view, h.phase, h.reason, h.hydrations,
		   h.rows_done, h.rows_total, h.started, h.finished
	  FROM ddir._hydration() AS h;
COMMENT ON VIEW ddir.hydration IS
	'the filling of ddir views from their sources: progress, and why the last one was made';
COMMENT ON COLUMN ddir.hydration.view IS 'the materialized view';
COMMENT ON COLUMN ddir.hydration.phase IS
	'none, queued, identity, settling, scanning, catching up, computing or reconciling';
COMMENT ON COLUMN ddir.hydration.reason IS 'why the last hydration was made';
COMMENT ON COLUMN ddir.hydration.hydrations IS 'hydrations since the server started';
COMMENT ON COLUMN ddir.hydration.rows_done IS 'rows read of the sources';
COMMENT ON COLUMN ddir.hydration.rows_total IS 'estimate of the rows to be read';
COMMENT ON COLUMN ddir.hydration.started IS 'when the last hydration started';
COMMENT ON COLUMN ddir.hydration.finished IS 'when it finished';

CREATE FUNCTION ddir._workers(OUT pid integer, OUT database text, OUT kind text, OUT state text,
							  OUT current_step text, OUT rows_per_s double precision)
	RETURNS SETOF record
	LANGUAGE C VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'ddir_status_workers';
COMMENT ON FUNCTION ddir._workers() IS 'maintainers and launcher for ddir.workers; internal';

CREATE VIEW ddir.workers AS
	SELECT w.pid, w.database, w.kind, w.state, w.current_step, w.rows_per_s
	  FROM (SELECT pid, database, kind, state, current_step, rows_per_s
			  FROM ddir._workers()
			 UNION ALL
			SELECT pid, datname::pg_catalog.text, 'scanner', 'running', query, NULL
			  FROM pg_catalog.pg_stat_activity
			 WHERE backend_type OPERATOR(pg_catalog.=) 'ddir scanner') AS w
	 ORDER BY w.kind OPERATOR(pg_catalog.<>) 'maintainer', w.kind, w.database, w.pid;
COMMENT ON VIEW ddir.workers IS 'the processes of ddir in all databases, maintainers first';
COMMENT ON COLUMN ddir.workers.pid IS 'process; NULL where none runs';
COMMENT ON COLUMN ddir.workers.database IS 'database it works for';
COMMENT ON COLUMN ddir.workers.kind IS 'launcher, maintainer or scanner';
COMMENT ON COLUMN ddir.workers.state IS
	'running, idle, leaving, stepped aside, disabled or not running';
COMMENT ON COLUMN ddir.workers.current_step IS 'what it does, or why none runs';
COMMENT ON COLUMN ddir.workers.rows_per_s IS 'changes of rows it went through lately';

CREATE FUNCTION ddir._sources(OUT source oid, OUT capture text, OUT identity text,
							  OUT views oid[], OUT rows bigint)
	RETURNS SETOF record
	LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'ddir_status_sources';
COMMENT ON FUNCTION ddir._sources() IS 'rows of ddir.sources, asked of the maintainer; internal';

CREATE VIEW ddir.sources AS
	SELECT s.source::pg_catalog.regclass AS source, s.capture, s.identity,
		   s.views::pg_catalog.regclass[] AS views, s.rows
	  FROM ddir._sources() AS s;
COMMENT ON VIEW ddir.sources IS 'the tables that ddir views of this database read';
COMMENT ON COLUMN ddir.sources.source IS 'the table';
COMMENT ON COLUMN ddir.sources.capture IS 'how its changes are captured';
COMMENT ON COLUMN ddir.sources.identity IS 'how its old rows are known';
COMMENT ON COLUMN ddir.sources.views IS 'the views that read it';
COMMENT ON COLUMN ddir.sources.rows IS 'rows and changes taken from it since the maintainer started';

CREATE FUNCTION ddir._arrangements(OUT source oid, OUT input text, OUT key text, OUT columns text,
								   OUT views oid[], OUT rows bigint, OUT bytes bigint,
								   OUT since bigint, OUT upper bigint)
	RETURNS SETOF record
	LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'ddir_status_arrangements';
COMMENT ON FUNCTION ddir._arrangements() IS
	'rows of ddir.arrangements, asked of the maintainer; internal';

CREATE VIEW ddir.arrangements AS
	SELECT a.source::pg_catalog.regclass AS source, a.input, a.key, a.columns,
		   a.views::pg_catalog.regclass[] AS views, a.rows, a.bytes, a.since, a.upper
	  FROM ddir._arrangements() AS a;
COMMENT ON VIEW ddir.arrangements IS 'indexed state in memory, and which views share it';
COMMENT ON COLUMN ddir.arrangements.source IS 'table or view it is over; NULL: a derived relation';
COMMENT ON COLUMN ddir.arrangements.input IS 'what it is over';
COMMENT ON COLUMN ddir.arrangements.key IS 'what it is looked up by';
COMMENT ON COLUMN ddir.arrangements.columns IS 'columns kept';
COMMENT ON COLUMN ddir.arrangements.views IS 'the views that share it';
COMMENT ON COLUMN ddir.arrangements.rows IS 'rows held';
COMMENT ON COLUMN ddir.arrangements.bytes IS 'memory held';
COMMENT ON COLUMN ddir.arrangements.since IS 'number of the tray up to which history is compacted';
COMMENT ON COLUMN ddir.arrangements.upper IS 'number of the next tray';

CREATE FUNCTION ddir._operators(OUT view oid, OUT operator text, OUT label text,
								OUT rows_in bigint, OUT rows_out bigint,
								OUT rows bigint, OUT bytes bigint)
	RETURNS SETOF record
	LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'ddir_status_operators';
COMMENT ON FUNCTION ddir._operators() IS 'rows of ddir.operators, asked of the maintainer; internal';

CREATE VIEW ddir.operators AS
	SELECT o.view::pg_catalog.regclass AS view, o.operator, o.label,
		   o.rows_in, o.rows_out, o.rows, o.bytes
	  FROM ddir._operators() AS o;
COMMENT ON VIEW ddir.operators IS 'the operators that run, and what went through them';
COMMENT ON COLUMN ddir.operators.view IS 'the view it works for; NULL: several';
COMMENT ON COLUMN ddir.operators.operator IS 'kind of operator';
COMMENT ON COLUMN ddir.operators.label IS 'what it is for';
COMMENT ON COLUMN ddir.operators.rows_in IS 'changes taken in since it was made';
COMMENT ON COLUMN ddir.operators.rows_out IS 'changes put out';
COMMENT ON COLUMN ddir.operators.rows IS 'rows held';
COMMENT ON COLUMN ddir.operators.bytes IS 'memory held';
