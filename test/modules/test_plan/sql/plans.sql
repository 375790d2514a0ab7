--
-- What queries become.
--
\pset format unaligned
\pset tuples_only on

-- one level is one join; conditions filter inputs if they raise no errors
SELECT test_lower('SELECT c.region, o.amount FROM customers c JOIN orders o ON o.customer = c.id WHERE c.region = ''north'' AND o.amount > 3 AND o.amount * 2 > 9 AND o.day < ''2024-01-01''');
SELECT test_lower('SELECT i.price FROM customers c, orders o, items i WHERE c.id = o.customer AND o.id = i.order_id AND c.id + i.product = 3');
SELECT test_lower('SELECT * FROM a NATURAL JOIN b');
SELECT test_lower('SELECT a1.x FROM a a1 JOIN a a2 USING (x) JOIN a a3 USING (x)');
SELECT test_lower('SELECT a.x FROM a, b WHERE a.x IS NOT DISTINCT FROM b.x');
SELECT test_lower('SELECT a.x FROM a, c WHERE a.x = c.k AND (a.y = 1 AND c.v = ''p'' OR a.y = 1 AND c.v = ''q'')');
-- but what a lookup's expression needs comes first where that can raise an error
SELECT test_lower('SELECT o.id FROM orders o, items i WHERE length(o.status) > 4 AND substr(o.status, 5)::int = i.product');
-- subqueries and views join in
CREATE VIEW big AS SELECT o.id, o.customer, o.amount * 2 AS twice FROM orders o WHERE o.amount > 10;
SELECT test_lower('SELECT c.name, s.twice FROM customers c JOIN (SELECT * FROM big WHERE twice > 50) s ON s.customer = c.id');
-- unless their columns would be computed too early, or twice
SELECT test_lower('SELECT s.q FROM (SELECT a.x / b.y AS q FROM a, b WHERE a.x = b.x AND b.y > 0) s JOIN c ON c.k = s.q');
-- what is computed below a join is computed above it, where fewer rows get there
SELECT test_lower('SELECT s.q, b.w FROM (SELECT 1 / x AS q, y FROM a WHERE z = ''p'') s JOIN b ON s.y = b.x');
SELECT test_lower('SELECT s.q, s.q + 1 FROM (SELECT a.x / a.y AS q FROM a WHERE a.y > 0) s');
-- no FROM, VALUES, constants
SELECT test_lower('SELECT 1 AS one, ''x'' AS x');
SELECT test_lower('SELECT 1 WHERE false');
SELECT test_lower('VALUES (1, ''a''), (2, NULL)');
SELECT test_lower('SELECT v.n, a.x FROM a JOIN (VALUES (1, ''a''), (2, NULL)) v(n, t) ON v.n = a.x');
SELECT test_lower('SELECT * FROM (VALUES (1, to_char(1, ''9'')), (2, NULL)) v');
-- a limit that is none
SELECT test_lower('SELECT x FROM a ORDER BY y LIMIT ALL OFFSET 0');

-- outer joins
SELECT test_lower('SELECT c.name, o.amount FROM customers c LEFT JOIN orders o ON o.customer = c.id');
SELECT test_lower('SELECT c.name, o.amount FROM orders o RIGHT JOIN customers c ON o.customer = c.id AND o.amount > 10 AND c.region = ''north''');
SELECT test_lower('SELECT a.x, b.y, c.v FROM a LEFT JOIN b ON b.x = a.x LEFT JOIN c ON c.k = b.y');
SELECT test_lower('SELECT a.x, b.y FROM a LEFT JOIN b ON true');
-- keys of two inputs, keys that can raise an error
SELECT test_lower('SELECT a.x, d.y FROM a JOIN b ON a.x = b.x LEFT JOIN d ON d.x = a.y + b.y');
SELECT test_lower('SELECT a.x, d.y FROM a LEFT JOIN d ON d.x = a.x / a.y WHERE a.y <> 0');
-- conditions above that a row of NULLs does not pass make it an inner join
SELECT test_lower('SELECT a.x, b.y FROM a LEFT JOIN b ON b.x = a.x WHERE b.y = 1');
SELECT test_lower('SELECT a.x, c.k FROM a LEFT JOIN (b LEFT JOIN c ON c.k = b.y) ON b.x = a.x AND c.v = ''p''');
SELECT test_lower('SELECT a.x, b.y FROM a FULL JOIN b ON a.x = b.x WHERE a.y = 1 AND b.y = 1');
SELECT test_lower('SELECT a.x, b.y FROM a FULL JOIN b ON a.x = b.x WHERE b.y = 1');

