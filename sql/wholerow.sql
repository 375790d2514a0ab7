-- Whole rows as values: of tables, views, subqueries, functions and joins, where an outer join
-- has none, and when the table gets other columns.

CREATE TABLE t (a int, b text);
CREATE TABLE s (a int);
CREATE TABLE child (c date) INHERITS (t);
INSERT INTO t VALUES (1, 'x'), (2, NULL), (NULL, NULL);
INSERT INTO s VALUES (1), (2), (5);
INSERT INTO child VALUES (2, 'c', '2026-01-01');
CREATE VIEW plain AS SELECT a, b FROM t;
CREATE DOMAIN filled AS t CHECK ((VALUE).a > 0);
CREATE FUNCTION of_domain(int) RETURNS SETOF filled IMMUTABLE LANGUAGE sql SET search_path = public
	AS $$ SELECT ROW($1, 'd')::filled UNION ALL SELECT NULL $$;

CREATE MATERIALIZED VIEW w_row USING ddir AS SELECT t, t.a FROM t;
CREATE MATERIALIZED VIEW w_only USING ddir AS SELECT t FROM ONLY t;
CREATE MATERIALIZED VIEW w_plain USING ddir AS SELECT p, (SELECT p) AS q, (SELECT (SELECT p)) AS r FROM plain p;
CREATE MATERIALIZED VIEW w_left USING ddir AS
	SELECT s.a, t, t IS NULL AS none, (t.*)::text AS x, count(t) OVER () AS n FROM s LEFT JOIN t ON s.a = t.a;
CREATE MATERIALIZED VIEW w_full USING ddir AS
	SELECT t, s, rank() OVER (ORDER BY t), count(t) OVER (PARTITION BY s.a) AS n FROM t FULL JOIN s ON s.a = t.a;
CREATE MATERIALIZED VIEW w_json USING ddir AS SELECT row_to_json(q) AS j, q IS NOT NULL AS full FROM (SELECT a, count(*) FROM t GROUP BY a) q;
CREATE MATERIALIZED VIEW w_with USING ddir AS
	WITH c AS (SELECT a, b FROM t) SELECT s.a, c IS NOT NULL AS some, to_jsonb(c) AS j FROM s LEFT JOIN c ON c.a = s.a;
CREATE MATERIALIZED VIEW w_values USING ddir AS SELECT s.a, to_jsonb(v) AS j FROM s LEFT JOIN (VALUES (1, 2), (3, 4)) v ON v.column1 = s.a;
CREATE MATERIALIZED VIEW w_correlated USING ddir AS
	SELECT s.a, (SELECT count(t) FROM t WHERE t.a = s.a) AS n, (SELECT row_to_json(s)) AS j,
		   (SELECT max(q.s::text) FROM (SELECT s, t.a FROM t WHERE t.a = s.a) q) AS m FROM s;
CREATE MATERIALIZED VIEW w_join USING ddir AS SELECT j.*, row_to_json(j) AS j FROM (s LEFT JOIN t USING (a)) j;
CREATE MATERIALIZED VIEW w_function USING ddir AS
	SELECT s.a, u, row_to_json(u) AS j FROM s LEFT JOIN LATERAL unnest(ARRAY[(s.a, 'f')::t, NULL]) u ON s.a > 1;
CREATE MATERIALIZED VIEW w_domain USING ddir AS SELECT s.a, d, (d).b FROM s LEFT JOIN of_domain(2) d ON d.a = s.a;
CREATE MATERIALIZED VIEW w_key USING ddir AS SELECT t, count(*), (SELECT t) AS again FROM t GROUP BY t;
CREATE MATERIALIZED VIEW w_union USING ddir AS SELECT DISTINCT t FROM t UNION SELECT ROW(7, 'q')::t;
CREATE MATERIALIZED VIEW w_aggregate USING ddir AS SELECT b, array_agg(t ORDER BY a) AS r, json_agg(t ORDER BY a)::text AS j FROM t GROUP BY b;
CREATE MATERIALIZED VIEW w_exists USING ddir AS SELECT s.a FROM s WHERE NOT EXISTS (SELECT FROM t WHERE t IS DISTINCT FROM ROW(s.a, 'x')::t);
\i test/sql/check_all.sql

BEGIN;
INSERT INTO t VALUES (5, 'new'), (1, 'y');
DELETE FROM s WHERE a = 1;
UPDATE t SET b = 'zz' WHERE b = 'x';
INSERT INTO s VALUES (NULL), (1);
COMMIT;
\i test/sql/check_all.sql
DELETE FROM t WHERE a = 2;
\i test/sql/check_all.sql
TABLE w_left ORDER BY a, x;
TABLE w_full ORDER BY t, s;
TABLE w_with ORDER BY a, j;
TABLE w_function ORDER BY a, u;
TABLE w_domain ORDER BY a;
TABLE w_correlated ORDER BY a;
TABLE w_aggregate ORDER BY b;

-- other columns, and other names of them
DROP MATERIALIZED VIEW w_aggregate, w_domain;
DROP FUNCTION of_domain;
DROP DOMAIN filled;
ALTER TABLE t ADD COLUMN d int;
ALTER TABLE s RENAME COLUMN a TO k;
ALTER TABLE s ADD COLUMN l int;
INSERT INTO t VALUES (8, 'n', 4);
INSERT INTO s VALUES (8, 9);
\i test/sql/check_all.sql
TABLE w_full ORDER BY t, s;
TABLE w_correlated ORDER BY a;

-- a row of which something is not shown
CREATE ROLE wholerow_reader;
GRANT CREATE, USAGE ON SCHEMA public TO wholerow_reader;
GRANT SELECT ON s TO wholerow_reader;
GRANT SELECT (a, b) ON t TO wholerow_reader;
SET ROLE wholerow_reader;
CREATE MATERIALIZED VIEW w_rights USING ddir AS SELECT t FROM t WITH NO DATA;
RESET ROLE;
GRANT SELECT ON t TO wholerow_reader;
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
CREATE POLICY small ON t USING (t < ROW(6, '', 0)::t);
SET ROLE wholerow_reader;
CREATE MATERIALIZED VIEW w_policy USING ddir AS SELECT s.k, t FROM s LEFT JOIN t ON s.k = t.a;
\i test/sql/check_all.sql
TABLE w_policy ORDER BY k, t;
RESET ROLE;
SET client_min_messages = warning;
DROP TABLE t, s CASCADE;
REVOKE ALL ON SCHEMA public FROM wholerow_reader;
DROP ROLE wholerow_reader;
