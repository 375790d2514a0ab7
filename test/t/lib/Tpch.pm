# Tpch: the data and the queries of TPC-H, for tests and benchmarks.
#
#	Tpch::load($seed, $scale)	SQL that makes and fills the eight tables
#	Tpch::query($n, ...)		query n; parameters other than the usual ones
#	Tpch::churn($seed, $turn, $percent)	SQL of a transaction: so many percent of all
#								orders, with their lines, go and others come
#	Tpch::more($seed, $turn)	SQL of a transaction that changes rows of all tables
#
# Rows are made from the seed alone, by hashes, with the distributions of the
# specification where queries depend on them: dates, flags, prices, who supplies
# what, customers without orders.  Scale 1 has six million lines.

package Tpch;

use strict;
use warnings;

# what queries are asked with; the tests, which have few rows, ask some others
my %parameters = (fraction => 0.0001, quantity => 300, color => 'green', size => 15, nation => 'CANADA');

my $schema = <<'SQL';
CREATE TABLE region (r_regionkey int PRIMARY KEY, r_name char(25) NOT NULL, r_comment varchar(152));
CREATE TABLE nation (n_nationkey int PRIMARY KEY, n_name char(25) NOT NULL, n_regionkey int NOT NULL, n_comment varchar(152));
CREATE TABLE part (p_partkey int PRIMARY KEY, p_name varchar(55) NOT NULL, p_mfgr char(25) NOT NULL, p_brand char(10) NOT NULL,
	p_type varchar(25) NOT NULL, p_size int NOT NULL, p_container char(10) NOT NULL, p_retailprice numeric(12,2) NOT NULL, p_comment varchar(23) NOT NULL);
CREATE TABLE supplier (s_suppkey int PRIMARY KEY, s_name char(25) NOT NULL, s_address varchar(40) NOT NULL, s_nationkey int NOT NULL,
	s_phone char(15) NOT NULL, s_acctbal numeric(12,2) NOT NULL, s_comment varchar(101) NOT NULL);
CREATE TABLE partsupp (ps_partkey int, ps_suppkey int, ps_availqty int NOT NULL, ps_supplycost numeric(12,2) NOT NULL, ps_comment varchar(199) NOT NULL,
	PRIMARY KEY (ps_partkey, ps_suppkey));
CREATE TABLE customer (c_custkey int PRIMARY KEY, c_name varchar(25) NOT NULL, c_address varchar(40) NOT NULL, c_nationkey int NOT NULL,
	c_phone char(15) NOT NULL, c_acctbal numeric(12,2) NOT NULL, c_mktsegment char(10) NOT NULL, c_comment varchar(117) NOT NULL);
CREATE TABLE orders (o_orderkey bigint PRIMARY KEY, o_custkey int NOT NULL, o_orderstatus char(1) NOT NULL, o_totalprice numeric(12,2) NOT NULL,
	o_orderdate date NOT NULL, o_orderpriority char(15) NOT NULL, o_clerk char(15) NOT NULL, o_shippriority int NOT NULL, o_comment varchar(79) NOT NULL);
CREATE TABLE lineitem (l_orderkey bigint, l_partkey int NOT NULL, l_suppkey int NOT NULL, l_linenumber int, l_quantity numeric(12,2) NOT NULL,
	l_extendedprice numeric(12,2) NOT NULL, l_discount numeric(12,2) NOT NULL, l_tax numeric(12,2) NOT NULL, l_returnflag char(1) NOT NULL, l_linestatus char(1) NOT NULL,
	l_shipdate date NOT NULL, l_commitdate date NOT NULL, l_receiptdate date NOT NULL, l_shipinstruct char(25) NOT NULL, l_shipmode char(10) NOT NULL,
	l_comment varchar(44) NOT NULL, PRIMARY KEY (l_orderkey, l_linenumber));
