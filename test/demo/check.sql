INSERT INTO demo.checked
SELECT view, demo.count_rows(view), (SELECT count(*) FROM ddir.check(view))
  FROM ddir.views;

SELECT view, rows, wrong AS rows_missing_or_extra,
	   CASE WHEN wrong = 0 THEN 'right' ELSE 'WRONG' END AS verdict
  FROM demo.checked ORDER BY view::text;

SELECT bool_or(wrong > 0) AS any_wrong FROM demo.checked \gset
\if :any_wrong
\echo 'the first of them'
SELECT c.view, d.* FROM demo.checked c, LATERAL ddir.check(c.view) d WHERE c.wrong > 0 LIMIT 20;
\endif
