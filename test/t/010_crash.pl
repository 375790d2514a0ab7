# kill -9 of the maintainer, of a backend, of the postmaster, of a scanner,
# under pgbench and at each point of a step and of a hydration: views are
# readable at once, those that were live agree with each other, and soon all
# equal their queries.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

use DdirNode;

my $rounds = 3;
my $node = DdirNode::start('main',
	conf => DdirNode::points() . "restart_after_crash = on\nlog_statement = none\n");

# Each transaction moves money twice, so that sums over both tables agree at
# every commit, and so they must in the views at every moment.
$node->safe_psql('postgres', q{
	CREATE TABLE account (id int PRIMARY KEY, branch int, balance bigint NOT NULL);
	CREATE TABLE entry (id bigserial PRIMARY KEY, account int, amount bigint);
	INSERT INTO account SELECT i, i % 10, 0 FROM generate_series(1, 200) AS i;
	CREATE MATERIALIZED VIEW by_branch USING ddir AS
		SELECT branch, count(*) AS n, sum(balance) AS total FROM account GROUP BY branch;
	CREATE MATERIALIZED VIEW moved USING ddir AS
		SELECT a.branch, count(*) AS n, sum(e.amount) AS total
		  FROM account a JOIN entry e ON e.account = a.id GROUP BY a.branch;
	CREATE MATERIALIZED VIEW best USING ddir AS
		SELECT a.id, a.balance, max(e.amount) AS amount
		  FROM account a LEFT JOIN entry e ON e.account = a.id GROUP BY a.id, a.balance;
	CREATE UNIQUE INDEX ON best (id);
	CREATE MATERIALIZED VIEW idle USING ddir AS
		SELECT id FROM account a WHERE NOT EXISTS (SELECT FROM entry e WHERE e.account = a.id);
	CREATE MATERIALIZED VIEW poor USING ddir AS
		SELECT b.branch, m.n FROM by_branch b LEFT JOIN moved m USING (branch) WHERE b.total < 0});
my $agree = q{
	SELECT (SELECT sum(total) FROM by_branch) = (SELECT COALESCE(sum(total), 0) FROM moved)
	   AND (SELECT sum(balance) FROM best) = (SELECT sum(total) FROM by_branch)};
DdirNode::await($node, 'postgres');

my $script = q{
\set a random(1, 200)
\set b random(1, 200)
\set d random(-100, 100)
\set keep random(0, 3)
\set old random(1, 3000)
BEGIN;
UPDATE account SET balance = balance + :d WHERE id = :a;
INSERT INTO entry (account, amount) VALUES (:a, :d);
SAVEPOINT s;
UPDATE account SET balance = balance + 1, branch = (branch + 1) % 10 WHERE id = :b;
INSERT INTO entry (account, amount) VALUES (:b, 1);
\if :keep = 0
ROLLBACK TO s;
\endif
WITH gone AS (DELETE FROM entry WHERE id = :old RETURNING account, amount)
UPDATE account SET balance = balance - gone.amount FROM gone WHERE account.id = gone.account;
COMMIT;
};

# Crash in the middle of writing, see that all comes right.  A view that was
# being filled again stands where it stood, so then they need not agree.
sub crash
{
	my ($what, $kill, $filling) = @_;
	my $bench = DdirNode::pgbench($node, 'postgres', $script,
		'-c', '4', '-T', '300', '--max-tries=1000');
	my $from = $node->safe_psql('postgres', 'SELECT COALESCE(max(id), 0) FROM entry');

	$node->poll_query_until('postgres', "SELECT max(id) > $from + 200 FROM entry")
	  or die 'nothing is written';
	is($node->safe_psql('postgres', $agree), 't', "$what: views agree before");
	$kill->();
	DdirNode::pgbench_end($bench);
	DdirNode::until_up($node);
	is($node->safe_psql('postgres', $agree), 't', "$what: views agree at once") unless $filling;
	DdirNode::views_equal_queries($node, 'postgres', "$what: views equal their queries");
	return;
}

sub kill9
{
	my ($pid) = @_;

	die "not a process: $pid" unless $pid =~ /^\d+$/;
	kill(9, $pid);
	return;
}

for my $round (1 .. $rounds)
{
	crash("maintainer, round $round", sub { kill9(DdirNode::maintainer($node, 'postgres')) });
	crash("backend, round $round",
		sub {
			kill9($node->safe_psql('postgres', q{
				SELECT pid FROM pg_stat_activity
				 WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() LIMIT 1}));
		});
	crash("postmaster, round $round", sub { DdirNode::crash_and_start($node) });
}

# Without luck: where a crash would hurt most.
for my $point (qw(step-apply step-commit scanner-snapshot scanner-rows hydrate-compute hydrate-commit))
{
	crash("maintainer at $point",
		sub {
			my $held = DdirNode::hold($node, 'postgres', $point);

			$node->safe_psql('postgres', q{SELECT ddir.repair('by_branch')})
			  unless $point =~ /^step/;
			DdirNode::reached($node, 'postgres', $point);
			kill9(DdirNode::maintainer($node, 'postgres'));
			$held->{run}->kill_kill;
		},
		$point !~ /^step/);
}

crash('scanner',
	sub {
		my $held = DdirNode::hold($node, 'postgres', 'scanner-rows');

		$node->safe_psql('postgres', q{SELECT ddir.repair('moved')});
		DdirNode::reached($node, 'postgres', 'scanner-rows');
		kill9($node->safe_psql('postgres',
			q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'ddir scanner'}));
		$held->{run}->kill_kill;
	},
	1);

# A polite end of the maintainer is no crash, and costs nobody a connection.
my $session = $node->background_psql('postgres');
my $pid = DdirNode::maintainer($node, 'postgres');
$node->safe_psql('postgres', "INSERT INTO entry (account, amount) VALUES (1, 0)");
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
DdirNode::views_equal_queries($node, 'postgres', 'terminated: views equal their queries');
isnt(DdirNode::maintainer($node, 'postgres'), $pid, 'by another maintainer');
is($session->query('SELECT 1'), '1', 'others have not noticed');
$session->quit;

is( $node->safe_psql('postgres',
		q{SELECT count(*) FROM pg_replication_slots WHERE plugin = 'ddir'}),
	$node->safe_psql('postgres', 'SHOW wal_level') eq 'logical' ? '1' : '0', 'there is one slot, if any is needed');
is($node->safe_psql('postgres', 'SELECT count(*) FROM ddir._lagging'), '0', 'no view lags behind');

$node->stop;
done_testing();
