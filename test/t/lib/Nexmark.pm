# Nexmark: the tables and queries of an auction site, for tests.
#
#	Nexmark::load($seed)		SQL that makes the tables person, auction, bid, side, and fills them
#	Nexmark::turn($seed, $n)	SQL of a transaction: new ones come, late ones too, others are taken back
#	Nexmark::queries()			(q0 => SELECT ..., q1 => ...)
#
# The streams of the suite are tables here, and event time is a column; windows
# in it are arithmetic.  What the suite asks of a moving end ("the last period")
# is asked of every period.  q12 is about the time at which rows are processed
# and has no meaning here.

package Nexmark;

use strict;
use warnings;

my $schema = <<'SQL';
CREATE TABLE person (id bigint PRIMARY KEY, name text, email text, card text, city text, state text, at timestamp);
CREATE TABLE auction (id bigint PRIMARY KEY, item text, description text, initial bigint, reserve bigint, at timestamp, expires timestamp, seller bigint, category bigint);
CREATE TABLE bid (auction bigint, bidder bigint, price bigint, channel text, url text, at timestamp, extra text);
CREATE TABLE side (key bigint PRIMARY KEY, value text);
CREATE SCHEMA gen;
CREATE FUNCTION gen.number(stream bigint, i bigint, lo bigint, hi bigint) RETURNS bigint IMMUTABLE LANGUAGE sql AS
$$ SELECT lo + (hashint8extended(i, stream) & 9007199254740991) % (hi - lo + 1) $$;
CREATE FUNCTION gen.time(stream bigint, i bigint) RETURNS timestamp IMMUTABLE LANGUAGE sql AS
$$ SELECT '2015-07-15 00:00:00'::timestamp + (i * 37 + gen.number(stream, i, 0, 3000)) * interval '10 ms' $$;
CREATE FUNCTION gen.events(seed bigint, lo bigint, hi bigint) RETURNS void LANGUAGE sql AS
$$
	INSERT INTO person SELECT i, 'person ' || i, i || '@example.org', lpad(i::text, 16, '0'), (ARRAY['Phoenix', 'Seattle', 'Portland', 'Boise'])[1 + i % 4],
		(ARRAY['AZ', 'CA', 'ID', 'OR', 'WA', 'WY'])[gen.number(seed + 1, i, 1, 6)], gen.time(seed + 2, 10 * i) FROM generate_series(lo, hi) i;
	INSERT INTO auction SELECT i, 'item ' || i, 'something', p, p * 2, t, t + gen.number(seed + 3, i, 1, 60) * interval '1 s',
		gen.number(seed + 4, i, greatest(1, i / 3 - 20), i / 3 + 1), gen.number(seed + 5, i, 10, 14)
		FROM generate_series(3 * lo, 3 * hi) i, LATERAL (SELECT gen.number(seed + 6, i, 1, 500) AS p, gen.time(seed + 7, 3 * i) AS t) x ON CONFLICT DO NOTHING;
	INSERT INTO bid SELECT gen.number(seed + 8, i, greatest(1, i / 10 - 30), i / 10 + 3), gen.number(seed + 9, i, greatest(1, i / 30 - 10), i / 30 + 1), gen.number(seed + 10, i, 100, 20000),
		(ARRAY['Google', 'Facebook', 'Baidu', 'Apple', 'channel-' || i % 9])[gen.number(seed + 11, i, 1, 5)],
		format('https://www.nexmark.com/%s/%s/item.htm?query=1&channel_id=%s', chr((97 + i % 5)::int), i % 7, i % 50), gen.time(seed + 12, i),
		repeat('c', (i % 4)::int) || repeat('x', (i % 3)::int) FROM generate_series(30 * lo, 30 * hi) i;
$$;
SQL