CREATE SCHEMA gen;
CREATE TABLE gen.size (seed bigint, supplier int, part int, customer int, orders bigint);
-- a number from lo to hi, of row i of a stream
CREATE FUNCTION gen.number(stream bigint, i bigint, lo bigint, hi bigint) RETURNS bigint IMMUTABLE LANGUAGE sql AS
$$ SELECT lo + (hashint8extended(i, stream) & 9007199254740991) % (hi - lo + 1) $$;
CREATE FUNCTION gen.word(stream bigint, i bigint, VARIADIC words text[]) RETURNS text IMMUTABLE LANGUAGE sql AS
$$ SELECT words[gen.number(stream, i, 1, cardinality(words))] $$;
CREATE FUNCTION gen.words(stream bigint, i bigint) RETURNS text IMMUTABLE LANGUAGE sql AS
$$ SELECT concat_ws(' ', gen.word(stream, 3 * i, 'quick', 'special', 'even', 'Customer', 'final', 'bold', 'silent', 'express'),
                    gen.word(stream, 3 * i + 1, 'deposits', 'packages', 'accounts', 'theodolites', 'ideas', 'pinto beans'),
                    gen.word(stream, 3 * i + 2, 'sleep', 'requests', 'nag', 'Complaints', 'haggle', 'wake', 'boost')) $$;
-- the supplier number n of 4 of a part
CREATE FUNCTION gen.supplier_of(part bigint, n bigint, suppliers bigint) RETURNS int IMMUTABLE LANGUAGE sql AS
$$ SELECT ((part + n * (suppliers / 4 + (part - 1) / suppliers)) % suppliers + 1)::int $$;
CREATE FUNCTION gen.price(part bigint) RETURNS numeric IMMUTABLE LANGUAGE sql AS
$$ SELECT (90000 + (part / 10) % 20001 + 100 * (part % 1000)) / 100.0 $$;
CREATE FUNCTION gen.phone(stream bigint, i bigint, nation int) RETURNS text IMMUTABLE LANGUAGE sql AS
$$ SELECT format('%s-%s-%s-%s', nation + 10, gen.number(stream, i, 100, 999), gen.number(stream + 1, i, 100, 999), gen.number(stream + 2, i, 1000, 9999)) $$;
-- orders of these numbers, and their lines
CREATE FUNCTION gen.add_orders(lo bigint, hi bigint) RETURNS void LANGUAGE plpgsql AS
$$
DECLARE
	g gen.size;
BEGIN
	SELECT * INTO g FROM gen.size;
	INSERT INTO lineitem
	SELECT o, part, gen.supplier_of(part, gen.number(g.seed + 32, l, 0, 3), g.supplier), n, quantity, quantity * gen.price(part),
	       gen.number(g.seed + 33, l, 0, 10) / 100.0, gen.number(g.seed + 34, l, 0, 8) / 100.0,
	       CASE WHEN ship + received > '1995-06-17' THEN 'N' ELSE gen.word(g.seed + 35, l, 'R', 'A') END, CASE WHEN ship > '1995-06-17' THEN 'O' ELSE 'F' END,
	       ship, day + gen.number(g.seed + 36, l, 30, 90)::int, ship + received,
	       gen.word(g.seed + 37, l, 'DELIVER IN PERSON', 'COLLECT COD', 'NONE', 'TAKE BACK RETURN'),
	       gen.word(g.seed + 38, l, 'REG AIR', 'AIR', 'RAIL', 'SHIP', 'TRUCK', 'MAIL', 'FOB'), gen.words(g.seed + 39, l)
	  FROM generate_series(lo, hi) o, generate_series(1, gen.number(g.seed + 40, o, 1, 7)) n,
	       LATERAL (SELECT 8 * o + n AS l) i,
	       LATERAL (SELECT '1992-01-01'::date + gen.number(g.seed + 41, o, 0, 2405)::int AS day) d,
	       LATERAL (SELECT gen.number(g.seed + 30, l, 1, g.part) AS part, gen.number(g.seed + 31, l, 1, 50) AS quantity,
	                       day + gen.number(g.seed + 42, l, 1, 121)::int AS ship, gen.number(g.seed + 43, l, 1, 30)::int AS received) s;
	INSERT INTO orders
	SELECT l_orderkey, CASE WHEN customer % 3 = 0 THEN greatest(customer - 1, 1) ELSE customer END,
	       CASE WHEN every(l_linestatus = 'F') THEN 'F' WHEN every(l_linestatus = 'O') THEN 'O' ELSE 'P' END,
	       sum(round(l_extendedprice * (1 + l_tax) * (1 - l_discount), 2)), '1992-01-01'::date + gen.number(g.seed + 41, l_orderkey, 0, 2405)::int,
	       gen.word(g.seed + 51, l_orderkey, '1-URGENT', '2-HIGH', '3-MEDIUM', '4-NOT SPECIFIED', '5-LOW'),
	       'Clerk#' || gen.number(g.seed + 52, l_orderkey, 1, 1000), 0, gen.words(g.seed + 53, l_orderkey)
	  FROM lineitem, LATERAL (SELECT gen.number(g.seed + 50, l_orderkey, 1, g.customer)::int AS customer) c
	 WHERE l_orderkey BETWEEN lo AND hi GROUP BY l_orderkey, customer;
	UPDATE gen.size SET orders = greatest(orders, hi);
