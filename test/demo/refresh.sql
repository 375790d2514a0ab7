-- A twin of each view, with the same query over the twins of what it reads: the
-- definitions name relations without schema, and are all made before any runs.
CREATE SCHEMA twin;
SET search_path = twin, public;

SELECT format('CREATE MATERIALIZED VIEW twin.%I USING heap AS %s', relname, definition)
  FROM pg_class, pg_get_viewdef(oid) AS definition
 WHERE relkind = 'm' AND relam = (SELECT oid FROM pg_am WHERE amname = 'ddir')
 ORDER BY oid
\gexec

CREATE UNLOGGED TABLE demo.refreshed (twin regclass, rows bigint, refresh_ms float8);

CREATE PROCEDURE demo.refresh_twins()
LANGUAGE plpgsql AS $$
DECLARE
	twin regclass;
	started timestamptz;
BEGIN
	FOR twin IN SELECT oid FROM pg_class WHERE relnamespace = 'twin'::regnamespace AND relkind = 'm' ORDER BY oid
	LOOP
		started := clock_timestamp();
		EXECUTE format('REFRESH MATERIALIZED VIEW %s', twin);
		INSERT INTO demo.refreshed
		VALUES (twin, demo.count_rows(twin), extract(epoch FROM clock_timestamp() - started) * 1000);
	END LOOP;
END
$$;
CALL demo.refresh_twins();

SELECT coalesce(twin::text, 'all') AS "ordinary view", sum(rows) AS rows,
	   round(sum(refresh_ms)::numeric, 1) AS refresh_ms
  FROM demo.refreshed GROUP BY ROLLUP (twin) ORDER BY twin::text NULLS LAST;
DROP SCHEMA twin CASCADE;
