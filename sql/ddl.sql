-- DDL on what views read: what is right stays, what is not any more is filled
-- again with the reason, what cannot be followed is refused or suspended.

CREATE SCHEMA ddl;
SET search_path = ddl;

CREATE SCHEMA home;
CREATE TABLE home.t (id int PRIMARY KEY, g int, s text, unused int, n numeric);
INSERT INTO home.t SELECT i, i % 3, 's' || i, i, i / 2.0 FROM generate_series(1, 12) AS i;
CREATE TABLE home.d (g int, name text);
INSERT INTO home.d VALUES (0, 'zero'), (1, 'one'), (2, 'two');
CREATE MATERIALIZED VIEW v USING ddir AS
	SELECT d.name, count(*) AS n, sum(t.n) AS total FROM home.t JOIN home.d USING (g) GROUP BY d.name;
CREATE MATERIALIZED VIEW vv USING ddir AS SELECT name FROM v WHERE n > 3;
CREATE MATERIALIZED VIEW rows USING ddir AS SELECT id, upper(s) AS s FROM home.t;

\i test/sql/look.sql
CREATE PROCEDURE write() LANGUAGE sql AS
$$	INSERT INTO home.t (id, g, s, n) SELECT coalesce(max(id) + 1, 1), coalesce(max(id) % 3, 1), 'new', 1 FROM home.t;
	UPDATE home.t SET n = n + 1, g = (g + 1) % 3 WHERE id % 4 = 1;
	DELETE FROM home.t WHERE id = (SELECT min(id) FROM home.t);
$$;
CALL look();

-- columns
ALTER TABLE home.t ADD COLUMN c int DEFAULT 7; CALL write(); CALL look();
ALTER TABLE home.t ADD COLUMN r float DEFAULT random(); CALL write(); CALL look();
ALTER TABLE home.t ADD COLUMN gen int GENERATED ALWAYS AS (id * 2) STORED; CALL write(); CALL look();
CREATE MATERIALIZED VIEW made USING ddir AS SELECT c, r, gen, id FROM home.t; CALL write(); CALL look();
ALTER TABLE home.t ALTER COLUMN c SET DEFAULT 8; CALL write(); CALL look();
ALTER TABLE home.t ALTER COLUMN unused TYPE bigint; CALL write(); CALL look();
ALTER TABLE home.t ALTER COLUMN unused TYPE text USING unused::text || 'x'; CALL write(); CALL look();
ALTER TABLE home.t ALTER COLUMN n TYPE numeric(20, 3);
ALTER TABLE home.t ALTER COLUMN gen DROP EXPRESSION; CALL write(); CALL look();
ALTER TABLE home.t DROP COLUMN unused; CALL write(); CALL look();
ALTER TABLE home.t DROP COLUMN n;
ALTER TABLE home.t ALTER COLUMN s SET STORAGE EXTERNAL, ALTER COLUMN s SET COMPRESSION pglz, ALTER COLUMN s SET STATISTICS 5; CALL write(); CALL look();
ALTER TABLE home.t ALTER COLUMN g SET NOT NULL, ADD CHECK (g < 100); CALL write(); CALL look();
BEGIN; ALTER TABLE home.t ADD COLUMN z int DEFAULT 1; CALL write(); ROLLBACK; CALL write(); CALL look();
BEGIN; CALL write(); ALTER TABLE home.t ADD COLUMN z int DEFAULT 1; CALL write(); COMMIT; CALL write(); CALL look();
BEGIN; CALL write(); SAVEPOINT a; ALTER TABLE home.t ALTER COLUMN z TYPE float; CALL write(); ROLLBACK TO a; CALL write(); COMMIT; CALL look();
BEGIN; CALL write(); ALTER TABLE home.t ALTER COLUMN z TYPE float; CALL write(); COMMIT; CALL write(); CALL look();

