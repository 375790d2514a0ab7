--
-- Row images: there and back, their form, and what is done about damage.
--
\set VERBOSITY terse
CREATE SCHEMA test_codec;
SET search_path = test_codec;
\getenv builddir PG_ABS_BUILDDIR
\set library :builddir '/test_ddir.so'
CREATE FUNCTION image(record) RETURNS bytea
  LANGUAGE c STRICT AS :'library', 'test_ddir_image';
CREATE FUNCTION image_text(record) RETURNS text
  LANGUAGE c STRICT AS :'library', 'test_ddir_image_text';
CREATE FUNCTION roundtrip(record) RETURNS boolean
  LANGUAGE c STRICT AS :'library', 'test_ddir_roundtrip';
CREATE FUNCTION stored_images(regclass, only_column int DEFAULT 0) RETURNS bytea[]
  LANGUAGE c STRICT AS :'library', 'test_ddir_stored_images';
CREATE FUNCTION indirect(text) RETURNS boolean
  LANGUAGE c STRICT AS :'library', 'test_ddir_indirect';
CREATE FUNCTION fuzz(record, seed bigint, n int) RETURNS bigint
  LANGUAGE c STRICT AS :'library', 'test_ddir_fuzz';

-- form: no NULLs; NULLs with their bitmap; short and long varlenas
SELECT image(ROW(1::int2, 2::int4, 3::int8, true, 'x'::"char"));
SELECT image(ROW(1::int4, NULL::int8, 'abc'::text, NULL::text));
SELECT image(ROW(NULL::int4));
SELECT length(image(ROW(repeat('x', 126)))), length(image(ROW(repeat('x', 127))));
CREATE TABLE nothing ();
INSERT INTO nothing DEFAULT VALUES;
SELECT image(nothing.*) FROM nothing;

-- types whose functions expect a long header have one
SELECT image(ROW('1 2'::int2vector));
SELECT roundtrip(ROW('1 2'::int2vector, 'x'::text, '3 4 5'::oidvector));

-- there and back: every type of the regression database's kind, in every
-- position against alignment
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE pair AS (a int, b text);
CREATE DOMAIN positive AS numeric CHECK (value > 0);
CREATE TABLE wide (
  c1 bool, c2 "char", c3 int2, c4 int4, c5 int8, c6 float4, c7 float8,
  c8 numeric, c9 text, c10 varchar(20), c11 char(5), c12 name, c13 bytea,
  c14 date, c15 time, c16 timetz, c17 timestamp, c18 timestamptz,
  c19 interval, c20 uuid, c21 inet, c22 cidr, c23 macaddr, c24 macaddr8,
  c25 bit(5), c26 varbit, c27 money, c28 oid, c29 xid, c30 tid, c31 pg_lsn,
  c32 json, c33 jsonb, c34 int[], c35 text[], c36 int4range,
  c37 datemultirange, c38 point, c39 polygon, c40 tsvector, c41 tsquery,
  c42 mood, c43 pair, c44 positive, c45 xml, c46 mood[], c47 pair[]);
INSERT INTO wide VALUES (
  true, 'a', -2, 4, -8, '-0', 'NaN', 1.50, 'text', 'varchar', 'char', 'name',
  '\x0001', '2020-01-01', '01:02:03', '01:02:03+02', '2020-01-01 00:00',
  '2020-01-01 00:00+00', '1 mon 2 days -3 hours',
  'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '::1/64', '10.0.0.0/8',
  '08:00:2b:01:02:03', '08:00:2b:01:02:03:04:05', B'10101', B'1', '12.34', 5,
  '6', '(7,8)', '0/9', '{"a": 1}', '{"a": [1, null]}', '{1,NULL,3}',
  '{a,"b c",NULL}', '[1,5)', '{[2020-01-01,2020-02-01)}', '(1,2)',
  '((0,0),(1,1),(1,0))', 'a:1 b:2', 'a & b', 'happy', '(1,x)', 1.0, '<a/>',
  '{sad,ok}', '{"(1,a)","(,)"}');
INSERT INTO wide VALUES (false);
INSERT INTO wide (c8, c9, c13, c35)
  SELECT 1e1000 + 1, repeat('long ', 1000), decode(repeat('ab', 200), 'hex'),
         array_agg(g::text) FROM generate_series(1, 1000) g;
SELECT roundtrip(wide) FROM wide;
\pset format unaligned
SELECT image_text(wide) FROM wide LIMIT 2;
\pset format aligned
SELECT image_text(ROW('', 'a b', 'a"b\c', '(', ',', NULL::text, 'plain'));

-- a column in front moves all the others by one byte
SELECT roundtrip(ROW(true, c5, c7, c19, c16, c34, c33, c38, c43, c8)),
       roundtrip(ROW('xy'::text, c5, c7, c19, c16, c34, c33, c38, c43, c8)) FROM wide;

-- the image does not depend on how a value is stored
CREATE TABLE stored (how text, v text);
ALTER TABLE stored ALTER v SET STORAGE PLAIN;
INSERT INTO stored VALUES ('plain', repeat('0123456789', 300));
ALTER TABLE stored ALTER v SET STORAGE MAIN;
INSERT INTO stored VALUES ('compressed', repeat('0123456789', 300));
ALTER TABLE stored ALTER v SET STORAGE EXTERNAL;
INSERT INTO stored VALUES ('external', repeat('0123456789', 300));
ALTER TABLE stored ALTER v SET STORAGE EXTENDED;
INSERT INTO stored VALUES ('both', repeat('0123456789', 30000));
INSERT INTO stored VALUES ('both', repeat('0123456789', 30000));
SELECT how, pg_column_size(v) FROM stored;
SELECT length(i), count(*) FROM unnest(stored_images('stored', 2)) i GROUP BY i ORDER BY 1;
SELECT stored_images('stored') = array_agg(image(stored)) FROM stored;
SELECT how, indirect(v) FROM stored;
SELECT indirect('short');

-- expanded values, made by PL/pgSQL
CREATE FUNCTION expanded() RETURNS int[] LANGUAGE plpgsql AS
  $$ DECLARE a int[] := '{}'; BEGIN FOR i IN 1..100 LOOP a[i] := i; END LOOP; RETURN a; END $$;
SELECT image(ROW(expanded())) = image(ROW((SELECT array_agg(g) FROM generate_series(1, 100) g)));

-- dropped columns have no value and are no NULL
CREATE TABLE dropped (a int, b text, c int);
INSERT INTO dropped VALUES (1, 'gone', 2), (3, NULL, NULL);
ALTER TABLE dropped DROP b;
SELECT * FROM unnest(stored_images('dropped'));
SELECT roundtrip(dropped), image_text(dropped) FROM dropped;
ALTER TABLE dropped ADD d int DEFAULT 5;
SELECT * FROM unnest(stored_images('dropped'));

-- columns that nobody uses are NULL
SELECT * FROM unnest(stored_images('dropped', 1));

-- damaged images are seen to be so, or give some values; nothing else happens
SELECT sum(fuzz(wide, c4, 20000)) > 0 FROM wide;
SELECT fuzz(ROW(1, 2, 3::int8), 1, 20000) > 0, fuzz(ROW('a', 1, 'b'), 2, 20000) > 0,
       fuzz(ROW(1.5, 1e300, repeat('x', 200)), 3, 20000) > 0,
       fuzz(ROW(NULL::int, '1 2'::int2vector, NULL::text), 4, 20000) > 0;
