# DdirNode: a private server with ddir, for TAP tests.
#
#	my $node = DdirNode::start('name');		running, extension created
#	my $node = DdirNode::init('name', ...);	not started; the rest goes to init
#
# Both read test/ddir.conf, so that TAP tests run under the settings of every
# other test.

package DdirNode;

use strict;
use warnings;

use File::Basename;
use PostgreSQL::Test::Cluster;

my $conf = dirname(__FILE__) . '/../../ddir.conf';

sub init
{
	my ($name, %params) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(extra => [ '--encoding=UTF8', '--no-locale' ], %params);
	open(my $fh, '<', $conf) or die "could not open $conf: $!";
	$node->append_conf('postgresql.conf', do { local $/; <$fh> });
	close $fh;
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

1;
