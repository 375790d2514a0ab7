-- A ddir view is a materialized view: it is made, changed and dropped as one.
\getenv srcdir PG_ABS_SRCDIR
\set check_all :srcdir '/test/sql/check_all.sql'
SET client_min_messages = warning;
CREATE SCHEMA surface;
CREATE SCHEMA elsewhere;
SET search_path = surface;
RESET client_min_messages;

CREATE TABLE customer (id int PRIMARY KEY, region text);
CREATE TABLE orders (id int PRIMARY KEY, customer int, amount numeric);
INSERT INTO customer SELECT i, CASE i % 3 WHEN 0 THEN 'north' WHEN 1 THEN 'south' END
  FROM generate_series(1, 9) AS i;
INSERT INTO orders SELECT i, i % 10 + 1, i * 1.5 FROM generate_series(1, 100) AS i;

-- The creating session sees the rows at once.
CREATE MATERIALIZED VIEW sales USING ddir AS
	SELECT c.region, count(*) AS orders, sum(o.amount) AS total
	  FROM orders o JOIN customer c ON c.id = o.customer GROUP BY c.region;
SELECT * FROM sales ORDER BY region;
INSERT INTO orders VALUES (101, 1, 1000);
SELECT ddir.wait('sales');
SELECT * FROM sales ORDER BY region;

-- Without data it cannot be read until it was hydrated.
CREATE MATERIALIZED VIEW later USING ddir AS
	SELECT region FROM customer WHERE id < 4 WITH NO DATA;
SELECT ddir.wait('later');
SELECT * FROM later ORDER BY region;

-- Other forms.
CREATE MATERIALIZED VIEW IF NOT EXISTS later USING ddir AS SELECT 1 AS one;
CREATE MATERIALIZED VIEW surface.named (who, what) USING ddir WITH (fillfactor = 70) AS
	SELECT customer, amount FROM orders WHERE amount > 100;
\d named
SELECT reloptions FROM pg_class WHERE oid = 'named'::regclass;
SET default_table_access_method = ddir;
CREATE MATERIALIZED VIEW by_default AS SELECT id FROM customer WHERE region IS NULL;
RESET default_table_access_method;
SELECT amname FROM pg_class c JOIN pg_am a ON a.oid = c.relam
 WHERE c.oid = 'by_default'::regclass;
EXPLAIN (ANALYZE)
	CREATE MATERIALIZED VIEW explained USING ddir AS SELECT id FROM customer WHERE id = 1 \g /dev/null
EXPLAIN (COSTS OFF)
	CREATE MATERIALIZED VIEW not_made USING ddir AS SELECT id FROM customer WHERE id = 1;

-- In a transaction block, and rolled back.
BEGIN;
CREATE TABLE together (a int, b int);
INSERT INTO together VALUES (1, 2), (1, 3);
CREATE MATERIALIZED VIEW in_block USING ddir AS SELECT a, sum(b) FROM together GROUP BY a;
INSERT INTO together VALUES (2, 4);
COMMIT;
BEGIN;
CREATE MATERIALIZED VIEW undone USING ddir AS SELECT a FROM together;
ROLLBACK;
BEGIN;
SAVEPOINT s;
CREATE MATERIALIZED VIEW undone USING ddir AS SELECT a FROM together;
ROLLBACK TO s;
INSERT INTO together VALUES (1, 10);
COMMIT;
\i :check_all
SELECT * FROM in_block ORDER BY a;

-- A view over a view, and over a plain view.
CREATE MATERIALIZED VIEW big USING ddir AS SELECT region FROM sales WHERE total > 1700;
CREATE VIEW plain AS SELECT region, total / orders AS mean FROM sales;
CREATE MATERIALIZED VIEW over_plain USING ddir AS SELECT * FROM plain WHERE mean > 1;
UPDATE orders SET amount = amount + 1 WHERE id % 2 = 0;
DELETE FROM orders WHERE id > 90;
\i :check_all
SELECT * FROM big ORDER BY region;

