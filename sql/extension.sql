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