END
$$;
SQL

my $fill = <<'SQL';
INSERT INTO gen.size VALUES (:seed * 1000, greatest(10000 * :scale, 20), greatest(200000 * :scale, 40), greatest(150000 * :scale, 30), 0);
INSERT INTO region SELECT n - 1, name, 'region ' || n FROM unnest('{AFRICA,AMERICA,ASIA,EUROPE,MIDDLE EAST}'::text[]) WITH ORDINALITY u(name, n);
INSERT INTO nation SELECT n - 1, split_part(name, '/', 1), split_part(name, '/', 2)::int, 'nation ' || n FROM
	unnest('{ALGERIA/0,ARGENTINA/1,BRAZIL/1,CANADA/1,EGYPT/4,ETHIOPIA/0,FRANCE/3,GERMANY/3,INDIA/2,INDONESIA/2,IRAN/4,IRAQ/4,JAPAN/2,JORDAN/4,KENYA/0,MOROCCO/0,MOZAMBIQUE/0,PERU/1,CHINA/2,ROMANIA/3,SAUDI ARABIA/4,VIETNAM/2,RUSSIA/3,UNITED KINGDOM/3,UNITED STATES/1}'::text[])
	WITH ORDINALITY u(name, n);
INSERT INTO part
SELECT i, concat_ws(' ', gen.word(seed, 5 * i, VARIADIC colors), gen.word(seed, 5 * i + 1, VARIADIC colors), gen.word(seed, 5 * i + 2, VARIADIC colors)),
       'Manufacturer#' || m, 'Brand#' || m || gen.number(seed + 2, i, 1, 5),
       concat_ws(' ', gen.word(seed + 3, i, 'STANDARD', 'SMALL', 'MEDIUM', 'LARGE', 'ECONOMY', 'PROMO'),
                 gen.word(seed + 4, i, 'ANODIZED', 'BURNISHED', 'PLATED', 'POLISHED', 'BRUSHED'), gen.word(seed + 5, i, 'TIN', 'NICKEL', 'BRASS', 'STEEL', 'COPPER')),
       gen.number(seed + 6, i, 1, 50),
       gen.word(seed + 7, i, 'SM', 'LG', 'MED', 'JUMBO', 'WRAP') || ' ' || gen.word(seed + 8, i, 'CASE', 'BOX', 'BAG', 'JAR', 'PKG', 'PACK', 'CAN', 'DRUM'),
       gen.price(i), gen.word(seed + 9, i, 'ironic', 'furious', 'slow')
  FROM gen.size, generate_series(1, part) i, LATERAL (SELECT gen.number(seed + 1, i, 1, 5) AS m) m,
       (SELECT '{almond,azure,beige,blue,chocolate,coral,cyan,forest,gold,green,ivory,khaki,lace,linen,magenta,navy,olive,orange,peru,pink,plum,red,rose,salmon,snow,tan,violet,white}'::text[] AS colors) c;
