-- Every ddir view of the database equals its query: no rows.
DO $$ BEGIN PERFORM ddir.wait(timeout => '2 min'); END $$;
SELECT v.view, c.kind, c.count, c.row_data
  FROM ddir.views AS v, ddir.check(v.view) AS c
 ORDER BY v.view::text, c.kind, c.row_data;
