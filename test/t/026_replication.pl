# Logical replication beside ddir, whichever way changes are captured: a server
# with views publishes all its tables, to one without ddir and to one whose own
# views read what is fed.  From the initial copy on, subscribers have the user's
# tables, and nothing of ddir's own.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use DdirNode;

my $conf = "wal_level = logical\n";
my $publisher = DdirNode::start('publisher', conf => $conf, allows_streaming => 'logical');
my $fed = DdirNode::start('fed', conf => $conf);
my $plain = PostgreSQL::Test::Cluster->new('plain');
$plain->init;
$plain->start;

my $tables = q{
	CREATE TABLE item (id int PRIMARY KEY, g int, note text);
	CREATE TABLE g (g int PRIMARY KEY, name text);
	CREATE TABLE log (id int, what text)};
my $views = q{
	CREATE MATERIALIZED VIEW by_g USING ddir AS SELECT g, count(*) AS n, max(note) AS note FROM item GROUP BY g;
	CREATE MATERIALIZED VIEW named USING ddir AS SELECT item.id, g.name FROM item JOIN g USING (g);
	CREATE MATERIALIZED VIEW above USING ddir AS SELECT sum(n) AS n FROM by_g;
	CREATE MATERIALIZED VIEW logged USING ddir AS SELECT what, count(*) AS n FROM log GROUP BY what};
my $all = q{
	SELECT md5(string_agg(r, ' ' ORDER BY r COLLATE "C"))
	  FROM (SELECT item::text FROM item UNION ALL SELECT g::text FROM g UNION ALL SELECT log::text FROM log) AS t (r)};

sub subscribe
{
	my ($node) = @_;
	my $name = $node->name;

	$node->safe_psql('postgres', sprintf(
			q{CREATE SUBSCRIPTION %s CONNECTION '%s' PUBLICATION everything}, $name,
			$publisher->connstr('postgres') =~ s/'/''/gr));
	return;
}

# All of the publisher has arrived, without an error, and all views are right.
sub replicated
{
	my ($name) = @_;
	my $want = $publisher->safe_psql('postgres', $all);

	for my $node ($plain, $fed)
	{
		my $who = $node->name;

		DdirNode::until_true($node, 'postgres',
			q{SELECT count(*) = 3 FROM pg_subscription_rel WHERE srsubstate IN ('r', 's')}, "$who: $name: copied");
		$publisher->wait_for_catchup($who);
		is($node->safe_psql('postgres', $all), $want, "$who: $name");
		is($node->safe_psql('postgres', 'SELECT sum(apply_error_count + sync_error_count) FROM pg_stat_subscription_stats'),
			'0', "$who: $name: without an error");
	}
	DdirNode::views_equal_queries($publisher, 'postgres', "$name: views of the publisher");
	DdirNode::views_equal_queries($fed, 'postgres', "$name: views of the subscriber");
	return;
}

$_->safe_psql('postgres', $tables) for $publisher, $plain, $fed;
$_->safe_psql('postgres', $views) for $publisher, $fed;

for my $mode (qw(logical trigger))
{
	for my $node ($publisher, $fed)
	{
		$node->append_conf('postgresql.conf', "ddir.capture = $mode");
		$node->reload;
		DdirNode::until_true($node, 'postgres',
			"SELECT count(*) = 3 AND bool_and(capture = '$mode') FROM ddir.sources", $node->name . ": $mode");
	}
	$publisher->safe_psql('postgres', q{
		INSERT INTO item SELECT i, i % 5, 'item ' || i FROM generate_series(1, 1000) AS i;
		INSERT INTO g SELECT i, 'group ' || i FROM generate_series(0, 5) AS i;
		INSERT INTO log SELECT i, 'before' FROM generate_series(1, 10) AS i;
		CREATE PUBLICATION everything FOR ALL TABLES});
	subscribe($_) for $plain, $fed;
	replicated("$mode, the initial copy");
	is($publisher->safe_psql('postgres', q{SELECT count(*) FROM pg_publication_tables WHERE schemaname = 'ddir'}),
		'0', "$mode: nothing of ddir's own is published");

	$publisher->safe_psql('postgres', q{
		INSERT INTO item VALUES (1001, 1, repeat('long ', 10000)), (1002, NULL, NULL);
		UPDATE item SET g = (g + 1) % 6 WHERE id % 3 = 0;
		UPDATE item SET id = -id WHERE id % 10 = 0;
		UPDATE item SET g = 0 WHERE id = 1001;
		DELETE FROM item WHERE id % 7 = 0;
		BEGIN;
		INSERT INTO log VALUES (11, 'in a transaction');
		SAVEPOINT a;
		DELETE FROM g;
		ROLLBACK TO a;
		DELETE FROM g WHERE g = 5;
		COMMIT});
	replicated("$mode, changes");

	# what ddir notes for itself: a view that lags, the switch, what triggers write
	my $lock = $publisher->background_psql('postgres');
	$lock->query_safe('BEGIN; ALTER MATERIALIZED VIEW by_g RENAME COLUMN n TO m');
	$publisher->safe_psql('postgres', 'UPDATE item SET g = 3 WHERE g = 2');
	DdirNode::until_true($publisher, 'postgres', 'SELECT count(*) = 1 FROM ddir._lagging', "$mode: a view lags");
	$lock->query_safe('ROLLBACK');
	$lock->quit;
	$publisher->safe_psql('postgres', q{
		SELECT ddir.disable();
		UPDATE g SET name = name || ' renamed';
		SELECT ddir.enable();
		INSERT INTO item SELECT i, i % 5, 'more' FROM generate_series(10001, 60000) AS i;
		DELETE FROM item WHERE id > 20000});
	replicated("$mode, beside what ddir notes for itself");

	$publisher->safe_psql('postgres', q{TRUNCATE log; INSERT INTO log VALUES (1, 'after'); TRUNCATE g});
	replicated("$mode, tables emptied");

	$_->safe_psql('postgres', 'DROP SUBSCRIPTION ' . $_->name) for $plain, $fed;
	$publisher->safe_psql('postgres', 'DROP PUBLICATION everything');
	$_->safe_psql('postgres', 'TRUNCATE item, g, log') for $publisher, $plain, $fed;
}

$_->stop for $fed, $plain, $publisher;
done_testing();
