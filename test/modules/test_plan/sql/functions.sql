--
-- Which functions a maintained view may call.
--
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
-- the first line of a refusal, or "maintained"
CREATE FUNCTION verdict(query text) RETURNS text LANGUAGE sql AS $$
  SELECT CASE WHEN test_render(query) IS NULL THEN split_part(test_lower(query), E'\n', 2)
              ELSE 'maintained' END
$$;

-- volatile
SELECT verdict('SELECT random() FROM a');
SELECT verdict('SELECT x FROM a WHERE y > random() * 3');
SELECT verdict('SELECT gen_random_uuid() FROM a');
CREATE SEQUENCE numbers;
SELECT verdict('SELECT nextval(''numbers'') FROM a');
DROP SEQUENCE numbers;
SELECT verdict('SELECT sum(x) FILTER (WHERE random() > 0.5) FROM a');

-- the clock
SELECT verdict('SELECT * FROM orders WHERE at > now() - interval ''1 day''');
SELECT verdict('SELECT * FROM orders WHERE day = CURRENT_DATE');
SELECT verdict('SELECT LOCALTIMESTAMP(0) FROM orders');
SELECT verdict('SELECT clock_timestamp() FROM orders');
SELECT verdict('SELECT timeofday() FROM orders');
SELECT verdict('SELECT age(at) FROM orders');
SELECT verdict('SELECT age(at, at) FROM orders');
SELECT verdict('SELECT at::time::timetz FROM orders');
SELECT verdict('SELECT (at::timetz) AT TIME ZONE ''Europe/Rome'' FROM orders');
SELECT verdict('SELECT status::date FROM orders');
SELECT verdict('SELECT status::timestamptz FROM orders');
SELECT verdict('SELECT tags::date[] FROM orders');
SELECT verdict('SELECT status::daterange FROM orders');
SELECT verdict('SELECT to_date(status, ''YYYY-MM-DD''), to_timestamp(status, ''YYYY'') FROM orders');
SELECT verdict('SELECT status::interval FROM orders');

-- the session
SELECT verdict('SELECT CURRENT_USER FROM a');
SELECT verdict('SELECT x FROM a WHERE z = session_user');
SELECT verdict('SELECT current_setting(''work_mem'') FROM a');
SELECT verdict('SELECT current_database() FROM a');
SELECT verdict('SELECT pg_backend_pid() FROM a');
SELECT verdict('SELECT inet_client_addr() FROM a');

-- the server, the catalog
SELECT verdict('SELECT txid_current() FROM a');
SELECT verdict('SELECT pg_column_size(z) FROM a');
SELECT verdict('SELECT x::regclass FROM a');
SELECT verdict('SELECT x::regclass::text FROM a');
SELECT verdict('SELECT to_regclass(z) FROM a');
SELECT verdict('SELECT pg_get_viewdef(x) FROM a');
SELECT verdict('SELECT has_table_privilege(z, ''SELECT'') FROM a');
SELECT verdict('SELECT enum_range(mood) FROM people');
SELECT verdict('SELECT ROW(x, y)::text FROM a');
SELECT verdict('SELECT json_build_object(''r'', ROW(x, y)) FROM a');

-- settings are fine
SELECT verdict('SELECT at::date, date_trunc(''day'', at), extract(hour FROM at), to_char(at, ''Day'') FROM orders');
SELECT verdict('SELECT at + interval ''1 day'' > day, at::text, day::text FROM orders');
SELECT verdict('SELECT to_char(amount, ''9D9''), amount::money FROM orders');
SELECT verdict('SELECT x FROM a WHERE to_tsvector(z) @@ to_tsquery(''x'')');
SELECT verdict('SELECT concat(x, n, y), format(''%s %L'', x, z), x || z, quote_literal(y), concat_ws(''-'', x) FROM a');
SELECT verdict('SELECT to_jsonb(tags), json_build_array(at, amount), array_to_string(tags, '','') FROM orders');
SELECT verdict('SELECT pg_typeof(x) FROM a');

-- types whose labels matter are reported, whatever writes them
SELECT test_facts('SELECT mood::text FROM people');
SELECT test_facts('SELECT concat(mood), to_json(ARRAY[mood]) FROM people');
SELECT test_facts('SELECT name::text::mood FROM people');
SELECT test_facts('SELECT mood FROM people WHERE mood = ''sad'' AND mood < ''happy''');
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
SELECT test_facts('SELECT x::positive FROM a');

-- functions of users: volatility after inlining
CREATE FUNCTION twice(int) RETURNS int LANGUAGE sql AS 'SELECT $1 * 2';
CREATE FUNCTION fourfold(int) RETURNS int LANGUAGE sql AS 'SELECT public.twice(public.twice($1))';
CREATE FUNCTION opaque(int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
CREATE FUNCTION opaque_stable(int) RETURNS int LANGUAGE plpgsql STABLE AS 'BEGIN RETURN $1; END';
CREATE FUNCTION opaque_immutable(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1; END';
CREATE FUNCTION today() RETURNS date LANGUAGE sql AS 'SELECT CURRENT_DATE';
SELECT test_lower('SELECT fourfold(x) FROM a');
SELECT test_facts('SELECT fourfold(x) FROM a');
SELECT verdict('SELECT opaque(x) FROM a');
SELECT verdict('SELECT opaque_stable(x) FROM a');
SELECT verdict('SELECT opaque_immutable(x) FROM a');
SELECT test_facts('SELECT opaque_immutable(x) FROM a');
SELECT verdict('SELECT x FROM a WHERE today() > ''2020-01-01''');
-- constants are folded before anything is kept
SELECT test_lower('SELECT x + opaque_immutable(3) FROM a WHERE opaque_immutable(1) = 1');
CREATE OPERATOR ~+ (FUNCTION = opaque, RIGHTARG = int);
SELECT verdict('SELECT ~+ x FROM a');

-- aggregates of users
CREATE AGGREGATE adds (int) (SFUNC = int4pl, STYPE = int, INITCOND = '0');
CREATE FUNCTION add_random(int, int) RETURNS int LANGUAGE sql AS 'SELECT $1 + $2 + (random() * 3)::int';
CREATE AGGREGATE adds_random (int) (SFUNC = add_random, STYPE = int, INITCOND = '0');
SELECT verdict('SELECT adds(x) FROM a');
SELECT test_facts('SELECT adds(x) FROM a');
SELECT verdict('SELECT adds_random(x) FROM a');

-- several legal answers
SELECT test_facts('SELECT x, count(*), sum(x), sum(n), max(z) FROM a GROUP BY x');
SELECT test_facts('SELECT n, count(*) FROM a GROUP BY n');
SELECT test_facts('SELECT DISTINCT n FROM a');
SELECT test_facts('SELECT max(n) FROM a');
SELECT test_facts('SELECT sum(f) FROM c');
SELECT test_facts('SELECT count(f), max(f) FROM c');
SELECT test_facts('SELECT string_agg(z, '','') FROM a');
SELECT test_facts('SELECT x, n FROM a UNION ALL SELECT x, 1 FROM b');

DROP FUNCTION opaque(int) CASCADE;
DROP AGGREGATE adds (int);
DROP AGGREGATE adds_random (int);
DROP FUNCTION twice, fourfold, opaque_stable, opaque_immutable, today, add_random, verdict;
DROP DOMAIN positive;
