--
-- The DDIR of a query, written back as SQL, gives the rows of the query: over
-- random small tables, many of whose values are NULL or the same.
--
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
SET jit = off;

-- a random element; NULL at times
CREATE FUNCTION pick(anyarray) RETURNS anyelement LANGUAGE sql VOLATILE AS
  'SELECT $1[1 + floor(random() * (cardinality($1) + 1))::int]';

CREATE PROCEDURE fill() LANGUAGE plpgsql AS $$
BEGIN
  TRUNCATE a, b, c, d, p;
  INSERT INTO a SELECT pick(ARRAY[0, 1, 2]), pick(ARRAY[0, 1, 2]), pick(ARRAY['p', 'q', 'r']),
                       pick(ARRAY[1.0, 1.00, 2])
    FROM generate_series(1, floor(random() * 7)::int);
  INSERT INTO b SELECT pick(ARRAY[0, 1, 2]), pick(ARRAY[0, 1, 2]), pick(ARRAY['p', 'q', 'r']),
                       pick(ARRAY[0, 1, 2])
    FROM generate_series(1, floor(random() * 7)::int);
  INSERT INTO c SELECT pick(ARRAY[0, 1, 2]), pick(ARRAY['p', 'q', 'r']), pick(ARRAY[1, 0, -0.0]::float8[])
    FROM generate_series(1, floor(random() * 5)::int);
  INSERT INTO d SELECT pick(ARRAY[0, 1, 2]), pick(ARRAY[0, 1, 2]), pick(ARRAY['p', 'q', 'r']),
                       pick(ARRAY[true, false]), pick(ARRAY[0, 1, 2])
    FROM generate_series(1, floor(random() * 5)::int);
  INSERT INTO p SELECT i, pick(ARRAY[0, 1, 2]), pick(ARRAY['1', '{"a": 1}']::json[]),
                       pick(ARRAY['(1,2)', '(0.1,0)']::point[])
    FROM generate_series(0, 2) i WHERE random() < 0.8;
  ANALYZE a, b, c, d, p;
END
$$;

-- what is wrong; NULL if nothing is.  Rows are compared as text on demand,
-- where a column has no equality.
CREATE FUNCTION wrong(query text, as_text bool) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  rendered text := test_render(query);
  missing bigint;
  extra bigint;
BEGIN
  IF rendered IS NULL THEN
    RETURN test_lower(query);
  END IF;
  IF as_text THEN
    query := format('SELECT s::text FROM (%s) s', query);
    rendered := format('SELECT s::text FROM (%s) s', rendered);
  END IF;
  EXECUTE format('SELECT count(*) FROM ((%s) EXCEPT ALL (%s)) s', query, rendered) INTO missing;
  EXECUTE format('SELECT count(*) FROM ((%s) EXCEPT ALL (%s)) s', rendered, query) INTO extra;
  RETURN format('%s missing, %s extra', missing, extra) WHERE missing + extra > 0;
END
$$;

