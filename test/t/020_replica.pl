# Base backups and physical standbys: views can be read there, and are kept
# current after a promotion, as on a restored backup.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use DdirNode;

my $primary = DdirNode::init('primary', allows_streaming => 1);

# what allows_streaming sets comes before test/ddir.conf
$primary->append_conf('postgresql.conf', "wal_level = logical\nmax_wal_senders = 8");
$primary->start;
$primary->safe_psql('postgres', q{
	CREATE EXTENSION ddir;
	CREATE TABLE t (id int PRIMARY KEY, g int, x int);
	INSERT INTO t SELECT i, i % 5, i FROM generate_series(1, 500) AS i;
	CREATE MATERIALIZED VIEW v USING ddir AS SELECT g, count(*) AS n, sum(x) AS x FROM t GROUP BY g;
	CREATE MATERIALIZED VIEW w USING ddir AS SELECT g FROM v WHERE n > 90;
	CREATE DATABASE other});
$primary->safe_psql('other', q{
	CREATE EXTENSION ddir;
	CREATE TABLE t (a int);
	CREATE MATERIALIZED VIEW v USING ddir AS SELECT a, count(*) FROM t GROUP BY a});
DdirNode::views_equal_queries($primary, $_) for qw(postgres other);

# Taken under writers, as backups are.
my $bench = DdirNode::pgbench($primary, 'postgres', q{
\set id random(1, 500)
UPDATE t SET x = x + 1, g = (g + 1) % 7 WHERE id = :id;
}, '-c', '2', '-T', '300');
$primary->backup('backup');

# ----
# A standby
# ----

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;
DdirNode::await($primary, 'postgres');
DdirNode::pgbench_stop($bench);
DdirNode::views_equal_queries($primary, 'postgres', 'on the primary');
$primary->wait_for_catchup($standby);
my $rows = 'SELECT * FROM v ORDER BY g';
is($standby->safe_psql('postgres', $rows), $primary->safe_psql('postgres', $rows),
	'a standby shows what the primary shows');
is($standby->safe_psql('postgres', 'SELECT count(*) FROM v, w WHERE v.g = w.g'),
	$standby->safe_psql('postgres', 'SELECT count(*) FROM w'), 'at one moment');

sub refused
{
	my ($sql, $like, $name) = @_;

	like(($standby->psql('postgres', "\\set VERBOSITY verbose\n$sql"))[2], $like, $name);
}

refused(q{SELECT ddir.wait('v')}, qr/ERROR:  55000: .*during recovery.*\nDETAIL:  .*\nHINT:  /, 'no waiting there');
refused(q{SELECT ddir.repair('v')}, qr/ERROR:  55000: .*during recovery.*\nDETAIL:  .*\nHINT:  /, 'and no repair');
refused(q{REFRESH MATERIALIZED VIEW v}, qr/ERROR:  25006: /, 'nor REFRESH');
is( $standby->safe_psql('postgres', q{SELECT count(*) FROM ddir.workers WHERE kind = 'maintainer' AND pid IS NOT NULL}),
	'0', 'no maintainer runs there');
is($standby->safe_psql('postgres', q{SELECT count(*) FROM pg_replication_slots}), '0', 'and no slot is held');

# ----
# Promoted
# ----

$primary->safe_psql('postgres', 'DELETE FROM t WHERE id < 20');
$primary->safe_psql('other', 'INSERT INTO t SELECT i % 3 FROM generate_series(1, 10) AS i');
$primary->wait_for_catchup($standby);
$primary->stop('immediate');
$standby->promote;
$standby->safe_psql('postgres', 'UPDATE t SET x = 0 WHERE g = 3');
DdirNode::views_equal_queries($standby, $_, "promoted: the views of $_ equal their queries") for qw(postgres other);
like($standby->safe_psql('postgres', q{SELECT reason FROM ddir.hydration WHERE view = 'v'::regclass}),
	qr/replication slot is gone/, 'they were filled again');
$standby->safe_psql('postgres', 'INSERT INTO t VALUES (9999, 4, 1)');
DdirNode::views_equal_queries($standby, 'postgres', 'and are kept current');
$standby->stop;

# ----
# A backup, restored
# ----

my $restored = PostgreSQL::Test::Cluster->new('restored');
$restored->init_from_backup($primary, 'backup');
$restored->start;
DdirNode::views_equal_queries($restored, $_, "restored: the views of $_ equal their queries") for qw(postgres other);
$restored->safe_psql('postgres', 'DELETE FROM t WHERE g = 1');
DdirNode::views_equal_queries($restored, 'postgres', 'restored: and are kept current');
is($restored->safe_psql('postgres', q{SELECT count(*) FROM pg_replication_slots}), '2', 'with a slot of each database');
$restored->stop;

# The old primary comes back by itself.
$primary->start;
DdirNode::views_equal_queries($primary, $_, "the old primary: the views of $_ equal their queries") for qw(postgres other);
$primary->stop;

done_testing();
