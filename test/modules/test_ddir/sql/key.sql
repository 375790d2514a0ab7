--
-- Keys: equal where the values are.
--
\set VERBOSITY terse
CREATE SCHEMA test_key;
SET search_path = test_key;
\getenv builddir PG_ABS_BUILDDIR
\set library :builddir '/test_ddir.so'
CREATE FUNCTION key_text(regtype, op oid DEFAULT 0, collation_ oid DEFAULT 0) RETURNS text
  LANGUAGE c STRICT AS :'library', 'test_ddir_key_text';
CREATE FUNCTION key_law(anyarray) RETURNS text
  LANGUAGE c STRICT AS :'library', 'test_ddir_key_law';
CREATE FUNCTION key_law_cross(anyarray, anycompatiblearray, op regoperator) RETURNS text
  LANGUAGE c STRICT AS :'library', 'test_ddir_key_law_cross';
CREATE FUNCTION key_row(record, kind int) RETURNS bytea
  LANGUAGE c STRICT AS :'library', 'test_ddir_key_row';

CREATE EXTENSION citext;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE pair AS (a int, b text);
CREATE TYPE unhashed AS (a int, b tsvector);
CREATE DOMAIN small AS int2;
CREATE DOMAIN amount AS numeric(10,2);
CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);

-- how types are encoded
SELECT t, key_text(t) FROM unnest('{bool,"\"char\"",int2,int4,int8,oid,float4,float8,numeric,
  text,varchar,bpchar,name,bytea,date,time,timetz,timestamp,timestamptz,interval,
  uuid,inet,cidr,macaddr,macaddr8,bit,varbit,money,xid,xid8,tid,pg_lsn,jsonb,
  int[],text[],int4range,int4multirange,tsvector,tsquery,mood,mood[],pair,unhashed,
  record,small,amount,citext}'::regtype[]) t;
SELECT key_text('text', 0, '"C"'::regcollation), key_text('text', 0, 'nocase'::regcollation),
       key_text('bpchar', 0, 'nocase'::regcollation);
SELECT key_text('varchar', '=(name,text)'::regoperator), key_text('name', '=(name,text)'::regoperator);

-- what has no equality, or none that can be decided by values alone
SELECT key_text('json');
SELECT key_text('point');
SELECT key_text('date', '=(date,timestamptz)'::regoperator);
SELECT key_law(ARRAY[x, y]) FROM (VALUES ('a' COLLATE "C", 'b' COLLATE "POSIX")) v(x, y);

-- the law: keys of exact encodings are equal iff the values are, keys of others
-- if they are
SELECT key_law('{0,1,-1,NULL,32767,-32768,1}'::int2[]);
SELECT key_law('{0,1,-1,NULL,2147483647,-2147483648,1}'::int4[]);
SELECT key_law('{0,1,-1,NULL,9223372036854775807,-9223372036854775808,1}'::int8[]);
SELECT key_law('{0,1,4294967295,NULL,1}'::oid[]);
SELECT key_law('{0,-0,1,-1,NaN,Infinity,-Infinity,1e-40,NULL,NaN}'::float4[]);
SELECT key_law('{0,-0,1,-1,NaN,Infinity,-Infinity,1e-310,1e308,NULL,NaN}'::float8[]);
SELECT key_law('{0,0.0,0e-20,1,1.0,1.00,-1,-1.000,10000,1e4,1e4000,1e-4000,0.0001,0.00010,
  NaN,NaN,Infinity,-Infinity,Infinity,NULL,12345678901234567890.12345,12345678901234567890.123450,
  99999999,99999999.9999,-99999999.9999,1e131071,100000000,1e8,1e-16383}'::numeric[]);