CREATE TABLE queries (id int GENERATED ALWAYS AS IDENTITY, query text, as_text bool DEFAULT false);
INSERT INTO queries (query) VALUES
  -- joins
  ('SELECT * FROM a'),
  ('SELECT a.x, b.w FROM a, b WHERE a.x = b.x AND a.y > b.y'),
  ('SELECT a.*, b.*, c.* FROM a JOIN b ON a.x = b.x JOIN c ON c.k = b.y AND c.v = a.z'),
  ('SELECT * FROM a NATURAL JOIN b'),
  ('SELECT * FROM a NATURAL JOIN d'),
  ('SELECT a.x, b.y FROM a CROSS JOIN b'),
  ('SELECT a1.x, a2.y FROM a a1, a a2, a a3 WHERE a1.x = a2.x AND a2.y = a3.y AND a3.x <= a1.y'),
  ('SELECT a.x FROM a JOIN b ON a.x IS NOT DISTINCT FROM b.x AND a.z = b.w'),
  ('SELECT a.x, b.x FROM a JOIN b ON a.x = b.x OR a.y = b.y'),
  ('SELECT a.n, c.f FROM a JOIN c ON a.n = c.f::numeric'),
  ('SELECT d.u, a.z FROM a JOIN d ON a.z = d.u JOIN b ON b.s = d.y'),
  ('SELECT a.x + b.y FROM a, b, c WHERE a.x + b.x = c.k'),
  ('SELECT 1 FROM a, b WHERE a.x = 1'),
  ('SELECT a.x / nullif(b.y, 0) FROM a, b WHERE a.x = b.x AND b.y <> 0 AND 6 / b.y > a.y'),
  ('SELECT a.x FROM a WHERE NULL'),
  -- outer joins
  ('SELECT a.x, b.y, b.w FROM a LEFT JOIN b ON a.x = b.x'),
  ('SELECT a.x, b.y FROM a RIGHT JOIN b ON a.x = b.x AND a.y = b.y'),
  ('SELECT a.x, c.k FROM a LEFT JOIN c ON a.x = c.k AND a.z = c.v'),
  ('SELECT a.z, d.u FROM d LEFT JOIN a ON a.z = d.u'),
  ('SELECT d.u, a.z FROM a LEFT JOIN d ON a.z = d.u'),
  ('SELECT b.s, c.k, a.x FROM b LEFT JOIN c ON b.s = c.k LEFT JOIN a ON a.x = c.k AND a.y = b.y'),
  ('SELECT a.x, b.y FROM a LEFT JOIN b ON a.x = b.x AND b.y > 0'),
  ('SELECT a.x, b.y FROM a LEFT JOIN b ON a.x = b.x AND a.y > 0'),
  ('SELECT a.x, b.y FROM a LEFT JOIN b ON a.x = b.x AND a.y > 0 AND b.y < 2 AND a.z LIKE ''p%'''),
  ('SELECT a.x, b.y FROM a LEFT JOIN b ON a.y > 0'),
  ('SELECT a.x, b.y FROM a LEFT JOIN b ON true'),
  ('SELECT a.x, b.y FROM a LEFT JOIN b ON false'),
  ('SELECT a.x, b.y FROM a LEFT JOIN b ON a.x = b.x WHERE b.x IS NULL'),
  ('SELECT a.x, b.y FROM a LEFT JOIN b ON a.x = b.x WHERE coalesce(b.y, 1) = a.y'),
  ('SELECT a.x, b.y FROM a LEFT JOIN b ON a.x = b.x WHERE b.y = 1'),
  ('SELECT a.x, b.y, c.v FROM a LEFT JOIN (b LEFT JOIN c ON c.k = b.y) ON a.x = b.x'),
  ('SELECT a.x, b.y, c.v FROM a LEFT JOIN (b JOIN c ON c.k = b.y) ON a.x = b.x AND c.v = a.z'),
  ('SELECT a.x, b.y, c.v FROM a LEFT JOIN (b LEFT JOIN c ON c.k = b.y) ON a.x = b.x AND a.z = c.v'),
  ('SELECT a.x, b.y, c.k, d.x FROM a LEFT JOIN b ON a.x = b.x LEFT JOIN c ON b.y = c.k LEFT JOIN d ON d.x = c.k AND d.y = a.y'),
  ('SELECT a.x, b.y, d.g FROM a JOIN b ON a.y = b.y LEFT JOIN d ON d.x = a.x + b.x'),
  ('SELECT a.x, s.one, s.y FROM a LEFT JOIN (SELECT 1 AS one, x, y FROM b WHERE y <> 1) s ON s.x = a.x'),
  ('SELECT a.x, s.n FROM a LEFT JOIN (SELECT x, count(*) AS n FROM b GROUP BY x) s USING (x)'),
  ('SELECT x, a.y, b.y FROM a LEFT JOIN b USING (x) RIGHT JOIN c ON c.k = x'),
  ('SELECT a.x, b.x FROM a FULL JOIN b ON a.x = b.x WHERE a.y = b.y'),
  ('SELECT a.x, b.x FROM a FULL JOIN b ON a.x = b.x WHERE a.y = 1'),
  ('SELECT x, b.y FROM a FULL JOIN b USING (x) WHERE b.y = 1'),
  ('SELECT a.x, b.y FROM a LEFT JOIN b ON a.x = b.x AND b.y IN (SELECT x FROM d)'),
  ('SELECT a.n, b.y FROM b LEFT JOIN a ON a.n = b.y::numeric'),
  -- LIMIT, DISTINCT ON; rows are alike or their order is whole
  ('SELECT x, y FROM a ORDER BY x DESC, y NULLS FIRST LIMIT 3'),
  ('SELECT x, y FROM a ORDER BY x, y OFFSET 2'),
  ('SELECT x FROM a ORDER BY x DESC NULLS LAST LIMIT 2 OFFSET 1'),
  ('SELECT x FROM a ORDER BY y, x LIMIT 0'),
  ('SELECT x, y FROM a ORDER BY x FETCH FIRST 2 ROWS WITH TIES'),
  ('SELECT x FROM a ORDER BY x OFFSET 1 FETCH FIRST 2 ROWS WITH TIES'),
  ('SELECT s.x, s.y FROM (SELECT x, y FROM a ORDER BY x, y LIMIT 4) s JOIN b ON b.x = s.x'),
  ('SELECT DISTINCT x, y FROM a ORDER BY y, x LIMIT 2'),
  ('SELECT DISTINCT ON (x) x, y FROM a ORDER BY x, y DESC'),
  ('SELECT DISTINCT ON (x) y FROM a ORDER BY x DESC, y LIMIT 2'),
  ('SELECT x, count(*) FROM a GROUP BY x ORDER BY count(*), x LIMIT 2'),
  ('SELECT x FROM a UNION ALL SELECT x FROM b ORDER BY x LIMIT 5'),
  ('(SELECT x FROM a ORDER BY x LIMIT 2) UNION (SELECT y FROM b ORDER BY y DESC LIMIT 2)'),
  ('SELECT * FROM a WHERE EXISTS (SELECT FROM b WHERE b.x = a.x OFFSET 1)'),
  ('SELECT * FROM a WHERE x IN (SELECT x FROM b ORDER BY x LIMIT 1)'),
  ('SELECT * FROM a WHERE x IN (SELECT x FROM b WHERE b.y = a.y ORDER BY x LIMIT 1)'),
  ('SELECT * FROM a WHERE x NOT IN (SELECT x FROM b WHERE b.y > a.y ORDER BY x LIMIT 2)'),
  ('SELECT x, (SELECT y FROM b WHERE b.x = a.x ORDER BY y LIMIT 1) FROM a'),
  ('SELECT x, (SELECT y FROM b WHERE b.x <> a.x ORDER BY y DESC LIMIT 1 OFFSET 1) FROM a'),
  ('SELECT x, (SELECT count(*) FROM b WHERE b.x = a.x LIMIT 1) FROM a'),
  ('SELECT x, (SELECT count(*) FROM b WHERE b.x = a.x OFFSET 1) FROM a'),
  ('SELECT a.x, l.* FROM a, LATERAL (SELECT y, w FROM b WHERE b.x = a.x ORDER BY y, w LIMIT 2) l'),
  ('SELECT a.x, l.* FROM a LEFT JOIN LATERAL (SELECT y FROM b WHERE b.x < a.x ORDER BY y OFFSET 1) l ON true'),
  ('SELECT a.x, l.* FROM a, LATERAL (SELECT DISTINCT ON (y) y, x FROM b WHERE b.x <= a.x ORDER BY y, x LIMIT 2) l'),
  ('SELECT a.x, l.* FROM a, LATERAL (SELECT y FROM b WHERE b.x = a.x UNION SELECT a.y ORDER BY 1 LIMIT 1) l'),
  ('SELECT a.x, l.* FROM a, LATERAL (SELECT y, count(*) FROM b WHERE b.x = a.x GROUP BY y ORDER BY 2, 1 LIMIT 1) l'),
  ('SELECT a.x, l.* FROM a, LATERAL (SELECT s.y FROM (SELECT y FROM b WHERE b.x = a.x ORDER BY y LIMIT 2) s ORDER BY 1 DESC LIMIT 1) l'),
  -- windows; the order is whole where it matters
  ('SELECT x, y, row_number() OVER (ORDER BY x, y) FROM a'),
  ('SELECT x, rank() OVER w, dense_rank() OVER w, percent_rank() OVER w, cume_dist() OVER w FROM a WINDOW w AS (PARTITION BY x ORDER BY y DESC)'),
  ('SELECT x, y, lag(y, 1, -1) OVER (PARTITION BY x ORDER BY y), lead(y) OVER (PARTITION BY x ORDER BY y) FROM a'),
  ('SELECT x + y, sum(x) OVER (PARTITION BY y), count(*) OVER (ORDER BY x) FROM a'),
  ('SELECT x, sum(y) FILTER (WHERE y > 0) OVER (ORDER BY x, y ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW) FROM a'),
  ('SELECT x, sum(y) OVER (ORDER BY x RANGE BETWEEN 1 PRECEDING AND UNBOUNDED FOLLOWING), max(y) OVER (ORDER BY x GROUPS 1 PRECEDING) FROM a'),
  ('SELECT CASE WHEN rank() OVER (ORDER BY x) > 1 THEN x * 10 + y ELSE 0 END FROM a'),
  ('SELECT x, count(*), rank() OVER (ORDER BY count(*)), sum(count(*)) OVER () FROM a GROUP BY x'),
  ('SELECT x + 1, rank() OVER (ORDER BY x + 1) FROM a GROUP BY x + 1 HAVING count(*) > 1'),
  ('SELECT DISTINCT x, count(*) OVER (PARTITION BY x) FROM a ORDER BY count(*) OVER (PARTITION BY x), x LIMIT 2'),
  ('SELECT x, (SELECT max(w) FROM b WHERE b.x = a.x), rank() OVER (ORDER BY (SELECT min(y) FROM b WHERE b.x = a.x)) FROM a'),
  ('SELECT x, rank() OVER (ORDER BY x) IN (SELECT b.x FROM b WHERE b.y = a.y) FROM a'),
  ('SELECT * FROM (SELECT x, y, row_number() OVER (PARTITION BY x ORDER BY y) AS n FROM a) s WHERE n <= 2'),
  ('SELECT * FROM (SELECT x, y, rank() OVER (PARTITION BY x ORDER BY y DESC) AS n FROM a) s WHERE n < 2 AND y > 0'),
  ('SELECT * FROM (SELECT x, y, row_number() OVER (ORDER BY y, x) AS n FROM a) s WHERE n = 1'),
  ('SELECT * FROM (SELECT x, row_number() OVER (ORDER BY x) AS n, count(*) OVER (ORDER BY x) AS m FROM a) s WHERE n <= 1'),
  ('SELECT a.x, l.* FROM a, LATERAL (SELECT y, rank() OVER (ORDER BY y) AS n FROM b WHERE b.x = a.x) l'),
  ('SELECT a.x, l.* FROM a LEFT JOIN LATERAL (SELECT y, sum(y) OVER (ORDER BY y) + a.y AS n FROM b WHERE b.x <= a.x) l ON l.n > 1'),
  ('SELECT x FROM a WHERE y IN (SELECT rank() OVER (ORDER BY y) FROM b WHERE b.x = a.x)'),
  ('SELECT x FROM a WHERE EXISTS (SELECT rank() OVER (ORDER BY y) FROM b WHERE b.x = a.x)'),
  ('SELECT x, (SELECT count(*) OVER () FROM b WHERE b.x = a.x LIMIT 1) FROM a'),
  -- EXISTS
  ('SELECT * FROM a WHERE EXISTS (SELECT FROM b WHERE b.x = a.x)'),
  ('SELECT * FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.x = a.x AND b.y = a.y)'),
  ('SELECT * FROM a WHERE EXISTS (SELECT FROM b)'),
  ('SELECT * FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.x = 1)'),
  ('SELECT * FROM a WHERE NOT EXISTS (SELECT FROM b JOIN c ON c.k = b.x AND c.v = a.z WHERE b.y = a.y)'),
  ('SELECT a.x, c.k FROM a JOIN c ON a.x = c.k WHERE NOT EXISTS (SELECT FROM b WHERE b.x = a.y AND b.w = c.v)'),
  ('SELECT a.x, b.x FROM a LEFT JOIN b ON a.x = b.x WHERE NOT EXISTS (SELECT FROM d WHERE d.x = b.y)'),
  ('SELECT * FROM a WHERE EXISTS (SELECT FROM b WHERE b.x = a.x AND a.y = 1) AND NOT EXISTS (SELECT FROM d WHERE d.y = a.x AND a.z = ''p'')'),
  ('SELECT * FROM a WHERE EXISTS (SELECT FROM b WHERE b.x = a.x AND NOT EXISTS (SELECT FROM c WHERE c.k = b.y))'),
  ('SELECT * FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.x = a.x LIMIT 1)'),
  ('SELECT * FROM a WHERE EXISTS (SELECT max(x) FROM b) AND NOT EXISTS (SELECT 1 FROM b GROUP BY x HAVING count(*) > 2)'),
  ('SELECT * FROM a WHERE EXISTS (SELECT x FROM b UNION SELECT y FROM d)'),
  ('SELECT 1 WHERE EXISTS (SELECT FROM a) AND NOT EXISTS (SELECT FROM b WHERE x = y)'),
  ('SELECT a.x FROM a JOIN b ON a.x = b.x AND EXISTS (SELECT FROM c WHERE c.k = b.y AND c.v = a.z)'),
  ('SELECT * FROM a WHERE NOT (x = 1 OR EXISTS (SELECT FROM b WHERE b.x = a.x))'),
  ('SELECT * FROM a WHERE EXISTS (SELECT FROM b WHERE b.x + 1 = a.x + 1 AND b.w IS NOT NULL)'),
  ('SELECT * FROM a WHERE EXISTS (SELECT FROM b WHERE 1 / nullif(a.x, 0) = b.x)'),
  -- IN
  ('SELECT * FROM a WHERE x IN (SELECT x FROM b)'),
  ('SELECT * FROM a WHERE x IN (SELECT k FROM c WHERE c.v = a.z)'),
  ('SELECT * FROM a WHERE (x, z) IN (SELECT y, w FROM b)'),
  ('SELECT * FROM a WHERE x IN (SELECT max(k) FROM c GROUP BY v) AND y IN (VALUES (1), (NULL))'),
  ('SELECT * FROM a WHERE x = ANY (SELECT x FROM b) AND NOT (y <> ALL (SELECT y FROM b))'),
  ('SELECT * FROM d WHERE true IN (SELECT g FROM d e WHERE e.x = d.y)'),
  ('SELECT * FROM a WHERE 1 IN (SELECT x FROM b)'),
  ('SELECT * FROM a WHERE n IN (SELECT f::numeric FROM c)'),
  -- NOT IN
  ('SELECT * FROM a WHERE x NOT IN (SELECT x FROM b)'),
  ('SELECT * FROM a WHERE x NOT IN (SELECT x FROM b WHERE b.y = a.y)'),
  ('SELECT * FROM a WHERE x NOT IN (SELECT k FROM c WHERE k IS NOT NULL)'),
  ('SELECT * FROM a WHERE x <> ALL (SELECT s FROM b WHERE b.w = a.z)'),
  ('SELECT * FROM a WHERE (x, y) NOT IN (SELECT x, y FROM b)'),
  ('SELECT * FROM a WHERE (x, y) NOT IN (SELECT x, s FROM b WHERE b.w = a.z)'),
  ('SELECT * FROM a WHERE (x, y, z) NOT IN (SELECT x, y, w FROM b)'),
  ('SELECT * FROM d WHERE (x, y, u, h) NOT IN (SELECT x, y, w, s FROM b)'),
  ('SELECT * FROM a WHERE NULL NOT IN (SELECT x FROM b)'),
  ('SELECT * FROM a WHERE 1 NOT IN (SELECT x FROM b WHERE b.y = a.y)'),
  ('SELECT * FROM d WHERE false NOT IN (SELECT g FROM d e WHERE e.x = d.y)'),
  ('SELECT a.x, c.k FROM a, c WHERE a.x + c.k NOT IN (SELECT x FROM b)'),
  ('SELECT 1 WHERE 2 NOT IN (SELECT x FROM a)'),
  ('SELECT * FROM a WHERE x NOT IN (SELECT sum(k) FROM c)'),
  -- subqueries as values
  ('SELECT x, (SELECT max(k) FROM c) FROM a'),
  ('SELECT x, (SELECT max(y) FROM b WHERE b.x = a.x) FROM a'),
  ('SELECT x, (SELECT count(*) FROM b WHERE b.x = a.x) AS n FROM a'),
  ('SELECT x, (SELECT sum(y) + a.y FROM b WHERE b.x < a.x) FROM a'),
  ('SELECT n, (SELECT count(*) FROM c WHERE c.f < a.n) FROM a'),
  ('SELECT n, (SELECT string_agg(a.n::text, '','' ORDER BY b.x) FROM b WHERE b.x = a.x) FROM a'),
  ('SELECT x, (SELECT y FROM b WHERE b.x = a.x GROUP BY y HAVING count(*) > 9) FROM a'),
  ('SELECT x, (SELECT 1 FROM p WHERE p.id = a.x) FROM a'),
  ('SELECT x, (SELECT p.x FROM p WHERE p.id = a.x AND p.x > a.y) FROM a'),
  ('SELECT x, (SELECT a.x + 1) FROM a'),
  ('SELECT * FROM a WHERE y = (SELECT max(y) FROM b WHERE b.x = a.x)'),
  ('SELECT * FROM a WHERE y > (SELECT avg(y) FROM b WHERE b.w = a.z OR b.x IS NULL)'),
  ('SELECT * FROM a WHERE (SELECT count(*) FROM b WHERE b.x = a.x) = (SELECT count(*) FROM d WHERE d.x = a.y)'),
  ('SELECT a.x, b.y FROM a JOIN b ON a.x = b.x WHERE (SELECT min(k) FROM c WHERE c.k > a.y AND c.v <> b.w) IS NULL'),
  ('SELECT x, (SELECT max(b.y) FROM b WHERE b.x = a.x AND (SELECT count(*) FROM c WHERE c.k = b.y AND c.v > a.z) = 0) FROM a'),
  ('SELECT x, (SELECT count(*) FROM b WHERE b.x = a.x HAVING count(*) > 1) FROM a'),
  ('SELECT x, (SELECT max(q.m) FROM (SELECT max(y) AS m FROM b WHERE b.x <= a.x GROUP BY w) q) FROM a'),
  ('SELECT x, (SELECT count(*) FROM (SELECT x FROM b WHERE b.y = a.y UNION SELECT k FROM c WHERE c.k > a.x) q) FROM a'),
  ('SELECT x, (SELECT count(*) FROM (SELECT x FROM b WHERE b.y = a.y EXCEPT ALL SELECT k FROM c WHERE c.k > a.x) q) FROM a'),
  ('SELECT x, (SELECT count(DISTINCT d.y) FROM b LEFT JOIN d ON d.x = b.x AND d.y > a.y WHERE b.x = a.x) FROM a'),
  ('SELECT x, (WITH q AS (SELECT y FROM b WHERE b.x > a.x) SELECT count(*) FROM q q1, q q2) FROM a'),
  ('SELECT x, (SELECT count(*) FROM (VALUES (a.x), (a.y), (1)) v(k) WHERE v.k > 0) FROM a'),
  ('SELECT EXISTS (SELECT FROM b WHERE b.x = a.x), NOT EXISTS (SELECT FROM b WHERE b.x > a.x) FROM a'),
  ('SELECT * FROM a WHERE x = 1 OR EXISTS (SELECT FROM b WHERE b.x = a.y)'),
  ('SELECT * FROM a WHERE EXISTS (SELECT FROM b WHERE b.x > a.x) AND NOT EXISTS (SELECT FROM d WHERE d.x <> a.x)'),
  ('SELECT * FROM a WHERE NOT EXISTS (SELECT count(*) FROM b WHERE b.x = a.x HAVING count(*) > 1)'),
  ('SELECT * FROM a WHERE EXISTS (SELECT b.x FROM b WHERE b.y = a.y EXCEPT SELECT k FROM c WHERE c.v = a.z)'),
  ('SELECT x IN (SELECT x FROM b), x NOT IN (SELECT k FROM c WHERE k IS NOT NULL) FROM a'),
  ('SELECT x = ANY (SELECT y FROM b WHERE b.x = a.x), y <> ALL (SELECT y FROM b WHERE b.x > a.x) FROM a'),
  ('SELECT x < ANY (SELECT x FROM b), x >= ALL (SELECT x FROM b), x < ALL (SELECT k FROM c) FROM a'),
  ('SELECT y < ANY (SELECT y FROM b WHERE b.x = a.x), y > ALL (SELECT y FROM b WHERE b.x = a.x) FROM a'),
  ('SELECT n < ANY (SELECT f::numeric FROM c), z <= ALL (SELECT w FROM b), z LIKE ANY (SELECT w FROM b) FROM a'),
  ('SELECT * FROM a WHERE NOT (x IN (SELECT x FROM b) AND y IN (SELECT y FROM b))'),
  ('SELECT * FROM a WHERE (x, y) IN (SELECT x, y FROM b) IS NOT TRUE'),
  ('SELECT (x, y) NOT IN (SELECT x, s FROM b WHERE b.w = a.z), (x, y) <> ALL (SELECT y, x FROM b) FROM a'),
  ('SELECT * FROM d WHERE (x, y, u, h, 1) NOT IN (SELECT x, y, w, s, 1 FROM b)'),
  ('SELECT (x, y) < (SELECT x, y FROM p WHERE false), (x, y) = (SELECT max(x), max(y) FROM b) FROM a'),
  ('SELECT (x, y) > (SELECT b.x, a.x FROM b WHERE b.x IS NULL AND b.y IS NULL GROUP BY b.x) FROM a'),
  ('SELECT x, ARRAY(SELECT y FROM b WHERE b.x = a.x ORDER BY y, w DESC) FROM a'),
  ('SELECT ARRAY(SELECT DISTINCT y FROM b ORDER BY y DESC), ARRAY(SELECT x FROM b WHERE b.x = a.y AND false) FROM a'),
  ('SELECT CASE WHEN x > 0 THEN (SELECT max(10 / b.x) FROM b WHERE b.x = a.x) END FROM a'),
  ('SELECT CASE x WHEN 1 THEN 1 WHEN (SELECT max(k) FROM c) THEN 2 ELSE (SELECT sum(12 / d.x) FROM d WHERE d.x = 2 AND a.y = d.y) END FROM a'),
  ('SELECT coalesce(x, (SELECT max(6 / b.y) FROM b WHERE b.y <> 0 AND b.x = a.y)) FROM a'),
  ('SELECT x FROM a WHERE x IS NULL OR x = 0 OR y > (SELECT count(*) FROM b WHERE 10 / a.x > b.x)'),
  ('SELECT x, sum(y), (SELECT count(*) FROM b WHERE b.x = a.x) FROM a GROUP BY x'),
  ('SELECT x, (SELECT count(*) FROM b WHERE b.y < sum(a.y)) FROM a GROUP BY x HAVING count(*) >= (SELECT min(k) FROM c WHERE c.k <> a.x) OR EXISTS (SELECT FROM d WHERE d.x = a.x)'),
  ('SELECT sum((SELECT count(*) FROM b WHERE b.x = a.x)), count(*) FILTER (WHERE x IN (SELECT k FROM c)) FROM a'),
  ('SELECT (SELECT count(*) FROM b WHERE b.x = a.x) AS n, count(*) FROM a GROUP BY 1'),
  ('SELECT x FROM a GROUP BY x HAVING x IN (SELECT x FROM b) AND sum(y) NOT IN (SELECT y FROM b)'),
  ('SELECT (SELECT (SELECT count(*) FROM c WHERE c.k = b.x + a.x) FROM b WHERE b.x = a.x GROUP BY b.x) FROM a'),
  ('SELECT DISTINCT (SELECT count(*) FROM b WHERE b.x = a.x) FROM a UNION ALL VALUES ((SELECT count(*) FROM c))'),
  ('SELECT 1 WHERE (SELECT count(*) FROM a) > 2'),
  ('SELECT (SELECT max(x) FROM a), EXISTS (SELECT FROM b)'),
  -- LATERAL
  ('SELECT a.x, s.y FROM a, LATERAL (SELECT y FROM b WHERE b.x = a.x) s'),
  ('SELECT a.x, s.m FROM a, LATERAL (SELECT max(y) AS m, count(*) AS n FROM b WHERE b.x = a.x) s WHERE s.n <> 1'),
  ('SELECT a.x, s.* FROM a, LATERAL (SELECT DISTINCT w, a.z FROM b WHERE b.x > a.x) s'),
  ('SELECT a.x, s.* FROM a JOIN c ON c.k = a.x, LATERAL (SELECT b.y + a.y AS t, c.v FROM b WHERE b.w = c.v) s'),
  ('SELECT a.x, s.y, t.k FROM a, LATERAL (SELECT y FROM b WHERE b.x <> a.x) s, LATERAL (SELECT k FROM c WHERE c.k = s.y AND c.v >= a.z) t'),
  ('SELECT a.x, s.* FROM a LEFT JOIN LATERAL (SELECT b.y FROM b WHERE b.x = a.x AND b.y > a.y) s ON true'),
  ('SELECT a.x, s.* FROM a LEFT JOIN LATERAL (SELECT count(*) AS n FROM b WHERE b.x = a.x) s ON s.n = a.y'),
  ('SELECT a.x, b.y, t.k FROM a CROSS JOIN (b LEFT JOIN LATERAL (SELECT k FROM c WHERE c.k > a.x AND c.k <= b.y) t ON b.w = t.k::text OR t.k = 1)'),
  ('SELECT a.x, b.y, t.k FROM a LEFT JOIN (b JOIN LATERAL (SELECT k FROM c WHERE c.k >= a.x AND c.v = b.w) t ON true) ON b.y = a.y'),
  ('SELECT a.x, q.n FROM a, LATERAL (SELECT count(t.k) AS n FROM b LEFT JOIN c t ON t.k = a.x AND t.v = b.w) q'),
  ('SELECT x, (SELECT count(*) FROM b FULL JOIN c ON b.x = c.k WHERE b.y = a.y OR c.k > a.x) FROM a'),
  ('SELECT a.x, s.* FROM a LEFT JOIN LATERAL (SELECT n + a.n AS m FROM a a2 WHERE a2.n > a.n) s ON s.m > a.x'),
  ('SELECT x, (SELECT max(s.m) FROM LATERAL (SELECT b.y + a.y AS m FROM b WHERE b.x = a.x) s) FROM a'),
  ('SELECT x, (WITH q AS (SELECT y FROM b WHERE b.x > a.x), r AS (SELECT y FROM q WHERE y > 0) SELECT count(*) FROM r, c WHERE c.k = r.y) FROM a'),
  ('SELECT * FROM (SELECT a.x AS ax, b.x AS bx, b.y FROM a JOIN b USING (y)) j WHERE ax = (SELECT min(k) FROM c WHERE c.k >= j.bx) OR j.y IN (SELECT x FROM d WHERE d.y = ax)'),
  ('SELECT y, (SELECT count(*) FROM c WHERE c.k = y) FROM a JOIN b USING (y)'),
  ('SELECT y, (SELECT count(*) FROM c WHERE c.k = y) FROM a FULL JOIN b USING (y)'),
  ('SELECT a.x, v.q FROM a, LATERAL (VALUES (a.x + 1), (a.y), (0)) v(q)'),
  ('SELECT a.x, s.k, s.q FROM a, LATERAL (SELECT k, q FROM c, LATERAL (SELECT b.y AS q FROM b WHERE b.x = c.k AND b.w > a.z) t) s'),
  ('SELECT a.x, s.g FROM a, LATERAL (SELECT x AS g FROM b WHERE b.y = a.y INTERSECT ALL SELECT x FROM d WHERE d.y >= a.x) s'),
  ('SELECT a.x, s.n FROM a, LATERAL (SELECT b.x, count(*) AS n FROM b WHERE b.y < a.y GROUP BY ROLLUP (b.x)) s'),
  ('SELECT a.x, t.* FROM a, LATERAL (SELECT s.x AS sx, c.k FROM (SELECT x FROM b WHERE b.y = a.y) s FULL JOIN c ON s.x = c.k) t'),
  ('SELECT a.x, t.* FROM a, LATERAL (SELECT s.x AS sx, q.k FROM (SELECT x FROM b WHERE b.y > a.y) s FULL JOIN (SELECT k, v FROM c WHERE c.v <> a.z) q ON s.x = q.k AND q.v > a.z AND s.x >= a.x) t'),
  ('SELECT a.x, (SELECT count(*) FROM (SELECT * FROM b WHERE b.y = a.y) s FULL JOIN d ON s.x = d.x FULL JOIN c ON c.k = d.y AND c.v < a.z) FROM a'),
  ('SELECT a.n, t.* FROM a, LATERAL (SELECT s.x AS sx, c.f FROM (SELECT x FROM b WHERE b.y < a.n) s FULL JOIN c ON s.x = c.f) t'),
  -- grouping sets
  ('SELECT x, y, count(*), grouping(x, y) FROM a GROUP BY ROLLUP (x, y)'),
  ('SELECT x, z, sum(y) FROM a GROUP BY CUBE (x, z) HAVING count(*) > 1'),
  ('SELECT x, z, max(y) + grouping(z) FROM a GROUP BY GROUPING SETS ((x), (z), (x, z), ()) '),
  ('SELECT count(*), grouping(x) FROM a GROUP BY x'),
  ('SELECT x, count(*) FROM a WHERE false GROUP BY GROUPING SETS ((x), (), ())'),
  ('SELECT coalesce(x, -1) + 1 AS k, y, count(*) FROM a GROUP BY ROLLUP (coalesce(x, -1) + 1), y'),
  ('SELECT x, y FROM a GROUP BY DISTINCT ROLLUP (x, y), ROLLUP (x)'),
  ('SELECT p.id, p.x, count(a.y) FROM p LEFT JOIN a ON a.x = p.id GROUP BY p.id, ROLLUP (a.z)'),
  ('SELECT x, (SELECT count(*) FROM b WHERE b.x = a.x AND b.y > grouping(a.x)) FROM a GROUP BY ROLLUP (x)'),
  -- outer joins on any condition
  ('SELECT a.x, b.y FROM a LEFT JOIN b ON a.x < b.x'),
  ('SELECT a.x, b.y FROM a LEFT JOIN b ON a.x = b.x AND a.y < b.y'),
  ('SELECT a.x, b.y FROM a LEFT JOIN b ON a.x = b.x OR a.z = b.w'),
  ('SELECT a.x, b.y, c.k FROM a LEFT JOIN b ON a.x = b.x AND a.y <> b.y LEFT JOIN c ON c.k < b.y + a.x'),
  ('SELECT a.x, b.y FROM b RIGHT JOIN a ON a.x + b.x > 1 AND a.n > b.y'),
  ('SELECT a.n, c.f FROM a LEFT JOIN c ON a.n = c.f'),
  ('SELECT a.x, b.y FROM a LEFT JOIN b ON a.x = b.x AND EXISTS (SELECT FROM c WHERE c.k = b.y AND c.v = a.z)'),
  ('SELECT a.x, b.y FROM a LEFT JOIN b ON a.x = b.x AND a.y IN (SELECT k FROM c)'),
  ('SELECT a.x, b.y FROM a LEFT JOIN b ON a.x = (SELECT max(k) FROM c WHERE c.k < b.y)'),
  ('SELECT a.x, b.x FROM a FULL JOIN b ON a.x = b.x'),
  ('SELECT x, a.y, b.y FROM a FULL JOIN b USING (x)'),
  ('SELECT a.x, b.x FROM a FULL JOIN b ON a.x = b.x AND a.y < b.y'),
  ('SELECT a.x, b.x FROM a FULL JOIN b ON a.x = b.x AND a.y > 0 AND b.w = ''p'''),
  ('SELECT a.x, b.x FROM a FULL JOIN b ON true'),
  ('SELECT a.x, b.x FROM a FULL JOIN b ON false'),
  ('SELECT a.n, c.f FROM a FULL JOIN c ON a.n = c.f::numeric'),
  ('SELECT x, k, count(*) FROM a FULL JOIN b USING (x) FULL JOIN c ON c.k = x GROUP BY x, k'),
  ('SELECT a.x, q.y, q.k FROM a LEFT JOIN (b FULL JOIN c ON b.x = c.k) q ON q.y = a.y AND q.k <> a.x'),
  ('SELECT * FROM a FULL JOIN b ON a.x = b.x WHERE a.y IS NULL OR b.y IS NULL'),
  ('SELECT * FROM (a FULL JOIN b ON a.x = b.x) LEFT JOIN c ON c.k = a.y + b.y'),
  -- groups
  ('SELECT x, count(*), count(y), sum(y), min(z), max(n), avg(y) FROM a GROUP BY x'),
  ('SELECT count(*), sum(x) FROM a'),
  ('SELECT count(*) FROM a WHERE false'),
  ('SELECT 1 FROM a HAVING count(*) > 2'),
  ('SELECT 1 FROM a HAVING true'),
  ('SELECT count(*) FROM a GROUP BY ()'),
  ('SELECT count(*) + 1'),
  ('SELECT x + 1, (x + 1) * count(*) FROM a GROUP BY x + 1 HAVING sum(y) > 1 OR x + 1 IS NULL'),
  ('SELECT a.z, b.w, count(DISTINCT a.x), count(DISTINCT b.x), sum(a.x) FILTER (WHERE b.y > 0) FROM a JOIN b ON a.y = b.y GROUP BY a.z, b.w'),
  ('SELECT a.x, count(b.x), bool_and(b.y > 0) FROM a LEFT JOIN b ON a.x = b.x GROUP BY a.x'),
  ('SELECT s.m, count(*) FROM (SELECT x, max(y) AS m FROM a GROUP BY x) s GROUP BY s.m'),
  ('SELECT coalesce(x, -1) AS k, count(*) FROM a GROUP BY 1 ORDER BY count(*), 1'),
  ('SELECT 1, ''t'', count(*) FROM a GROUP BY 1, 2'),
  ('SELECT max(x) FROM a GROUP BY y, y + 1'),
  -- DISTINCT, UNION, VALUES, WITH
  ('SELECT DISTINCT x, z FROM a'),
  ('SELECT DISTINCT n FROM a ORDER BY n'),
  ('SELECT DISTINCT count(*) FROM a GROUP BY x'),
  ('SELECT DISTINCT f FROM c'),
  ('SELECT DISTINCT 1 FROM a'),
  ('SELECT x FROM a UNION SELECT y FROM a UNION SELECT k FROM c'),
  ('SELECT x FROM a UNION ALL SELECT x FROM b UNION SELECT s FROM b'),
  ('SELECT x FROM a UNION (SELECT x FROM b UNION ALL SELECT y FROM b)'),
  ('SELECT z FROM a UNION ALL SELECT u FROM d UNION ALL SELECT NULL UNION ALL SELECT ''t'''),
  ('SELECT x, 1 FROM a UNION ALL SELECT 2.5, y FROM b ORDER BY 1'),
  ('SELECT FROM a UNION ALL SELECT FROM b'),
  ('SELECT FROM a UNION SELECT FROM b'),
  ('SELECT x, y FROM a INTERSECT SELECT x, y FROM b'),
  ('SELECT x, y FROM a EXCEPT SELECT y, x FROM b'),
  ('SELECT x FROM a INTERSECT ALL SELECT k FROM c'),
  ('SELECT x FROM a EXCEPT ALL SELECT s FROM b'),
  ('SELECT n FROM a EXCEPT SELECT f::numeric FROM c'),
  ('SELECT n FROM a EXCEPT ALL SELECT f::numeric FROM c'),
  ('SELECT f FROM c INTERSECT ALL SELECT n::float8 FROM a'),
  ('SELECT x, y FROM a UNION ALL SELECT x, y FROM b EXCEPT ALL SELECT x, y FROM d'),
  ('(SELECT x FROM a EXCEPT ALL SELECT x FROM b) INTERSECT (SELECT y FROM d UNION ALL SELECT k FROM c)'),
  ('SELECT x FROM a EXCEPT ALL (SELECT x FROM a INTERSECT ALL SELECT x FROM b)'),
  ('SELECT FROM a EXCEPT SELECT FROM b'),
  ('SELECT FROM a EXCEPT ALL SELECT FROM b'),
  ('SELECT FROM a INTERSECT ALL SELECT FROM b'),
  ('SELECT * FROM a WHERE x IN (SELECT x FROM b EXCEPT ALL SELECT y FROM b)'),
  ('VALUES (1, ''a''), (2, NULL), (2, NULL)'),
  ('SELECT a.x, t FROM a JOIN (VALUES (1, ''a''), (2, NULL), (1, upper(''b''))) v(n, t) ON v.n = a.x'),
  ('WITH q AS (SELECT x, count(*) AS n FROM a GROUP BY x) SELECT * FROM q q1 JOIN q q2 ON q1.n = q2.n'),
  ('WITH q AS (SELECT x FROM a), r AS (SELECT x FROM q WHERE x > 0) SELECT * FROM b WHERE x IN (SELECT x FROM r) AND NOT EXISTS (SELECT FROM q WHERE q.x = b.y)'),
  ('SELECT * FROM (SELECT x, y FROM a WHERE y > 0) s LEFT JOIN (SELECT DISTINCT x FROM b) t ON s.x = t.x'),
  ('SELECT s.q FROM (SELECT a.x / nullif(b.y, 0) AS q FROM a JOIN b ON a.x = b.x) s JOIN c ON c.k = s.q');
