-- For views that read the clock it is :time from here on; all have it.
SELECT extract(epoch FROM :'time'::timestamptz) AS clock \gset
ALTER SYSTEM SET ddir.debug_clock = :clock;
SELECT FROM pg_reload_conf() \g /dev/null
SET ddir.debug_clock = :clock;
DO $$ BEGIN PERFORM ddir.wait(timeout => '2 min'); END $$;
