# Tables whose old rows are known by their key: under random changes of values
# out of line and of keys, through hydrations beside writers, crashes, restarts,
# and while others change the identity.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

use DdirNode;

my $node = DdirNode::start('main',
	conf => DdirNode::points()
	  . "restart_after_crash = on\nlog_statement = none\nmax_prepared_transactions = 5\n");

sub sql { return $node->safe_psql('postgres', $_[0]); }

sub known
{
	my ($expected, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	DdirNode::await($node, 'postgres');
	return is(
		sql(q{SELECT s.identity, c.relreplident FROM ddir.sources s JOIN pg_class c ON c.oid = s.source
			   WHERE s.source = 'doc'::regclass}),
		$expected, $name);
}

# Some 6 kB a row, out of line.
sql(q{
	CREATE FUNCTION long(i bigint, n int DEFAULT 190) RETURNS text LANGUAGE sql AS
		$$ SELECT string_agg(md5(i::text || ',' || j::text), '') FROM generate_series(1, n) AS j $$;
	CREATE TABLE doc (id int PRIMARY KEY, kind int NOT NULL, body text, note jsonb);
	CREATE TABLE kind (id int PRIMARY KEY, name text);
	INSERT INTO kind SELECT i, 'kind ' || i FROM generate_series(0, 9) AS i;
	INSERT INTO doc SELECT i, i % 10, long(i), jsonb_build_array(long(-i, 10)) FROM generate_series(1, 200) AS i;
	CREATE MATERIALIZED VIEW whole USING ddir AS SELECT * FROM doc;
	CREATE MATERIALIZED VIEW by_kind USING ddir AS
		SELECT k.name, count(*) AS n, sum(length(d.body)) AS bytes, max(d.note ->> 0) AS note
		  FROM doc d JOIN kind k ON k.id = d.kind GROUP BY k.name;
	CREATE MATERIALIZED VIEW few USING ddir AS SELECT kind, count(*) AS n FROM doc GROUP BY kind});
known('key|d', 'it is known by its key');

# All ways to change a row, several times in a transaction, some rolled back.
my $script = q{
\set a random(1, 300)
\set b random(1, 300)
\set c random(1, 300)
\set k random(0, 9)
\set what random(0, 3)
\set keep random(0, 2)
BEGIN;
UPDATE doc SET kind = :k WHERE id = :a;
\if :what = 0
UPDATE doc SET body = long(:b) WHERE id = :b;
UPDATE doc SET kind = :k WHERE id = :b;
\elif :what = 1
DELETE FROM doc WHERE id = :b;
INSERT INTO doc VALUES (:b, :k, long(:c, 180)) ON CONFLICT DO NOTHING;
UPDATE doc SET note = jsonb_build_array(:c) WHERE id = :b;
\elif :what = 2
UPDATE doc SET id = :c WHERE id = :b AND NOT EXISTS (SELECT FROM doc WHERE id = :c);
\else
UPDATE doc SET body = 'inline' WHERE id = :b;
\endif
SAVEPOINT s;
UPDATE doc SET note = jsonb_build_array(long(:c, 100), :k), kind = (kind + 1) % 10 WHERE id = :c;
INSERT INTO doc VALUES (:a, :k, long(:a)) ON CONFLICT (id) DO UPDATE SET kind = (doc.kind + 1) % 10;
\if :keep = 0
ROLLBACK TO s;
\endif
COMMIT;
};

my @rate = ('-c', '4', '-R', '100', '-T', '300', '--max-tries=1000');

# At least so many more transactions.
sub more
{
	my ($n) = @_;
	my $from = sql('SELECT pg_current_xact_id()::text::bigint');

	$node->poll_query_until('postgres', "SELECT pg_current_xact_id()::text::bigint > $from + $n")
	  or die 'nothing is written';
	return;
}

# ----
# Hydrations
# ----

my $bench = DdirNode::pgbench($node, 'postgres', $script, @rate);

# Transactions that run when the scan's snapshot is taken change rows before and
# after it, and commit after.
foreach my $point (qw(scanner-snapshot scanner-rows hydrate-compute hydrate-commit))
{
	my $open = $node->background_psql('postgres');

	$open->query_safe(q{BEGIN; INSERT INTO doc VALUES (1001, 1, long(1001)), (1002, 2, long(1002))});
	my $held = DdirNode::hold($node, 'postgres', $point);
	sql(q{SELECT ddir.repair('whole')});
	DdirNode::reached($node, 'postgres', $point);
	$open->query_safe(q{
		UPDATE doc SET kind = 3 WHERE id = 1001;
		UPDATE doc SET id = 1003, kind = 4 WHERE id = 1002;
		COMMIT});
	sql('UPDATE doc SET id = 1002 WHERE id = 1001; DELETE FROM doc WHERE id = 1003');
	more(30);
	$held->quit;
	$open->quit;
	DdirNode::await($node, 'postgres');
	is(sql(q{SELECT string_agg(concat_ws(' ', id, kind, md5(body) = md5(long(1001))), ', ') FROM whole WHERE id > 1000}),
		'1002 3 t', "$point: all that was written is seen");
	sql('UPDATE doc SET kind = 5 WHERE id = 1002; DELETE FROM doc WHERE id = 1002');
}
DdirNode::pgbench_stop($bench);
DdirNode::views_equal_queries($node, 'postgres', 'hydrated beside writers: views equal their queries');

# Those that wait for their views' first hydration, too.
$bench = DdirNode::pgbench($node, 'postgres', $script, @rate);
foreach my $i (1 .. 5)
{
	sql("CREATE MATERIALIZED VIEW new_$i USING ddir AS SELECT id % $i AS id, max(body) AS body, min(kind) AS kind FROM doc GROUP BY 1");
	more(20);
}
DdirNode::await($node, 'postgres');
DdirNode::pgbench_stop($bench);
DdirNode::views_equal_queries($node, 'postgres', 'made beside writers: views equal their queries');
sql("DROP MATERIALIZED VIEW new_$_") foreach 1 .. 5;
known('key|d', 'it still is');

# ----
# Crashes and restarts
# ----

sub crash
{
	my ($what, $kill) = @_;
	my $writers = DdirNode::pgbench($node, 'postgres', $script, @rate);

	more(100);
	$kill->();
	DdirNode::pgbench_end($writers);
	DdirNode::until_up($node);
	DdirNode::views_equal_queries($node, 'postgres', "$what: views equal their queries");
	return;
}

foreach my $round (1 .. 2)
{
	crash("maintainer, round $round", sub { kill(9, DdirNode::maintainer($node, 'postgres')) });
	crash("postmaster, round $round", sub { DdirNode::crash_and_start($node) });
}
foreach my $point (qw(step-apply step-commit hydrate-commit))
{
	crash("maintainer at $point",
		sub {
			my $held = DdirNode::hold($node, 'postgres', $point);

			sql(q{SELECT ddir.repair('by_kind')}) if $point =~ /^hydrate/;
			DdirNode::reached($node, 'postgres', $point);
			kill(9, DdirNode::maintainer($node, 'postgres'));
			$held->{run}->kill_kill;
		});
}

# Prepared over a restart.
sql(q{
	DELETE FROM doc WHERE id BETWEEN 2000 AND 2010;
	INSERT INTO doc SELECT i, 1, long(i) FROM generate_series(2000, 2010) AS i;
	BEGIN;
	UPDATE doc SET kind = 2 WHERE id = 2000;
	UPDATE doc SET id = 2100 WHERE id = 2001;
	DELETE FROM doc WHERE id = 2002;
	PREPARE TRANSACTION 'p'});
$node->restart;
sql(q{UPDATE doc SET kind = 2 WHERE id = 2003});
DdirNode::views_equal_queries($node, 'postgres', 'restarted: views equal their queries');
sql(q{COMMIT PREPARED 'p'; UPDATE doc SET kind = 3 WHERE id = 2100; INSERT INTO doc VALUES (2001, 4), (2002, 5)});
DdirNode::views_equal_queries($node, 'postgres', 'prepared: views equal their queries');
known('key|d', 'nobody has changed the identity');

# ----
# The identity is changed by others
# ----

$bench = DdirNode::pgbench($node, 'postgres', $script, @rate);
foreach my $identity ('NOTHING', 'DEFAULT', 'FULL', 'DEFAULT', 'NOTHING', 'USING INDEX doc_both', 'DEFAULT')
{
	sql('CREATE UNIQUE INDEX doc_both ON doc (kind, id)') if $identity =~ /INDEX/;
	sql("ALTER TABLE doc REPLICA IDENTITY $identity");
	more(50);
}
sql(q{ALTER TABLE doc DROP CONSTRAINT doc_pkey;
	ALTER TABLE doc ADD COLUMN nr bigserial;
	ALTER TABLE doc ADD CONSTRAINT doc_pkey PRIMARY KEY (nr), ADD CONSTRAINT doc_id UNIQUE (id)});
more(50);
sql(q{ALTER TABLE doc DROP CONSTRAINT doc_pkey, ADD CONSTRAINT doc_pkey PRIMARY KEY (id, nr)});
more(50);
DdirNode::pgbench_stop($bench);
DdirNode::views_equal_queries($node, 'postgres', 'identity changed: views equal their queries');
$node->restart;
known('key|d', 'once all is filled again it is known by its new key');
sql('UPDATE doc SET kind = kind + 1');
DdirNode::views_equal_queries($node, 'postgres', 'by the new key: views equal their queries');

# ----
# Old rows of one transaction, which are not in it, take more memory than may be
# ----

sql(q{ALTER SYSTEM SET ddir.memory_limit = '96MB'});
$node->reload;
sql(q{
	CREATE TABLE large (id int PRIMARY KEY, body text);
	INSERT INTO large SELECT i, repeat(long(i, 200), 10) FROM generate_series(1, 1000) AS i;
	CREATE MATERIALIZED VIEW numbers USING ddir AS SELECT id / 100 AS hundred, sum(length(body)) AS bytes FROM large GROUP BY 1});
DdirNode::await($node, 'postgres', 'numbers');
is(sql(q{SELECT identity FROM ddir.sources WHERE source = 'large'::regclass}), 'key', 'by key');
sql('DELETE FROM large');
DdirNode::await($node, 'postgres', 'numbers');
is(sql(q{SELECT reason FROM ddir.hydration WHERE view = 'numbers'::regclass}),
	'a transaction was too large to be taken as changes', 'a large transaction fills views again');
DdirNode::views_equal_queries($node, 'postgres', 'emptied: views equal their queries');

# ----
# Switched off, and captured by triggers: nothing is left behind
# ----

sql('SELECT ddir.disable()');
is(sql(q{SELECT relreplident FROM pg_class WHERE oid = 'doc'::regclass}), 'd', 'the identity is as it was');
sql(q{ALTER SYSTEM SET ddir.capture = 'trigger'});
$node->reload;
sql('SELECT ddir.enable()');
DdirNode::until_true($node, 'postgres',
	q{SELECT count(*) = 3 FROM ddir.sources WHERE capture = 'trigger'}, 'by triggers');
sql('UPDATE doc SET kind = kind - 1');
DdirNode::views_equal_queries($node, 'postgres', 'by triggers: views equal their queries');
sql(q{ALTER SYSTEM SET ddir.capture = 'logical'});
$node->reload;
DdirNode::until_true($node, 'postgres',
	q{SELECT count(*) = 3 FROM ddir.sources WHERE capture = 'logical'}, 'by logical decoding');
sql('UPDATE doc SET kind = kind + 1');
DdirNode::views_equal_queries($node, 'postgres', 'back: views equal their queries');
known('key|d', 'by its key again');

$node->stop;
done_testing();
