-- The extension installs into its own schema, whole and described.
SELECT extname, extversion = default_version AS newest, nspname AS schema, extrelocatable
  FROM pg_extension e JOIN pg_namespace n ON n.oid = extnamespace
  JOIN pg_available_extensions a ON a.name = extname
 WHERE extname = 'ddir';

-- The access method is the server's heap under another name.
SELECT amname, amtype, amhandler, obj_description(oid, 'pg_am') AS comment
  FROM pg_am WHERE amname = 'ddir';

-- Nothing in it lacks a comment.
SELECT pg_describe_object(classid, objid, objsubid) AS without_comment
  FROM pg_depend
 WHERE refclassid = 'pg_extension'::regclass
   AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'ddir')
   AND deptype = 'e'
   AND classid <> 'pg_type'::regclass
   AND obj_description(objid, classid::regclass::text) IS NULL
 ORDER BY 1;

-- It cannot be put elsewhere.
ALTER EXTENSION ddir SET SCHEMA public;

-- What it keeps for itself stays as it is, but for how it is stored.
ALTER MATERIALIZED VIEW ddir._identity RENAME TO x;
\echo :LAST_ERROR_SQLSTATE
ALTER TABLE ddir._identity RENAME COLUMN relid TO x;
ALTER MATERIALIZED VIEW ddir._delta_0 SET SCHEMA public;
ALTER TABLE ddir._database OWNER TO pg_monitor;
ALTER MATERIALIZED VIEW ddir._lagging SET ACCESS METHOD ddir;
ALTER MATERIALIZED VIEW ddir._delta_1 ALTER COLUMN rows SET STORAGE MAIN;
ALTER INDEX ddir._identity_relid_idx RENAME TO x;
CREATE UNIQUE INDEX ON ddir._lagging (reason);
ALTER VIEW ddir.views RENAME TO x;
ALTER SCHEMA ddir RENAME TO x;
\echo :LAST_ERROR_SQLSTATE
ALTER MATERIALIZED VIEW ddir._delta_2 SET (autovacuum_enabled = off);
SELECT maintained FROM ddir.explain_query('SELECT 1 AS one');
