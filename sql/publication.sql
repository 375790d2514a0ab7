-- Publications of sources: the user's writes never fail because of ddir.  Under
-- REPLICA IDENTITY FULL, which views need, the server lets no column list do.

CREATE SCHEMA publication;
SET search_path = publication;

-- (a partition: old rows of other tables with a key can be known by that)
CREATE TABLE root (a int PRIMARY KEY, b int, c text) PARTITION BY LIST (a);
CREATE TABLE t PARTITION OF root DEFAULT;
INSERT INTO t SELECT i, i % 3, 'x' FROM generate_series(1, 6) AS i;
CREATE FUNCTION identity_of(regclass) RETURNS "char" LANGUAGE sql AS 'SELECT relreplident FROM pg_class WHERE oid = $1';

-- a column list from before: the view is suspended, and updates go on; it comes
-- back with the ones that read it when the list is gone
CREATE PUBLICATION listed FOR TABLE t (a, b);
CREATE MATERIALIZED VIEW v USING ddir AS SELECT b, count(*) AS n, max(c) AS c FROM t GROUP BY b;
CREATE MATERIALIZED VIEW above USING ddir AS SELECT max(n) AS n FROM v;
SELECT ddir.wait('v');
UPDATE t SET b = 1 WHERE a = 3;
DELETE FROM t WHERE a = 6;
SELECT identity_of('t');
DROP PUBLICATION listed;
\i test/sql/check_all.sql
SELECT reason FROM ddir.hydration WHERE view = 'v'::regclass;
SELECT identity_of('t');

-- one made later, and one that is altered: the same, from its commit on
CREATE PUBLICATION listed FOR TABLE t (a, b);
UPDATE t SET b = 5 WHERE a = 1;
INSERT INTO t VALUES (7, 1, 'y');
SELECT ddir.wait('v');
SELECT identity_of('t');
ALTER PUBLICATION listed SET TABLE t;
\i test/sql/check_all.sql
ALTER PUBLICATION listed SET TABLE t (a);
DELETE FROM t WHERE a = 7;
SELECT ddir.wait('v');
ALTER PUBLICATION listed SET (publish = 'insert, truncate');
\i test/sql/check_all.sql
ALTER PUBLICATION listed SET (publish = 'insert, delete');
DELETE FROM t WHERE a = 2;
SELECT ddir.wait('v');
DROP PUBLICATION listed;
\i test/sql/check_all.sql

-- rolled back, nothing happens
BEGIN;
CREATE PUBLICATION listed FOR TABLE t (a, b);
ROLLBACK;
UPDATE t SET b = 4 WHERE a = 4;
\i test/sql/check_all.sql

-- row filters and whole publications: the view and updates live with them
CREATE PUBLICATION filtered FOR TABLE t WHERE (b > 0);
CREATE PUBLICATION schema_ FOR TABLES IN SCHEMA publication;
CREATE PUBLICATION every FOR ALL TABLES;
UPDATE t SET b = b + 1;
DELETE FROM t WHERE a = 5;
\i test/sql/check_all.sql
CREATE TABLE nokey (a int);
INSERT INTO nokey VALUES (1), (2);
CREATE MATERIALIZED VIEW w USING ddir AS SELECT sum(a) AS a FROM nokey;
CREATE MATERIALIZED VIEW vw USING ddir AS SELECT t.b, nokey.a FROM t JOIN nokey USING (a);
\i test/sql/check_all.sql
UPDATE nokey SET a = a + 1;
\i test/sql/check_all.sql
TABLE v ORDER BY b;

-- the identity that a row filter has come to need stays when the views go
SELECT format('%I.%I', schemaname, tablename) AS published FROM pg_publication_tables WHERE pubname = 'every' AND schemaname = 'publication' ORDER BY 1;
SET client_min_messages = warning;
SELECT ddir.disable();
RESET client_min_messages;
SELECT identity_of('t'), identity_of('nokey');
UPDATE t SET b = b + 1;
UPDATE nokey SET a = a + 1;
DROP PUBLICATION filtered, schema_, every;
SELECT ddir.enable();
\i test/sql/check_all.sql

SET client_min_messages = warning;
DROP SCHEMA publication CASCADE;
