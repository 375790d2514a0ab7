-- Every type as a value, and as a key where it has an equality: of joins,
-- groups, DISTINCT, UNION and count(DISTINCT), and of min and max where it has
-- those.  Neighbours in "vals" are equal, or differ only in form, where the type
-- has such values.

CREATE SCHEMA types;
SET search_path = types;

CREATE EXTENSION citext;
CREATE EXTENSION hstore;
CREATE EXTENSION ltree;
CREATE EXTENSION cube;
CREATE EXTENSION seg;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE pair AS (a numeric, b text);
CREATE TYPE nest AS (p pair, l int[]);
CREATE DOMAIN amount AS numeric(12, 4) CHECK (VALUE > -1000);
CREATE DOMAIN word AS citext;
CREATE DOMAIN few AS int[] CHECK (cardinality(VALUE) < 9);

-- two types that are numeric inside, one that can only be hashed, one only sorted
CREATE PROCEDURE numeric_like(name text, flag text) LANGUAGE plpgsql AS
$$BEGIN
	EXECUTE format('CREATE TYPE %1$s;
		CREATE FUNCTION %1$s_in(cstring, oid, int) RETURNS %1$s LANGUAGE internal IMMUTABLE STRICT AS ''numeric_in'';
		CREATE FUNCTION %1$s_out(%1$s) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS ''numeric_out'';
		CREATE TYPE %1$s (INPUT = %1$s_in, OUTPUT = %1$s_out, LIKE = numeric);
		CREATE FUNCTION %1$s_eq(%1$s, %1$s) RETURNS bool LANGUAGE internal IMMUTABLE STRICT AS ''numeric_eq'';
		CREATE OPERATOR = (FUNCTION = %1$s_eq, LEFTARG = %1$s, RIGHTARG = %1$s, COMMUTATOR = =, %2$s)',
		name, flag);
END$$;
SET client_min_messages = warning;
CALL numeric_like('hashed', 'HASHES');
CALL numeric_like('sorted', 'MERGES');
RESET client_min_messages;
CREATE FUNCTION hashed_hash(hashed) RETURNS int LANGUAGE internal IMMUTABLE STRICT AS 'hash_numeric';
CREATE OPERATOR CLASS hashed_ops DEFAULT FOR TYPE hashed USING hash AS OPERATOR 1 =, FUNCTION 1 hashed_hash(hashed);
CREATE FUNCTION sorted_cmp(sorted, sorted) RETURNS int LANGUAGE internal IMMUTABLE STRICT AS 'numeric_cmp';
CREATE FUNCTION sorted_lt(sorted, sorted) RETURNS bool LANGUAGE internal IMMUTABLE STRICT AS 'numeric_lt';
CREATE FUNCTION sorted_gt(sorted, sorted) RETURNS bool LANGUAGE internal IMMUTABLE STRICT AS 'numeric_gt';
CREATE FUNCTION sorted_le(sorted, sorted) RETURNS bool LANGUAGE internal IMMUTABLE STRICT AS 'numeric_le';
CREATE FUNCTION sorted_ge(sorted, sorted) RETURNS bool LANGUAGE internal IMMUTABLE STRICT AS 'numeric_ge';
CREATE OPERATOR < (FUNCTION = sorted_lt, LEFTARG = sorted, RIGHTARG = sorted);
CREATE OPERATOR > (FUNCTION = sorted_gt, LEFTARG = sorted, RIGHTARG = sorted);
CREATE OPERATOR <= (FUNCTION = sorted_le, LEFTARG = sorted, RIGHTARG = sorted);
CREATE OPERATOR >= (FUNCTION = sorted_ge, LEFTARG = sorted, RIGHTARG = sorted);
CREATE OPERATOR CLASS sorted_ops DEFAULT FOR TYPE sorted USING btree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 sorted_cmp(sorted, sorted);

