/* src/sql/00_prelude.sql */

-- complain if the script is sourced in psql rather than by CREATE EXTENSION
\echo Use "CREATE EXTENSION ddir" to load this file. \quit

COMMENT ON SCHEMA ddir IS
	'views that keep themselves up to date: functions and state';

-- The handler is the server's own: a view's rows lie in an ordinary heap, and
-- the method's name is only the mark that says who keeps them current.
CREATE ACCESS METHOD ddir TYPE TABLE HANDLER pg_catalog.heap_tableam_handler;

COMMENT ON ACCESS METHOD ddir IS
	'heap whose materialized views are maintained incrementally by ddir';
/* src/sql/10_catalog.sql: what must be remembered and is in no catalog */

-- Materialized views, as no publication has those: tables would be in every one
-- FOR ALL TABLES, and no subscriber has them.  Their queries make the rows they
-- begin with; all others are written by ddir itself, and REFRESH leaves them.

-- One row; the maintainer and the switches write to it.
CREATE MATERIALIZED VIEW ddir._database USING heap AS
	SELECT true AS singleton, false AS disabled, 0 AS generation,
		   NULL::pg_catalog.pg_lsn AS confirmed, NULL::pg_catalog.text AS capture;
CREATE UNIQUE INDEX ON ddir._database (singleton);

COMMENT ON MATERIALIZED VIEW ddir._database IS
	'state of ddir in this database; internal';
COMMENT ON COLUMN ddir._database.disabled IS
	'switched off by ddir.disable()';
COMMENT ON COLUMN ddir._database.generation IS
	'part of the names of the replication slot and origin; grows when they are made anew';
COMMENT ON COLUMN ddir._database.confirmed IS
	'where capture was given up with the last view; NULL while there is one';
COMMENT ON COLUMN ddir._database.capture IS
	'how changes were captured last: logical or trigger';

-- What tables' replica identity was before ddir needed their old rows logged.
CREATE MATERIALIZED VIEW ddir._identity USING heap AS
	SELECT NULL::pg_catalog.oid AS relid, NULL::pg_catalog."char" AS former,
		   NULL::pg_catalog.name AS index_name WHERE false;
CREATE UNIQUE INDEX ON ddir._identity (relid);

COMMENT ON MATERIALIZED VIEW ddir._identity IS
	'replica identities of sources before they were set to FULL; internal';
COMMENT ON COLUMN ddir._identity.relid IS 'the source table';
COMMENT ON COLUMN ddir._identity.former IS 'its replica identity, as in pg_class.relreplident';
COMMENT ON COLUMN ddir._identity.index_name IS 'the index of identity "i"';

-- Views that stand at another position than the live ones.
CREATE MATERIALIZED VIEW ddir._lagging USING heap AS
	SELECT NULL::pg_catalog.oid AS view, NULL::pg_catalog.pg_lsn AS frontier,
		   NULL::pg_catalog.text AS reason WHERE false;
CREATE UNIQUE INDEX ON ddir._lagging (view);

COMMENT ON MATERIALIZED VIEW ddir._lagging IS
	'views that did not take part in the last steps, and where they stand; internal';
COMMENT ON COLUMN ddir._lagging.view IS 'the view';
COMMENT ON COLUMN ddir._lagging.frontier IS 'everything committed before it is in the view';
COMMENT ON COLUMN ddir._lagging.reason IS 'why it is behind';
/* src/sql/20_capture.sql: capture by triggers */

-- What triggers write and the maintainer reads, in turns: while one is written
-- to, another is emptied.  Nothing but the trigger function inserts into them,
-- nothing updates or deletes.  (Materialized views for the reason said in
-- 10_catalog.sql; called tables all the same.)  Rows are written whole or out of line, never
-- compressed, and nothing is there for VACUUM to do.
CREATE MATERIALIZED VIEW ddir._delta_0
	USING heap WITH (toast_tuple_target = 8160, autovacuum_enabled = off, toast.autovacuum_enabled = off) AS
	SELECT NULL::pg_catalog.int8 AS xid, NULL::pg_catalog.int4 AS n, NULL::pg_catalog.oid AS source,
		   NULL::pg_catalog.bytea AS rows WHERE false;