my %queries = (
	q0 => 'SELECT auction, bidder, price, at, extra FROM bid',
	q1 => 'SELECT auction, bidder, 0.908 * price AS price, at, extra FROM bid',
	q2 => 'SELECT auction, price FROM bid WHERE auction % 123 = 0',
	# who sells in some states
	q3 => "SELECT p.name, p.city, p.state, a.id FROM auction a JOIN person p ON a.seller = p.id WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')",
	# average price of a category: of the winning bids
	q4 => 'SELECT category, avg(final) AS price FROM (SELECT max(b.price) AS final, a.category FROM auction a JOIN bid b ON a.id = b.auction
	        WHERE b.at BETWEEN a.at AND a.expires GROUP BY a.id, a.category) q GROUP BY category',
	# which auctions have most bids, in windows of 10 s that start every 2 s
	q5 => "SELECT c.auction, c.starts, c.num FROM
	        (SELECT auction, starts, count(*) AS num FROM bid, generate_series(date_bin('2 s', at, '2015-01-01') - interval '8 s', date_bin('2 s', at, '2015-01-01'), '2 s') starts GROUP BY auction, starts) c
	        JOIN (SELECT starts, max(num) AS num FROM
	              (SELECT starts, count(*) AS num FROM bid, generate_series(date_bin('2 s', at, '2015-01-01') - interval '8 s', date_bin('2 s', at, '2015-01-01'), '2 s') starts GROUP BY auction, starts) n GROUP BY starts) m
	        ON m.starts = c.starts AND c.num >= m.num",
	# average price of the last ten auctions that a seller closed
	q6 => 'SELECT seller, at, avg(price) OVER (PARTITION BY seller ORDER BY at, id ROWS BETWEEN 10 PRECEDING AND CURRENT ROW) AS price FROM
	        (SELECT *, row_number() OVER (PARTITION BY id ORDER BY price DESC, bid_at) AS rn FROM
	          (SELECT a.id, a.seller, a.expires AS at, b.price, b.at AS bid_at FROM auction a JOIN bid b ON a.id = b.auction WHERE b.at BETWEEN a.at AND a.expires) j) w WHERE rn <= 1',
	# highest bids of every 10 s
	q7 => "SELECT b.auction, b.price, b.bidder, b.at, b.extra FROM bid b JOIN
	        (SELECT max(price) AS price, date_bin('10 s', at, '2015-01-01') AS starts FROM bid GROUP BY 2) m
	        ON b.price = m.price AND date_bin('10 s', b.at, '2015-01-01') = m.starts",
	# who came and sold in the same 10 s
	q8 => "SELECT p.id, p.name, p.starts FROM (SELECT id, name, date_bin('10 s', at, '2015-01-01') AS starts FROM person GROUP BY 1, 2, 3) p
	        JOIN (SELECT seller, date_bin('10 s', at, '2015-01-01') AS starts FROM auction GROUP BY 1, 2) a ON p.id = a.seller AND p.starts = a.starts",
	# winning bids
	q9 => 'SELECT * FROM (SELECT a.id, a.item, a.category, a.expires, b.bidder, b.price, b.at AS bid_at, row_number() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.at) AS rn
	        FROM auction a JOIN bid b ON a.id = b.auction WHERE b.at BETWEEN a.at AND a.expires) w WHERE rn <= 1',
	q10 => "SELECT auction, bidder, price, at, extra, to_char(at, 'YYYY-MM-DD') AS day, to_char(at, 'HH24:MI') AS minute FROM bid",
	# bids of a user's session, which 10 s without one end
	q11 => "SELECT bidder, count(*) AS bids, min(at) AS starts, max(at) AS ends FROM
	        (SELECT bidder, at, sum(fresh) OVER (PARTITION BY bidder ORDER BY at) AS session FROM
	          (SELECT bidder, at, CASE WHEN at - lag(at) OVER (PARTITION BY bidder ORDER BY at) < interval '10 s' THEN 0 ELSE 1 END AS fresh FROM bid) f) s GROUP BY bidder, session",
	# with a table at the side
	q13 => 'SELECT b.auction, b.bidder, b.price, b.at, s.value FROM bid b JOIN side s ON b.auction % 50 = s.key',
	q14 => "SELECT auction, bidder, 0.908 * price AS price, CASE WHEN extract(hour FROM at) BETWEEN 8 AND 18 THEN 'dayTime' WHEN extract(hour FROM at) <= 6 OR extract(hour FROM at) >= 20 THEN 'nightTime'
	        ELSE 'otherTime' END AS bid_time, at, extra, length(extra) - length(replace(extra, 'c', '')) AS c_counts FROM bid WHERE 0.908 * price > 1000 AND 0.908 * price < 50000000",
	q15 => "SELECT to_char(at, 'YYYY-MM-DD') AS day, count(*) AS total_bids, count(*) FILTER (WHERE price < 10000) AS rank1_bids, count(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_bids,
	        count(*) FILTER (WHERE price >= 1000000) AS rank3_bids, count(DISTINCT bidder) AS total_bidders, count(DISTINCT bidder) FILTER (WHERE price < 10000) AS rank1_bidders,
	        count(DISTINCT bidder) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_bidders, count(DISTINCT auction) AS total_auctions,
	        count(DISTINCT auction) FILTER (WHERE price < 10000) AS rank1_auctions FROM bid GROUP BY 1",
	q16 => "SELECT channel, to_char(at, 'YYYY-MM-DD') AS day, max(to_char(at, 'HH24:MI')) AS minute, count(*) AS total_bids, count(*) FILTER (WHERE price < 10000) AS rank1_bids,
	        count(DISTINCT bidder) AS total_bidders, count(DISTINCT auction) FILTER (WHERE price >= 10000) AS rank2_auctions FROM bid GROUP BY 1, 2",
	q17 => "SELECT auction, to_char(at, 'YYYY-MM-DD') AS day, count(*) AS total_bids, count(*) FILTER (WHERE price < 10000) AS rank1_bids, min(price) AS min_price, max(price) AS max_price,
	        avg(price) AS avg_price, sum(price) AS sum_price FROM bid GROUP BY 1, 2",
	# the last bid of each bidder for an auction
	q18 => 'SELECT auction, bidder, price, channel, url, at, extra FROM
	        (SELECT *, row_number() OVER (PARTITION BY bidder, auction ORDER BY at DESC) AS rank_number FROM bid) w WHERE rank_number <= 1',
	# the ten highest bids of an auction
	q19 => 'SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY auction ORDER BY price DESC) AS rank_number FROM bid) w WHERE rank_number <= 10',
	q20 => 'SELECT b.auction, b.bidder, b.price, b.channel, b.url, b.at AS bid_at, b.extra, a.item, a.description, a.initial, a.reserve, a.at, a.expires, a.seller, a.category
	        FROM bid b JOIN auction a ON b.auction = a.id WHERE a.category = 10',
	q21 => q{SELECT auction, bidder, price, channel, CASE WHEN lower(channel) = 'apple' THEN '0' WHEN lower(channel) = 'google' THEN '1' WHEN lower(channel) = 'facebook' THEN '2'
	        WHEN lower(channel) = 'baidu' THEN '3' ELSE (regexp_match(url, '(&|^)channel_id=([^&]*)'))[2] END AS channel_id FROM bid
	        WHERE (regexp_match(url, '(&|^)channel_id=([^&]*)'))[2] IS NOT NULL OR lower(channel) IN ('apple', 'google', 'facebook', 'baidu')},
	q22 => q{SELECT auction, bidder, price, channel, split_part(url, '/', 4) AS dir1, split_part(url, '/', 5) AS dir2, split_part(url, '/', 6) AS dir3 FROM bid});

