--
-- What a target says when it cannot write, and that nothing is lost by it.
--
\set VERBOSITY terse

CREATE MATERIALIZED VIEW v USING ddir AS SELECT 1 AS k, 'one'::text AS word WITH NO DATA;

-- never read: to be reconciled first; reading it makes it populated
SELECT push('v', 'VALUES (1, ''one''::text, 1::bigint), (2, ''two'', 2)');
SELECT apply('v');
SELECT remap('v');
SELECT state('v');
SELECT * FROM contents('v');
TABLE v;
BEGIN;
SELECT reconcile('v');
SELECT state('v');
SELECT * FROM contents('v') ORDER BY 1;
ROLLBACK;
TABLE v;
SELECT reconcile('v');
TABLE v ORDER BY k;
SELECT state('v');

-- what nets out is no change
SELECT push('v', 'VALUES (3, ''three''::text, 1::bigint), (3, ''three'', -1)');
SELECT apply('v');
SELECT state('v');

-- contents count what is not written yet
SELECT push('v', 'VALUES (2, ''two''::text, -1::bigint), (4, NULL, 3)');
SELECT * FROM contents('v') ORDER BY 1;

-- an error holds the view until it is gone
SELECT error('v', 'division by zero', 2);
SELECT state('v');
SELECT apply('v');
SELECT error('v', 'division by zero', -2);
SELECT apply('v');
TABLE v ORDER BY k;

-- a row less than zero times: nothing is written
SELECT push('v', 'VALUES (5, ''five''::text, -1::bigint), (6, ''six'', 1)');
SELECT apply('v');
TABLE v ORDER BY k;
SELECT push('v', 'VALUES (5, ''five''::text, 1::bigint)');
SELECT apply('v');
TABLE v ORDER BY k;

-- a unique index of the user is violated; then it is not
CREATE UNIQUE INDEX u ON v (word);
SELECT push('v', 'VALUES (7, ''six''::text, 1::bigint)');
SELECT apply('v');
SELECT push('v', 'VALUES (6, ''six''::text, -1::bigint)');
SELECT apply('v');
TABLE v ORDER BY k;

-- rows that swap what is unique
SELECT push('v', 'VALUES (1, ''one''::text, -1::bigint), (2, ''two'', -1), (1, ''two'', 1), (2, ''one'', 1)');
SELECT apply('v');
TABLE v ORDER BY k;
DROP INDEX u;

-- the view is filled by others
REFRESH MATERIALIZED VIEW v;
SELECT push('v', 'VALUES (8, ''eight''::text, 1::bigint)');
SELECT apply('v');
SELECT remap('v');
SELECT apply('v');
SELECT forget('v');
SELECT push('v', 'VALUES (8, ''eight''::text, 1::bigint), (1, ''one'', 1)');
SELECT reconcile('v');
TABLE v ORDER BY k;

-- rows taken away behind our back: seen when they are to be changed
CREATE UNIQUE INDEX u ON v (k);
REFRESH MATERIALIZED VIEW CONCURRENTLY v;
TABLE v;
SELECT push('v', 'VALUES (8, ''eight''::text, -1::bigint), (8, ''acht'', 1)');
SELECT apply('v');
SELECT apply('v');
SELECT remap('v');
SELECT forget('v');
SELECT push('v', 'VALUES (8, ''acht''::text, 1::bigint), (1, ''one'', 1)');
SELECT reconcile('v');
TABLE v ORDER BY k;
DROP INDEX u;

-- the same rows, elsewhere; no rows at all
VACUUM FULL v;
SELECT apply('v');
SELECT remap('v');
SELECT apply('v');
REFRESH MATERIALIZED VIEW v WITH NO DATA;
SELECT apply('v');
SELECT remap('v');
SELECT reconcile('v');
TABLE v;

-- not a view of ours any more, and gone
ALTER MATERIALIZED VIEW v SET ACCESS METHOD heap;
SELECT apply('v');
ALTER MATERIALIZED VIEW v SET ACCESS METHOD ddir;
SELECT remap('v');
BEGIN;
SELECT 'v'::regclass::oid AS v \gset
DROP MATERIALIZED VIEW v;
SELECT apply(:v);
ROLLBACK;
SELECT apply('v');

-- TOASTed values that stay are not written again
CREATE MATERIALIZED VIEW large USING ddir AS SELECT 1 AS n, 'x'::text AS a, 'y'::text AS b WITH NO DATA;
ALTER MATERIALIZED VIEW large ALTER a SET STORAGE external, ALTER b SET STORAGE external;
SELECT push('large', 'VALUES (1, repeat(''x'', 5000), repeat(''y'', 5000), 1::bigint)');
SELECT reconcile('large');
SELECT 'pg_toast.pg_toast_' || 'large'::regclass::oid AS toast \gset
SELECT min(chunk_id) AS a, max(chunk_id) AS b FROM :toast \gset
SELECT push('large', 'VALUES (1, repeat(''x'', 5000), repeat(''y'', 5000), -1::bigint),
                             (2, repeat(''x'', 5000), repeat(''z'', 5000), 1)');
SELECT apply('large');
SELECT n, a = repeat('x', 5000) AS a, b = repeat('z', 5000) AS b FROM large;
SELECT count(DISTINCT chunk_id), bool_or(chunk_id = :a) AS a_is_kept, bool_or(chunk_id = :b) AS b_is_kept FROM :toast;
DROP MATERIALIZED VIEW large;

-- index expressions run as the owner
CREATE ROLE ddir_owner;
CREATE FUNCTION who(text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS
$$ BEGIN RETURN current_user || ' ' || current_setting('search_path'); END $$;
ALTER MATERIALIZED VIEW v OWNER TO ddir_owner;
CREATE INDEX ON v (who(word));
SELECT push('v', 'VALUES (9, ''nine''::text, 1::bigint)');
SELECT apply('v');
SET enable_seqscan = off;
SELECT k FROM v WHERE who(word) = 'ddir_owner pg_catalog, pg_temp';
RESET enable_seqscan;
SELECT current_user <> 'ddir_owner' AS back, current_setting('search_path');
DROP MATERIALIZED VIEW v;
DROP ROLE ddir_owner;
