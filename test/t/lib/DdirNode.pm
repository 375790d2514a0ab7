# DdirNode: a private server with ddir, for TAP tests.
#
#	my $node = DdirNode::start('name');		running, extension created
#	my $node = DdirNode::init('name', ...);	not started
#
# Both read test/ddir.conf, so that TAP tests run under the settings of every
# other test; conf => '...' adds lines, the rest goes to the cluster's init.
#
#	DdirNode::views_equal_queries($node, 'postgres');
#
# is the one law, and ends every test: all views of the database become live,
# and each equals its query, compared as bags both ways and by ddir.check.
#
# Nothing here sleeps: one waits for views (ddir.wait), for a condition
# (until_true), or stops the code at a debug point:
#
#	my $held = DdirNode::hold($node, 'postgres', 'step-commit');
#	... (something that makes a maintainer step)
#	DdirNode::reached($node, 'postgres', 'step-commit');
#	$held->quit;
#
# for which the server needs conf => DdirNode::points().

package DdirNode;

use strict;
use warnings;

use File::Basename;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @conf = (dirname(__FILE__) . '/../../ddir.conf');
push @conf, $ENV{DDIR_TEST_CONFIG} if $ENV{DDIR_TEST_CONFIG};

# A loaded machine is no failure.
our $patience = '170 s';

# Are all tests run where triggers capture changes?
sub by_triggers { return defined $ENV{DDIR_TEST_CONFIG}; }

# What of a table is changed so that it is captured, as a condition on its OID.
sub is_prepared
{
	my ($table) = @_;

	return by_triggers()
	  ? "EXISTS (SELECT FROM pg_trigger WHERE tgrelid = $table AND tgfoid = 'ddir._capture()'::regprocedure)"
	  : "EXISTS (SELECT FROM ddir._identity WHERE relid = $table)";
}

sub init
{
	my ($name, %params) = @_;
	my %place = map { $_ => delete $params{$_} } grep { exists $params{$_} } qw(install_path);
	my $node = PostgreSQL::Test::Cluster->new($name, %place);
	my $more = delete $params{conf} // '';

	$node->init(extra => [ '--encoding=UTF8', '--no-locale' ], %params);
	foreach my $conf (@conf)
	{
		open(my $fh, '<', $conf) or die "could not open $conf: $!";
		$node->append_conf('postgresql.conf', do { local $/; <$fh> });
		close $fh;
	}
	$node->append_conf('postgresql.conf', $more);
	return $node;
}

sub start
{
	my ($name, %params) = @_;
	my $node = init($name, %params);

	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION ddir');
	return $node;
}

# ----
# The one law
# ----

# Prints nothing if all is well.
my $compare = q{
	\set VERBOSITY verbose
	\set views 'pg_class c JOIN pg_am a ON a.oid = c.relam WHERE a.amname = ''ddir'' AND c.relkind = ''m'''
	DO $$ BEGIN PERFORM ddir.wait(NULL, '%s'); END $$;
	SELECT 'there is no view' WHERE NOT EXISTS (SELECT FROM :views);
	SELECT view, state, reason, message FROM ddir.views WHERE state <> 'live';
	SELECT format('SELECT %%1$L, count(*) FROM ((TABLE %%1$s EXCEPT ALL %%2$s) UNION ALL (%%2$s EXCEPT ALL TABLE %%1$s)) AS d HAVING count(*) > 0',
				  c.oid::regclass, rtrim(pg_get_viewdef(c.oid), ';'))
	  FROM :views \gexec
	SELECT format('SELECT %%1$L, * FROM ddir.check(%%1$L)', c.oid::regclass) FROM :views \gexec
};

sub views_equal_queries
{
	my ($node, $db, $name) = @_;
	my ($out, $err) = ('', '');

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$node->psql($db, sprintf($compare, $patience),
		stdout => \$out, stderr => \$err, on_error_stop => 0);
	return is("$out$err", '', $name // "the views of $db equal their queries");
}

# ----
# Waiting
# ----

# Fails the test, and says what was awaited, where it does not come true.
sub until_true
{
	my ($node, $db, $query, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return ok($node->poll_query_until($db, $query), $name // $query);
}

sub await
{
	my ($node, $db, $view) = @_;

	$node->safe_psql($db,
		sprintf(q{SELECT ddir.wait(%s, '%s')}, $view ? "'$view'" : 'NULL', $patience));
	return;
}

# All that a server is asked before it is up, or up again, fails.
sub until_up
{
	my ($node) = @_;

	# no query: psql may be gone before it reads one
	$node->poll_query_until('postgres', undef, '') or die 'the server does not come up';
	return;
}

# ----
# Debug points
# ----

# Every point waits for whoever holds its lock; with nobody, nothing happens.
sub points
{
	return "ddir.debug_points = '"
	  . join(', ',
		map { "$_:wait" }
		  qw(scanner-snapshot scanner-rows hydrate-compute hydrate-commit step-apply step-commit
			turn-look turn-read cut-snapshot))
	  . "'\n";
}

sub hold
{
	my ($node, $db, $point) = @_;
	my $session = $node->background_psql($db);

	$session->query_safe("SELECT pg_advisory_lock(hashtext('$point'))");
	return $session;
}

# Somebody stands at the point.
sub reached
{
	my ($node, $db, $point) = @_;

	$node->poll_query_until($db, qq{
		SELECT count(*) > 0 FROM pg_locks
		 WHERE locktype = 'advisory' AND NOT granted
		   AND objid = (hashtext('$point')::bigint & x'ffffffff'::bigint)::oid})
	  or die "nobody came to $point";
	return;
}

# ----
# Processes
# ----

sub maintainer
{
	my ($node, $db) = @_;

	return $node->safe_psql('postgres',
		"SELECT pid FROM ddir.workers WHERE kind = 'maintainer' AND database = '$db' AND pid IS NOT NULL");
}

# pgbench in the background; it may die with the server.
sub pgbench
{
	my ($node, $db, $script, @options) = @_;
	my $file = PostgreSQL::Test::Utils::tempdir() . '/script.sql';
	my $output = '';

	PostgreSQL::Test::Utils::append_to_file($file, $script);
	local %ENV = $node->_get_env();
	my $run = IPC::Run::start(
		[
			$node->installed_command('pgbench'), '-n', '-f', $file, @options,
			'-h', $node->host, '-p', $node->port, $db
		],
		'<', \undef, '>&', \$output);
	return { run => $run, output => \$output };
}

sub pgbench_end
{
	my ($bench) = @_;

	$bench->{run}->finish;
	note ${ $bench->{output} };
	return;
}

# ... before its time.  Not by SIGINT, which a process in the background ignores.
sub pgbench_stop
{
	my ($bench) = @_;

	$bench->{run}->signal('TERM');
	pgbench_end($bench);
	return;
}

# kill -9 of the postmaster, and another one.  The old one has to be gone for
# the system, and its children have to notice.
sub crash_and_start
{
	my ($node) = @_;
	my $pid = $node->{_pid};
	my $tries = 10 * $PostgreSQL::Test::Utils::timeout_default;

	$node->kill9;
	while (kill(0, $pid) || !$node->start(fail_ok => 1))
	{
		die 'the server does not start again' if $tries-- == 0;
		select(undef, undef, undef, 0.1);
	}
	until_up($node);
	return;
}

1;
