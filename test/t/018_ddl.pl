# DDL that has to wait for a maintainer at work, and what is written meanwhile:
# both get what they want, and views equal their queries.
#
# (The isolation tests have the cases in which nobody waits: their tester
# cannot see that a session waits for a worker.)

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

use DdirNode;

my $node = DdirNode::start('main', conf => DdirNode::points());

sub sql { return $node->safe_psql('postgres', @_); }

sub equal { return DdirNode::views_equal_queries($node, 'postgres', @_); }

my $schema = q{
	DROP TABLE IF EXISTS t, d CASCADE;
	DROP MATERIALIZED VIEW IF EXISTS v_renamed;
	CREATE TABLE t (id int PRIMARY KEY, g int, x int);
	CREATE TABLE d (g int, name text);
	INSERT INTO t SELECT i, i % 5, i FROM generate_series(1, 200) AS i;
	INSERT INTO d SELECT i, 'group ' || i FROM generate_series(0, 4) AS i;
	CREATE MATERIALIZED VIEW v USING ddir AS
		SELECT d.name, count(*) AS n, sum(t.x) AS x FROM t JOIN d USING (g) GROUP BY d.name;
	CREATE MATERIALIZED VIEW above USING ddir AS SELECT name FROM v WHERE n > 30;
	CREATE MATERIALIZED VIEW other USING ddir AS SELECT g, max(x) AS x FROM t GROUP BY g};
my $write = q{
	UPDATE t SET g = (g + 1) % 6 WHERE id % 4 = 0;
	DELETE FROM t WHERE id % 10 = 3;
	INSERT INTO t (id, g, x) SELECT i, i % 7, 1 FROM generate_series(1000, 1050) AS i
		ON CONFLICT DO NOTHING};
my $more = q{
	INSERT INTO d VALUES (1, 'another'), (5, 'fifth');
	INSERT INTO t (id, g, x) SELECT i, i % 7, 1 FROM generate_series(2000, 2050) AS i
		ON CONFLICT DO NOTHING};

# Stop at the point, let the command run into the maintainer, write, go on.
sub race
{
	my ($point, $command, $waits) = @_;
	my $what = "$point, $command";
	my $held = DdirNode::hold($node, 'postgres', $point);
	my $session;

	# a step, or a hydration
	sql($point =~ /^step/ ? $write : q{SELECT ddir.repair('v')});
	DdirNode::reached($node, 'postgres', $point);

	$session = $node->background_psql('postgres');
	my $pid = $session->query_safe('SELECT pg_backend_pid()');
	$session->{stdin} .= "$command;\n\\echo ended\n";
	$session->{run}->pump_nb;
	DdirNode::until_true($node, 'postgres',
		"SELECT count(*) > 0 FROM pg_locks WHERE pid = $pid AND NOT granted",
		"$what: has to wait")
	  if $waits;
	# what would wait behind the command is only written when that is through
	sql($more) unless $point =~ /^scanner/;
	$held->quit;
	$session->{run}->pump until $session->{stdout} =~ /ended/ || $session->{timeout}->is_expired;
	sql($more);
	unlike($session->{stderr}, qr/ERROR/, "$what: succeeds");
	$session->{stdin} .= "ROLLBACK;\n" if $command =~ /BEGIN/;
	$session->quit;
	return equal("$what: views equal their queries");
}

my @commands = (
	'DROP MATERIALIZED VIEW above',
	'REFRESH MATERIALIZED VIEW v',
	'BEGIN; INSERT INTO d VALUES (6, \'own\'); REFRESH MATERIALIZED VIEW v; COMMIT',
	'ALTER MATERIALIZED VIEW v RENAME TO v_renamed; ALTER MATERIALIZED VIEW v_renamed RENAME TO v',
	'ALTER MATERIALIZED VIEW v SET (fillfactor = 50)',
	'CREATE UNIQUE INDEX ON v (name)',
	'VACUUM FULL v',
	'CREATE INDEX i ON other (g); CLUSTER other USING i',
	'REINDEX TABLE v',
	'BEGIN; DROP MATERIALIZED VIEW v CASCADE',
	'DROP MATERIALIZED VIEW v CASCADE');

for my $point (qw(step-commit hydrate-commit))
{
	sql($schema);
	equal("$point: made");
	for my $command (@commands)
	{
		# of what is written, only that which is written now is locked
		my $waits = $command !~ /REFRESH MATERIALIZED VIEW v$/ && $command !~ /fillfactor/
		  && !($point eq 'hydrate-commit' && $command =~ /other/);

		race($point, $command, $waits);
	}
}

# Sources, which a scan has locked against these.
for my $command (
	'TRUNCATE t',
	'ALTER TABLE t ADD COLUMN y int DEFAULT 1; UPDATE t SET y = 2',
	'VACUUM FULL t',
	'ALTER TABLE t DROP CONSTRAINT t_pkey',
	'BEGIN; TRUNCATE t; INSERT INTO t SELECT i, i % 5, i FROM generate_series(1, 20) AS i; COMMIT',
	'DROP TABLE d CASCADE; CREATE TABLE d (g int, name text)')
{
	sql($schema);
	equal('made');
	race('scanner-rows', $command, 1);
}

is($node->safe_psql('postgres', 'SELECT count(*) FROM ddir._lagging'), '0', 'no view lags behind');

$node->stop;
done_testing();