SELECT key_law('{"",a,b,ab,"a ",a,NULL,Ä,ä}'::text[]);
SELECT key_law('{"",a,b,A,"a ",a,NULL,Ä,ä}'::text[] COLLATE nocase);
SELECT key_law('{"",a,b,A,"a ",a,NULL,Ä,ä}'::citext[]);
SELECT key_law('{"",a,b,A,"a ","a  ","a b",NULL}'::bpchar[]);
SELECT key_law('{"",a,b,A,"a ","a  ","a b","A  ",NULL}'::bpchar[] COLLATE nocase);
SELECT key_law('{"",a,b,A,a,NULL}'::name[]);
SELECT key_law('{"",a,"a\\000",b,NULL}'::bytea[]);
SELECT key_law('{2020-01-01,infinity,-infinity,4713-01-01 BC,5874897-12-31,NULL}'::date[]);
SELECT key_law('{1 mon,30 days,720 hours,1 day,24:00:00,-1 day,"-1 day +24:00",0,"1 mon -30 days",
  00:00:00.000001,178000000 years,-178000000 years,NULL}'::interval[]);
SELECT key_law('{10:00+00,11:00+01,10:00+00,NULL}'::timetz[]);
SELECT key_law('{10.0.0.1,10.0.0.1/32,10.0.0.0/8,::1,NULL}'::inet[]);
SELECT key_law('{sad,happy,ok,sad,NULL}'::mood[]);
SELECT key_law(ARRAY['{"a": 1.0}','{"a": 1}','{"a":1,"b":2}','{"b":2,"a":1}','null',NULL]::jsonb[]);
SELECT key_law(ARRAY['[1,3)','[1,2]','empty','[1,)',NULL]::int4range[]);
SELECT key_law(ARRAY['{[1.0,2]}','{[1,2.00]}','{}',NULL]::nummultirange[]);
SELECT key_law(ARRAY['(1,a)','(1,)','(1,a)','(,)',NULL]::pair[]);
SELECT key_law(ARRAY['(1,a:1)','(1,a:1)','(1,b)',NULL]::unhashed[]);
SELECT key_law(ARRAY[ROW(1, 2), ROW(1, 2), ROW(2, 2)]);
SELECT key_law('{a:1,a:2,"a b",a:1,NULL}'::tsvector[]);
SELECT key_law('{1.0,1,2,NULL}'::amount[]);

-- across types of a family
SELECT key_law_cross('{0,1,-1,32767}'::int2[], '{0,1,-1,32767,65536,4294967295}'::int8[], '=(int2,int8)');
SELECT key_law_cross('{0,1,-1}'::int4[], '{0,1,-1,4294967295,-4294967297}'::int8[], '=(int4,int8)');
SELECT key_law_cross('{0,-0,0.1,NaN,1e38,Infinity}'::float4[], '{0,-0,0.1,NaN,1e38,Infinity}'::float8[], '=(float4,float8)');
SELECT key_law_cross('{"",a,b,"a b"}'::name[], '{"",a,b,"a b",A}'::text[], '=(name,text)');
SELECT key_law_cross('{2020-01-01,infinity,-infinity,4713-01-01 BC,294276-12-31,294277-01-01,5874897-12-31}'::date[],
  '{2020-01-01,2020-01-01 00:00:01,infinity,-infinity,4713-01-01 BC,294276-12-31}'::timestamp[], '=(date,timestamp)');

-- several columns: kinds, NULLs, and no two rows with one key
SELECT key_row(ROW(1, 2::int8), 0), key_row(ROW(1, NULL::int8), 0), key_row(ROW(NULL::int), 0);
SELECT key_row(ROW(1, 2::int8), 1), key_row(ROW(1, NULL::int8), 1), key_row(ROW(NULL::int), 1);
SELECT key_row(ROW('ab'::text), 0), key_row(ROW('ab'::text), 1), key_row(ROW(NULL::text), 1);
SELECT key_row(ROW('ab'::text, 1, 'c'::text), 0), key_row(ROW('ab'::text, 'c'::text), 1);
SELECT key_row(ROW(1.0), 1) = key_row(ROW(1.00), 1) AS group, key_row(ROW(1.0), 2) = key_row(ROW(1.00), 2) AS identity;
SELECT key_row(ROW('{"a":1}'::json, point(1, 2)), 2);
WITH v(x) AS (VALUES ('a'::text), (''), ('ab'), ('b'), (NULL)),
     r AS (SELECT ROW(a.x, b.x, c.x) AS r FROM v a, v b, v c)
SELECT kind, count(*), count(DISTINCT key_row(r, kind)) FROM r, generate_series(0, 2) kind GROUP BY kind ORDER BY kind;