-- Renamed, moved, given away: it stays current.
ALTER MATERIALIZED VIEW sales RENAME TO revenue;
ALTER MATERIALIZED VIEW revenue RENAME COLUMN total TO sum;
ALTER MATERIALIZED VIEW revenue SET SCHEMA elsewhere;
CREATE ROLE surface_owner;
GRANT USAGE ON SCHEMA surface, elsewhere TO surface_owner;
GRANT CREATE ON SCHEMA elsewhere TO surface_owner;
GRANT SELECT ON orders, customer TO surface_owner;
ALTER MATERIALIZED VIEW elsewhere.revenue OWNER TO surface_owner;
ALTER TABLE customer RENAME TO client;
ALTER TABLE orders ADD COLUMN note text DEFAULT 'none';
INSERT INTO orders VALUES (200, 2, 7, 'renamed');
\i :check_all
SELECT sum FROM elsewhere.revenue WHERE region = 'south';

-- Indexes, VACUUM FULL and CLUSTER are the user's to use.
CREATE UNIQUE INDEX revenue_region ON elsewhere.revenue (region);
INSERT INTO orders VALUES (201, 3, 7, 'indexed');
\i :check_all
VACUUM FULL elsewhere.revenue;
INSERT INTO orders VALUES (202, 3, 7, 'rewritten');
\i :check_all
CLUSTER elsewhere.revenue USING revenue_region;
DELETE FROM orders WHERE id = 202;
\i :check_all

-- REFRESH of a live view waits; in a transaction that wrote, it is the server's.
REFRESH MATERIALIZED VIEW elsewhere.revenue;
REFRESH MATERIALIZED VIEW CONCURRENTLY later;
BEGIN;
INSERT INTO orders VALUES (203, 3, 9, 'own');
REFRESH MATERIALIZED VIEW elsewhere.revenue;
SELECT sum FROM elsewhere.revenue WHERE region = 'north';
ROLLBACK;
BEGIN;
INSERT INTO orders VALUES (203, 3, 9, 'own');
REFRESH MATERIALIZED VIEW CONCURRENTLY elsewhere.revenue;
SELECT sum FROM elsewhere.revenue WHERE region = 'north';
COMMIT;
\i :check_all
REFRESH MATERIALIZED VIEW CONCURRENTLY elsewhere.revenue WITH NO DATA;
REFRESH MATERIALIZED VIEW later WITH NO DATA;
\i :check_all
SELECT count(*) FROM later;

-- Adopted and let go.
CREATE MATERIALIZED VIEW report AS SELECT customer, count(*) FROM orders GROUP BY customer;
ALTER MATERIALIZED VIEW report SET ACCESS METHOD ddir;
INSERT INTO orders VALUES (300, 3, 1, 'adopted');
\i :check_all
SELECT * FROM report WHERE customer = 3;
ALTER MATERIALIZED VIEW report SET ACCESS METHOD ddir;
BEGIN;
ALTER MATERIALIZED VIEW report SET ACCESS METHOD heap;
ROLLBACK;
INSERT INTO orders VALUES (301, 3, 1, 'kept');
\i :check_all
ALTER TABLE report SET ACCESS METHOD heap;
INSERT INTO orders VALUES (302, 3, 1, 'let go');
DO $$ BEGIN PERFORM ddir.wait(); END $$;
SELECT * FROM report WHERE customer = 3;
SELECT count(*) FROM ddir.views WHERE view = 'report'::regclass;

-- Not while another ddir view reads it.
ALTER MATERIALIZED VIEW elsewhere.revenue SET ACCESS METHOD heap;
ALTER MATERIALIZED VIEW IF EXISTS nothing SET ACCESS METHOD ddir;

-- Dropped alone, with its source, with its schema.
DROP MATERIALIZED VIEW by_default;
DROP TABLE together;
DROP TABLE together CASCADE;
\i :check_all
SELECT view FROM ddir.views ORDER BY view::text;
SET client_min_messages = warning;
DROP SCHEMA surface, elsewhere CASCADE;
RESET client_min_messages;
DO $$ BEGIN PERFORM ddir.wait(); END $$;
SELECT count(*) FROM ddir.views;
DROP ROLE surface_owner;