-- uses: v value, h also a key, k also of count(DISTINCT), o also of min and max
CREATE TABLE kind (n int GENERATED ALWAYS AS IDENTITY, typ text, uses "char", vals text);
INSERT INTO kind (typ, uses, vals) VALUES
	('bool', 'k', 't|f'),
	('int2', 'o', '1|-1|32767'),
	('int4', 'o', '1|-1|2147483647'),
	('int8', 'o', '1|-1|9223372036854775807'),
	('float4', 'o', '0|-0|NaN|1.5|-Infinity'),
	('float8', 'o', '0|-0|NaN|1.5|Infinity'),
	('numeric', 'o', '1|1.0|1.00|0|-0.00|NaN|Infinity|1e10|10000000000.0'),
	('numeric(8,2)', 'o', '1|1.0|-5.25'),
	('money', 'o', '1|-2.50|3'),
	('text', 'o', E'a|A||\u00e4|a\u0308|' || repeat('long ', 700)),
	('varchar(9)', 'o', 'a|A|a |b'),
	('name', 'k', 'a|A|a |b'),
	('char(4)', 'o', 'a|a  |A|'),
	('"char"', 'k', 'a|b|'),
	('bytea', 'k', '\x00|\x|\x0000'),
	('date', 'o', '2024-02-29|infinity|4713-01-01 BC'),
	('time', 'o', '12:00|24:00|00:00'),
	('timetz', 'o', '12:00+00|13:00+01|11:00-01'),
	('timestamp', 'o', '2024-02-29 12:00|infinity|-infinity'),
	('timestamptz', 'o', '2024-02-29 12:00+00|2024-02-29 13:00+01|infinity'),
	('interval', 'o', '1 mon|30 days|720:00:00|1 day|24:00:00|-1 day'),
	('uuid', 'k', '00000000-0000-0000-0000-000000000001|00000000000000000000000000000002'),
	('inet', 'o', '10.0.0.1|10.0.0.1/32|10.0.0.1/8|::1|::1/64'),
	('cidr', 'k', '10.0.0.0/8|10.0.0.0/16|::/0'),
	('macaddr', 'k', '08:00:2b:01:02:03|08-00-2b-01-02-04'),
	('macaddr8', 'k', '08:00:2b:01:02:03:04:05|08-00-2b-01-02-03-04-06'),
	('bit(3)', 'k', '101|100'),
	('varbit', 'k', '101|1010|'),
	('json', 'v', '1|1 |null'),
	('jsonb', 'k', '1|1.0|1.00|{"a":1}|{"a":1.0}|null|[1,2]|[1.0,2]'),
	('xml', 'v', '<a/>|<b></b>'),
	('jsonpath', 'v', '$.a|$.b'),
	('int[]', 'o', '{1,2}|[0:1]={1,2}|{}|{NULL}|{{1,2}}'),
	('numeric[]', 'o', '{1.0}|{1.00}|{1,NULL}|{1.0,NULL}'),
	('citext[]', 'k', '{a}|{A}|{a,NULL}|{A,NULL}'),
	('pair', 'k', '(1.0,a)|(1.00,a)|(,)|(1,)|(1.0,)|(,a)'),
	('nest', 'k', '("(1.0,a)",{1})|("(1.00,a)",{1})|(,)|("(,)",{NULL})'),
	('pair[]', 'k', '{"(1.0,a)"}|{"(1.00,a)"}|{"(,)"}'),
	('int4range', 'k', '[1,3)|[1,2]|(,)|empty'),
	('numrange', 'k', '[1.0,2)|[1.00,2.0)|(1,)|empty'),
	('int4multirange', 'k', '{[1,3)}|{[1,2),[2,3)}|{}'),
	('nummultirange', 'k', '{[1.0,2)}|{[1.00,2.0)}|{}'),
	('tsrange', 'k', '[2024-01-01,2024-01-02)|(,)'),
	('tsvector', 'k', 'a b|b a|a:1 b:2|'),
	('tsquery', 'k', 'a & b|b & a'),
	('pg_lsn', 'o', '0/1|1/0|0/01'),
	('tid', 'k', '(0,1)|(1,0)'),
	('xid', 'h', '1|2'),
	('xid8', 'k', '1|2'),
	('oid', 'o', '1|2'),
	('regclass', 'k', 'pg_class|pg_type|pg_proc'),
	('regtype', 'k', 'int4|integer|text'),
	('oidvector', 'k', '1 2|2 1|'),
	('point', 'v', '(0,0)|(-0,0)|(1,1)'),
	('box', 'v', '(0,0),(1,1)|(0,1),(1,0)'),
	('circle', 'v', '<(0,0),1>|<(1,1),2>'),
	('line', 'v', '{1,2,3}|{2,4,6}'),
	('lseg', 'v', '[(0,0),(1,1)]|[(1,1),(0,0)]'),
	('path', 'v', '[(0,0),(1,1)]|((0,0),(1,1))'),
	('polygon', 'v', '((0,0),(1,1),(2,0))|((1,1),(2,0),(0,0))'),
	('mood', 'o', 'sad|ok|happy'),
	('mood[]', 'o', '{sad}|{ok,happy}'),
	('amount', 'o', '1|1.0|2'),
	('word', 'k', 'a|A|b'),
	('few', 'k', '{1}|[0:0]={1}|{}'),
	('citext', 'o', E'a|A|b|B |\u00e4|\u00c4'),
	('hstore', 'k', 'a=>1|b=>2,a=>1|a=>1, b=>2|a=>NULL|'),
	('ltree', 'k', 'a.b|a.B|a|'),
	('lquery', 'v', 'a.*|*.b'),
	('cube', 'k', '(1,2)|(1),(1)|(1,2),(1,2)'),
	('seg', 'k', '1.0 .. 2.0|1.00 .. 2.00|3'),
	('hashed', 'h', '1|1.0|2|2.00'),
	('sorted', 'k', '1|1.0|2|2.00');

