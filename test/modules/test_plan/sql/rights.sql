--
-- Rights: the owner's, through views their owners'; row security as conditions.
--
\pset format unaligned
\pset tuples_only on
CREATE ROLE plan_owner;
CREATE ROLE plan_other;
GRANT CREATE ON SCHEMA public TO plan_owner, plan_other;
GRANT SELECT ON c TO plan_owner;
GRANT SELECT (x, y) ON a TO plan_owner;
CREATE FUNCTION secret(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1; END';
REVOKE EXECUTE ON FUNCTION secret FROM public;
-- whoever asks here is the owner
SET ROLE plan_owner;
SELECT test_lower('SELECT x FROM b');
SELECT test_lower('SELECT z FROM a');
SELECT test_lower('SELECT x FROM a');
SELECT test_lower('SELECT * FROM c WHERE EXISTS (SELECT z FROM a)');
SELECT test_lower('SELECT secret(x) FROM a');
RESET ROLE;
CREATE DOMAIN kept AS int CHECK (secret(VALUE) > 0);
SET ROLE plan_owner;
SELECT test_lower('SELECT x::kept FROM a');
RESET ROLE;
DROP DOMAIN kept;

-- a view reads with the rights of its owner
CREATE VIEW window_on_b AS SELECT x FROM b;
GRANT SELECT ON window_on_b TO plan_owner;
CREATE VIEW invoked WITH (security_invoker) AS SELECT x FROM b;
GRANT SELECT ON invoked TO plan_owner;
SET ROLE plan_owner;
SELECT test_lower('SELECT x FROM window_on_b');
SELECT test_lower('SELECT x FROM invoked');
RESET ROLE;
REVOKE SELECT ON window_on_b FROM plan_owner;
SET ROLE plan_owner;
SELECT test_lower('SELECT x FROM window_on_b');
RESET ROLE;

-- row security
CREATE TABLE guarded (x int, y int, tenant text);
GRANT SELECT ON guarded TO plan_owner;
ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
SET ROLE plan_owner;
SELECT test_lower('SELECT x FROM guarded');
RESET ROLE;
CREATE POLICY by_tenant ON guarded USING (length(tenant) > 1);
CREATE POLICY by_member ON guarded AS RESTRICTIVE USING (EXISTS (SELECT FROM c WHERE c.k = guarded.y));
SET ROLE plan_owner;
SELECT test_lower('SELECT x FROM guarded WHERE x = 1 AND 1 / y > 0');
-- where the setting would make the plain query fail
SET row_security = off;
SELECT test_lower('SELECT count(*) FROM guarded');
RESET row_security;
RESET ROLE;
SELECT test_lower('SELECT count(*) FROM guarded');
CREATE POLICY by_user ON guarded AS RESTRICTIVE USING (tenant = CURRENT_USER);
SET ROLE plan_owner;
SELECT test_lower('SELECT x FROM guarded');
RESET ROLE;

-- a view with a barrier keeps other conditions behind its own
CREATE VIEW barrier WITH (security_barrier) AS SELECT x, y FROM a WHERE length(z) > 1;
SELECT test_lower('SELECT x FROM barrier WHERE x / y > 1 AND x = 2');

DROP VIEW barrier, window_on_b, invoked;
DROP TABLE guarded;
DROP FUNCTION secret;
DROP OWNED BY plan_owner, plan_other;
DROP ROLE plan_owner, plan_other;
