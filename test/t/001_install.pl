# The library loads at start, and the extension survives dump and restore.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

use DdirNode;

my $node = DdirNode::start('main');

is($node->safe_psql('postgres', 'SHOW shared_preload_libraries'),
	'ddir', 'the library is preloaded');

my $objects = q{
	SELECT pg_describe_object(classid, objid, 0) FROM pg_depend
	 WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
	   AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'ddir')
	 ORDER BY 1};
my $before = $node->safe_psql('postgres', $objects);
like($before, qr/access method ddir/, 'the extension owns its access method');

my $dump = $node->basedir . '/dump.sql';
$node->command_ok([ 'pg_dump', '-f', $dump, 'postgres' ], 'dumps');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok(
	[ 'psql', '-X', '-v', 'ON_ERROR_STOP=1', '-f', $dump, 'restored' ],
	'restores');
is($node->safe_psql('restored', $objects), $before, 'with all its objects');

$node->safe_psql('restored', 'DROP EXTENSION ddir');
is($node->safe_psql('restored', q{SELECT count(*) FROM pg_am WHERE amname = 'ddir'}),
	'0', 'and drops');

$node->stop;
done_testing();