-- run a statement for each type that has such uses
CREATE PROCEDURE each(uses text, sql text) LANGUAGE plpgsql AS
$$DECLARE k kind;
BEGIN
	FOR k IN SELECT * FROM kind WHERE strpos(each.uses, kind.uses::text) > 0 ORDER BY n LOOP
		BEGIN
			EXECUTE replace(replace(sql, '@', k.n::text), 'TYPE', k.typ);
		EXCEPTION WHEN OTHERS THEN
			RAISE '%: %', k.typ, SQLERRM;
		END;
	END LOOP;
END$$;
CREATE FUNCTION val(kind int, i int) RETURNS text LANGUAGE sql STABLE AS
	'SELECT a.vals[1 + i % (cardinality(a.vals) + 1)] FROM kind, string_to_array(kind.vals, ''|'') AS a(vals) WHERE n = $1';

CALL each('vhko', 'CREATE TABLE t@ (id int PRIMARY KEY, g int, v TYPE);
	CREATE TABLE u@ (id int, x TYPE);
	INSERT INTO t@ SELECT i, i % 3, val(@, i)::TYPE FROM generate_series(1, 40) AS i;
	INSERT INTO u@ SELECT i, val(@, i)::TYPE FROM generate_series(2, 5) AS i');
CALL each('vhko', 'CREATE MATERIALIZED VIEW row@ USING ddir AS SELECT id, v FROM t@ WHERE g < 2');
CALL each('hko', 'CREATE MATERIALIZED VIEW group@ USING ddir AS SELECT v, count(*) AS n, min(id) AS id FROM t@ GROUP BY v');
CALL each('hko', 'CREATE MATERIALIZED VIEW union@ USING ddir AS SELECT v FROM t@ UNION SELECT x FROM u@');
CALL each('hko', 'CREATE MATERIALIZED VIEW join@ USING ddir AS SELECT t.id, t.v, u.x, u.id AS u FROM t@ t LEFT JOIN u@ u ON t.v = u.x');
CALL each('hko', 'CREATE MATERIALIZED VIEW distinct@ USING ddir AS SELECT DISTINCT v, g FROM t@ WHERE v NOT IN (SELECT x FROM u@ WHERE x IS NOT NULL AND id > 4)');
CALL each('k', 'CREATE MATERIALIZED VIEW count@ USING ddir AS SELECT g, count(v) AS n, count(DISTINCT v) AS d FROM t@ GROUP BY g');
CALL each('o', 'CREATE MATERIALIZED VIEW count@ USING ddir AS SELECT g, count(v) AS n, count(DISTINCT v) AS d, min(v) AS v, max(v) AS x FROM t@ GROUP BY g');

-- What is shown, byte for byte, is in the input, on the side that it came from:
-- where it is not, in which view.
CREATE FUNCTION shown() RETURNS TABLE (typ text, view text, value text) LANGUAGE plpgsql AS
$$DECLARE
	k kind;
	sql text;
BEGIN
	FOR k IN SELECT * FROM kind ORDER BY n LOOP
		sql := 'SELECT ''row'' AS view, v::TYPE, true AS t, false AS u FROM row@';
		IF k.uses <> 'v' THEN
			sql := sql || ' UNION ALL SELECT ''group'', v, true, false FROM group@
				UNION ALL SELECT ''union'', v, true, true FROM union@
				UNION ALL SELECT ''distinct'', v, true, false FROM distinct@
				UNION ALL SELECT ''join'', v, true, false FROM join@
				UNION ALL SELECT ''join'', x, false, true FROM join@ WHERE u IS NOT NULL';
		END IF;
		IF k.uses = 'o' THEN
			sql := sql || ' UNION ALL SELECT ''min'', v, true, false FROM count@
				UNION ALL SELECT ''max'', x, true, false FROM count@';
		END IF;
		sql := 'SELECT %L, view, v::text FROM (' || sql || ') AS s
			WHERE NOT (t AND EXISTS (SELECT FROM t@ WHERE record_image_eq(ROW(t@.v), ROW(s.v::TYPE))))
			  AND NOT (u AND EXISTS (SELECT FROM u@ WHERE record_image_eq(ROW(u@.x), ROW(s.v::TYPE))))';
		RETURN QUERY EXECUTE format(replace(replace(sql, '@', k.n::text), 'TYPE', k.typ), k.typ);
	END LOOP;
END$$;
\i test/sql/check_all.sql
SELECT * FROM shown();

-- other forms of the same values
CALL each('vhko', 'UPDATE t@ SET v = val(@, id + 1)::TYPE WHERE id % 2 = 0;
	UPDATE u@ SET x = val(@, id + 1)::TYPE');
\i test/sql/check_all.sql
SELECT * FROM shown();

-- the rows whose form is shown go
CALL each('hko', 'DELETE FROM t@ WHERE EXISTS (SELECT FROM group@ WHERE record_image_eq(ROW(group@.v), ROW(t@.v)) AND n > 1) AND id < 30;
	DELETE FROM u@ WHERE id = 3');
\i test/sql/check_all.sql
SELECT * FROM shown();
CALL each('vhko', 'UPDATE t@ SET v = val(@, id + 3)::TYPE;
	DELETE FROM t@ WHERE id % 4 = 0;
	INSERT INTO t@ SELECT i, i % 2, val(@, i)::TYPE FROM generate_series(51, 60) AS i;
	DELETE FROM u@ WHERE id > 4;
	INSERT INTO u@ VALUES (7, NULL), (8, NULL)');
\i test/sql/check_all.sql
SELECT * FROM shown();

-- enum labels renamed, and added between others
SELECT n AS mood FROM kind WHERE typ = 'mood' \gset
ALTER TYPE mood RENAME VALUE 'ok' TO 'fine';
ALTER TYPE mood ADD VALUE 'better' BEFORE 'happy';
ALTER TYPE mood ADD VALUE 'worst' BEFORE 'sad';
INSERT INTO t:mood VALUES (101, 1, 'better'), (102, 2, 'worst'), (103, 2, 'fine');
\i test/sql/check_all.sql
SELECT v, n FROM group:mood ORDER BY v;
SELECT g, v, x FROM count:mood ORDER BY g;
SET client_min_messages = warning;
CALL each('vhko', 'DROP TABLE t@, u@ CASCADE');
RESET client_min_messages;

-- joins of different types of one operator family
CREATE TABLE a (id int, i2 int2, i4 int4, i8 int8, f4 float4, f8 float8, n numeric, t text, nm name, vc varchar, c char(5), d date, ts timestamp, o oid, rc regclass);
INSERT INTO a VALUES
	(1, 1, 1, 1, 0.5, 0.5, 1.0, 'a', 'a', 'a', 'a', '2024-01-01', '2024-01-01', 1, 'pg_class'),
	(2, -1, -1, -1, '-0', '-0', -1.00, 'a ', 'a ', 'a ', 'a ', '2024-01-02', '2024-01-02 12:00', 2, 'pg_type'),
	(3, 300, 300, 300, 'NaN', 'NaN', 300, 'B', 'B', 'B', 'B', 'infinity', 'infinity', 1247, 'pg_type'),
	(4, NULL, 4000000, 4000000000, 0.1, 0.1, 0.1, repeat('b', 63), repeat('b', 70), repeat('b', 64), '', '-infinity', '-infinity', NULL, NULL);
CREATE TABLE b (LIKE a);
INSERT INTO b SELECT * FROM a;
CREATE TABLE pairs (l text, r text);
INSERT INTO pairs
	SELECT l, r FROM unnest('{i2,i4,i8}'::text[]) AS l, unnest('{i2,i4,i8}'::text[]) AS r
	UNION ALL SELECT l, r FROM unnest('{f4,f8}'::text[]) AS l, unnest('{f4,f8}'::text[]) AS r
	UNION ALL SELECT l, r FROM unnest('{t,nm,vc}'::text[]) AS l, unnest('{t,nm,vc,c}'::text[]) AS r
	UNION ALL SELECT l, r FROM unnest('{d,ts}'::text[]) AS l, unnest('{d,ts}'::text[]) AS r
	UNION ALL SELECT l, 'n' FROM unnest('{i2,i4,i8}'::text[]) AS l
	UNION ALL SELECT l, r FROM unnest('{n,i8,i4,f4}'::text[]) AS l, unnest('{f4,f8}'::text[]) AS r
	UNION ALL VALUES ('o', 'rc'), ('rc', 'o'), ('c', 'c'), ('c', 't');
CREATE PROCEDURE for_pairs(sql text) LANGUAGE plpgsql AS
$$DECLARE p pairs;
BEGIN
	FOR p IN SELECT DISTINCT * FROM pairs ORDER BY 1, 2 LOOP
		EXECUTE format(sql, p.l, p.r);
	END LOOP;
END$$;
CALL for_pairs('CREATE MATERIALIZED VIEW inner_%1$s_%2$s USING ddir AS SELECT a.id, a.%1$s, b.id AS id2, b.%2$s AS x FROM a JOIN b ON a.%1$s = b.%2$s');
CALL for_pairs('CREATE MATERIALIZED VIEW in_%1$s_%2$s USING ddir AS SELECT a.id, a.%1$s FROM a WHERE a.%1$s IN (SELECT %2$s FROM b)');
\i test/sql/check_all.sql
UPDATE a SET i2 = 4, i4 = 300, f4 = -f4, f8 = '0', n = 1.000, t = 'a', nm = 'B', c = 'B', d = '2024-01-02', ts = date_trunc('day', ts) WHERE id > 1;
UPDATE b SET n = n / 1.00, nm = nm || ' ', t = 'a', vc = 'a' WHERE id < 4;
DELETE FROM b WHERE id = 1;
INSERT INTO b SELECT * FROM a;
\i test/sql/check_all.sql
SELECT a.id, a.f4, id2, x FROM inner_f4_f8 AS a ORDER BY 1, 3, 4;

-- what depends on the setting TimeZone, as a condition; what does not, written under many
CREATE MATERIALIZED VIEW at_zone USING ddir AS SELECT a.id FROM a JOIN b ON a.d = b.ts::timestamptz;
CREATE TABLE at (id int, at timestamptz, day date);
CREATE MATERIALIZED VIEW at_group USING ddir AS SELECT at, count(*) AS n FROM at GROUP BY at;
CREATE MATERIALIZED VIEW at_join USING ddir AS SELECT l.id, r.id AS id2 FROM at l JOIN at r ON l.at = r.at;
CREATE MATERIALIZED VIEW at_day USING ddir AS SELECT at AT TIME ZONE 'Asia/Tokyo' AS at, max(day) AS day FROM at GROUP BY 1;
CREATE MATERIALIZED VIEW at_text USING ddir AS SELECT id, at::text AS at FROM at;
SET TimeZone = 'America/New_York';
INSERT INTO at VALUES (1, '2024-01-01 00:00', '2024-01-01'), (2, '2024-07-01 00:00', '2024-07-01');
SET TimeZone = 'Asia/Tokyo';
INSERT INTO at VALUES (3, '2024-01-01 14:00', '2024-01-01'), (4, '2024-07-01 13:00', '2024-07-01');
SET TimeZone = 'UTC';
INSERT INTO at VALUES (5, '2024-01-01 05:00', '2024-01-01'), (6, '2024-07-01 04:00', '2024-07-01');
\i test/sql/check_all.sql
TABLE at_group ORDER BY at;
TABLE at_day ORDER BY at;
SET TimeZone = 'America/New_York';
\i test/sql/check_all.sql
TABLE at_group ORDER BY at;
RESET TimeZone;

-- collations in which different strings are equal
CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE COLLATION letters (provider = icu, locale = 'und-u-ks-level1', deterministic = false);
CREATE TABLE words (id int, w text COLLATE nocase, l varchar COLLATE letters, c char(7) COLLATE nocase, a text[] COLLATE nocase);
CREATE TABLE other (id int, w text COLLATE nocase, l varchar COLLATE letters, c char(7) COLLATE nocase);
INSERT INTO words SELECT i, w, w, w, ARRAY[w] FROM unnest(ARRAY['a', 'A', E'\u00e4', E'\u00c4', 'b', 'B', 'a ', NULL, 'strasse', 'Stra' || E'\u00df' || 'e']) WITH ORDINALITY AS w(w, i);
INSERT INTO other SELECT id + 10, upper(w), upper(l), upper(c) FROM words WHERE id <> 5;
CREATE MATERIALIZED VIEW w_group USING ddir AS SELECT w, count(*) AS n, min(id) AS id FROM words GROUP BY w;
CREATE MATERIALIZED VIEW l_group USING ddir AS SELECT l, count(*) AS n FROM words GROUP BY l;
CREATE MATERIALIZED VIEW c_group USING ddir AS SELECT c, count(*) AS n FROM words GROUP BY c;
CREATE MATERIALIZED VIEW a_group USING ddir AS SELECT a, count(*) AS n FROM words GROUP BY a;
CREATE MATERIALIZED VIEW w_distinct USING ddir AS SELECT DISTINCT w, c FROM words;
CREATE MATERIALIZED VIEW l_union USING ddir AS SELECT l FROM words UNION SELECT l FROM other;
CREATE MATERIALIZED VIEW l_except USING ddir AS SELECT l FROM words EXCEPT SELECT l FROM other;
CREATE MATERIALIZED VIEW w_join USING ddir AS SELECT a.id, a.w, b.w AS x FROM words a JOIN other b ON a.w = b.w;
CREATE MATERIALIZED VIEW l_join USING ddir AS SELECT a.id, a.l, b.l AS x FROM words a LEFT JOIN other b ON a.l = b.l;
CREATE MATERIALIZED VIEW c_join USING ddir AS SELECT a.id, a.c, b.c AS x FROM words a LEFT JOIN other b ON a.c = b.c;
CREATE MATERIALIZED VIEW binary_join USING ddir AS SELECT a.id, a.w, b.w AS x FROM words a JOIN other b ON a.w = b.w COLLATE "C";
CREATE MATERIALIZED VIEW w_not_in USING ddir AS SELECT id, w FROM words WHERE w NOT IN (SELECT w FROM other WHERE w IS NOT NULL);
CREATE MATERIALIZED VIEW w_minmax USING ddir AS SELECT count(DISTINCT w) AS w, count(DISTINCT l) AS l, min(w) AS minw, max(l) AS maxl, min(c) AS minc FROM words;
\i test/sql/check_all.sql
TABLE l_group ORDER BY l;
UPDATE words SET w = lower(w), l = upper(l), c = upper(c), a = ARRAY[upper(w)];
DELETE FROM words WHERE id IN (SELECT id FROM w_group) AND id < 4;
UPDATE other SET w = lower(w), l = lower(l), c = lower(c) WHERE id % 2 = 0;
\i test/sql/check_all.sql
SELECT w.w FROM w_group w WHERE NOT EXISTS (SELECT FROM words x WHERE x.w = w.w COLLATE "C") AND w IS NOT NULL;
TABLE w_minmax;

SET client_min_messages = warning;
DROP SCHEMA types CASCADE;
