# The queries of Nexmark as views over its tables, while events come, late ones too, and others
# are changed and taken back: each view equals its query after every transaction.

use strict;
use warnings;

use File::Basename;
use lib dirname(__FILE__) . '/lib';

use DdirNode;
use Nexmark;
use Test::More;

my $seed = 3;
my $turns = DdirNode::by_triggers() ? 2 : 4;
my %queries = Nexmark::queries();

my $node = DdirNode::start('nexmark');
$node->safe_psql('postgres', Nexmark::load($seed));
foreach my $q (sort keys %queries)
{
	my ($status, undef, $err) = $node->psql('postgres', "CREATE MATERIALIZED VIEW $q USING ddir AS $queries{$q}");
	is("$status$err", '0', "$q is maintained");
}
DdirNode::await($node, 'postgres');
is($node->safe_psql('postgres', q{SELECT string_agg(view::text, ', ') FROM ddir.views
	WHERE (xpath('//c/text()', query_to_xml('SELECT count(*) AS c FROM ' || view, true, true, '')))[1]::text = '0'}),
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
	$node->safe_psql('postgres', Nexmark::turn($seed, $turn));
	equal("turn $turn");
}
$node->safe_psql('postgres', 'BEGIN; DELETE FROM bid; DELETE FROM auction WHERE id % 2 = 0; COMMIT');
equal('the last rows go');
$node->safe_psql('postgres', Nexmark::turn($seed, 5));
equal('and others come');
$node->stop;

done_testing();
