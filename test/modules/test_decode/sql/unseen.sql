--
-- A commit that waits for a standby is decoded, but nobody sees it: it must be
-- known as such, to the next worker as well.
--
SET synchronous_commit = local;
CREATE TABLE u (id int);
ALTER TABLE u REPLICA IDENTITY FULL;
CALL tell('track', 'u');
CREATE PROCEDURE until(condition text) LANGUAGE plpgsql AS $$
DECLARE met bool := false;
BEGIN
  WHILE NOT met LOOP
    PERFORM pg_stat_clear_snapshot();
    EXECUTE 'SELECT ' || condition INTO met;
    PERFORM pg_sleep(0.01);
  END LOOP;
END $$;
ALTER SYSTEM SET synchronous_standby_names = 'nobody';
SELECT pg_reload_conf();
\setenv PGDATABASE :DBNAME
-- until the postmaster knows, and the process that makes commits wait
\! until [ "$(psql -XAtc 'SHOW synchronous_standby_names')" = nobody ]; do :; done
CHECKPOINT;
\! psql -X -c 'INSERT INTO u VALUES (1)' >/dev/null 2>&1 &
CALL until($$ EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep') $$);
CALL sync();
TABLE got;
TABLE u;
CALL tell('unseen');
CALL tell('scan', 'u');
CALL tell('stop');
CALL until($$ NOT EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'test_decode') $$);
TRUNCATE decoded;
SELECT start();
CALL tell('unseen');
ALTER SYSTEM RESET synchronous_standby_names;
SELECT pg_reload_conf();
CALL until($$ NOT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep') $$);
CALL until($$ EXISTS (SELECT FROM u) $$);
CALL tell('unseen');
CALL tell('track', 'u');
CALL tell('scan', 'u');
TABLE got;
TRUNCATE decoded;