ALTER MATERIALIZED VIEW ddir._delta_0 ALTER COLUMN rows SET STORAGE EXTERNAL;

CREATE MATERIALIZED VIEW ddir._delta_1
	USING heap WITH (toast_tuple_target = 8160, autovacuum_enabled = off, toast.autovacuum_enabled = off) AS
	SELECT NULL::pg_catalog.int8 AS xid, NULL::pg_catalog.int4 AS n, NULL::pg_catalog.oid AS source,
		   NULL::pg_catalog.bytea AS rows WHERE false;
ALTER MATERIALIZED VIEW ddir._delta_1 ALTER COLUMN rows SET STORAGE EXTERNAL;

CREATE MATERIALIZED VIEW ddir._delta_2
	USING heap WITH (toast_tuple_target = 8160, autovacuum_enabled = off, toast.autovacuum_enabled = off) AS
	SELECT NULL::pg_catalog.int8 AS xid, NULL::pg_catalog.int4 AS n, NULL::pg_catalog.oid AS source,
		   NULL::pg_catalog.bytea AS rows WHERE false;
ALTER MATERIALIZED VIEW ddir._delta_2 ALTER COLUMN rows SET STORAGE EXTERNAL;

COMMENT ON MATERIALIZED VIEW ddir._delta_0 IS 'changes of tables, as captured by triggers; internal';
COMMENT ON COLUMN ddir._delta_0.xid IS 'the transaction, with its epoch';
COMMENT ON COLUMN ddir._delta_0.n IS 'counts the rows of a transaction here';
COMMENT ON COLUMN ddir._delta_0.source IS 'the table that was changed';
COMMENT ON COLUMN ddir._delta_0.rows IS 'rows added and removed, packed';
COMMENT ON MATERIALIZED VIEW ddir._delta_1 IS 'changes of tables, as captured by triggers; internal';
COMMENT ON COLUMN ddir._delta_1.xid IS 'the transaction, with its epoch';
COMMENT ON COLUMN ddir._delta_1.n IS 'counts the rows of a transaction here';
COMMENT ON COLUMN ddir._delta_1.source IS 'the table that was changed';
COMMENT ON COLUMN ddir._delta_1.rows IS 'rows added and removed, packed';
COMMENT ON MATERIALIZED VIEW ddir._delta_2 IS 'changes of tables, as captured by triggers; internal';
COMMENT ON COLUMN ddir._delta_2.xid IS 'the transaction, with its epoch';
COMMENT ON COLUMN ddir._delta_2.n IS 'counts the rows of a transaction here';
COMMENT ON COLUMN ddir._delta_2.source IS 'the table that was changed';
COMMENT ON COLUMN ddir._delta_2.rows IS 'rows added and removed, packed';

CREATE FUNCTION ddir._capture() RETURNS trigger
	LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'ddir_capture_changes';
COMMENT ON FUNCTION ddir._capture() IS
	'writes the changes of a statement into a delta table; internal';
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
/* src/sql/40_canonical.sql: what ddir.check computes a view's query with */

-- Exact sums of floats, rounded once, as views hold them.
CREATE FUNCTION ddir._add(internal, real) RETURNS internal
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_exact_add_float4';
CREATE FUNCTION ddir._add(internal, double precision) RETURNS internal
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_exact_add_float8';
CREATE FUNCTION ddir._add_squares(internal, real) RETURNS internal
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_exact_add_squares_float4';
CREATE FUNCTION ddir._add_squares(internal, double precision) RETURNS internal
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_exact_add_squares_float8';

COMMENT ON FUNCTION ddir._add(internal, real) IS 'adds to an exact sum; internal';
COMMENT ON FUNCTION ddir._add(internal, double precision) IS 'adds to an exact sum; internal';
COMMENT ON FUNCTION ddir._add_squares(internal, real) IS
	'adds to an exact sum and one of squares; internal';