sub queries { return %queries }

sub load
{
	my ($seed) = @_;
	return $schema . "SELECT gen.events($seed, 1, 60);\nINSERT INTO side SELECT i, 'value ' || i FROM generate_series(0, 40) i;\nANALYZE;\n";
}

sub turn
{
	my ($seed, $n) = @_;
	my $some = sub { my ($column, $of) = @_; return "hashint8extended($column, $seed + $n) & 15 = $of" };
	return <<"SQL";
BEGIN;
SELECT gen.events($seed, 60 + 5 * $n + 1, 65 + 5 * $n);
UPDATE bid SET price = price + 100, at = at - interval '3 s' WHERE @{[ $some->('auction', 1) ]};
UPDATE bid SET channel = NULL, url = 'none', extra = NULL WHERE @{[ $some->('auction + price', 2) ]};
DELETE FROM bid WHERE @{[ $some->('auction', 3) ]};
INSERT INTO bid SELECT auction, bidder, price, channel, url, at, extra FROM bid WHERE @{[ $some->('price', 4) ]};
UPDATE bid SET bidder = NULL WHERE @{[ $some->('price', 5) ]};
UPDATE auction SET category = category % 14 + 5, expires = expires + interval '20 s' WHERE @{[ $some->('id', 6) ]};
UPDATE auction SET seller = NULL WHERE @{[ $some->('id', 7) ]};
DELETE FROM auction WHERE @{[ $some->('id', 8) ]};
UPDATE person SET state = 'OR', at = at + interval '7 s' WHERE @{[ $some->('id', 9) ]};
DELETE FROM person WHERE @{[ $some->('id', 10) ]};
UPDATE side SET value = value || '!' WHERE key % 9 = $n;
DELETE FROM side WHERE key = 10 + $n;
INSERT INTO side VALUES (41 + $n, NULL);
COMMIT;
SQL
}

1;
