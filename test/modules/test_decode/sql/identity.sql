--
-- Replica identities: to FULL and back to what they were.
--
CREATE TABLE i (id int PRIMARY KEY, code int NOT NULL UNIQUE, word text);
CREATE VIEW identity AS
  SELECT relreplident AS is, former, index_name FROM pg_class LEFT JOIN ddir._identity ON relid = oid WHERE relname = 'i';
CALL tell('full', 'i');
TABLE identity;
CALL tell('full', 'i');
CALL tell('restore', 'i');
TABLE identity;
CALL tell('restore', 'i');
TABLE identity;
-- an index; the index is gone when it is to be restored
ALTER TABLE i REPLICA IDENTITY USING INDEX i_code_key;
CALL tell('full', 'i');
TABLE identity;
CALL tell('restore', 'i');
TABLE identity;
CALL tell('full', 'i');
ALTER TABLE i DROP CONSTRAINT i_code_key;
CALL tell('restore', 'i');
TABLE identity;
-- nothing
ALTER TABLE i REPLICA IDENTITY NOTHING;
CALL tell('full', 'i');
CALL tell('restore', 'i');
TABLE identity;
-- what the user sets meanwhile stays; FULL by the user stays FULL
CALL tell('full', 'i');
ALTER TABLE i REPLICA IDENTITY DEFAULT;
CALL tell('restore', 'i');
TABLE identity;
ALTER TABLE i REPLICA IDENTITY FULL;
CALL tell('full', 'i');
CALL tell('restore', 'i');
TABLE identity;
ALTER TABLE i REPLICA IDENTITY DEFAULT;
-- a column list stands in the way, a row filter does not
SET client_min_messages = error;
CREATE PUBLICATION filtered FOR TABLE i WHERE (id > 0);
CREATE PUBLICATION listed FOR TABLE i (id);
CALL tell('full', 'i');
TABLE identity;
ALTER PUBLICATION listed SET (publish = 'insert');
CALL tell('full', 'i');
UPDATE i SET word = 'x';
CALL tell('restore', 'i');
DROP PUBLICATION listed, filtered;
RESET client_min_messages;
-- not a table; somebody else has it
CREATE VIEW iv AS SELECT 1;
CALL tell('full', 'iv');
CALL tell('full', 'pg_class');
