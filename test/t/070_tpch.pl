# The 22 queries of TPC-H as views over one small set of data, while rows of all tables come, go
# and change: each view equals its query after every transaction.

use strict;
use warnings;

use File::Basename;
use lib dirname(__FILE__) . '/lib';

use DdirNode;
use Test::More;
use Tpch;

my $seed = 7;
my $turns = DdirNode::by_triggers() ? 1 : 2;
# few lines and parts: what is rare in the specification is asked for more often here
my %asked = (fraction => 0.002, quantity => 230, color => 'a', size => 40, nation => 'INDIA');

my $node = DdirNode::start('tpch');
$node->safe_psql('postgres', Tpch::load($seed, 0.002));
foreach my $n (1 .. 22)
{
	my $query = Tpch::query($n, %asked);
	my ($status, undef, $err) = $node->psql('postgres', "CREATE MATERIALIZED VIEW q$n USING ddir AS $query");
	is("$status$err", '0', "q$n is maintained");
}
DdirNode::await($node, 'postgres');
is($node->safe_psql('postgres', q{SELECT string_agg('q' || n, ', ') FROM generate_series(1, 22) n
	WHERE (xpath('//c/text()', query_to_xml('SELECT count(*) AS c FROM q' || n, true, true, '')))[1]::text = '0'}),
	'', 'every query has rows');

sub equal
{
	my ($name) = @_;
	my ($out, $err) = ('', '');
	$node->psql('postgres', "DO \$\$ BEGIN PERFORM ddir.wait(NULL, '$DdirNode::patience'); END \$\$;
		SELECT v.view, c.* FROM ddir.views v, ddir.check(v.view) c", stdout => \$out, stderr => \$err);
	is("$out$err", '', $name);
	return;
}

equal('filled');
foreach my $turn (1 .. $turns)
{
	$node->safe_psql('postgres', Tpch::churn($seed, $turn, 5));
	equal("orders come and go, $turn");
	$node->safe_psql('postgres', Tpch::more($seed, $turn));
	equal("rows of all tables change, $turn");
}
$node->safe_psql('postgres', 'BEGIN; DELETE FROM lineitem; DELETE FROM partsupp; DELETE FROM customer; COMMIT');
equal('the last rows go');
$node->safe_psql('postgres', 'SELECT gen.add_orders(orders + 1, orders + 300) FROM gen.size');
equal('and others come');
$node->stop;

done_testing();