COMMENT ON FUNCTION ddir._add_squares(internal, double precision) IS
	'adds to an exact sum and one of squares; internal';

CREATE FUNCTION ddir._sum_float4(internal) RETURNS real
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_exact_sum_float4';
CREATE AGGREGATE ddir._sum(real)
(
	SFUNC = ddir._add, STYPE = internal, FINALFUNC = ddir._sum_float4,
	PARALLEL = safe
);
COMMENT ON FUNCTION ddir._sum_float4(internal) IS 'sum(real) of an exact sum; internal';
COMMENT ON AGGREGATE ddir._sum(real) IS 'sum(real), exact and rounded once; internal';

CREATE FUNCTION ddir._sum_float8(internal) RETURNS double precision
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_exact_sum_float8';
CREATE AGGREGATE ddir._sum(double precision)
(
	SFUNC = ddir._add, STYPE = internal, FINALFUNC = ddir._sum_float8,
	PARALLEL = safe
);
COMMENT ON FUNCTION ddir._sum_float8(internal) IS 'sum(double precision) of an exact sum; internal';
COMMENT ON AGGREGATE ddir._sum(double precision) IS 'sum(double precision), exact and rounded once; internal';

CREATE FUNCTION ddir._avg_float4(internal) RETURNS double precision
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_exact_avg_float4';
CREATE AGGREGATE ddir._avg(real)
(
	SFUNC = ddir._add, STYPE = internal, FINALFUNC = ddir._avg_float4,
	PARALLEL = safe
);
COMMENT ON FUNCTION ddir._avg_float4(internal) IS 'avg(real) of an exact sum; internal';
COMMENT ON AGGREGATE ddir._avg(real) IS 'avg(real), exact and rounded once; internal';

CREATE FUNCTION ddir._avg_float8(internal) RETURNS double precision
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_exact_avg_float8';
CREATE AGGREGATE ddir._avg(double precision)
(
	SFUNC = ddir._add, STYPE = internal, FINALFUNC = ddir._avg_float8,
	PARALLEL = safe
);
COMMENT ON FUNCTION ddir._avg_float8(internal) IS 'avg(double precision) of an exact sum; internal';
COMMENT ON AGGREGATE ddir._avg(double precision) IS 'avg(double precision), exact and rounded once; internal';

CREATE FUNCTION ddir._var_pop_float4(internal) RETURNS double precision
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_exact_var_pop_float4';
CREATE AGGREGATE ddir._var_pop(real)
(
	SFUNC = ddir._add_squares, STYPE = internal, FINALFUNC = ddir._var_pop_float4,
	PARALLEL = safe
);
COMMENT ON FUNCTION ddir._var_pop_float4(internal) IS 'var_pop(real) of an exact sum; internal';
COMMENT ON AGGREGATE ddir._var_pop(real) IS 'var_pop(real), exact and rounded once; internal';

CREATE FUNCTION ddir._var_pop_float8(internal) RETURNS double precision
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_exact_var_pop_float8';
CREATE AGGREGATE ddir._var_pop(double precision)
(
	SFUNC = ddir._add_squares, STYPE = internal, FINALFUNC = ddir._var_pop_float8,
	PARALLEL = safe
);
COMMENT ON FUNCTION ddir._var_pop_float8(internal) IS 'var_pop(double precision) of an exact sum; internal';
COMMENT ON AGGREGATE ddir._var_pop(double precision) IS 'var_pop(double precision), exact and rounded once; internal';

CREATE FUNCTION ddir._var_samp_float4(internal) RETURNS double precision
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_exact_var_samp_float4';
CREATE AGGREGATE ddir._var_samp(real)
(
	SFUNC = ddir._add_squares, STYPE = internal, FINALFUNC = ddir._var_samp_float4,
	PARALLEL = safe
);
COMMENT ON FUNCTION ddir._var_samp_float4(internal) IS 'var_samp(real) of an exact sum; internal';
COMMENT ON AGGREGATE ddir._var_samp(real) IS 'var_samp(real), exact and rounded once; internal';