-- names
ALTER TABLE home.t RENAME COLUMN s TO label;
ALTER TABLE home.t RENAME TO renamed;
ALTER TABLE home.renamed RENAME CONSTRAINT t_pkey TO key;
ALTER SCHEMA home RENAME TO house;
ALTER MATERIALIZED VIEW v RENAME TO v2;
ALTER MATERIALIZED VIEW v2 RENAME COLUMN n TO rows;
INSERT INTO house.renamed (id, g, label, n) VALUES (101, 1, 'hundred', 1);
CALL look();
ALTER TABLE house.renamed SET SCHEMA ddl;
ALTER MATERIALIZED VIEW v2 SET SCHEMA house;
UPDATE renamed SET g = 2 WHERE id = 101;
CALL look();
ALTER MATERIALIZED VIEW house.v2 SET SCHEMA ddl; ALTER MATERIALIZED VIEW v2 RENAME TO v;
ALTER MATERIALIZED VIEW v RENAME COLUMN rows TO n;
ALTER TABLE renamed RENAME TO t; ALTER TABLE t RENAME COLUMN label TO s; ALTER TABLE t SET SCHEMA house; ALTER SCHEMA house RENAME TO home;
CALL write(); CALL look();

-- a plain view that says something else; one that says the same in other words
CREATE VIEW said AS SELECT id, word FROM (VALUES (10, 'ten'), (11, 'eleven')) AS w (id, word);
CREATE MATERIALIZED VIEW saying USING ddir AS SELECT word, g FROM said LEFT JOIN home.t USING (id);
CALL look();
CREATE OR REPLACE VIEW said AS SELECT id, word FROM (VALUES (10, 'zehn'), (11, 'elf')) AS w (id, word); CALL look();
SELECT * FROM saying ORDER BY word;
CREATE OR REPLACE VIEW said AS SELECT number AS id, w.says AS word FROM (VALUES (10, 'zehn'), (11, 'elf')) AS w (number, says); CALL look();
DROP VIEW said CASCADE;
-- one that comes to read a view over it; one that cannot be maintained any more, below views
CREATE VIEW round AS SELECT id FROM home.t;
CREATE MATERIALIZED VIEW rounds USING ddir AS SELECT id FROM round;
CREATE MATERIALIZED VIEW above USING ddir AS SELECT id + 1 AS id FROM rounds;
CALL look();
CREATE OR REPLACE VIEW round AS SELECT id FROM rounds;
SELECT ddir.wait('rounds');
SELECT ddir.wait('above');
CREATE OR REPLACE VIEW round AS SELECT id FROM above;
SELECT ddir.wait('above');
CREATE OR REPLACE VIEW round AS SELECT (random() * 5)::int AS id FROM home.t;
SELECT ddir.wait('rounds');
CREATE MATERIALIZED VIEW later USING ddir AS SELECT id FROM above;
SELECT ddir.wait('later');
CREATE OR REPLACE VIEW round AS SELECT id FROM home.t;
CALL write(); CALL look();
DROP VIEW round CASCADE;

-- the storage
CREATE UNLOGGED TABLE careless (a int);
CREATE MATERIALIZED VIEW carefree USING ddir AS SELECT a FROM careless;
DROP TABLE careless CASCADE;
ALTER TABLE home.t SET UNLOGGED;
SELECT ddir.wait('v');
SELECT view, state, message FROM ddir.views ORDER BY view::text;
INSERT INTO home.t (id, g, s, n) VALUES (201, 1, 'unlogged', 1);
ALTER TABLE home.t SET LOGGED; CALL write(); CALL look();
VACUUM FULL home.t;
CLUSTER home.t USING key; CALL write(); CALL look();
REINDEX TABLE CONCURRENTLY home.t; REINDEX TABLE CONCURRENTLY v; CALL write(); CALL look();
ALTER TABLE home.t SET (fillfactor = 50), SET (autovacuum_enabled = off); VACUUM (FREEZE, ANALYZE) home.t; CALL write(); CALL look();
ALTER TABLE home.t CLUSTER ON key, REPLICA IDENTITY USING INDEX key; CALL write(); CALL look();
ALTER TABLE home.t REPLICA IDENTITY NOTHING; CALL write(); CALL look();
SET allow_in_place_tablespaces = on;
SET client_min_messages = error;
CREATE TABLESPACE ddir_ddl LOCATION '';
RESET client_min_messages;
ALTER TABLE home.t SET TABLESPACE ddir_ddl; CALL write(); CALL look();
ALTER MATERIALIZED VIEW v SET TABLESPACE ddir_ddl; CALL write(); CALL look();
ALTER TABLE home.t SET TABLESPACE pg_default; ALTER MATERIALIZED VIEW v SET TABLESPACE pg_default; CALL write(); CALL look();
DROP TABLESPACE ddir_ddl;
BEGIN; CALL write(); SAVEPOINT a; TRUNCATE home.t; CALL write(); ROLLBACK TO a; CALL write(); COMMIT; CALL look();
BEGIN; SAVEPOINT a; TRUNCATE home.d; INSERT INTO home.d VALUES (1, 'alone'); RELEASE a; CALL write(); COMMIT; CALL look();
INSERT INTO home.d VALUES (0, 'zero'), (2, 'two');

