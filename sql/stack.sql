-- Subqueries, WITH, plain views, unions, VALUES, and views over ddir views.

CREATE TABLE o (id int PRIMARY KEY, c int, amount numeric, day date);
CREATE TABLE c (id int PRIMARY KEY, region text);
INSERT INTO c VALUES (1, 'north'), (2, 'south'), (3, 'north');
INSERT INTO o SELECT i, i % 4, i * 2.5, '2024-01-01'::date + i FROM generate_series(1, 20) i;

CREATE MATERIALIZED VIEW per_customer USING ddir AS
	SELECT c, count(*) AS n, sum(amount) AS total FROM o GROUP BY c;
CREATE MATERIALIZED VIEW per_region USING ddir AS
	SELECT c.region, sum(p.n)::bigint AS n, sum(p.total) AS total
	  FROM per_customer p JOIN c ON c.id = p.c GROUP BY c.region;
-- a diamond: both inputs come from per_customer
CREATE MATERIALIZED VIEW share USING ddir AS
	SELECT p.c, r.region, p.total / r.total AS part
	  FROM per_customer p JOIN c ON c.id = p.c JOIN per_region r ON r.region = c.region;
CREATE MATERIALIZED VIEW big USING ddir AS SELECT c, region FROM share WHERE part > 0.4;
CREATE VIEW plain AS SELECT region, n FROM per_region WHERE n > 1;
CREATE MATERIALIZED VIEW over_plain USING ddir AS SELECT * FROM plain;
CREATE MATERIALIZED VIEW with_q USING ddir AS
	WITH big AS (SELECT c, amount FROM o WHERE amount > 20)
	SELECT a.c, a.amount FROM big a JOIN (SELECT c, max(amount) AS m FROM big GROUP BY c) b
	    ON a.c = b.c AND a.amount = b.m;
CREATE MATERIALIZED VIEW u_all USING ddir AS
	SELECT c AS v, 'o' AS src FROM o UNION ALL SELECT id, 'c' FROM c UNION ALL VALUES (0, 'v');
CREATE MATERIALIZED VIEW u USING ddir AS SELECT c FROM o UNION SELECT id::bigint FROM c;
CREATE MATERIALIZED VIEW lookup USING ddir AS
	SELECT o.id, n.name FROM o JOIN (VALUES (1, 'one'), (2, 'two')) AS n(c, name) ON n.c = o.c;
CREATE MATERIALIZED VIEW one USING ddir AS SELECT 1 AS a, 'x'::text AS b;
\i test/sql/check_all.sql
TABLE per_region ORDER BY region;
TABLE share ORDER BY c;
TABLE with_q ORDER BY c;

BEGIN;
UPDATE o SET amount = amount + 100 WHERE c = 3;
UPDATE c SET region = 'south' WHERE id = 3;
INSERT INTO c VALUES (0, 'west');
COMMIT;
\i test/sql/check_all.sql
TABLE per_region ORDER BY region;
TABLE share ORDER BY c;
TABLE big ORDER BY c;
TABLE u ORDER BY 1;

-- a view that comes late to what is there
CREATE MATERIALIZED VIEW late USING ddir AS
	SELECT region, count(*) AS n FROM share GROUP BY region;
\i test/sql/check_all.sql
DELETE FROM o WHERE c = 2;
TRUNCATE c;
\i test/sql/check_all.sql
TABLE late;
INSERT INTO c VALUES (1, 'east');
\i test/sql/check_all.sql
TABLE late;

-- one that others read cannot be let go
ALTER MATERIALIZED VIEW per_customer SET ACCESS METHOD heap;
SET client_min_messages = warning;
DROP TABLE o, c CASCADE;
\i test/sql/check_all.sql
TABLE one;
DROP MATERIALIZED VIEW one;

-- views over views over views, each by two ways
CREATE TABLE ground (id int);
INSERT INTO ground VALUES (1), (2);
CREATE PROCEDURE stack() LANGUAGE plpgsql AS
$$DECLARE below text := 'ground'; beside text := 'ground';
BEGIN
	FOR i IN 1 .. 20 LOOP
		EXECUTE format('CREATE MATERIALIZED VIEW left_%s USING ddir AS SELECT l.id FROM %s l JOIN %s r USING (id)', i, below, beside);
		EXECUTE format('CREATE MATERIALIZED VIEW right_%s USING ddir AS SELECT l.id FROM %s l JOIN %s r USING (id) WHERE id > 1', i, below, beside);
		below := 'left_' || i;
		beside := 'right_' || i;
	END LOOP;
END$$;
CALL stack();
INSERT INTO ground VALUES (3);
\i test/sql/check_all.sql
SELECT (SELECT count(*) FROM left_20) AS left, (SELECT count(*) FROM right_20) AS right;
SET client_min_messages = warning;
DROP TABLE ground CASCADE;
