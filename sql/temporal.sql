-- Rows that come and go as time goes by, though no table is written to.
-- The clock is the test's: it stands still until it is set.
SET timezone = 'UTC';
SET datestyle = 'ISO';
\set time '2020-01-10 12:00:00+00'
\i test/sql/set_clock.sql
CREATE TABLE event (id int PRIMARY KEY, at timestamptz, kind text, until timestamptz, day date);
INSERT INTO event VALUES
	(1, '2020-01-10 11:00:00+00', 'a', '2020-01-10 12:30:00+00', '2020-01-09'),
	(2, '2020-01-10 11:00:00.000001+00', 'a', '2020-01-10 12:00:00+00', '2020-01-10'),
	(3, '2020-01-10 11:30:00+00', 'b', 'infinity', '2020-01-11'),
	(4, '2020-01-10 13:00:00+00', 'b', '2020-01-10 14:00:00+00', '2020-02-10'),
	(5, NULL, 'c', NULL, NULL),
	(6, '-infinity', 'c', '2020-01-10 12:00:00.000001+00', 'infinity');

-- the last hour
CREATE MATERIALIZED VIEW recent USING ddir AS
	SELECT id, at FROM event WHERE at > now() - interval '1 hour';
-- while it is valid
CREATE MATERIALIZED VIEW valid USING ddir AS
	SELECT id FROM event WHERE now() BETWEEN at AND until;
CREATE MATERIALIZED VIEW valid_range USING ddir AS
	SELECT id FROM event WHERE tstzrange(at, until) @> transaction_timestamp() AND at <= until;
CREATE MATERIALIZED VIEW expired USING ddir AS
	SELECT id, kind FROM event WHERE until <= CURRENT_TIMESTAMP;
-- any combination of comparisons
CREATE MATERIALIZED VIEW mixed USING ddir AS
	SELECT id, NOT at > now() AS begun,
		   CASE WHEN now() - at > interval '90 minutes' THEN 'old' WHEN until < now() THEN 'over' ELSE 'new' END AS age
	  FROM event WHERE id < 5 AND (kind = 'a' OR statement_timestamp() >= at);
-- days
CREATE MATERIALIZED VIEW days USING ddir AS
	SELECT id, day - CURRENT_DATE AS days, day = CURRENT_DATE AS today FROM event WHERE isfinite(day);
-- groups, joins, windows, other views over them
CREATE MATERIALIZED VIEW counts USING ddir AS
	SELECT kind, count(*) AS n, count(*) FILTER (WHERE at > now() - interval '1 hour') AS recent, max(at)
	  FROM event GROUP BY kind HAVING max(at) < now();
CREATE MATERIALIZED VIEW pairs USING ddir AS
	SELECT e.id, f.id AS other FROM event e LEFT JOIN event f
		ON f.kind = e.kind AND f.id <> e.id AND f.until > now()
	 WHERE NOT EXISTS (SELECT FROM event g WHERE g.id = e.id + 1 AND g.at > now());
CREATE MATERIALIZED VIEW stacked USING ddir AS
	SELECT count(*) AS n, min(at), max(at) FROM recent;
CREATE MATERIALIZED VIEW ranked USING ddir AS
	SELECT id, row_number() OVER (ORDER BY at DESC NULLS LAST, id) AS r FROM event WHERE at <= now() LIMIT 2;
CREATE MATERIALIZED VIEW hours USING ddir AS
	SELECT date_trunc('hour', at) AS hour, count(*) AS n FROM event
	 WHERE at >= date_trunc('hour', now()) GROUP BY 1;
CREATE MATERIALIZED VIEW stopped USING ddir AS SELECT now() >= '2020-01-10 12:30+00' AS half_past;
\i test/sql/check_all.sql
TABLE recent ORDER BY id;
TABLE valid ORDER BY id;
TABLE expired ORDER BY id;
TABLE mixed ORDER BY id;
TABLE days ORDER BY id;
TABLE counts ORDER BY kind;
TABLE ranked ORDER BY r;
TABLE stopped;
SELECT view, state, clock, lag_ms FROM ddir.views WHERE view = 'recent'::regclass;

-- The instant before, and at which, something changes; nothing is written.
\set time '2020-01-10 12:00:00.000001+00'
\i test/sql/set_clock.sql
\i test/sql/check_all.sql
TABLE recent ORDER BY id;
TABLE valid ORDER BY id;
TABLE expired ORDER BY id;
\set time '2020-01-10 12:30:00+00'
\i test/sql/set_clock.sql
\i test/sql/check_all.sql
TABLE recent ORDER BY id;
TABLE valid ORDER BY id;
TABLE mixed ORDER BY id;
TABLE stopped;
TABLE stacked;
\set time '2020-01-10 12:30:00.000001+00'
\i test/sql/set_clock.sql
\i test/sql/check_all.sql
TABLE valid ORDER BY id;

-- Rows that change before their instant comes: they are forgotten there.
UPDATE event SET until = '2020-01-10 12:45:00+00' WHERE id = 3;
UPDATE event SET at = '2020-01-10 12:40:00+00' WHERE id = 4;
DELETE FROM event WHERE id = 2;
INSERT INTO event VALUES (7, '2020-01-10 12:35:00+00', 'b', '2020-01-10 12:36:00+00', '2020-01-12');
\i test/sql/check_all.sql
TABLE valid ORDER BY id;
\set time '2020-01-10 12:35:00+00'
\i test/sql/set_clock.sql
\i test/sql/check_all.sql
TABLE valid ORDER BY id;
\set time '2020-01-10 12:41:00+00'
\i test/sql/set_clock.sql
\i test/sql/check_all.sql
TABLE valid ORDER BY id;
-- inserted and expired in one transaction's time, and long past
BEGIN;
INSERT INTO event VALUES (8, '2020-01-10 12:00:00+00', 'a', '2020-01-10 12:41:00+00', '2019-01-12');
UPDATE event SET kind = 'd' WHERE id = 8;
COMMIT;
\i test/sql/check_all.sql
TABLE recent ORDER BY id;

