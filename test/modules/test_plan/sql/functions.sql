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

-- constraints of domains are the query's, whatever makes the values
CREATE DOMAIN d_opaque AS int CHECK (opaque(VALUE) > 0);
CREATE DOMAIN d_over AS d_opaque;
CREATE DOMAIN d_array AS d_opaque[];
CREATE DOMAIN d_through AS int CHECK (VALUE::d_over < 9);
CREATE TYPE t_opaque AS (a d_over);
CREATE TYPE r_opaque AS RANGE (subtype = d_opaque);
CREATE FUNCTION takes(d_opaque) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1; END';
CREATE FUNCTION casts(int) RETURNS int LANGUAGE sql AS 'SELECT $1::public.d_over::int';
SELECT DISTINCT verdict('SELECT ' || made || ' FROM a') FROM (VALUES ('x::d_opaque'), ('x::d_over'), ('x::d_through'),
	('ARRAY[x]::d_over[]'), ('ARRAY[x]::d_array'), ('z::d_over[]'), ('z::d_array'), ('ROW(x)::t_opaque'), ('z::t_opaque'),
	('z::r_opaque'), ('z::t_opaque[]'), ('r_opaque(x, y)'), ('1::d_over'), ('takes(x)'), ('casts(x)'), ('sum(takes(x))'),
	('json_populate_record(NULL::t_opaque, z::json)'), ('(jsonb_populate_recordset(NULL::t_opaque, z::jsonb)).a'),
	('(SELECT max(b.x::d_over) FROM b WHERE b.x = a.x)')) AS v (made);
SELECT verdict('SELECT r.i FROM a, json_to_record(z::json) AS r (i d_over)');
SELECT verdict('SELECT x FROM a WHERE x::d_over > 0');
SELECT verdict('SELECT CASE WHEN false THEN x::d_over END FROM a');
CREATE TABLE held (d d_over, t t_opaque, r r_opaque);
SELECT verdict('SELECT d, d::int, t::text, (t).a, r::text, lower(r) FROM held');
DROP TABLE held;
CREATE DOMAIN d_stable AS int CHECK (opaque_stable(VALUE) > 0);
SELECT verdict('SELECT x::d_stable FROM a');
CREATE DOMAIN d_clock AS timestamptz CHECK (VALUE > now());
SELECT verdict('SELECT at::d_clock FROM orders');
CREATE DOMAIN d_day AS date CHECK (VALUE > CURRENT_DATE);
SELECT verdict('SELECT day::d_day FROM orders');
CREATE DOMAIN d_user AS text CHECK (VALUE = CURRENT_USER);
SELECT verdict('SELECT z::d_user FROM a');
CREATE DOMAIN d_word AS text CHECK (VALUE::date > '2000-01-01');
SELECT verdict('SELECT z::d_word FROM a');
CREATE DOMAIN d_catalog AS text CHECK (to_regclass(VALUE) IS NULL);
SELECT verdict('SELECT z::d_catalog FROM a');
CREATE DOMAIN d_settings AS timestamptz CHECK (extract(hour FROM VALUE) < 24);
SELECT verdict('SELECT at::d_settings FROM orders');
-- they are reported, with those that they are over, and with what they call
CREATE DOMAIN d_calls AS int CHECK (twice(VALUE) > opaque_immutable(1));
CREATE DOMAIN d_calls_over AS d_calls NOT NULL;
CREATE DOMAIN d_free AS int;
CREATE DOMAIN d_freer AS d_free;
CREATE FUNCTION frees(int) RETURNS int LANGUAGE sql AS 'SELECT $1::public.d_freer::int';
SELECT test_facts('SELECT x::d_calls_over FROM a');
SELECT test_facts('SELECT z::d_calls_over[] FROM a');
SELECT test_facts('SELECT frees(x) FROM a');
-- a function is trusted with what it returns
CREATE FUNCTION makes(int) RETURNS d_opaque LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1; END';
CREATE FUNCTION makes_rows(int) RETURNS TABLE (i d_calls[], j int) LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN NEXT; END';
SELECT verdict('SELECT makes(x) FROM a');
SELECT test_facts('SELECT makes(x) FROM a');
SELECT test_facts('SELECT m.j FROM a, makes_rows(x) AS m');
CREATE FUNCTION makes_any(anyelement) RETURNS anyelement LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1; END';
CREATE FUNCTION makes_record(int) RETURNS record LANGUAGE sql SECURITY DEFINER IMMUTABLE AS 'SELECT $1, 1';
SELECT test_facts('SELECT makes_any(NULL::t_opaque) FROM a');
SELECT test_facts('SELECT m.j FROM a, makes_record(x) AS m (i d_calls, j int)');
SELECT verdict('SELECT makes_any(NULL::d_opaque) FROM a');
DROP FUNCTION makes, makes_rows, makes_any, makes_record, frees, takes, casts;
DROP TYPE t_opaque, r_opaque;
DROP DOMAIN d_through, d_array, d_over, d_opaque, d_stable, d_clock, d_day, d_user, d_word, d_catalog, d_settings,
	d_calls_over, d_calls, d_freer, d_free;

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
