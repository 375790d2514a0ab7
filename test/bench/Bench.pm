# Bench: what make bench stands on: servers, timed SQL, pgbench, the table.
#
#	my $server = Bench::start('name', @settings);	a server of our own
#	$server->sql($db, $sql)			run it; what it printed, unaligned
#	$server->row($db, $sql)			the fields of the last line printed
#	$server->pgbench($db, $seconds, ...)	transactions per second
#	Bench::line(...)			one line of the table, at once and at the end
#	Bench::check($server, $db, $view)	one passed or failed
#	Bench::finish()				the table and the closing line
#
# Servers live in the current directory, are reached by a socket there only, and
# are stopped when the program ends, however it ends.  Settings that distort a
# measurement are off everywhere: autovacuum, checkpoints by time, JIT.

package Bench;

use strict;
use warnings;

use Cwd qw(getcwd);
use IPC::Run qw(run);
use List::Util qw(sum0);
use Time::HiRes qw(time);

chomp(my $bindir = `${\ ($ENV{PG_CONFIG} // 'pg_config')} --bindir`);

my $common = <<'CONF';
listen_addresses = ''
unix_socket_permissions = 0700
shared_buffers = 512MB
work_mem = 256MB
maintenance_work_mem = 256MB
max_wal_size = 16GB
checkpoint_timeout = 1h
autovacuum = off
jit = off
log_line_prefix = '%m [%p] %q%a '
CONF

# ----
# Servers
# ----

my @running;

sub start
{
	my ($name, @settings) = @_;
	my $dir = getcwd() . "/bench-$name";
	my $self = bless { name => $name, dir => $dir, data => "$dir/data", log => "$dir/log" }, 'Bench';

	mkdir $dir or die "could not make $dir: $!\n";
	command("$bindir/initdb", '-D', $self->{data}, '-U', 'bench', '-A', 'trust', '-E', 'UTF8', '--no-locale', '-N');
	open(my $conf, '>>', "$self->{data}/postgresql.conf") or die "could not write the settings: $!\n";
	print $conf $common, "unix_socket_directories = '$dir'\n", map { "$_\n" } @settings;
	close $conf;
	push @running, $self;
	command("$bindir/pg_ctl", '-D', $self->{data}, '-l', $self->{log}, '-w', 'start');
	return $self;
}

sub stop
{
	my ($self) = @_;
	system("'$bindir/pg_ctl' -s -D '$self->{data}' -m immediate -w stop >/dev/null 2>&1");
	return;
}

# A process we stopped would keep its server from ending.
my %stopped;

END
{
	my $status = $?;
	kill 'CONT', keys %stopped if %stopped;
	$_->stop for @running;
	$? = $status;
}

$SIG{$_} = sub { exit 1 }
  for qw(INT TERM HUP);

sub command
{
	my (@command) = @_;
	my $out = '';
	run \@command, '<', \undef, '>&', \$out;
	die "@command:\n$out" if $?;
	return $out;
}