-- functional dependency; types without equality
INSERT INTO queries (query, as_text) VALUES
  ('SELECT p.*, count(*) FROM p LEFT JOIN a ON a.x = p.id GROUP BY p.id', true),
  ('SELECT p.j, p.x + count(a.x), p.pt FROM a LEFT JOIN p ON a.x = p.id GROUP BY p.id HAVING p.x > 0', true),
  ('SELECT a.x, p.j, p.pt FROM a LEFT JOIN p ON a.y = p.id WHERE a.x NOT IN (SELECT x FROM b)', true),
  ('SELECT j FROM p UNION ALL SELECT NULL', true);

-- eight fillings of the tables; nothing may be wrong
DO $$
DECLARE
  q queries;
  message text;
BEGIN
  PERFORM setseed(0.42);
  FOR i IN 1..8 LOOP
    CALL fill();
    FOR q IN SELECT * FROM queries ORDER BY id LOOP
      message := wrong(q.query, q.as_text);
      IF message IS NOT NULL THEN
        RAISE WARNING '%: %', q.query, message;
        DELETE FROM queries WHERE id = q.id;
      END IF;
    END LOOP;
  END LOOP;
END
$$;
SELECT count(*) || ' queries are right' FROM queries;

DROP TABLE queries;
DROP FUNCTION wrong;
DROP PROCEDURE fill;
DROP FUNCTION pick;
TRUNCATE a, b, c, d, p;