INSERT INTO supplier
SELECT i, 'Supplier#' || lpad(i::text, 9, '0'), 'street ' || gen.number(seed + 10, i, 1, 999), nation, gen.phone(seed + 11, i, nation),
       gen.number(seed + 14, i, -99999, 999999) / 100.0, gen.words(seed + 15, i)
  FROM gen.size, generate_series(1, supplier) i, LATERAL (SELECT gen.number(seed + 16, i, 0, 24)::int AS nation) n;
INSERT INTO partsupp
SELECT i, gen.supplier_of(i, n, supplier), gen.number(seed + 17, 4 * i + n, 1, 9999), gen.number(seed + 18, 4 * i + n, 100, 100000) / 100.0, gen.words(seed + 19, 4 * i + n)
  FROM gen.size, generate_series(1, part) i, generate_series(0, 3) n ON CONFLICT DO NOTHING;
INSERT INTO customer
SELECT i, 'Customer#' || lpad(i::text, 9, '0'), 'street ' || gen.number(seed + 20, i, 1, 999), nation, gen.phone(seed + 21, i, nation),
       gen.number(seed + 24, i, -99999, 999999) / 100.0, gen.word(seed + 25, i, 'AUTOMOBILE', 'BUILDING', 'FURNITURE', 'MACHINERY', 'HOUSEHOLD'), gen.words(seed + 26, i)
  FROM gen.size, generate_series(1, customer) i, LATERAL (SELECT gen.number(seed + 27, i, 0, 24)::int AS nation) n;
SELECT gen.add_orders(1, 10 * customer) FROM gen.size;
ANALYZE;
SQL

