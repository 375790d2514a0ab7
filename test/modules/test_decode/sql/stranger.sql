--
-- The plugin serves nobody else; the slot is dropped with the worker, or kept.
--
\set VERBOSITY terse
SELECT slot_name ~ '^ddir_\d+_1$' AS named, plugin, active, temporary, two_phase FROM pg_replication_slots;
SELECT pg_create_logical_replication_slot('mine', 'test_decode');
SELECT count(*) FROM pg_replication_slots;
CALL tell('stop');
DO $$ BEGIN
  WHILE EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'test_decode') LOOP
    PERFORM pg_sleep(0.01); PERFORM pg_stat_clear_snapshot();
  END LOOP;
END $$;
SET output_plugin_libraries = test_decode;
SELECT pg_create_logical_replication_slot('mine', 'test_decode');
SELECT pg_logical_slot_get_changes(slot_name, NULL, NULL) FROM pg_replication_slots;
SELECT count(*) FROM pg_replication_slots;

-- what happened meanwhile comes when another one starts
CREATE TABLE w (id int);
ALTER TABLE w REPLICA IDENTITY FULL;
SELECT start();
CALL tell('track', 'w');
INSERT INTO w VALUES (1);
CALL sync();
TABLE got;
CALL tell('stop', arg => 'drop');
DO $$ BEGIN
  WHILE EXISTS (SELECT FROM pg_replication_slots) LOOP PERFORM pg_sleep(0.01); END LOOP;
END $$;
