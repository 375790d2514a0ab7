# The off switch, and the limit on WAL that is held back.  (027_unread is about the
# limit where triggers capture.)

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

use DdirNode;

my $node = DdirNode::start('main');

sub sql { return $node->safe_psql('postgres', @_); }

sub settle
{
	my ($name) = @_;

	sql(q{SELECT ddir.wait(timeout => '2 min')});
	is(sql('SELECT count(*) FROM ddir.views, ddir.check(view)'),
		'0', "$name: views equal their queries");
}

sub fails
{
	my ($sql, $like, $name) = @_;
	my ($ret, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\n$sql");

	like($err, $like, $name);
}

my $slots = q{SELECT count(*) FROM pg_replication_slots WHERE plugin = 'ddir'};
my $states = q{SELECT string_agg(DISTINCT state, ' ') FROM ddir.views};

sql(q{
	CREATE TABLE t (a int PRIMARY KEY, b int);
	INSERT INTO t SELECT i, i % 5 FROM generate_series(1, 100) AS i;
	CREATE TABLE keyless (a int);
	ALTER TABLE keyless REPLICA IDENTITY NOTHING;
	CREATE TABLE indexed (a int NOT NULL, b int);
	CREATE UNIQUE INDEX the_index ON indexed (a);
	ALTER TABLE indexed REPLICA IDENTITY USING INDEX the_index;
	CREATE MATERIALIZED VIEW v USING ddir AS SELECT b, count(*) FROM t GROUP BY b;
	CREATE MATERIALIZED VIEW w USING ddir AS SELECT a FROM keyless UNION ALL SELECT a FROM indexed});
settle('made');
my $prepared = sprintf(q{SELECT count(*) FROM pg_class AS c WHERE relname IN ('t', 'keyless', 'indexed') AND %s},
	DdirNode::is_prepared('c.oid'));
is(sql($prepared), '3', 'sources are captured');

# ----
# Off and on
# ----

sql('INSERT INTO t VALUES (1000, 1)');
sql('SELECT ddir.disable()');
is(sql('SELECT count FROM v WHERE b = 1'), '21', 'what was committed is in the view');
is(sql($states), 'disabled', 'views say that they are disabled');
is(sql($slots), '0', 'no slot is left');
is( sql(q{SELECT string_agg(relname || ' ' || relreplident::text, ', ' ORDER BY relname)
	  FROM pg_class WHERE relname IN ('t', 'keyless', 'indexed')}),
	'indexed i, keyless n, t d', 'sources have the replica identities they had');
is(sql($prepared), '0', 'and are not captured');
sql('INSERT INTO t VALUES (1001, 1)');
is(sql('SELECT count FROM v WHERE b = 1'), '21', 'views stay as they are');
fails(q{SELECT ddir.wait('v')}, qr/ERROR:  55000: ddir is disabled.*\nDETAIL: .*\nHINT: /, 'waiting is refused');
fails('CREATE MATERIALIZED VIEW x USING ddir AS SELECT a FROM t', qr/NOTICE: .*ddir is disabled/,
	'a new view is made with a notice');
sql('REFRESH MATERIALIZED VIEW v');
is(sql('SELECT count FROM v WHERE b = 1'), '22', 'REFRESH is the server\'s');
$node->restart;
is( $node->poll_query_until('postgres', q{SELECT bool_and(state = 'disabled') FROM ddir.views}),
	1, 'disabled after a restart, too');
sql('SELECT ddir.disable()');
is(sql($states), 'disabled', 'twice is the same');
sql('INSERT INTO t VALUES (1002, 2)');
sql('BEGIN; SELECT ddir.enable(); ROLLBACK');
is(sql($states), 'disabled', 'not switched on after all');
sql('SELECT ddir.enable()');
settle('switched on');
sql('BEGIN; SAVEPOINT s; SELECT ddir.disable(); ROLLBACK TO s; INSERT INTO t VALUES (1003, 3); COMMIT');
settle('not switched off after all');
foreach my $what ('SELECT ddir.disable()', 'SELECT ddir.enable()', 'DROP EXTENSION ddir CASCADE')
{
	fails("BEGIN; $what; PREPARE TRANSACTION 'p'", qr/ERROR:  0A000: cannot PREPARE.*\nDETAIL: .*\nHINT: /,
		"$what cannot be prepared");
}
settle('nor by what cannot be prepared');
is(sql($prepared), '3', 'sources are captured again');
if (DdirNode::by_triggers())
{
	is(sql($slots), '0', 'without a slot');
	$node->stop;
	done_testing();
	exit;
}
is(sql($slots), '1', 'with one slot');

# ----
# ddir.max_slot_lag
# ----

# Nobody reads the slot, since no worker is to be had.
my $workers = sql('SHOW max_worker_processes');
$node->append_conf('postgresql.conf', "max_worker_processes = 2\nddir.max_slot_lag = '1MB'");
$node->restart;
is(sql($slots), '1', 'the slot is there');
my $from = -s $node->logfile;
sql('CREATE TABLE much AS SELECT i FROM generate_series(1, 100000) AS i');
is($node->poll_query_until('postgres', "SELECT ($slots) = 0"),
	1, 'it is dropped when it holds back too much');
like(substr(slurp_file($node->logfile), $from),
	qr/LOG:  dropped replication slot "ddir_\d+_\d+"\n.*DETAIL:  It held back \d+ bytes of WAL, more than ddir.max_slot_lag = 1 MB/,
	'which the log says');
sql('INSERT INTO t VALUES (2000, 4)');
$node->append_conf('postgresql.conf', "max_worker_processes = $workers\nddir.max_slot_lag = '10GB'");
$node->restart;
settle('filled again');
is(sql('SELECT count FROM v WHERE b = 4'), '21', 'with all that was missed');

$node->stop;
done_testing();