-- Midnight, a month's end, and an event much later.
\set time '2020-01-10 23:59:59.999999+00'
\i test/sql/set_clock.sql
\i test/sql/check_all.sql
TABLE days ORDER BY id;
\set time '2020-01-11 00:00:00+00'
\i test/sql/set_clock.sql
\i test/sql/check_all.sql
TABLE days ORDER BY id;
TABLE recent ORDER BY id;

-- The clock does not go back.
\set time '2020-01-10 00:00:00+00'
\i test/sql/set_clock.sql
SELECT clock FROM ddir.views WHERE view = 'days'::regclass;
\i test/sql/check_all.sql

-- Months: of several days, the same time a month later comes only once.
CREATE TABLE due (id int, at timestamptz, local timestamp, every interval);
INSERT INTO due SELECT n, t, t AT TIME ZONE 'UTC', n * interval '1 day' + interval '1 month'
  FROM (SELECT row_number() OVER (ORDER BY t) AS n, t FROM generate_series(timestamptz '2020-02-28 00:00+00', '2020-03-02 00:00+00', '6 hours') AS t) AS s;
CREATE MATERIALIZED VIEW month_later USING ddir AS
	SELECT id FROM due WHERE now() + interval '1 month' >= at;
CREATE MATERIALIZED VIEW month_later_local USING ddir AS
	SELECT id FROM due WHERE local < LOCALTIMESTAMP + interval '1 month 30 minutes';
CREATE MATERIALIZED VIEW month_later_each USING ddir AS
	SELECT id FROM due WHERE at < now() + every OR at - every = now();
CREATE MATERIALIZED VIEW this_month USING ddir AS
	SELECT id, date_trunc('month', now() + interval '1 day') AS month FROM due WHERE at >= date_trunc('month', now());
\set time '2020-01-28 23:30:00+00'
\i test/sql/set_clock.sql
\i test/sql/check_all.sql
\set time '2020-01-29 23:00:00+00'
\i test/sql/set_clock.sql
\i test/sql/check_all.sql
SELECT max(id), count(*) FROM month_later;
\set time '2020-01-30 01:00:00+00'
\i test/sql/set_clock.sql
\i test/sql/check_all.sql
SELECT max(id), count(*) FROM month_later;
\set time '2020-01-31 11:00:00+00'
\i test/sql/set_clock.sql
\i test/sql/check_all.sql
SELECT max(id), count(*) FROM month_later;
\set time '2020-02-01 01:00:00+00'
\i test/sql/set_clock.sql
\i test/sql/check_all.sql
SELECT max(id), count(*) FROM month_later;
SELECT DISTINCT month FROM this_month;

-- Errors of rows are of their time, too.
CREATE TABLE ratio (id int, n int, at timestamptz);
INSERT INTO ratio VALUES (1, 0, '2020-02-01 02:00+00'), (2, 4, '2020-02-01 02:00+00');
CREATE MATERIALIZED VIEW ratios USING ddir AS
	SELECT id, CASE WHEN at <= now() AND now() < at + interval '1 hour' THEN 12 / n END AS r FROM ratio;
\i test/sql/check_all.sql
TABLE ratios ORDER BY id;
SELECT extract(epoch FROM timestamptz '2020-02-01 02:00+00') AS clock \gset
ALTER SYSTEM SET ddir.debug_clock = :clock;
SELECT FROM pg_reload_conf() \g /dev/null
SET ddir.debug_clock = :clock;
SELECT ddir.wait('ratios');
TABLE ratios ORDER BY id;
-- An error that time takes away is no answer to who asks at a later time.
SELECT extract(epoch FROM timestamptz '2020-02-01 03:00+00') AS clock \gset
SET ddir.debug_clock = :clock;
\set VERBOSITY sqlstate
SELECT ddir.wait('ratios', timeout => '0.05 s');
\set VERBOSITY default
\set time '2020-02-01 03:00:00+00'
\i test/sql/set_clock.sql
\i test/sql/check_all.sql
TABLE ratios ORDER BY id;

-- What is refused.
SELECT q, code, construct, reason, hint FROM (VALUES
	('SELECT now() FROM event'),
	('SELECT now() - at FROM event'),
	('SELECT id FROM event ORDER BY now() - at LIMIT 3'),
	('SELECT CURRENT_TIMESTAMP, count(*) FROM event'),
	('SELECT count(*) FROM event GROUP BY extract(epoch FROM now()) - id'),
	('SELECT LOCALTIMESTAMP(3), date_trunc(''ms'', now()) FROM event'),
	('SELECT id FROM event WHERE clock_timestamp() > at'),
	('SELECT id FROM event WHERE CURRENT_TIME > LOCALTIME'),
	('SELECT id FROM event WHERE at > now() - (now() - until)'),
	('SELECT g FROM event, generate_series(at, now(), ''1 day'') g'),
	('SELECT id FROM event WHERE at::text < now()::text')) AS v(q), ddir.explain_query(q);
CREATE MATERIALIZED VIEW refused USING ddir AS SELECT id, now() FROM event;
SELECT split_part(plan, E'\n\n', 1) AS plan FROM ddir.explain_query('SELECT id FROM event WHERE at > now() - interval ''1 hour'' AND kind = ''a''');

ALTER SYSTEM RESET ddir.debug_clock;
SELECT FROM pg_reload_conf() \g /dev/null
\set VERBOSITY terse
DROP TABLE event, due, ratio CASCADE;
DROP MATERIALIZED VIEW stopped;