# Several sessions at a time: $server->sessions($db, @scripts).
sub sessions
{
	my ($self, $db, @scripts) = @_;
	my (@runs, @out, @err);

	for my $i (0 .. $#scripts)
	{
		($out[$i], $err[$i]) = ('', '');
		push @runs, '&' if @runs;
		push @runs, [ "$bindir/psql", '-XAtq', '-F', ' ', '-v', 'ON_ERROR_STOP=1', '-h', $self->{dir}, '-U', 'bench', '-d', $db ],
		  '<', \$scripts[$i], '>', \$out[$i], '2>', \$err[$i];
	}
	my $good = run @runs;
	die join('', @err) . join('', @out) unless $good;
	return @out;
}

sub sql
{
	my ($self, $db, $sql) = @_;
	my ($out) = $self->sessions($db, "SET client_min_messages = warning;\n$sql");
	return $out;
}

sub row
{
	my ($self, $db, $sql) = @_;
	my @lines = split /\n/, $self->sql($db, $sql);
	die "no row from: $sql\n" unless @lines;
	return wantarray ? split / /, $lines[-1] : $lines[-1];
}

# Run a statement; how many ms it took, as the server saw it.
sub timed
{
	my ($self, $db, $statement, $before) = @_;
	return $self->row($db, ($before // '') . <<"SQL");
SELECT clock_timestamp() AS t0 \\gset
\\o /dev/null
$statement
\\o
SELECT extract(epoch FROM clock_timestamp() - :'t0') * 1000;
SQL
}

sub setting
{
	my ($self, $name, $value) = @_;
	$self->sql('postgres', "ALTER SYSTEM SET $name = $value;\nSELECT pg_reload_conf();");
	for (1 .. 100)
	{
		return if $self->row('postgres', "SHOW $name;") eq $value;
		select undef, undef, undef, 0.05;
	}
	die "the server does not take $name = $value\n";
}

# pgbench with four clients: tps, count, and latency_ms of a transaction itself,
# without the time by which it began late.
sub pgbench
{
	my ($self, $db, $seconds, $script, @options) = @_;
	my $out = command("$bindir/pgbench", '-n', '-M', 'prepared', '-c', 4, '-j', 1, '-T', $seconds,
		'-f', $script, '-h', $self->{dir}, '-U', 'bench', @options, $db);
	my ($count) = $out =~ /number of transactions actually processed: (\d+)/;
	my ($failed) = $out =~ /number of failed transactions: (\d+)/;
	my ($latency) = $out =~ /latency average = ([\d.]+) ms/;
	my ($tps) = $out =~ /tps = ([\d.]+) \(without/;
	my ($late) = $out =~ /rate limit schedule lag: avg ([\d.]+)/;
	die "pgbench:\n$out" unless defined $tps && !$failed;
	$latency -= $late if $late;
	return { tps => $tps, latency_ms => $latency, count => $count };
}

# ----
# The maintainer as a process
# ----

sub maintainer
{
	my ($self, $db) = @_;
	return $self->row($db, "SELECT pid FROM ddir.workers WHERE kind = 'maintainer' AND database::text = current_database();");
}

sub slurp
{
	my ($file) = @_;
	open(my $fh, '<', $file) or return '';
	local $/;
	return scalar <$fh>;
}

# CPU time of a process so far, in seconds
sub cpu
{
	my ($pid) = @_;
	my @fields = split / /, slurp("/proc/$pid/stat") =~ s/^.*\) //r;
	return @fields > 12 ? ($fields[11] + $fields[12]) / 100 : 0;
}

# resident memory that is its own, in bytes
sub memory
{
	my ($pid) = @_;
	return slurp("/proc/$pid/status") =~ /^RssAnon:\s+(\d+) kB/m ? $1 * 1024 : 0;
}

# Stop the maintainer while it sleeps, so that it holds nothing others need.
sub freeze
{
	my ($self, $db) = @_;
	my $pid = $self->maintainer($db);
	for (1 .. 200)
	{
		$self->sql($db, "SELECT ddir.wait();");
		select undef, undef, undef, 0.02;
		$stopped{$pid} = 1;
		kill 'STOP', $pid or die "could not stop process $pid: $!\n";
		my $event = $self->sql($db, "SELECT wait_event FROM pg_stat_activity WHERE pid = $pid AND wait_event_type IN ('Extension', 'Activity');");
		return $pid if $event =~ /\S/;
		thaw($pid);
	}
	die "the maintainer does not come to rest\n";
}

sub thaw
{
	my ($pid) = @_;
	kill 'CONT', $pid or die "process $pid is gone\n";
	delete $stopped{$pid};
	return;
}

# ----
# Numbers
# ----

sub median
{
	my @sorted = sort { $a <=> $b } @_;
	return @sorted % 2 ? $sorted[ $#sorted / 2 ] : ($sorted[ @sorted / 2 - 1 ] + $sorted[ @sorted / 2 ]) / 2;
}

sub mean { return sum0(@_) / @_ }

# three digits that count
sub digits
{
	my ($x) = @_;
	my $text = $x >= 100 ? sprintf('%.0f', $x) : $x >= 10 ? sprintf('%.1f', $x) : sprintf('%.2f', $x);
	1 while $text =~ s/^(\d+)(\d{3})/$1,$2/;
	return $text;
}

# ----
# The table
# ----

my (@lines, @checks);
my $started = time();

sub say_now
{
	my ($text) = @_;
	printf STDERR "%6.1f s  %s\n", time() - $started, $text;
	return;
}

sub verdict
{
	my ($value, $reach, $beyond, $low) = @_;
	my $short = $low ? $value / $reach : $value > 0 ? $reach / $value : 9999;
	return sprintf 'missed by %.2fx', $short if $short > 1;
	return ($low ? $value <= $beyond : $value >= $beyond) ? 'beyond' : 'reached';
}

# One line: what, value, unit, [reach, beyond, 'low' or 'high'], beside.
sub line
{
	my ($what, $value, $unit, $target, $beside) = @_;
	my $measured = digits($value) . $unit;
	my @target = $target ? (digits($target->[0]) . $unit, digits($target->[1]) . $unit) : ('', '');
	my $verdict = $target ? verdict($value, @$target[ 0, 1 ], $target->[2] eq 'low') : '';
	push @lines, [ $what, $measured, @target, $verdict, $beside // '' ];
	say_now("$what: $measured" . ($verdict ? " ($verdict)" : '') . ($beside ? "; $beside" : ''));
	return;
}

sub remark
{
	my ($what, $text) = @_;
	push @lines, [ $what, $text, '', '', '', '' ];
	say_now("$what: $text");
	return;
}

sub failed
{
	my ($what, $why) = @_;
	$why =~ s/\s+\z//;
	push @checks, [ $what, 0 ];
	say_now("FAILED $what: $why");
	return;
}

sub check
{
	my ($self, $db, $view) = @_;
	my $rows = eval { $self->sql($db, "SELECT ddir.wait('$view', '10 min');\nSELECT kind, count, row_data FROM ddir.check('$view') LIMIT 5;") };
	return failed("check of $view", $@) unless defined $rows;
	return failed("check of $view", $rows) if $rows =~ /\S/;
	push @checks, [ "check of $view", 1 ];
	return;
}

sub finish
{
	my ($title) = @_;
	my @head = ('what', 'measured', 'reach', 'beyond', 'verdict', 'beside');
	my @width;
	for my $line (\@head, @lines)
	{
		# a remark has no columns after its text
		my $last = $line->[4] eq '' && $line->[5] eq '' && $line->[2] eq '' ? 0 : 4;
		for (0 .. $last) { $width[$_] = length $line->[$_] if length $line->[$_] > ($width[$_] // 0) }
	}
	my $row = sub {
		my $text = join '  ', map { $_ < 5 ? sprintf("%-$width[$_]s", $_[0][$_]) : $_[0][$_] } 0 .. 5;
		return $text =~ s/\s+\z//r;
	};
	print "\n$title\n\n", $row->(\@head), "\n", join('  ', map { '-' x $_ } @width, 6), "\n";
	print $row->($_), "\n" for @lines;
	my $passed = grep { $_->[1] } @checks;
	my $failed = @checks - $passed;
	print "\n";
	print "FAILED $_->[0]\n" for grep { !$_->[1] } @checks;
	print "$passed passed, $failed failed\n";
	return $failed == 0;
}

1;
