TRUNCATE demo.package, demo.dependency;
\set file :dir/package.next
COPY demo.package FROM :'file';
\set file :dir/dependency.next
COPY demo.dependency FROM :'file';
ANALYZE demo.package, demo.dependency;

BEGIN;
WITH gone AS (
	DELETE FROM package p
	 WHERE NOT EXISTS (SELECT 1 FROM demo.package x WHERE x.name = p.name) RETURNING 1
), gone_with AS (
	DELETE FROM dependency d
	 WHERE NOT EXISTS (SELECT 1 FROM demo.package x WHERE x.name = d.package) RETURNING 1
)
SELECT (SELECT count(*) FROM gone) + (SELECT count(*) FROM gone_with) AS gone \gset
SELECT demo.bring(ARRAY(SELECT name FROM demo.package)) + :gone AS rows_changed,
	   clock_timestamp() AS before \gset
COMMIT;
SELECT clock_timestamp() AS committed \gset
SELECT ddir.wait(timeout => '10 min') \g /dev/null

SELECT :rows_changed AS rows_changed,
	   round(extract(epoch FROM :'committed'::timestamptz - :'before') * 1000) AS commit_ms,
	   round(extract(epoch FROM clock_timestamp() - :'before'::timestamptz) * 1000) AS visible_ms;

\echo 'needed: what most depends on now'
SELECT name, section, dependants FROM needed ORDER BY dependants DESC, name LIMIT 5;