-- EXISTS and IN
SELECT test_lower('SELECT x FROM a WHERE EXISTS (SELECT * FROM b WHERE b.x = a.x AND b.y > 2)');
SELECT test_lower('SELECT x FROM a WHERE EXISTS (SELECT 1 FROM b LIMIT 1)');
SELECT test_lower('SELECT x FROM a WHERE NOT EXISTS (SELECT FROM b)');
SELECT test_lower('SELECT a.x FROM a JOIN c ON c.k = a.x WHERE NOT EXISTS (SELECT FROM b JOIN d ON d.x = b.y AND d.y = a.y WHERE b.x = a.x)');
SELECT test_lower('SELECT a.x FROM a JOIN c ON c.k = a.x WHERE NOT EXISTS (SELECT FROM b WHERE b.x = a.x AND b.y = c.k)');
SELECT test_lower('SELECT x FROM a WHERE x IN (SELECT DISTINCT k FROM c WHERE c.v = a.z ORDER BY k)');
SELECT test_lower('SELECT x FROM a WHERE x NOT IN (SELECT s FROM b)');
SELECT test_lower('SELECT x FROM a WHERE (x, y) NOT IN (SELECT x, y FROM b WHERE b.w = a.z)');
SELECT test_lower('SELECT x FROM a WHERE EXISTS (SELECT FROM b WHERE b.x = a.x AND 1 / a.y = 1)');
SELECT test_lower('SELECT x FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.x = a.x AND a.y = 1)');
SELECT test_lower('SELECT x FROM a WHERE x IN (SELECT max(k) FROM c GROUP BY v)');

-- groups
SELECT test_lower('SELECT c.region, count(*) AS orders, sum(o.amount) AS total FROM orders o JOIN customers c ON c.id = o.customer GROUP BY c.region HAVING count(*) > 1 ORDER BY total');
SELECT test_lower('SELECT x + 1, (x + 1) * 2, count(DISTINCT y), sum(y) FILTER (WHERE z = ''p'') FROM a GROUP BY x + 1');
SELECT test_lower('SELECT count(*), max(x) FROM a');
SELECT test_lower('SELECT count(*) FROM a GROUP BY ()');
SELECT test_lower('SELECT 1 FROM a HAVING true');
SELECT test_lower('SELECT c.*, count(o.id) FROM customers c LEFT JOIN orders o ON o.customer = c.id GROUP BY c.id');
SELECT test_lower('SELECT DISTINCT region FROM customers');
SELECT test_lower('SELECT DISTINCT x, count(*) FROM a GROUP BY x, y');

-- UNION
SELECT test_lower('SELECT x FROM a UNION SELECT k FROM c UNION ALL SELECT s FROM b');
SELECT test_lower('SELECT x FROM a UNION (SELECT y FROM a UNION ALL SELECT y FROM b)');
SELECT test_lower('SELECT x, NULL FROM a UNION ALL SELECT x, ''t'' FROM b');

-- WITH: computed once
SELECT test_lower('WITH t AS (SELECT region, count(*) AS n FROM customers GROUP BY region), unused AS (SELECT random()) SELECT t1.region FROM t t1 JOIN t t2 ON t1.n = t2.n WHERE t1.region <> t2.region');
SELECT test_lower('WITH t AS MATERIALIZED (SELECT x FROM a) SELECT * FROM b WHERE x IN (SELECT x FROM t)');

-- and what turns out to be the same
CREATE VIEW sizes AS SELECT region, count(*) AS n FROM customers GROUP BY region;
SELECT test_lower('SELECT s1.region FROM sizes s1 JOIN sizes s2 ON s1.n = s2.n WHERE s1.region <> s2.region');

-- views over maintained views
CREATE MATERIALIZED VIEW totals USING ddir AS SELECT customer, sum(amount) AS total FROM orders GROUP BY customer;
SELECT test_lower('SELECT c.name, t.total FROM totals t JOIN customers c ON c.id = t.customer');
SELECT test_facts('SELECT c.name, t.total FROM totals t JOIN big ON true JOIN customers c ON c.id = t.customer');

DROP MATERIALIZED VIEW totals;
DROP VIEW big, sizes;
-- INTERSECT and EXCEPT
SELECT test_lower('SELECT x FROM a INTERSECT SELECT x FROM b');
SELECT test_lower('SELECT x FROM a UNION (SELECT x FROM b EXCEPT ALL SELECT y FROM b)');
SELECT test_lower('SELECT n FROM a INTERSECT ALL SELECT n FROM a WHERE x = 1');

