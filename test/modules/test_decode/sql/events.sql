--
-- What is not a row: the source must be read again.
--
CREATE TABLE e (id int PRIMARY KEY, word text, more int NOT NULL DEFAULT 7);
CALL tell('track', 'e');

-- the default identity has no old rows; keys that stay are no change of keys
INSERT INTO e VALUES (1, 'one'), (2, 'two');
UPDATE e SET word = 'ONE' WHERE id = 1;
DELETE FROM e WHERE id = 1;
CALL sync();
TABLE got;
TRUNCATE decoded;
CALL tell('track', 'e', '{1}');
UPDATE e SET word = 'TWO';
UPDATE e SET id = 3;
DELETE FROM e;
CALL sync();
TABLE got;
TRUNCATE decoded;
-- another index, no identity at all
CREATE UNIQUE INDEX e_more ON e (more);
ALTER TABLE e REPLICA IDENTITY USING INDEX e_more;
CALL tell('track', 'e', '{3}');
INSERT INTO e VALUES (1, 'one', 1);
UPDATE e SET id = 2;
UPDATE e SET more = 2;
CALL sync();
TABLE got;
TRUNCATE decoded;
CALL tell('track', 'e', '{1,3}');
UPDATE e SET more = 3;
ALTER TABLE e REPLICA IDENTITY NOTHING;
UPDATE e SET more = 4;
CALL sync();
TABLE got;
TRUNCATE decoded;

-- TRUNCATE, of several
ALTER TABLE e REPLICA IDENTITY FULL;
CREATE TABLE f (id int REFERENCES e);
CALL tell('track', 'f');
CALL tell('track', 'e');
BEGIN;
INSERT INTO e VALUES (8, 'eight', 8);
TRUNCATE e CASCADE;
INSERT INTO e VALUES (9, 'nine', 9);
COMMIT;
CALL sync();
TABLE got;
TRUNCATE decoded;

-- columns come and go; those that rows had before have defaults
ALTER TABLE e ADD plus int DEFAULT 5;
INSERT INTO e VALUES (10, 'ten', 10, 6);
DELETE FROM e WHERE id = 9;
ALTER TABLE e DROP more;
UPDATE e SET word = upper(word);
CALL sync();
TABLE got;
TRUNCATE decoded;
CALL tell('track', 'e', '{1,2,4}');
UPDATE e SET plus = 7;
CALL sync();
TABLE got;
TRUNCATE decoded;
-- fewer columns than there are, as those who read the rows know it
CALL tell('track', 'e', '{1,2}', '2');
INSERT INTO e VALUES (11, 'eleven', 11);
CALL sync();
TABLE got;
TRUNCATE decoded;

-- rewritten, with and without another type; rewritten as it was
CALL tell('track', 'e', '{1,2}');
ALTER TABLE e ALTER plus TYPE bigint;
CALL sync();
TABLE got;
TRUNCATE decoded;
INSERT INTO e VALUES (12, 'twelve', 12);
ALTER TABLE e ALTER word TYPE varchar;
INSERT INTO e VALUES (13, 'thirteen', 13);
CALL sync();
TABLE got;
TRUNCATE decoded;
CALL tell('track', 'e', '{1,2}');
VACUUM FULL e;
CLUSTER e USING e_pkey;
INSERT INTO e VALUES (14, 'fourteen', 14);
CALL sync();
TABLE got;
TRUNCATE decoded;
