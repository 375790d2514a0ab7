--
-- The worker, its tables, and how it is told what to do.
--
\getenv builddir PG_ABS_BUILDDIR
\set library :builddir '/test_decode.so'
SET client_min_messages = warning;
CREATE FUNCTION start() RETURNS void LANGUAGE c AS :'library', 'test_decode_start';
CREATE TABLE orders (id int PRIMARY KEY GENERATED ALWAYS AS IDENTITY, what text, rel regclass, used int[],
                     arg text, taken bool NOT NULL DEFAULT false, answer text);
CREATE TABLE decoded (tray bigint, rel regclass, what text, n bigint);
-- as in the extension's script
CREATE SCHEMA ddir;
CREATE TABLE ddir._identity (relid oid PRIMARY KEY, former "char" NOT NULL, index_name name);

CREATE PROCEDURE tell(what text, rel regclass DEFAULT NULL, used int[] DEFAULT NULL, arg text DEFAULT NULL)
LANGUAGE plpgsql AS $$
DECLARE order_id int; said text;
BEGIN
  IF EXISTS (SELECT FROM orders WHERE answer = 'no answer') THEN
    RAISE EXCEPTION 'the worker does not answer';
  END IF;
  INSERT INTO orders (what, rel, used, arg) VALUES (what, rel, used, arg) RETURNING id INTO order_id;
  COMMIT;
  FOR i IN 1..6000 LOOP
    SELECT answer INTO said FROM orders WHERE id = order_id;
    EXIT WHEN said IS NOT NULL;
    PERFORM pg_sleep(0.01);
  END LOOP;
  IF said IS NULL THEN
    UPDATE orders SET answer = 'no answer' WHERE id = order_id RETURNING answer INTO said;
  END IF;
  IF said <> 'synced' THEN
    RAISE INFO '%', said;
  END IF;
END $$;
-- all that was committed before is in "decoded"; trays are numbered from 1 again
CREATE PROCEDURE sync() LANGUAGE plpgsql AS $$
BEGIN
  CALL tell('sync', arg => pg_current_wal_insert_lsn()::text);
END $$;
CREATE VIEW got AS
  SELECT dense_rank() OVER (ORDER BY tray) AS tray, rel, what, sum(n) AS n FROM decoded GROUP BY decoded.tray, rel, what
  ORDER BY tray, rel::text, n, what;
SELECT start();
