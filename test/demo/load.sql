-- Two tables, and what will come to them later beside them.

CREATE EXTENSION ddir;

CREATE TABLE package (
	name text PRIMARY KEY,
	version text NOT NULL,
	section text,
	priority text,
	maintainer text,
	installed_size bigint,		-- KiB
	size bigint,				-- bytes
	arch text NOT NULL
);

CREATE TABLE dependency (
	package text,
	kind text,					-- depends, pre-depends
	clause int,
	alternative int,			-- "a | b" is one clause with two
	depends_on text NOT NULL,
	relation text,				-- ">= 1.2"
	PRIMARY KEY (package, kind, clause, alternative)
);
CREATE INDEX ON dependency (depends_on);

\set file :dir/package.main
COPY package FROM :'file';
\set file :dir/dependency.main
COPY dependency FROM :'file';
ANALYZE package, dependency;

-- the demo's own notes; unlogged, so that no view's source is near them
CREATE SCHEMA demo;
CREATE UNLOGGED TABLE demo.latency (step int, rows bigint, commit_ms float8, visible_ms float8);
CREATE UNLOGGED TABLE demo.checked (view regclass, rows bigint, wrong bigint);
CREATE UNLOGGED TABLE demo.package (LIKE public.package INCLUDING INDEXES);
CREATE UNLOGGED TABLE demo.dependency (LIKE public.dependency INCLUDING INDEXES);

CREATE FUNCTION demo.count_rows(relation regclass) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	EXECUTE format('SELECT count(*) FROM %s', relation) INTO n;
	RETURN n;
END
$$;

-- Make what the tables say about some packages what the new list says about
-- them, touching no row that stays as it is; how many rows that changed.
CREATE FUNCTION demo.bring(names text[]) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
	changed bigint := 0;
	n bigint;
BEGIN
	DELETE FROM dependency d
	 WHERE d.package = ANY (names)
	   AND NOT EXISTS (SELECT 1 FROM demo.dependency x
						WHERE (x.package, x.kind, x.clause, x.alternative)
							= (d.package, d.kind, d.clause, d.alternative));
	GET DIAGNOSTICS n = ROW_COUNT;
	changed := changed + n;

	INSERT INTO dependency AS d
	SELECT * FROM demo.dependency WHERE package = ANY (names)
	ON CONFLICT (package, kind, clause, alternative)
	DO UPDATE SET depends_on = excluded.depends_on, relation = excluded.relation
	 WHERE (d.depends_on, d.relation)
		   IS DISTINCT FROM (excluded.depends_on, excluded.relation);
	GET DIAGNOSTICS n = ROW_COUNT;
	changed := changed + n;

	INSERT INTO package AS p
	SELECT * FROM demo.package WHERE name = ANY (names)
	ON CONFLICT (name)
	DO UPDATE SET version = excluded.version, section = excluded.section,
				  priority = excluded.priority, maintainer = excluded.maintainer,
				  installed_size = excluded.installed_size, size = excluded.size,
				  arch = excluded.arch
	 WHERE p IS DISTINCT FROM excluded;
	GET DIAGNOSTICS n = ROW_COUNT;
	RETURN changed + n;
END
$$;

SELECT 'package' AS "table", count(*) AS rows FROM package
UNION ALL
SELECT 'dependency', count(*) FROM dependency;
