# What the server must have for ddir views is asked for by name, and nothing is
# left behind where it is missing.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

use DdirNode;

my $node = DdirNode::start('main');

# The error of a statement: code, message, detail and hint in one string.
sub refused
{
	my ($sql, $db) = @_;
	my ($out, $err);

	$node->psql($db // 'postgres', "\\set VERBOSITY verbose\n$sql",
		stdout => \$out, stderr => \$err);
	$err =~ s/^LOCATION:.*\n//m;
	return $err;
}

sub full_error
{
	my ($err, $code, $message, $name) = @_;

	like($err, qr/ERROR:  $code: $message.*\nDETAIL:  .+\nHINT:  /s, $name);
}

sub settle
{
	my ($db) = @_;

	$node->safe_psql($db // 'postgres', q{SELECT ddir.wait(timeout => '2 min')});
}

my $view = 'CREATE MATERIALIZED VIEW v USING ddir AS SELECT a FROM t';

$node->safe_psql('postgres', 'CREATE TABLE t (a int); INSERT INTO t VALUES (1)');

# ----
# wal_level
# ----

$node->append_conf('postgresql.conf', "wal_level = replica\nddir.capture = logical");
$node->restart;
full_error(refused($view), '55000', 'ddir views need wal_level = logical',
	'a view needs wal_level = logical, unless triggers capture');
$node->append_conf('postgresql.conf', "wal_level = logical\nddir.capture = auto");

# ----
# Replication slots
# ----

$node->append_conf('postgresql.conf', 'max_replication_slots = 1');
$node->restart;
$node->safe_psql('postgres', q{SELECT pg_create_physical_replication_slot('taken')});
full_error(refused($view), '53400', 'no replication slot is free',
	'a view needs a replication slot');
$node->safe_psql('postgres', q{SELECT pg_drop_replication_slot('taken')});
$node->safe_psql('postgres', $view);
settle();
is($node->safe_psql('postgres', 'SELECT count(*) FROM v'), '1', 'and has it');
$node->safe_psql('postgres', 'CREATE MATERIALIZED VIEW w USING ddir AS SELECT a FROM t');
settle();
is($node->safe_psql('postgres', 'SELECT count(*) FROM w'), '1',
	'views of a database share it');
$node->append_conf('postgresql.conf', 'max_replication_slots = 8');

# ----
# Limits of shared memory
# ----

$node->append_conf('postgresql.conf', "ddir.max_databases = 1\nddir.max_views = 3");
$node->restart;
settle();
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql('other',
	'CREATE EXTENSION ddir; CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
full_error(refused($view, 'other'), '53400', 'too many databases have ddir views',
	'databases are limited');
$node->safe_psql('postgres', 'CREATE MATERIALIZED VIEW x USING ddir AS SELECT a FROM t');
full_error(refused('CREATE MATERIALIZED VIEW y USING ddir AS SELECT a FROM t'),
	'53400', 'too many ddir views', 'views are limited');
full_error(
	refused(
		'BEGIN; DROP MATERIALIZED VIEW x;'
		  . 'CREATE MATERIALIZED VIEW x USING ddir AS SELECT a FROM t;'
		  . 'CREATE MATERIALIZED VIEW y USING ddir AS SELECT a FROM t'),
	'53400', 'too many ddir views', 'within a transaction too');
$node->append_conf('postgresql.conf', "ddir.max_databases = 16\nddir.max_views = 1024");

# ----
# Background workers
# ----

# the server's own launcher for replication and ours take them
$node->append_conf('postgresql.conf',
	"max_worker_processes = 2\nmax_logical_replication_workers = 1");
$node->restart;
full_error(refused(q{SELECT ddir.wait('v', '1 min')}),
	'53400', 'no ddir maintainer can run for this database', 'a maintainer needs a worker');
is($node->safe_psql('postgres', 'SELECT a FROM v'), '1', 'the view stays readable');
is( $node->safe_psql('postgres', q{SELECT state FROM ddir.views WHERE view = 'v'::regclass}),
	'hydrating', 'its state says so');
is( $node->safe_psql('postgres',
		q{SELECT count(*) FROM ddir.workers WHERE current_step LIKE '%max_worker_processes%'}),
	'1', 'and ddir.workers why');
full_error(refused(q{SELECT ddir.repair('v')}),
	'57P03', 'no ddir maintainer runs', 'nobody can be asked');
$node->append_conf('postgresql.conf', 'max_worker_processes = 16');

# ----
# The library
# ----

$node->append_conf('postgresql.conf', q{shared_preload_libraries = ''});
$node->restart;
my $not_loaded = 'ddir is not loaded at server start';
full_error(refused(q{SELECT ddir.wait('v')}), '55000', $not_loaded, 'nothing to wait for');
full_error(refused('SELECT * FROM ddir.views'), '55000', $not_loaded, 'nothing to see');
full_error(refused('SELECT ddir.disable()'), '55000', $not_loaded, 'nothing to switch off');
full_error(refused(q{SELECT ddir.explain_query('SELECT 1'); CREATE MATERIALIZED VIEW z USING ddir AS SELECT a FROM t}),
	'55000', $not_loaded, 'no view where the library is not at work');
$node->safe_psql('postgres', 'CREATE DATABASE third');
full_error(refused('CREATE EXTENSION ddir', 'third'), '55000', $not_loaded, 'no extension');
is($node->safe_psql('postgres', 'SELECT a FROM v'), '1', 'views stay readable');
$node->safe_psql('postgres', 'INSERT INTO t VALUES (2)');
$node->append_conf('postgresql.conf', q{shared_preload_libraries = 'ddir'});

# ----
# And all is well again
# ----

$node->restart;
settle();
is($node->safe_psql('postgres', 'SELECT a FROM v ORDER BY a'), "1\n2",
	'a view catches up with what it missed');
$node->safe_psql('other', $view);
settle('other');
is( $node->safe_psql('postgres',
		q{SELECT string_agg(view || ' ' || state, ', ' ORDER BY view::text) FROM ddir.views}),
	'v live, w live, x live',
	'and what was refused has left nothing');
is($node->safe_psql('postgres', 'SELECT count(*) FROM ddir.views, ddir.check(view)'),
	'0', 'all views equal their queries');

$node->stop;
done_testing();
