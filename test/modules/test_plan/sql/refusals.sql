--
-- What is refused, and in which words.
--
\pset format unaligned
\pset tuples_only on

SET client_min_messages = warning;

-- the table of all words is whole
SELECT count(*) = count(DISTINCT code) AND count(*) = count(hint) AND min(length(reason)) > 20
  FROM test_refusals();
SELECT code, construct FROM test_refusals();
-- sentences end
SELECT * FROM test_refusals() WHERE reason !~ '^[A-Z].*\.$' OR hint !~ '^[A-Z].*\.$';

-- the shape of the query
SELECT test_lower('SELECT l.* FROM a, LATERAL (SELECT sum(x) OVER (ORDER BY x ROWS a.y PRECEDING) FROM b) l');
SELECT test_lower('WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 9) SELECT * FROM r');
SELECT test_lower('SELECT x, generate_series(1, (random() * y)::int) FROM a');
SELECT test_lower('SELECT * FROM a FOR UPDATE');
SELECT test_lower('INSERT INTO a VALUES (1)');

-- FROM
SELECT test_lower('SELECT * FROM a, generate_series(a.x, extract(day FROM now())::int) g');
SELECT test_lower('SELECT * FROM a, pg_ls_dir(a.z) d');
SELECT test_lower('SELECT * FROM a, jsonb_to_recordset(to_jsonb(a.x)) AS r(at timestamptz)');
SELECT test_lower('SELECT * FROM xmltable(''/a'' PASSING xml ''<a/>'' COLUMNS q text) t');
SELECT test_lower('SELECT * FROM a TABLESAMPLE BERNOULLI (10)');
SELECT test_lower('SELECT * FROM a FULL JOIN b ON a.x < b.x');
SELECT test_lower('SELECT * FROM a FULL JOIN b ON a.x IS NOT DISTINCT FROM b.x AND a.y = 1');

-- subqueries in expressions

-- columns and expressions
SELECT test_lower('SELECT ctid FROM a');
SELECT test_lower('SELECT tableoid::regclass, x FROM a');

-- relations
CREATE TEMP TABLE temporary (x int);
CREATE UNLOGGED TABLE unlogged (x int);
CREATE SEQUENCE sequence;
CREATE MATERIALIZED VIEW plain AS SELECT 1 AS x;
CREATE EXTENSION postgres_fdw;
CREATE SERVER nowhere FOREIGN DATA WRAPPER postgres_fdw;
CREATE FOREIGN TABLE distant (x int) SERVER nowhere;
CREATE TABLE parted (x int) PARTITION BY LIST (x);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1) PARTITION BY LIST (x);
CREATE UNLOGGED TABLE parted_2 PARTITION OF parted_1 FOR VALUES IN (1);
CREATE TABLE parent (x int);
CREATE FOREIGN TABLE child () INHERITS (parent) SERVER nowhere;
SELECT test_lower('SELECT x FROM temporary');
SELECT test_lower('SELECT x FROM unlogged');
SELECT test_lower('SELECT last_value FROM sequence');
SELECT test_lower('SELECT x FROM plain');
SELECT test_lower('SELECT x FROM distant');
-- of trees, a member is named
SELECT test_lower('SELECT x FROM parted');
SELECT test_lower('SELECT x FROM parent');
SELECT test_lower('SELECT relname FROM pg_class');
SELECT test_lower('SELECT table_name FROM information_schema.tables');
SELECT test_lower('SELECT feature_name FROM information_schema.sql_features');

-- a refusal deep inside is found
CREATE VIEW outside AS SELECT * FROM (SELECT x, y FROM a UNION ALL SELECT x, y FROM b LIMIT 3) s;
SELECT test_lower('SELECT * FROM c WHERE k IN (SELECT x FROM outside)');

-- an error that is not about the query is one
SELECT test_lower('SELECT nothing FROM a');
SELECT test_lower('SELECT 1 / 0');

-- nothing is left behind
SELECT current_user = session_user, current_setting('row_security'), current_setting('search_path');

DROP VIEW outside;
DROP FOREIGN TABLE child;
DROP TABLE parted, parent, unlogged, temporary;
DROP SEQUENCE sequence;
DROP MATERIALIZED VIEW plain;
DROP EXTENSION postgres_fdw CASCADE;
