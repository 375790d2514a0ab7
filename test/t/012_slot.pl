# A replication slot that is lost, in any way: everything is filled again, with
# the reason, and nothing is missed.

use strict;
use warnings;

use File::Path qw(rmtree);
use PostgreSQL::Test::Utils;
use Test::More;

use DdirNode;

my $node = DdirNode::start('main', conf => DdirNode::points());

sub sql { return $node->safe_psql('postgres', @_); }

sub slot
{
	return sql(q{SELECT slot_name FROM pg_replication_slots WHERE plugin = 'ddir'});
}

my $filled = 0;

# The views were filled again, which is told, by a new slot.
sub filled_again
{
	my ($what, $former, $from) = @_;

	DdirNode::views_equal_queries($node, 'postgres', "$what: views equal their queries");
	isnt(slot(), $former, "$what: there is another slot");
	is(sql(q{SELECT count(*) FROM pg_replication_slots WHERE plugin = 'ddir'}), '1', "$what: and only that");
	is( sql(q{SELECT count(*) FROM pg_replication_origin WHERE roname LIKE 'ddir%'}),
		'1', "$what: and one origin");
	is( sql(q{SELECT count(*) FROM ddir.hydration WHERE reason LIKE '%replication slot%'}),
		'2', "$what: the reason is told");
	like(
		substr(slurp_file($node->logfile), $from),
		qr/LOG:  ddir: view "public\.v" will be hydrated\n.*DETAIL:  .*replication slot/,
		"$what: and logged");
	return;
}

sql(q{
	CREATE TABLE t (id int PRIMARY KEY, g int, x int);
	INSERT INTO t SELECT i, i % 7, i FROM generate_series(1, 1000) AS i;
	CREATE TABLE filler (a text);
	CREATE MATERIALIZED VIEW v USING ddir AS SELECT g, count(*) AS n, sum(x) AS x FROM t GROUP BY g;
	CREATE MATERIALIZED VIEW w USING ddir AS SELECT a.id FROM t a JOIN t b ON b.id = a.x WHERE b.g = 2});
DdirNode::views_equal_queries($node, 'postgres', 'made');

# ----
# Nobody else may use it
# ----

my $slot = slot();
like(($node->psql('postgres', "SELECT * FROM pg_logical_slot_get_binary_changes('$slot', NULL, NULL)"))[2],
	qr/ERROR:  replication slot "$slot" is active/, 'a maintainer holds its slot');
like(($node->psql('postgres', q{SELECT pg_create_logical_replication_slot('mine', 'ddir')}))[2],
	qr/ERROR:  (output plugin "ddir" serves only its own worker|library "ddir" may not be used)/,
	'the plugin serves no one else');

# ----
# Gone while the server was down
# ----

my $from = -s $node->logfile;
$node->stop;
rmtree($node->data_dir . "/pg_replslot/$slot");
$node->start;
sql('UPDATE t SET x = x + 1 WHERE g = 1');
filled_again('removed', $slot, $from);

# ----
# Dropped as soon as nobody holds it
# ----

$slot = slot();
$from = -s $node->logfile;
sql(qq{
	DO \$\$
	BEGIN
		LOOP
			BEGIN
				PERFORM pg_terminate_backend(active_pid)
				   FROM pg_replication_slots WHERE slot_name = '$slot' AND active_pid IS NOT NULL;
				PERFORM pg_drop_replication_slot('$slot');
				EXIT;
			EXCEPTION WHEN object_in_use THEN
				PERFORM pg_sleep(0.01);
			END;
		END LOOP;
	END \$\$;
	UPDATE t SET g = 2 WHERE id < 50});
filled_again('dropped', $slot, $from);

# ----
# Invalidated by the server
# ----

$slot = slot();
$from = -s $node->logfile;
sql(q{ALTER SYSTEM SET max_slot_wal_keep_size = '16MB'});
$node->reload;
my $held = DdirNode::hold($node, 'postgres', 'step-commit');
sql('DELETE FROM t WHERE id % 10 = 3');
DdirNode::reached($node, 'postgres', 'step-commit');
for (1 .. 4)
{
	sql('INSERT INTO filler VALUES (1)');
	sql('SELECT pg_switch_wal()');
}
sql('CHECKPOINT');
sql('INSERT INTO t SELECT i, 1, 1 FROM generate_series(2001, 2100) AS i');
$held->quit;
filled_again('invalidated', $slot, $from);
like(substr(slurp_file($node->logfile), $from), qr/invalidating (obsolete replication )?slot "$slot"/, 'invalidated: by the server');
sql('ALTER SYSTEM RESET max_slot_wal_keep_size');
$node->reload;

# ----
# ddir.max_slot_lag
# ----

# A maintainer that does not come to read is sent away with its slot ...
$slot = slot();
$from = -s $node->logfile;
sql(q{ALTER SYSTEM SET ddir.max_slot_lag = '4MB'});
$held = DdirNode::hold($node, 'postgres', 'step-commit');
sql('DELETE FROM t WHERE id % 10 = 4');
DdirNode::reached($node, 'postgres', 'step-commit');
sql(q{INSERT INTO filler SELECT repeat('x', 1000) FROM generate_series(1, 8000)});
$node->reload;
DdirNode::until_true($node, 'postgres',
	q{SELECT state = 'leaving' FROM ddir.workers WHERE kind = 'maintainer'},
	'too far behind: the maintainer is asked to leave');
$held->quit;
filled_again('too far behind', $slot, $from);
# ... and with the limit off nobody is
sql(q{ALTER SYSTEM SET ddir.max_slot_lag = '-1'});
$node->reload;
$slot = slot();
sql(q{INSERT INTO filler SELECT repeat('x', 1000) FROM generate_series(1, 8000)});
DdirNode::views_equal_queries($node, 'postgres', 'no limit');
is(slot(), $slot, 'no limit: the slot stays');

# ----
# A prepared transaction keeps a new slot from its start
# ----

sql(q{BEGIN; UPDATE t SET x = 7 WHERE id = 5; PREPARE TRANSACTION 'open'});
$node->stop;
rmtree($node->data_dir . "/pg_replslot/$slot");
$node->start;
DdirNode::until_true($node, 'postgres', q{
	SELECT count(*) = 1 FROM ddir.workers WHERE kind = 'maintainer' AND current_step LIKE '%waits for running transactions%'},
	'it is told that the slot has to wait');
sql(q{COMMIT PREPARED 'open'});
DdirNode::views_equal_queries($node, 'postgres', 'prepared and lost');

$node->stop;
done_testing();