-- children
CREATE TABLE child () INHERITS (home.t);
SELECT ddir.wait('v');
DROP TABLE child;
CALL write(); CALL look();
CREATE TABLE parent (id int, g int);
ALTER TABLE home.t INHERIT parent; CALL write(); CALL look();
ALTER TABLE home.t NO INHERIT parent; CALL write(); CALL look();

-- dropped, and made again
DROP TABLE home.d;
DROP TABLE home.d CASCADE;
SELECT count(*) FROM ddir.views;
CREATE TABLE home.d (name text, more int, g int);
CREATE MATERIALIZED VIEW v USING ddir AS
	SELECT d.name, count(*) AS n FROM home.t JOIN home.d USING (g) GROUP BY d.name;
INSERT INTO home.d VALUES ('zero', 0, 0), ('one', 1, 1);
CALL write(); CALL look();
BEGIN; DROP TABLE home.t CASCADE; ROLLBACK; CALL write(); CALL look();

-- functions
CREATE FUNCTION plus(numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS 'SELECT $1 + 1';
CREATE FUNCTION inner_(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1 * 2';
CREATE FUNCTION outer_(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT ddl.inner_($1) + 1';
CREATE FUNCTION proc(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 + 1; END';
CREATE FUNCTION same(int, text) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1::text = $2';
CREATE OPERATOR === (FUNCTION = same, LEFTARG = int, RIGHTARG = text);
CREATE AGGREGATE product(int) (SFUNC = int4mul, STYPE = int, INITCOND = '1');
CREATE MATERIALIZED VIEW f USING ddir AS SELECT id, plus(n) AS n, proc(g) AS g FROM home.t;
CREATE MATERIALIZED VIEW f_outer USING ddir AS SELECT id FROM home.t WHERE outer_(g) > 2;
CREATE MATERIALIZED VIEW f_op USING ddir AS SELECT id FROM home.t WHERE g === '1';
CREATE MATERIALIZED VIEW f_agg USING ddir AS SELECT g, product(id % 5 + 1) AS p FROM home.t GROUP BY g;
CALL write(); CALL look();
CREATE OR REPLACE FUNCTION plus(numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS 'SELECT $1 + 2'; CALL look();
CREATE OR REPLACE FUNCTION inner_(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1 * 3'; CALL look();
CREATE OR REPLACE FUNCTION proc(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 + 3; END'; CALL write(); CALL look();
CREATE OR REPLACE FUNCTION same(int, text) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1::text <> $2'; CALL look();
CREATE OR REPLACE AGGREGATE product(int) (SFUNC = int4mul, STYPE = int, INITCOND = '2'); CALL write(); CALL look();
ALTER FUNCTION plus(numeric) RENAME TO plus_; CALL write(); CALL look();
ALTER FUNCTION plus_(numeric) SET search_path = pg_catalog; CALL write(); CALL look();
ALTER OPERATOR === (int, text) SET SCHEMA home; CALL write(); CALL look();
ALTER FUNCTION proc(int) VOLATILE;
SELECT ddir.wait('f');
ALTER FUNCTION proc(int) IMMUTABLE; CALL write(); CALL look();
REVOKE EXECUTE ON FUNCTION proc(int) FROM PUBLIC; CALL write(); CALL look();
DROP FUNCTION plus_(numeric);
CREATE FUNCTION pg_temp.gone(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1 + 1';
CREATE MATERIALIZED VIEW f_temp USING ddir AS SELECT pg_temp.gone(id) AS id FROM home.t;
SELECT ddir.wait('f_temp');
DROP FUNCTION pg_temp.gone(int) CASCADE;
DROP MATERIALIZED VIEW f, f_outer, f_op, f_agg;
CALL write(); CALL look();

-- types
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE DOMAIN small AS int CHECK (VALUE < 100);
CREATE TYPE pair AS (a int, b text);
CREATE COLLATION order_ (provider = icu, locale = 'und');
CREATE TABLE typed (id int, m mood, s small, p pair, c text COLLATE order_);
INSERT INTO typed VALUES (1, 'sad', 1, '(1,a)', 'a'), (2, 'ok', 2, '(2,b)', 'B');
CREATE MATERIALIZED VIEW t_enum USING ddir AS SELECT m::text AS label, max(m) AS m, count(*) AS n FROM typed GROUP BY 1;
CREATE MATERIALIZED VIEW t_domain USING ddir AS SELECT id::small AS s, (p).b AS b FROM typed;
CREATE MATERIALIZED VIEW t_coll USING ddir AS SELECT max(c) AS c, min(c) AS m FROM typed;
CALL look();
ALTER TYPE mood RENAME VALUE 'ok' TO 'fine'; CALL look();
ALTER TYPE mood ADD VALUE 'better'; INSERT INTO typed VALUES (3, 'better', 3, '(3,c)', 'c'); CALL look();
TABLE t_enum ORDER BY m;
ALTER DOMAIN small DROP CONSTRAINT small_check; INSERT INTO typed VALUES (1000, 'fine', 1000, '(3,c)', 'D'); CALL look();
ALTER DOMAIN small ADD CONSTRAINT less CHECK (VALUE < 5) NOT VALID;
SELECT ddir.wait('t_domain');
DELETE FROM typed WHERE id = 1000; CALL look();
ALTER TYPE pair ADD ATTRIBUTE d int;
CALL look();
ALTER TYPE pair RENAME ATTRIBUTE b TO c; CALL look();
ALTER TYPE mood RENAME TO temper; ALTER COLLATION order_ RENAME TO other; ALTER DOMAIN small RENAME TO little;
INSERT INTO typed VALUES (4, 'sad', 1, '(9,z,)', 'E'); CALL look();
DROP TYPE temper;
DROP TABLE typed CASCADE;

-- constraints of domains: checked where values are made, not where they are stored
CREATE FUNCTION least_(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 0 * $1';
CREATE FUNCTION fits(int) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1 > ddl.least_($1)';
CREATE FUNCTION even(int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 % 2 = 0; END';
CREATE DOMAIN fit AS int CHECK (fits(VALUE));
CREATE DOMAIN few AS fit CHECK (even(VALUE));
CREATE DOMAIN free AS int;
CREATE DOMAIN freer AS free;
CREATE TYPE one AS (a few);
CREATE DOMAIN sole AS one;
CREATE TYPE span AS RANGE (subtype = fit);
CREATE FUNCTION made(int) RETURNS few LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1; END';
CREATE FUNCTION made_rows(int) RETURNS TABLE (a few, b int) LANGUAGE plpgsql IMMUTABLE AS 'BEGIN a := $1; RETURN NEXT; END';
CREATE FUNCTION made_any(r anyelement, i int) RETURNS anyelement LANGUAGE plpgsql IMMUTABLE AS 'BEGIN SELECT i INTO r; RETURN r; END';
CREATE FUNCTION taken(few) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1; END';
CREATE FUNCTION freed(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1::ddl.freer::int';
CREATE TABLE typed (id int, s few);
INSERT INTO typed VALUES (2, 2), (20, 20);
CREATE MATERIALIZED VIEW c_cast USING ddir AS SELECT id::fit::int FROM typed;
CREATE MATERIALIZED VIEW c_over USING ddir AS SELECT count(*) AS n FROM typed WHERE id::few > 0;
CREATE MATERIALIZED VIEW c_join USING ddir AS SELECT a.id, b.s::int FROM typed AS a JOIN typed AS b ON a.id::few = b.id;
CREATE MATERIALIZED VIEW c_array USING ddir AS SELECT (ARRAY[id]::few[])[1]::int AS i, (('{' || id || '}')::few[])[1]::int AS t FROM typed;
CREATE MATERIALIZED VIEW c_row USING ddir AS SELECT (ROW(id)::sole).a::int FROM typed;
CREATE MATERIALIZED VIEW c_text USING ddir AS SELECT (('(' || id || ')')::one).a::int FROM typed;
CREATE MATERIALIZED VIEW c_range USING ddir AS SELECT lower(('[' || id || ',)')::span)::int AS l FROM typed;
CREATE MATERIALIZED VIEW c_json USING ddir AS SELECT (json_populate_record(NULL::sole, json_build_object('a', id))).a::int FROM typed;
CREATE MATERIALIZED VIEW c_columns USING ddir AS SELECT r.a::int FROM typed, json_to_record(json_build_object('a', id)) AS r (a few);
CREATE MATERIALIZED VIEW c_made USING ddir AS SELECT made(id)::int FROM typed;
CREATE MATERIALIZED VIEW c_rows USING ddir AS SELECT m.a::int FROM typed, made_rows(id) AS m;
CREATE MATERIALIZED VIEW c_any USING ddir AS SELECT (made_any(NULL::one, id)).a::int FROM typed;
CREATE MATERIALIZED VIEW c_taken USING ddir AS SELECT taken(id) FROM typed;
CREATE MATERIALIZED VIEW c_freed USING ddir AS SELECT freed(id) FROM typed;
CREATE MATERIALIZED VIEW c_stored USING ddir AS SELECT s::int, s::fit::int AS f FROM typed;
CREATE PROCEDURE fails() LANGUAGE plpgsql AS
$$DECLARE r record;
BEGIN
	FOR r IN SELECT view FROM ddir.views WHERE view::text LIKE 'c\_%' LOOP
		BEGIN
			PERFORM ddir.wait(r.view);
		EXCEPTION WHEN OTHERS THEN
		END;
	END LOOP;
	FOR r IN SELECT message, string_agg(view::text, ', ' ORDER BY view::text) AS views
			   FROM ddir.views WHERE state = 'error' GROUP BY message ORDER BY message LOOP
		RAISE INFO '%: %', r.views, r.message;
	END LOOP;
END$$;
CALL look();
CREATE OR REPLACE FUNCTION least_(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 10 + 0 * $1'; CALL fails();
INSERT INTO typed VALUES (30, 30); CALL fails();
CREATE OR REPLACE FUNCTION least_(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 1 + 0 * $1'; CALL look();
CREATE OR REPLACE FUNCTION fits(int) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1 > 2'; CALL fails();
CREATE OR REPLACE FUNCTION fits(int) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1 > 0'; CALL look();
CREATE OR REPLACE FUNCTION even(int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 <> 20; END'; CALL fails();
CREATE OR REPLACE FUNCTION even(int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 > 0; END'; CALL look();
ALTER DOMAIN fit ADD CONSTRAINT below CHECK (VALUE < 25) NOT VALID; CALL fails();
ALTER DOMAIN fit DROP CONSTRAINT below; CALL look();
ALTER DOMAIN free ADD CHECK (VALUE < 25); CALL fails();
ALTER DOMAIN free DROP CONSTRAINT free_check; CALL look();
ALTER DOMAIN freer ADD CONSTRAINT large CHECK (VALUE < 100) NOT VALID; CALL look();
ALTER DOMAIN freer VALIDATE CONSTRAINT large; INSERT INTO typed VALUES (40, 40); CALL look();
INSERT INTO typed VALUES (NULL, NULL); CALL look();
ALTER DOMAIN free SET NOT NULL; CALL fails();
ALTER DOMAIN free DROP NOT NULL; CALL look();
-- what is refused in a query is refused there
ALTER FUNCTION even(int) STABLE;
SELECT ddir.wait('c_over');
ALTER FUNCTION even(int) IMMUTABLE; CALL look();
DROP TABLE typed CASCADE;

-- rights, owners and row security
SET client_min_messages = warning;
CREATE ROLE ddl_owner;
CREATE ROLE ddl_other;
CREATE ROLE ddl_group;
RESET client_min_messages;
GRANT USAGE ON SCHEMA home TO ddl_owner, ddl_other;
GRANT CREATE, USAGE ON SCHEMA ddl TO ddl_owner, ddl_other;
GRANT SELECT ON home.t TO ddl_owner;
SET ROLE ddl_owner;
CREATE MATERIALIZED VIEW mine USING ddir AS SELECT id, g FROM home.t;
RESET ROLE;
CALL look();
REVOKE SELECT ON home.t FROM ddl_owner;
SELECT ddir.wait('mine');
GRANT SELECT (id) ON home.t TO ddl_owner;
SELECT ddir.wait('mine');
GRANT SELECT (g) ON home.t TO ddl_owner; CALL write(); CALL look();
REVOKE SELECT (g) ON home.t FROM ddl_owner;
SELECT ddir.wait('mine');
GRANT SELECT ON home.t TO ddl_group; GRANT ddl_group TO ddl_owner; CALL write(); CALL look();
REVOKE ddl_group FROM ddl_owner;
SELECT ddir.wait('mine');
GRANT ddl_group TO ddl_owner; CALL write(); CALL look();
REVOKE USAGE ON SCHEMA home FROM ddl_owner; CALL write(); CALL look();
GRANT USAGE ON SCHEMA home TO ddl_owner;
ALTER TABLE home.t ENABLE ROW LEVEL SECURITY; CALL write(); CALL look();
SELECT count(*) FROM mine;
CREATE POLICY p ON home.t TO ddl_owner USING (g = 1); CALL write(); CALL look();
SELECT DISTINCT g FROM mine;
ALTER POLICY p ON home.t USING (g = 2); CALL write(); CALL look();
SELECT DISTINCT g FROM mine;
CREATE POLICY q ON home.t USING (g = 0); CALL look();
SELECT DISTINCT g FROM mine ORDER BY g;
ALTER POLICY q ON home.t TO ddl_other; CALL look();
DROP POLICY p ON home.t; CALL look();
SELECT count(*) FROM mine;
ALTER ROLE ddl_owner BYPASSRLS; CALL look();
SELECT count(*) = (SELECT count(*) FROM home.t) AS whole FROM mine;
ALTER ROLE ddl_owner NOBYPASSRLS; CALL look();
SELECT count(*) FROM mine;
ALTER ROLE ddl_owner SUPERUSER; CALL look();
SELECT count(*) > 0 AS some FROM mine;
ALTER ROLE ddl_owner NOSUPERUSER; CALL look();
ALTER TABLE home.t OWNER TO ddl_owner; CALL write(); CALL look();
SELECT count(*) > 0 AS some FROM mine;
ALTER TABLE home.t FORCE ROW LEVEL SECURITY; CALL look();
SELECT count(*) FROM mine;
ALTER TABLE home.t NO FORCE ROW LEVEL SECURITY; CALL look();
ALTER MATERIALIZED VIEW mine OWNER TO ddl_other;
SELECT ddir.wait('mine');
GRANT SELECT ON home.t TO ddl_other; CALL write(); CALL look();
SELECT DISTINCT g FROM mine;
ALTER ROLE ddl_other RENAME TO ddl_renamed; CALL write(); CALL look();
REASSIGN OWNED BY ddl_renamed TO ddl_owner; CALL write(); CALL look();
SELECT count(*) > 0 AS some FROM mine;
REASSIGN OWNED BY ddl_owner TO CURRENT_USER; CALL write(); CALL look();
ALTER MATERIALIZED VIEW mine OWNER TO ddl_owner;
DROP OWNED BY ddl_owner;
SELECT to_regclass('mine') AS mine;
DROP OWNED BY ddl_renamed, ddl_group;
CALL write(); CALL look();

SET client_min_messages = warning;
DROP SCHEMA ddl, home CASCADE;
DROP ROLE ddl_owner, ddl_renamed, ddl_group;
