--
-- How joins are made: one delta join, or binary joins where those take less;
-- and what ddir.explain says of it.
--
CREATE TABLE customers (id int PRIMARY KEY, region int, name text);
CREATE TABLE orders (id int PRIMARY KEY, customer int, product int, note text);
CREATE TABLE products (id int PRIMARY KEY, kind int, name text);
INSERT INTO customers SELECT g, g % 100, 'customer ' || g FROM generate_series(1, 1000) g;
INSERT INTO products SELECT g, g % 5, 'product ' || g FROM generate_series(1, 500) g;
INSERT INTO orders SELECT g, g % 1000 + 1, g * 7 % 500 + 1, 'note ' || g FROM generate_series(1, 20000) g;
ANALYZE customers, orders, products;

-- operators without their numbers, and the kinds of joins with them compared
CREATE FUNCTION masked(plan text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT regexp_replace(regexp_replace(line, '[0-9.]+ (bytes|kB|MB|rows)', 'N', 'g'), 'N(, N)*( \(estimated: N, N\))?', 'N', 'g')
	  FROM string_to_table(plan, E'\n') WITH ORDINALITY l(line, n) WHERE line ~ '^ *(arrange|delta|binary|path|agg|map|anti|distinct)' ORDER BY n
$$;

-- all rows of all tables: each result once
SELECT masked(plan) FROM ddir.explain_query(
	'SELECT c.name, o.note, p.name AS product FROM customers c, orders o, products p
	  WHERE o.customer = c.id AND o.product = p.id AND o.id + c.region > 0');
-- few customers leave few of their orders: those are arranged by product
SELECT masked(plan) FROM ddir.explain_query(
	'SELECT c.name, o.note, p.name AS product FROM customers c, orders o, products p
	  WHERE o.customer = c.id AND o.product = p.id AND c.region = 7');
-- two relations: the same either way
SELECT masked(plan) FROM ddir.explain_query(
	'SELECT c.name, o.note FROM customers c JOIN orders o ON o.customer = c.id WHERE c.region = 7');

CREATE MATERIALIZED VIEW few USING ddir AS
	SELECT c.name, o.note, p.name AS product FROM customers c, orders o, products p
	 WHERE o.customer = c.id AND o.product = p.id AND c.region = 7;
SELECT ddir.wait();
SELECT masked(ddir.explain('few'));

-- what is there already costs nothing, so another view may be made otherwise
CREATE MATERIALIZED VIEW by_product USING ddir AS
	SELECT p.kind, count(*), max(o.note), min(o.customer) FROM orders o JOIN products p ON o.product = p.id GROUP BY p.kind;
SELECT ddir.wait();
SELECT masked(plan) FROM ddir.explain_query(
	'SELECT c.name, o.note, p.name AS product FROM customers c, orders o, products p
	  WHERE o.customer = c.id AND o.product = p.id AND c.region = 7');
CREATE MATERIALIZED VIEW few_again USING ddir AS
	SELECT c.name, o.note, p.name AS product FROM customers c, orders o, products p
	 WHERE o.customer = c.id AND o.product = p.id AND c.region = 7;
SELECT ddir.wait();
SELECT masked(ddir.explain('few_again'));
-- the one that runs is not remade
SELECT substring(ddir.explain('few') FROM '\w+ joins? of \d') AS few, substring(ddir.explain('few_again') FROM '\w+ joins? of \d') AS few_again;

-- one view's columns serve both sides of a join with itself
SELECT masked(plan) FROM ddir.explain_query(
	'SELECT a.note, b.product FROM orders a JOIN orders b ON a.customer = b.customer');

-- changes go through both kinds
BEGIN;
UPDATE orders SET product = product % 500 + 1 WHERE customer = 8;
UPDATE customers SET region = 7 WHERE id IN (3, 4);
DELETE FROM customers WHERE id = 108;
INSERT INTO products VALUES (501, 1, 'new'), (502, 1, 'new');
UPDATE orders SET product = 501 WHERE customer = 208 AND id % 2 = 0;
COMMIT;
SELECT ddir.wait();
SELECT count(*), count(DISTINCT product) FROM few;
SELECT * FROM ddir.check('few');
SELECT * FROM ddir.check('few_again');
SELECT * FROM ddir.check('by_product');
SELECT (SELECT count(*) FROM (TABLE few EXCEPT ALL TABLE few_again) d) AS differences;

-- statistics that change later change nothing that runs
ANALYZE customers, orders, products;
SELECT substring(ddir.explain('few') FROM '\w+ joins? of \d') AS few, substring(ddir.explain('few_again') FROM '\w+ joins? of \d') AS few_again;

-- estimates are about what it takes
SELECT sum((j ->> 'estimated_bytes')::numeric) BETWEEN sum((j ->> 'bytes')::numeric) / 2 AND sum((j ->> 'bytes')::numeric) * 2 AS about_right
  FROM jsonb_array_elements(ddir.explain('by_product', 'json')::jsonb -> 'dataflow') j;
SELECT state_bytes BETWEEN 1000000 AND 2000000 AS new, plan ~ 'orders by \(note\): new, about 20000 rows' AS rows
  FROM ddir.explain_query('SELECT a.customer, b.product FROM orders a JOIN orders b ON a.note = b.note');

-- as JSON: the query, and what runs
SELECT jsonb_object_keys(e) FROM (SELECT ddir.explain('few', 'JSON')::jsonb AS e) x ORDER BY 1;
SELECT e -> 'view' AS view, e -> 'state' AS state, e #> '{query,operator}' AS root,
	   jsonb_path_query_array(e, '$.query.inputs[*].text') AS inputs
  FROM (SELECT ddir.explain('few', 'json')::jsonb AS e) x;
SELECT j ->> 'operator' AS operator, j ->> 'text' AS text, j -> 'shared' AS shared,
	   (j ->> 'rows')::int > 0 AS rows, (j ->> 'bytes')::int > 0 AS bytes,
	   (j ->> 'estimated_rows')::int > 0 AS estimated_rows, (j ->> 'estimated_bytes')::int > 0 AS estimated_bytes,
	   (j ->> 'binary_joins_bytes')::int < (j ->> 'delta_join_bytes')::int AS binary_is_less,
	   jsonb_array_length(j -> 'parts') AS parts
  FROM jsonb_array_elements(ddir.explain('few_again', 'json')::jsonb -> 'dataflow') j;
CREATE MATERIALIZED VIEW quoted USING ddir AS SELECT name || '"\' AS "a""b" FROM products WHERE name <> '"x\';
SELECT ddir.wait();
SELECT ddir.explain('quoted', 'json')::jsonb #>> '{query,text}';
SELECT ddir.explain('few', 'yaml');

-- a correlated aggregate is computed for the values asked for, where these are few; then and where they are many
CREATE MATERIALIZED VIEW few_asked USING ddir AS
	SELECT c.id, c.region, (SELECT count(*) FROM orders o WHERE o.customer = c.id) AS orders,
		(SELECT max(product) FROM orders o WHERE o.customer = c.id HAVING count(*) > 19) AS product
	  FROM customers c WHERE c.region = 8;
CREATE MATERIALIZED VIEW all_asked USING ddir AS
	SELECT c.id, c.region, (SELECT count(*) FROM orders o WHERE o.customer = c.id) AS orders FROM customers c;
SELECT ddir.wait();
SELECT masked(ddir.explain('few_asked'));
SELECT masked(ddir.explain('all_asked'));
BEGIN;
UPDATE orders SET customer = customer % 1000 + 1 WHERE id % 7 = 0;
UPDATE customers SET region = 8 - region WHERE region IN (0, 8);
INSERT INTO customers VALUES (2001, 8, 'without orders');
COMMIT;
INSERT INTO orders VALUES (90001, 2001, 1, '');
SELECT ddir.wait();
SELECT count(*), sum(orders), count(product) FROM few_asked;
SELECT count(*), sum(orders) FROM all_asked;
SELECT * FROM ddir.check('few_asked');
SELECT * FROM ddir.check('all_asked');

-- a value of the rows around that several subqueries are told: those are joined first, as they are few
CREATE TABLE told (id int, k numeric);
CREATE TABLE told_of (id int PRIMARY KEY, k int8, n int8);
INSERT INTO told VALUES (1, 1), (2, 2.0), (2, 2.00), (3, 2), (4, NULL), (9, 9), (10, 9.0), (12, 12);
INSERT INTO told_of VALUES (1, 1, 1), (2, 2, 4), (3, 3, 9), (4, 9, 1), (5, 9, 9), (9, NULL, 0), (12, 12, 12);
UPDATE pg_class SET relpages = 1, reltuples = 300000 WHERE oid = 'told'::regclass;
UPDATE pg_class SET relpages = 1, reltuples = 30000 WHERE oid = 'told_of'::regclass;
CREATE MATERIALIZED VIEW all_told USING ddir AS
	SELECT a.n, a.k FROM (SELECT t.k, o.n FROM told_of o JOIN told t ON o.k = t.k CROSS JOIN told_of) a
	 WHERE a.n > (SELECT count(*) FROM told_of WHERE a.k = 2) AND EXISTS (SELECT FROM told WHERE told.id = a.n)
	   AND (a.k IN (SELECT id FROM told_of WHERE n = 1) OR a.n > 8);
SELECT ddir.wait();
SELECT ddir.explain('all_told') ~ 'binary joins of 4' AS by_binary_joins;
DELETE FROM told_of WHERE id IN (1, 3);
UPDATE told SET k = k + 0.00 WHERE id < 10;
SELECT ddir.wait();
SELECT *, count(*) FROM all_told GROUP BY n, k ORDER BY n, k::text;
SELECT * FROM ddir.check('all_told');

-- what is not maintained has no plan
SELECT maintained, plan IS NULL AS no_plan, state_bytes IS NULL AS no_bytes
  FROM ddir.explain_query('SELECT random() FROM orders');

DROP MATERIALIZED VIEW few, few_again, by_product, quoted, few_asked, all_asked, all_told;
DROP TABLE customers, orders, products, told, told_of;
DROP FUNCTION masked;
