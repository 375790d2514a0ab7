\echo 'by_section: the largest downloads'
SELECT section, packages, pg_size_pretty(installed_kib * 1024) AS installed,
	   pg_size_pretty(download_bytes) AS download
  FROM by_section ORDER BY download_bytes DESC, section LIMIT 5;

\echo 'by_maintainer: the busiest'
SELECT maintainer, packages, sections, pg_size_pretty(download_bytes) AS download
  FROM by_maintainer ORDER BY packages DESC, maintainer LIMIT 5;

\echo 'needed: what most depends on'
SELECT name, section, dependants FROM needed ORDER BY dependants DESC, name LIMIT 5;

\echo 'section_ties (over crossing): which sections lean on which'
SELECT section, depends_on_section, dependencies, packages
  FROM section_ties ORDER BY dependencies DESC, section, depends_on_section LIMIT 5;

\echo 'unneeded: the largest that nothing depends on'
SELECT name, section, pg_size_pretty(size) AS download
  FROM unneeded ORDER BY size DESC, name LIMIT 5;

SELECT view, state, demo.count_rows(view) AS rows, rows_applied, lag_ms,
	   pg_size_pretty(memory_bytes) AS memory
  FROM ddir.views ORDER BY view::text;
