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