-- outer joins on any condition, subqueries as values, LATERAL, grouping sets
SELECT test_lower('SELECT x, y, count(*) FROM a GROUP BY ROLLUP (x, y)');
SELECT test_lower('SELECT x, GROUPING(x) FROM a GROUP BY x');
SELECT test_lower('SELECT * FROM a, LATERAL (SELECT * FROM b WHERE b.x = a.x) s');
SELECT test_lower('SELECT * FROM a, LATERAL (VALUES (a.x)) s');
SELECT test_lower('SELECT * FROM a FULL JOIN b ON a.x = b.x');
SELECT test_lower('SELECT * FROM a FULL JOIN b ON a.x = b.x WHERE a.y IS NULL');
SELECT test_lower('SELECT * FROM a LEFT JOIN b ON a.x < b.x');
SELECT test_lower('SELECT * FROM a LEFT JOIN b ON a.x = b.x AND a.y + b.y = 2');
SELECT test_lower('SELECT * FROM a LEFT JOIN b ON a.x = b.x OR a.y = b.y');
SELECT test_lower('SELECT * FROM a LEFT JOIN b ON a.x = b.x AND EXISTS (SELECT FROM c WHERE c.k = a.y)');
SELECT test_lower('SELECT * FROM orders o LEFT JOIN people p ON o.day = p.born::timestamp');
SELECT test_lower('SELECT x, (SELECT max(y) FROM b) FROM a');
SELECT test_lower('SELECT x FROM a WHERE y > (SELECT avg(y) FROM b WHERE b.x = a.x)');
SELECT test_lower('SELECT ARRAY(SELECT x FROM b) FROM a');
SELECT test_lower('SELECT EXISTS (SELECT FROM b) FROM a');
SELECT test_lower('SELECT * FROM a WHERE x = 1 OR EXISTS (SELECT FROM b WHERE b.x = a.x)');
SELECT test_lower('SELECT * FROM a WHERE x = 1 OR y IN (SELECT y FROM b)');
SELECT test_lower('SELECT * FROM a WHERE (x IN (SELECT x FROM b)) IS NOT TRUE');
SELECT test_lower('SELECT x, count(*) FROM a GROUP BY x HAVING x IN (SELECT x FROM b)');
SELECT test_lower('SELECT sum(CASE WHEN x IN (SELECT x FROM b) THEN 1 END) FROM a');
SELECT test_lower('SELECT * FROM (VALUES ((SELECT 1))) v');
SELECT test_lower('SELECT * FROM a WHERE x > ANY (SELECT x FROM b)');
SELECT test_lower('SELECT * FROM a WHERE x = ALL (SELECT x FROM b)');
SELECT test_lower('SELECT * FROM a WHERE x <> ANY (SELECT x FROM b)');
SELECT test_lower('SELECT * FROM a WHERE (x, y) < (SELECT 1, 2)');
SELECT test_lower('SELECT * FROM a WHERE EXISTS (SELECT FROM b WHERE b.x > a.x)');
SELECT test_lower('SELECT * FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.x = a.x AND b.y + a.y = 2)');
SELECT test_lower('SELECT * FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.x = a.x AND 1 / a.y > 0)');
SELECT test_lower('SELECT * FROM a WHERE y IN (SELECT b.y + a.x FROM b)');
SELECT test_lower('SELECT * FROM a WHERE EXISTS (SELECT FROM b WHERE EXISTS (SELECT FROM c WHERE c.k = a.x))');
SELECT test_lower('SELECT * FROM a WHERE EXISTS (SELECT FROM b LEFT JOIN c ON c.k = a.x)');
SELECT test_lower('SELECT * FROM a WHERE EXISTS (SELECT FROM (SELECT FROM b WHERE b.x = a.x) s)');
SELECT test_lower('SELECT * FROM a WHERE x IN (SELECT max(x) FROM b WHERE b.y = a.y)');
SELECT test_lower('SELECT * FROM a WHERE x IN (SELECT x FROM b WHERE b.y = a.y UNION SELECT 1)');
SELECT test_lower('SELECT * FROM a WHERE (x, y, x, y, x) NOT IN (SELECT x, y, x, y, s FROM b)');
CREATE TABLE parted (x int, y int) PARTITION BY LIST (x);
CREATE TABLE parted_1 (y int, x int);
ALTER TABLE parted ATTACH PARTITION parted_1 FOR VALUES IN (1);
CREATE TABLE parent (x int);
CREATE TABLE child (z int, y int, x int);
ALTER TABLE child INHERIT parent;
CREATE TABLE grandchild () INHERITS (child);
SELECT test_lower('SELECT x FROM parted WHERE y = 1');
SELECT test_lower('SELECT x FROM ONLY parted');
SELECT test_lower('SELECT x FROM parted_1');
SELECT test_lower('SELECT x FROM parent WHERE x > 1');
SELECT test_lower('SELECT x FROM ONLY parent');
SELECT test_lower('SELECT x FROM child');
SELECT test_lower('SELECT a.x FROM parent AS a JOIN parent AS b USING (x)');
DROP TABLE parted, parent CASCADE;
CREATE TABLE documents (id int PRIMARY KEY, parts json[]);
SELECT test_lower('SELECT d.*, count(*) FROM documents d JOIN a ON a.x = d.id GROUP BY d.id');
DROP TABLE documents;
-- a row per binding; no cross product for what is referred to
SELECT test_lower('SELECT a.x, s.m FROM a, b, LATERAL (SELECT max(k) AS m FROM c WHERE c.k > a.y AND c.k < b.y) s WHERE a.x = b.x');
SELECT test_lower('SELECT c.k FROM c JOIN (a JOIN b ON a.x = b.x AND NOT EXISTS (SELECT FROM d WHERE d.x = a.y AND d.y = b.y)) ON c.k = a.x');
SELECT test_facts('SELECT x, (SELECT k FROM c WHERE c.k = a.x) FROM a');
SELECT test_lower('SELECT x, (SELECT k FROM c WHERE c.k = a.x) FROM a');
SELECT test_lower('SELECT x, CASE WHEN y > 0 THEN (SELECT sum(10 / c.k) FROM c WHERE c.v = a.z) END FROM a');
