--
-- Order encodings: bytes that compare as the values do.
--
\set VERBOSITY terse
CREATE SCHEMA test_order;
SET search_path = test_order;
\getenv builddir PG_ABS_BUILDDIR
\set library :builddir '/test_ddir.so'
CREATE FUNCTION order_law(anyarray) RETURNS text
  LANGUAGE c STRICT AS :'library', 'test_ddir_order_law';

SELECT order_law('{t,f,NULL}'::bool[]);
SELECT order_law('{a,b,"\\200","",NULL}'::"char"[]);
SELECT order_law('{0,1,-1,32767,-32768,NULL}'::int2[]);
SELECT order_law('{0,1,-1,2147483647,-2147483648,NULL}'::int4[]);
SELECT order_law('{0,1,-1,256,9223372036854775807,-9223372036854775808,NULL}'::int8[]);
SELECT order_law('{0,1,4294967295,2147483648,NULL}'::oid[]);
SELECT order_law('{0,-0,1,-1,NaN,Infinity,-Infinity,1e-40,-1e-40,0.1,NULL}'::float4[]);
SELECT order_law('{0,-0,1,-1,NaN,Infinity,-Infinity,1e-310,-1e-310,0.1,NULL}'::float8[]);
SELECT order_law('{0,0.00,1,1.0,-1,-1.5,-1.05,10000,9999,99999999,100000000,1e4000,-1e4000,1e-4000,-1e-4000,
  0.0001,0.00010,0.00011,NaN,Infinity,-Infinity,NULL,1e131071,1e-16383,100010000,100000001,10001,-10001,-10000,-10000.5}'::numeric[]);
SELECT order_law('{2020-01-01,infinity,-infinity,4713-01-01 BC,1999-12-31,NULL}'::date[]);
SELECT order_law('{00:00,24:00,12:00,NULL}'::time[]);
SELECT order_law('{10:00+00,11:00+01,10:00+01,09:00-01,24:00-15:59,00:00+15:59,NULL}'::timetz[]);
SELECT order_law('{2020-01-01,1970-01-01,infinity,-infinity,NULL}'::timestamp[]);
SELECT order_law('{2020-01-01,1970-01-01,infinity,-infinity,NULL}'::timestamptz[]);
SELECT order_law('{1 mon,30 days,29 days,31 days,720 hours,1 day,24:00:00,-1 day,"-1 day +24:00",0,"1 mon -30 days",
  00:00:00.000001,-00:00:00.000001,178000000 years,-178000000 years,"-1 mon 29 days 23:59",NULL}'::interval[]);
SELECT order_law('{00000000-0000-0000-0000-000000000000,a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11,
  ffffffff-ffff-ffff-ffff-ffffffffffff,NULL}'::uuid[]);
SELECT order_law('{08:00:2b:01:02:03,08:00:2b:01:02:04,ff:00:2b:01:02:03,00:00:00:00:00:00,NULL}'::macaddr[]);
SELECT order_law('{08:00:2b:01:02:03:04:05,08:00:2b:ff:02:03:04:05,NULL}'::macaddr8[]);
SELECT order_law('{1.00,-1.00,0,NULL}'::money[]);
SELECT order_law('{0/0,1/0,FFFFFFFF/FFFFFFFF,0/FFFFFFFF,NULL}'::pg_lsn[]);
SELECT order_law('{0,1,18446744073709551615,NULL}'::xid8[]);
SELECT order_law(ARRAY['','\x00','\x0000','\x00ff','\x01','\x0100','\xff','\xffff',NULL]::bytea[]);
SELECT order_law('{"",a,b,ab,"a ",A,Ä,NULL,"a\u0001"}'::text[] COLLATE "C");
SELECT order_law('{"",a,b,ab,"a ",A,Ä,NULL}'::varchar[] COLLATE "POSIX");
SELECT order_law('{"",a,b,ab,"a ","a\t",A,NULL}'::bpchar[] COLLATE "C");
SELECT order_law('{"",a,b,ab,A,NULL}'::name[] COLLATE "C");
CREATE DOMAIN amount AS numeric(10,2);
SELECT order_law('{1.0,0.5,2,NULL}'::amount[]);

-- not to be had
SELECT order_law('{a,b}'::text[] COLLATE "und-x-icu");
SELECT order_law('{10.0.0.1}'::inet[]);
SELECT order_law('{"{}"}'::jsonb[]);