CREATE FUNCTION ddir._var_samp_float8(internal) RETURNS double precision
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_exact_var_samp_float8';
CREATE AGGREGATE ddir._var_samp(double precision)
(
	SFUNC = ddir._add_squares, STYPE = internal, FINALFUNC = ddir._var_samp_float8,
	PARALLEL = safe
);
COMMENT ON FUNCTION ddir._var_samp_float8(internal) IS 'var_samp(double precision) of an exact sum; internal';
COMMENT ON AGGREGATE ddir._var_samp(double precision) IS 'var_samp(double precision), exact and rounded once; internal';

CREATE FUNCTION ddir._stddev_pop_float4(internal) RETURNS double precision
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_exact_stddev_pop_float4';
CREATE AGGREGATE ddir._stddev_pop(real)
(
	SFUNC = ddir._add_squares, STYPE = internal, FINALFUNC = ddir._stddev_pop_float4,
	PARALLEL = safe
);
COMMENT ON FUNCTION ddir._stddev_pop_float4(internal) IS 'stddev_pop(real) of an exact sum; internal';
COMMENT ON AGGREGATE ddir._stddev_pop(real) IS 'stddev_pop(real), exact and rounded once; internal';

CREATE FUNCTION ddir._stddev_pop_float8(internal) RETURNS double precision
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_exact_stddev_pop_float8';
CREATE AGGREGATE ddir._stddev_pop(double precision)
(
	SFUNC = ddir._add_squares, STYPE = internal, FINALFUNC = ddir._stddev_pop_float8,
	PARALLEL = safe
);
COMMENT ON FUNCTION ddir._stddev_pop_float8(internal) IS 'stddev_pop(double precision) of an exact sum; internal';
COMMENT ON AGGREGATE ddir._stddev_pop(double precision) IS 'stddev_pop(double precision), exact and rounded once; internal';

CREATE FUNCTION ddir._stddev_samp_float4(internal) RETURNS double precision
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_exact_stddev_samp_float4';
CREATE AGGREGATE ddir._stddev_samp(real)
(
	SFUNC = ddir._add_squares, STYPE = internal, FINALFUNC = ddir._stddev_samp_float4,
	PARALLEL = safe
);
COMMENT ON FUNCTION ddir._stddev_samp_float4(internal) IS 'stddev_samp(real) of an exact sum; internal';
COMMENT ON AGGREGATE ddir._stddev_samp(real) IS 'stddev_samp(real), exact and rounded once; internal';

CREATE FUNCTION ddir._stddev_samp_float8(internal) RETURNS double precision
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_exact_stddev_samp_float8';
CREATE AGGREGATE ddir._stddev_samp(double precision)
(
	SFUNC = ddir._add_squares, STYPE = internal, FINALFUNC = ddir._stddev_samp_float8,
	PARALLEL = safe
);
COMMENT ON FUNCTION ddir._stddev_samp_float8(internal) IS 'stddev_samp(double precision) of an exact sum; internal';
COMMENT ON AGGREGATE ddir._stddev_samp(double precision) IS 'stddev_samp(double precision), exact and rounded once; internal';

-- The image of a row: the order in which rows are taken that have no other.
CREATE FUNCTION ddir._image(VARIADIC "any") RETURNS bytea
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_exact_image';

COMMENT ON FUNCTION ddir._image("any") IS 'the packed image of the arguments as a row; internal';

-- The first value of a group that is not null.  Strict: it starts with that.
CREATE FUNCTION ddir._first(anyelement, anyelement) RETURNS anyelement
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_exact_first';
CREATE AGGREGATE ddir._first(anyelement)
(
	SFUNC = ddir._first, STYPE = anyelement
);
COMMENT ON FUNCTION ddir._first(anyelement, anyelement) IS 'the first of two values; internal';
COMMENT ON AGGREGATE ddir._first(anyelement) IS 'the first value that is not null; internal';
/* src/sql/42_values.sql: what the values of subqueries are computed with */

