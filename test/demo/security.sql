\set file :dir/package.security
COPY demo.package FROM :'file';
\set file :dir/dependency.security
COPY demo.dependency FROM :'file';
ANALYZE demo.package, demo.dependency;

-- From before the COMMIT until every view is known to show it.
CREATE PROCEDURE demo.apply_security(per_transaction int)
LANGUAGE plpgsql AS $$
DECLARE
	names text[] := ARRAY(SELECT name FROM demo.package ORDER BY name);
	steps int := (cardinality(names) + per_transaction - 1) / per_transaction;
	changed bigint[];
	commit_ms float8[];
	visible_ms float8[];
	before timestamptz;
	committed timestamptz;
BEGIN
	FOR i IN 1 .. steps LOOP
		changed[i] := demo.bring(names[(i - 1) * per_transaction + 1 : i * per_transaction]);
		before := clock_timestamp();
		COMMIT;
		committed := clock_timestamp();
		PERFORM ddir.wait(timeout => '5 min');
		commit_ms[i] := extract(epoch FROM committed - before) * 1000;
		visible_ms[i] := extract(epoch FROM clock_timestamp() - before) * 1000;
	END LOOP;
	INSERT INTO demo.latency
	SELECT i, changed[i], commit_ms[i], visible_ms[i] FROM generate_series(1, steps) i;
END
$$;
CALL demo.apply_security(50);

SELECT count(*) AS transactions, sum(rows) AS rows_changed,
	   round(percentile_cont(0.5) WITHIN GROUP (ORDER BY commit_ms)::numeric, 2) AS commit_p50_ms,
	   round(percentile_cont(0.5) WITHIN GROUP (ORDER BY visible_ms)::numeric, 2) AS visible_p50_ms,
	   round(percentile_cont(0.99) WITHIN GROUP (ORDER BY visible_ms)::numeric, 2) AS visible_p99_ms
  FROM demo.latency;
