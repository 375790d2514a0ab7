-- Who may do what.
\getenv srcdir PG_ABS_SRCDIR
\set check_all :srcdir '/test/sql/check_all.sql'
SET client_min_messages = warning;
CREATE ROLE rights_owner;
CREATE ROLE rights_reader;
CREATE ROLE rights_monitor IN ROLE pg_monitor;
CREATE SCHEMA rights;
GRANT USAGE, CREATE ON SCHEMA rights TO rights_owner;
GRANT USAGE ON SCHEMA rights TO rights_reader;
SET search_path = rights;
RESET client_min_messages;
CREATE TABLE secret (a int PRIMARY KEY, b int);
CREATE TABLE open (a int PRIMARY KEY, b int);
GRANT SELECT ON open TO rights_owner;
INSERT INTO open VALUES (1, 2);

-- A source that the owner may not read.
SET ROLE rights_owner;
\set VERBOSITY sqlstate
CREATE MATERIALIZED VIEW v USING ddir AS SELECT a FROM secret;
\set VERBOSITY default
CREATE MATERIALIZED VIEW v USING ddir AS SELECT a FROM secret WITH NO DATA;
\echo :LAST_ERROR_SQLSTATE
CREATE MATERIALIZED VIEW v USING ddir AS SELECT a, b FROM open;
GRANT SELECT ON v TO rights_reader;
SELECT ddir.wait('v');
SELECT * FROM ddir.check('v');
SELECT view, state, message FROM ddir.views;
SELECT ddir.repair('v');
SELECT ddir.wait('v');

-- One who may select from it can wait for it and see how it stands.
SET ROLE rights_reader;
SELECT ddir.wait('v');
SELECT view, state FROM ddir.views;
SELECT view, phase IS NOT NULL AS phase FROM ddir.hydration;
SELECT ddir.explain('v') IS NOT NULL AS explained;
SELECT * FROM ddir.check('v');
\echo :LAST_ERROR_SQLSTATE
SELECT ddir.repair('v');
SELECT ddir.disable();
\echo :LAST_ERROR_SQLSTATE
SELECT ddir.enable();
SELECT count(*) FROM ddir.workers;
SELECT count(*) FROM ddir.sources;
SELECT count(*) FROM ddir._database;
SET ddir.debug_points = 'somewhere:error';
SET ddir.memory_limit = '1GB';

-- One who may not, not.
RESET ROLE;
REVOKE SELECT ON v FROM rights_reader;
SET ROLE rights_reader;
SELECT ddir.wait('v');
\echo :LAST_ERROR_SQLSTATE
SELECT ddir.explain('v');
SELECT view, state FROM ddir.views;

-- A monitor sees everything but values.
SET ROLE rights_monitor;
SELECT view, state FROM ddir.views;
SELECT kind, state <> '' AS state FROM ddir.workers;
SELECT source, views FROM ddir.sources;
SELECT count(*) > 0 AS any FROM ddir.operators;
SELECT count(*) >= 0 AS any FROM ddir.arrangements;

-- What runs for a view runs as its owner: constraints of domains, wherever values are made.
SET ROLE rights_owner;
CREATE FUNCTION tells(int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS
	$$BEGIN IF $1 = 7 THEN RAISE EXCEPTION 'I am %', current_user; END IF; RETURN true; END$$;
CREATE DOMAIN telling AS int CHECK (rights.tells(VALUE));
CREATE TYPE told AS (a telling);
CREATE FUNCTION adds(telling, int) RETURNS telling LANGUAGE sql IMMUTABLE AS 'SELECT $1 + $2';
CREATE AGGREGATE adding (int) (SFUNC = adds, STYPE = telling, INITCOND = '8');
CREATE TABLE teller (a int, t text, j json);
CREATE TABLE other (a int);
CREATE MATERIALIZED VIEW of_cast USING ddir AS SELECT a::telling AS a FROM teller;
CREATE MATERIALIZED VIEW of_key USING ddir AS SELECT o.a FROM teller AS t JOIN other AS o ON t.a::telling = o.a;
CREATE MATERIALIZED VIEW of_text USING ddir AS SELECT o.a FROM teller AS t JOIN other AS o ON (t.t::telling[])[1] = o.a;
CREATE MATERIALIZED VIEW of_json USING ddir AS SELECT o.a FROM teller AS t JOIN other AS o ON (json_populate_record(NULL::told, t.j)).a = o.a;
CREATE MATERIALIZED VIEW of_rows USING ddir AS SELECT r.a FROM teller AS t, json_to_record(t.j) AS r (a telling);
INSERT INTO other VALUES (1), (7);
INSERT INTO teller VALUES (1, '{1}', '{"a": 1}'), (7, '{7}', '{"a": 7}');
\set VERBOSITY terse
SELECT ddir.wait('of_cast');
SELECT ddir.wait('of_key');
SELECT ddir.wait('of_text');
SELECT ddir.wait('of_json');
SELECT ddir.wait('of_rows');
DELETE FROM teller WHERE a = 7;
CREATE MATERIALIZED VIEW of_sum USING ddir AS SELECT adding(a) FROM teller;
CREATE OR REPLACE FUNCTION tells(int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS
	$$BEGIN IF $1 = 8 THEN RAISE EXCEPTION 'I am %', current_user; END IF; RETURN true; END$$;
\set VERBOSITY default
SELECT ddir.wait('of_sum');
DROP MATERIALIZED VIEW of_sum;

RESET ROLE;
\i :check_all
SET client_min_messages = warning;
DROP SCHEMA rights CASCADE;
DROP ROLE rights_owner, rights_reader, rights_monitor;
