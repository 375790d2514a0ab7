/* src/sql/upgrade/ddir--1.0--1.1.sql: what 1.1 has and 1.0 has not; see src/README.md */

-- complain if the script is sourced in psql rather than by ALTER EXTENSION
\echo Use "ALTER EXTENSION ddir UPDATE TO '1.1'" to load this file. \quit

-- One row; written in the transactions that write views which read the clock.
CREATE MATERIALIZED VIEW ddir._clock USING heap AS
	SELECT true AS singleton, NULL::pg_catalog.timestamptz AS clock;
CREATE UNIQUE INDEX ON ddir._clock (singleton);

COMMENT ON MATERIALIZED VIEW ddir._clock IS
	'what time it is in views whose rows come and go as time goes by; internal';
COMMENT ON COLUMN ddir._clock.clock IS
	'what now() is in them; it only goes forward';
REVOKE ALL ON ddir._clock FROM PUBLIC;

CREATE FUNCTION ddir._view_clock(oid) RETURNS timestamptz
	LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'ddir_status_view_clock';
COMMENT ON FUNCTION ddir._view_clock(oid) IS 'column clock of ddir.views; internal';

CREATE OR REPLACE VIEW ddir.views AS
	SELECT v.view::pg_catalog.regclass AS view, v.state, v.reason, v.frontier_lsn,
		   v.frontier_time, v.lag_bytes, v.lag_ms, v.rows_applied, v.memory_bytes,
		   v.sqlstate, v.message, ddir._view_clock(v.view) AS clock
	  FROM ddir._views() AS v;
COMMENT ON COLUMN ddir.views.clock IS
	'what now() is in the view, as far as it matters; NULL: it does not read the clock';
REVOKE ALL ON FUNCTION ddir._view_clock(oid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ddir._view_clock(oid) TO PUBLIC;