# by number; columns as the specification names them
my @queries = (undef,
	# pricing summary
	'SELECT l_returnflag, l_linestatus, sum(l_quantity) AS sum_qty, sum(l_extendedprice) AS sum_base_price,
	        sum(l_extendedprice * (1 - l_discount)) AS sum_disc_price, sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge,
	        avg(l_quantity) AS avg_qty, avg(l_extendedprice) AS avg_price, avg(l_discount) AS avg_disc, count(*) AS count_order
	   FROM lineitem WHERE l_shipdate <= date \'1998-12-01\' - interval \'90 days\'
	  GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus',
	# minimum cost supplier
	'SELECT s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment
	   FROM part, supplier, partsupp, nation, region
	  WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND p_size <= :size AND p_size >= 15 AND p_type LIKE \'%BRASS\'
	    AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = \'EUROPE\'
	    AND ps_supplycost = (SELECT min(ps_supplycost) FROM partsupp, supplier, nation, region
	                          WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND s_nationkey = n_nationkey
	                            AND n_regionkey = r_regionkey AND r_name = \'EUROPE\')
	  ORDER BY s_acctbal DESC, n_name, s_name, p_partkey LIMIT 100',
	# shipping priority
	'SELECT l_orderkey, sum(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate, o_shippriority
	   FROM customer, orders, lineitem
	  WHERE c_mktsegment = \'BUILDING\' AND c_custkey = o_custkey AND l_orderkey = o_orderkey
	    AND o_orderdate < date \'1995-03-15\' AND l_shipdate > date \'1995-03-15\'
	  GROUP BY l_orderkey, o_orderdate, o_shippriority ORDER BY revenue DESC, o_orderdate LIMIT 10',
	# order priority checking
	'SELECT o_orderpriority, count(*) AS order_count FROM orders
	  WHERE o_orderdate >= date \'1993-07-01\' AND o_orderdate < date \'1993-07-01\' + interval \'3 months\'
	    AND EXISTS (SELECT * FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate)
	  GROUP BY o_orderpriority ORDER BY o_orderpriority',
	# local supplier volume
	'SELECT n_name, sum(l_extendedprice * (1 - l_discount)) AS revenue
	   FROM customer, orders, lineitem, supplier, nation, region
	  WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey AND c_nationkey = s_nationkey
	    AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = \'ASIA\'
	    AND o_orderdate >= date \'1994-01-01\' AND o_orderdate < date \'1994-01-01\' + interval \'1 year\'
	  GROUP BY n_name ORDER BY revenue DESC',
	# forecasting revenue change
	'SELECT sum(l_extendedprice * l_discount) AS revenue FROM lineitem
	  WHERE l_shipdate >= date \'1994-01-01\' AND l_shipdate < date \'1994-01-01\' + interval \'1 year\'
	    AND l_discount BETWEEN 0.06 - 0.01 AND 0.06 + 0.01 AND l_quantity < 24',
	# volume shipping
	'SELECT supp_nation, cust_nation, l_year, sum(volume) AS revenue
	   FROM (SELECT n1.n_name AS supp_nation, n2.n_name AS cust_nation, extract(year FROM l_shipdate) AS l_year,
	                l_extendedprice * (1 - l_discount) AS volume
	           FROM supplier, lineitem, orders, customer, nation n1, nation n2
	          WHERE s_suppkey = l_suppkey AND o_orderkey = l_orderkey AND c_custkey = o_custkey AND s_nationkey = n1.n_nationkey
	            AND c_nationkey = n2.n_nationkey AND ((n1.n_name = \'FRANCE\' AND n2.n_name = \'GERMANY\') OR (n1.n_name = \'GERMANY\' AND n2.n_name = \'FRANCE\'))
	            AND l_shipdate BETWEEN date \'1995-01-01\' AND date \'1996-12-31\') shipping
	  GROUP BY supp_nation, cust_nation, l_year ORDER BY supp_nation, cust_nation, l_year',
	# national market share
	'SELECT o_year, sum(CASE WHEN nation = \'BRAZIL\' THEN volume ELSE 0 END) / sum(volume) AS mkt_share
	   FROM (SELECT extract(year FROM o_orderdate) AS o_year, l_extendedprice * (1 - l_discount) AS volume, n2.n_name AS nation
	           FROM part, supplier, lineitem, orders, customer, nation n1, nation n2, region
	          WHERE p_partkey = l_partkey AND s_suppkey = l_suppkey AND l_orderkey = o_orderkey AND o_custkey = c_custkey
	            AND c_nationkey = n1.n_nationkey AND n1.n_regionkey = r_regionkey AND r_name = \'AMERICA\' AND s_nationkey = n2.n_nationkey
	            AND o_orderdate BETWEEN date \'1995-01-01\' AND date \'1996-12-31\' AND p_type LIKE \'ECONOMY ANODIZED%\') all_nations
	  GROUP BY o_year ORDER BY o_year',
	# product type profit measure
	'SELECT nation, o_year, sum(amount) AS sum_profit
	   FROM (SELECT n_name AS nation, extract(year FROM o_orderdate) AS o_year, l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity AS amount
	           FROM part, supplier, lineitem, partsupp, orders, nation
	          WHERE s_suppkey = l_suppkey AND ps_suppkey = l_suppkey AND ps_partkey = l_partkey AND p_partkey = l_partkey
	            AND o_orderkey = l_orderkey AND s_nationkey = n_nationkey AND p_name LIKE \'%:color%\') profit
	  GROUP BY nation, o_year ORDER BY nation, o_year DESC',
	# returned item reporting
	'SELECT c_custkey, c_name, sum(l_extendedprice * (1 - l_discount)) AS revenue, c_acctbal, n_name, c_address, c_phone, c_comment
	   FROM customer, orders, lineitem, nation
	  WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND o_orderdate >= date \'1993-10-01\'
	    AND o_orderdate < date \'1993-10-01\' + interval \'3 months\' AND l_returnflag = \'R\' AND c_nationkey = n_nationkey
	  GROUP BY c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment ORDER BY revenue DESC LIMIT 20',
	# important stock identification
	'SELECT ps_partkey, sum(ps_supplycost * ps_availqty) AS value FROM partsupp, supplier, nation
	  WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_name = \'GERMANY\'
	  GROUP BY ps_partkey
	 HAVING sum(ps_supplycost * ps_availqty) > (SELECT sum(ps_supplycost * ps_availqty) * :fraction FROM partsupp, supplier, nation
	                                             WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_name = \'GERMANY\')
	  ORDER BY value DESC',
	# shipping modes and order priority
	'SELECT l_shipmode, sum(CASE WHEN o_orderpriority = \'1-URGENT\' OR o_orderpriority = \'2-HIGH\' THEN 1 ELSE 0 END) AS high_line_count,
	        sum(CASE WHEN o_orderpriority <> \'1-URGENT\' AND o_orderpriority <> \'2-HIGH\' THEN 1 ELSE 0 END) AS low_line_count
	   FROM orders, lineitem
	  WHERE o_orderkey = l_orderkey AND l_shipmode IN (\'MAIL\', \'SHIP\') AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate
	    AND l_receiptdate >= date \'1994-01-01\' AND l_receiptdate < date \'1994-01-01\' + interval \'1 year\'
	  GROUP BY l_shipmode ORDER BY l_shipmode',
	# customer distribution
	'SELECT c_count, count(*) AS custdist
	   FROM (SELECT c_custkey, count(o_orderkey) FROM customer LEFT JOIN orders ON c_custkey = o_custkey AND o_comment NOT LIKE \'%special%requests%\'
	          GROUP BY c_custkey) c_orders (c_custkey, c_count)
	  GROUP BY c_count ORDER BY custdist DESC, c_count DESC',
	# promotion effect
	'SELECT 100.00 * sum(CASE WHEN p_type LIKE \'PROMO%\' THEN l_extendedprice * (1 - l_discount) ELSE 0 END)
	        / sum(l_extendedprice * (1 - l_discount)) AS promo_revenue
	   FROM lineitem, part
	  WHERE l_partkey = p_partkey AND l_shipdate >= date \'1995-09-01\' AND l_shipdate < date \'1995-09-01\' + interval \'1 month\'',
	# top supplier
	'WITH revenue (supplier_no, total_revenue) AS
	     (SELECT l_suppkey, sum(l_extendedprice * (1 - l_discount)) FROM lineitem
	       WHERE l_shipdate >= date \'1996-01-01\' AND l_shipdate < date \'1996-01-01\' + interval \'3 months\' GROUP BY l_suppkey)
	 SELECT s_suppkey, s_name, s_address, s_phone, total_revenue FROM supplier, revenue
	  WHERE s_suppkey = supplier_no AND total_revenue = (SELECT max(total_revenue) FROM revenue) ORDER BY s_suppkey',
	# parts/supplier relationship
	'SELECT p_brand, p_type, p_size, count(DISTINCT ps_suppkey) AS supplier_cnt FROM partsupp, part
	  WHERE p_partkey = ps_partkey AND p_brand <> \'Brand#45\' AND p_type NOT LIKE \'MEDIUM POLISHED%\'
	    AND p_size IN (49, 14, 23, 45, 19, 3, 36, 9)
	    AND ps_suppkey NOT IN (SELECT s_suppkey FROM supplier WHERE s_comment LIKE \'%Customer%Complaints%\')
	  GROUP BY p_brand, p_type, p_size ORDER BY supplier_cnt DESC, p_brand, p_type, p_size',
	# small-quantity-order revenue
	'SELECT sum(l_extendedprice) / 7.0 AS avg_yearly FROM lineitem, part
	  WHERE p_partkey = l_partkey AND p_brand <= \'Brand#23\' AND p_brand >= \'Brand#2\' AND p_container LIKE \'%BOX\'
	    AND l_quantity < (SELECT 0.2 * avg(l_quantity) FROM lineitem WHERE l_partkey = p_partkey)',
	# large volume customer
	'SELECT c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity) AS quantity FROM customer, orders, lineitem
	  WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING sum(l_quantity) > :quantity)
	    AND c_custkey = o_custkey AND o_orderkey = l_orderkey
	  GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice ORDER BY o_totalprice DESC, o_orderdate LIMIT 100',
	# discounted revenue
	'SELECT sum(l_extendedprice * (1 - l_discount)) AS revenue FROM lineitem, part
	  WHERE (p_partkey = l_partkey AND p_brand = \'Brand#12\' AND p_container IN (\'SM CASE\', \'SM BOX\', \'SM PACK\', \'SM PKG\')
	         AND l_quantity >= 1 AND l_quantity <= 1 + 10 AND p_size BETWEEN 1 AND 5 AND l_shipmode IN (\'AIR\', \'REG AIR\') AND l_shipinstruct = \'DELIVER IN PERSON\')
	     OR (p_partkey = l_partkey AND p_brand = \'Brand#23\' AND p_container IN (\'MED BAG\', \'MED BOX\', \'MED PKG\', \'MED PACK\')
	         AND l_quantity >= 10 AND l_quantity <= 10 + 10 AND p_size BETWEEN 1 AND 10 AND l_shipmode IN (\'AIR\', \'REG AIR\') AND l_shipinstruct = \'DELIVER IN PERSON\')
	     OR (p_partkey = l_partkey AND p_brand = \'Brand#34\' AND p_container IN (\'LG CASE\', \'LG BOX\', \'LG PACK\', \'LG PKG\')
	         AND l_quantity >= 20 AND l_quantity <= 20 + 10 AND p_size BETWEEN 1 AND 15 AND l_shipmode IN (\'AIR\', \'REG AIR\') AND l_shipinstruct = \'DELIVER IN PERSON\')',
	# potential part promotion
	'SELECT s_name, s_address FROM supplier, nation
	  WHERE s_suppkey IN (SELECT ps_suppkey FROM partsupp
	                       WHERE ps_partkey IN (SELECT p_partkey FROM part WHERE p_name LIKE \':color%\')
	                         AND ps_availqty > (SELECT 0.5 * sum(l_quantity) FROM lineitem
	                                             WHERE l_partkey = ps_partkey AND l_suppkey = ps_suppkey AND l_shipdate >= date \'1994-01-01\'
	                                               AND l_shipdate < date \'1994-01-01\' + interval \'1 year\'))
	    AND s_nationkey = n_nationkey AND n_name = \':nation\' ORDER BY s_name',
	# suppliers who kept orders waiting
	'SELECT s_name, count(*) AS numwait FROM supplier, lineitem l1, orders, nation
	  WHERE s_suppkey = l1.l_suppkey AND o_orderkey = l1.l_orderkey AND o_orderstatus = \'F\' AND l1.l_receiptdate > l1.l_commitdate
	    AND EXISTS (SELECT * FROM lineitem l2 WHERE l2.l_orderkey = l1.l_orderkey AND l2.l_suppkey <> l1.l_suppkey)
	    AND NOT EXISTS (SELECT * FROM lineitem l3 WHERE l3.l_orderkey = l1.l_orderkey AND l3.l_suppkey <> l1.l_suppkey AND l3.l_receiptdate > l3.l_commitdate)
	    AND s_nationkey = n_nationkey AND n_name = \'SAUDI ARABIA\'
	  GROUP BY s_name ORDER BY numwait DESC, s_name LIMIT 100',
	# global sales opportunity
	'SELECT cntrycode, count(*) AS numcust, sum(c_acctbal) AS totacctbal
	   FROM (SELECT substring(c_phone FROM 1 FOR 2) AS cntrycode, c_acctbal FROM customer
	          WHERE substring(c_phone FROM 1 FOR 2) IN (\'13\', \'31\', \'23\', \'29\', \'30\', \'18\', \'17\')
	            AND c_acctbal > (SELECT avg(c_acctbal) FROM customer WHERE c_acctbal > 0.00 AND substring(c_phone FROM 1 FOR 2) IN (\'13\', \'31\', \'23\', \'29\', \'30\', \'18\', \'17\'))
	            AND NOT EXISTS (SELECT * FROM orders WHERE o_custkey = c_custkey)) custsale
	  GROUP BY cntrycode ORDER BY cntrycode');

sub load
{
	my ($seed, $scale) = @_;
	return $schema . ($fill =~ s/:seed\b/$seed/gr =~ s/:scale\b/$scale/gr);
}

sub query
{
	my ($n, %asked) = @_;
	my %p = (%parameters, %asked);
	return $queries[$n] =~ s/(?<!:):(fraction|quantity|color|size|nation)\b/$p{$1}/gr;
}

sub churn
{
	my ($seed, $turn, $percent) = @_;
	return <<"SQL";
BEGIN;
CREATE TEMP TABLE gone ON COMMIT DROP AS SELECT o_orderkey FROM orders WHERE hashint8extended(o_orderkey, $seed + $turn) & 1023 < 10.24 * $percent;
DELETE FROM lineitem USING gone WHERE l_orderkey = o_orderkey;
DELETE FROM orders USING gone WHERE orders.o_orderkey = gone.o_orderkey;
SELECT gen.add_orders(size.orders + 1, size.orders + greatest((SELECT count(*) FROM gone), 1)) FROM gen.size;
COMMIT;
SQL
}

sub more
{
	my ($seed, $turn) = @_;
	my $some = sub { my ($column, $of) = @_; return "hashint8extended($column, $seed + $turn) & 31 = $of" };
	return <<"SQL";
BEGIN;
UPDATE lineitem SET l_quantity = l_quantity % 50 + 1, l_receiptdate = l_receiptdate + 9, l_discount = 0.06 WHERE @{[ $some->('l_orderkey', 1) ]};
UPDATE lineitem SET l_suppkey = (SELECT max(s_suppkey) FROM supplier), l_returnflag = 'R' WHERE @{[ $some->('l_orderkey', 2) ]} AND l_linenumber = 1;
UPDATE orders SET o_custkey = o_custkey % 20 + 1, o_orderpriority = '1-URGENT', o_orderdate = o_orderdate + 100 WHERE @{[ $some->('o_orderkey', 3) ]};
UPDATE customer SET c_nationkey = (c_nationkey + 1) % 25, c_mktsegment = 'BUILDING', c_acctbal = c_acctbal + 10, c_phone = (c_nationkey % 25 + 10) || substring(c_phone FROM 3) WHERE @{[ $some->('c_custkey', 4) ]};
UPDATE supplier SET s_nationkey = (s_nationkey + 7) % 25, s_comment = 'a Customer with Complaints' WHERE @{[ $some->('s_suppkey', 5) ]};
UPDATE part SET p_size = p_size % 50 + 1, p_name = 'green ' || p_partkey, p_type = 'PROMO PLATED BRASS', p_brand = 'Brand#12' WHERE @{[ $some->('p_partkey', 6) ]};
UPDATE partsupp SET ps_supplycost = ps_supplycost / 2, ps_availqty = ps_availqty + 5 WHERE @{[ $some->('ps_partkey', 7) ]};
DELETE FROM partsupp WHERE @{[ $some->('ps_partkey + ps_suppkey', 8) ]};
DELETE FROM customer WHERE @{[ $some->('c_custkey', 9) ]};
DELETE FROM supplier WHERE @{[ $some->('s_suppkey', 10) ]};
DELETE FROM part WHERE @{[ $some->('p_partkey', 11) ]};
INSERT INTO part SELECT p_partkey + 1000000 * $turn, p_name, p_mfgr, p_brand, p_type, p_size, p_container, p_retailprice, p_comment FROM part WHERE @{[ $some->('p_partkey', 12) ]};
INSERT INTO partsupp SELECT ps_partkey + 1000000 * $turn, ps_suppkey, ps_availqty, ps_supplycost, ps_comment FROM partsupp WHERE @{[ $some->('ps_partkey', 12) ]};
INSERT INTO customer SELECT c_custkey + 1000000 * $turn, c_name, c_address, c_nationkey, c_phone, 9999, c_mktsegment, c_comment FROM customer WHERE @{[ $some->('c_custkey', 13) ]};
INSERT INTO supplier SELECT s_suppkey + 1000000 * $turn, s_name, s_address, s_nationkey, s_phone, s_acctbal, s_comment FROM supplier WHERE @{[ $some->('s_suppkey', 14) ]};
UPDATE nation SET n_regionkey = (n_regionkey + 1) % 5 WHERE n_nationkey = $turn % 25;
UPDATE region SET r_comment = r_comment || '.', r_name = CASE r_name WHEN 'ASIA' THEN 'AFRICA' WHEN 'AFRICA' THEN 'ASIA' ELSE r_name END;
DELETE FROM nation WHERE n_nationkey = 24 - $turn;
INSERT INTO nation VALUES (24 + $turn, 'FRANCE', 3, 'another');
COMMIT;
SQL
}

1;
