/* src/sql/10_catalog.sql: what must be remembered and is in no catalog */

-- One row, made here; the maintainer and the switches write to it.
CREATE TABLE ddir._database
(
	singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
	disabled boolean NOT NULL DEFAULT false,
	generation integer NOT NULL DEFAULT 0,
	confirmed pg_catalog.pg_lsn,
	capture pg_catalog.text
);
INSERT INTO ddir._database DEFAULT VALUES;

COMMENT ON TABLE ddir._database IS
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
CREATE TABLE ddir._identity
(
	relid pg_catalog.oid PRIMARY KEY,
	former pg_catalog."char" NOT NULL,
	index_name pg_catalog.name
);

COMMENT ON TABLE ddir._identity IS
	'replica identities of sources before they were set to FULL; internal';
COMMENT ON COLUMN ddir._identity.relid IS 'the source table';
COMMENT ON COLUMN ddir._identity.former IS 'its replica identity, as in pg_class.relreplident';
COMMENT ON COLUMN ddir._identity.index_name IS 'the index of identity "i"';

-- Views that stand at another position than the live ones.
CREATE TABLE ddir._lagging
(
	view pg_catalog.oid PRIMARY KEY,
	frontier pg_catalog.pg_lsn NOT NULL,
	reason pg_catalog.text NOT NULL
);

COMMENT ON TABLE ddir._lagging IS
	'views that did not take part in the last steps, and where they stand; internal';
COMMENT ON COLUMN ddir._lagging.view IS 'the view';
COMMENT ON COLUMN ddir._lagging.frontier IS 'everything committed before it is in the view';
COMMENT ON COLUMN ddir._lagging.reason IS 'why it is behind';
