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

-- One row; written in the transactions that write views which read the clock.
CREATE MATERIALIZED VIEW ddir._clock USING heap AS
	SELECT true AS singleton, NULL::pg_catalog.timestamptz AS clock;
CREATE UNIQUE INDEX ON ddir._clock (singleton);

COMMENT ON MATERIALIZED VIEW ddir._clock IS
	'what time it is in views whose rows come and go as time goes by; internal';
COMMENT ON COLUMN ddir._clock.clock IS
	'what now() is in them; it only goes forward';

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