CREATE FUNCTION ddir._take(anyelement, anyelement) RETURNS anyelement
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_single_take';
CREATE AGGREGATE ddir._single(anyelement)
(
	SFUNC = ddir._take, STYPE = anyelement
);
COMMENT ON FUNCTION ddir._take(anyelement, anyelement) IS 'takes a value in place of another; internal';
COMMENT ON AGGREGATE ddir._single(anyelement) IS 'the value of one of the rows; internal';

CREATE FUNCTION ddir._only(anyelement, bigint) RETURNS anyelement
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_single_only';
COMMENT ON FUNCTION ddir._only(anyelement, bigint) IS
	'the value, or an error if it is one of several; internal';

CREATE FUNCTION ddir._asked(anyelement, text) RETURNS anyelement
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_single_asked';
COMMENT ON FUNCTION ddir._asked(anyelement, text) IS
	'the value, or the error that there is in its place; internal';
/* src/sql/50_status.sql: what can be watched */

CREATE FUNCTION ddir._views(OUT view oid, OUT state text, OUT reason text,
							OUT frontier_lsn pg_lsn, OUT frontier_time timestamptz,
							OUT lag_bytes bigint, OUT lag_ms bigint,
							OUT rows_applied bigint, OUT memory_bytes bigint,
							OUT sqlstate text, OUT message text)
	RETURNS SETOF record
	LANGUAGE C VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'ddir_status_views';
COMMENT ON FUNCTION ddir._views() IS 'rows of ddir.views; internal';

CREATE VIEW ddir.views AS
	SELECT v.view::pg_catalog.regclass AS view, v.state, v.reason, v.frontier_lsn,
		   v.frontier_time, v.lag_bytes, v.lag_ms, v.rows_applied, v.memory_bytes,
		   v.sqlstate, v.message
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
/* src/sql/90_grants.sql: who may do what */

REVOKE ALL ON SCHEMA ddir FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA ddir FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA ddir FROM PUBLIC;

GRANT USAGE ON SCHEMA ddir TO PUBLIC;

-- These look at the caller's rights on the view, or on the database.
GRANT EXECUTE ON FUNCTION ddir.wait(regclass, interval), ddir.check(regclass),
	ddir.repair(regclass), ddir.explain(regclass, text), ddir.explain_query(text),
	ddir.disable(), ddir.enable()
	TO PUBLIC;

-- Rows of views that the caller may select from.
GRANT SELECT ON ddir.views, ddir.hydration TO PUBLIC;
GRANT EXECUTE ON FUNCTION ddir._views(), ddir._hydration() TO PUBLIC;

GRANT SELECT ON ddir.workers, ddir.sources, ddir.arrangements, ddir.operators TO pg_monitor;
GRANT EXECUTE ON FUNCTION ddir._workers(), ddir._sources(), ddir._arrangements(), ddir._operators()
	TO pg_monitor;

-- Views compute with these as their owners.
GRANT EXECUTE ON FUNCTION ddir._single(anyelement), ddir._take(anyelement, anyelement),
	ddir._only(anyelement, bigint), ddir._asked(anyelement, text)
	TO PUBLIC;

-- ddir.check computes with these as the view's owner.
GRANT EXECUTE ON FUNCTION ddir._image("any"),
	ddir._first(anyelement), ddir._first(anyelement, anyelement),
	ddir._sum(real), ddir._sum(double precision),
	ddir._avg(real), ddir._avg(double precision),
	ddir._var_pop(real), ddir._var_pop(double precision),
	ddir._var_samp(real), ddir._var_samp(double precision),
	ddir._stddev_pop(real), ddir._stddev_pop(double precision),
	ddir._stddev_samp(real), ddir._stddev_samp(double precision)
	TO PUBLIC;
