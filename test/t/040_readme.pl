# Every ```sql block of README.md runs, in order, as a user would paste it, and
# the first view shows what the page says.

use strict;
use warnings;

use File::Basename;
use PostgreSQL::Test::Utils;
use Test::More;

use DdirNode;

my $readme = dirname(__FILE__) . '/../../README.md';
my $page = slurp_file($readme);
my $node = DdirNode::init('main');

# The page says what to put into postgresql.conf.
my ($settings) = $page =~ /^```\n(shared_preload_libraries.*?)^```/ms;
ok($settings, 'the page has settings');
$node->append_conf('postgresql.conf', $settings);
$node->start;

# Blocks with their language and the line they begin at.
my @blocks;
my ($language, $text, $begin);
my $line = 0;
for (split /^/, $page)
{
	$line++;
	if (!defined $language)
	{
		($language, $text, $begin) = ($1, '', $line) if /^```(\w*)\n/;
	}
	elsif (/^```\n/)
	{
		push @blocks, { language => $language, text => $text, line => $begin };
		undef $language;
	}
	else
	{
		$text .= $_;
	}
}
ok(!defined $language, 'all blocks end');

# A block that only hints at a statement ends in an ellipsis.
my $sketch = qr/\.\.\.\s*\z/;
my $ran = 0;
my $last;
for my $i (0 .. $#blocks)
{
	my $b = $blocks[$i];

	if ($b->{language} eq 'sql' && $b->{text} !~ $sketch)
	{
		my ($ret, $out, $err) = (undef, '', '');

		$ret = $node->psql('postgres', $b->{text}, stdout => \$out, stderr => \$err,
			on_error_stop => 0);
		is($err, '', "line $b->{line}: runs");
		$ran++;
	}

	# a result, and the statements above it that gave it
	next unless $b->{language} eq '' && $i > 0 && $blocks[ $i - 1 ]{language} eq 'sql';
	my ($aligned) = run_command(
		[
			'psql', '-X', '-P', 'footer=off', '-d', $node->connstr('postgres'),
			'-c', $blocks[ $i - 1 ]{text}
		]);
	$_ =~ s/ +$//mg for $aligned, $b->{text};
	$_ =~ s/\s+\z// for $aligned, $b->{text};
	is($aligned, $b->{text}, "line $b->{line}: is the result");
	$last = $b;
}
cmp_ok($ran, '>=', 5, 'there are statements');
ok($last, 'and a result');

# What the page promises of them.
is( $node->safe_psql('postgres', q{SELECT maintained FROM ddir.explain_query('SELECT random() FROM customers')}),
	'f', 'a volatile function is refused');
$node->safe_psql('postgres', q{
	UPDATE orders SET amount = 12 WHERE id = 1;
	INSERT INTO customers VALUES (1, 'one', 'north');
	INSERT INTO invoices VALUES (1, 1, 2000)});
DdirNode::views_equal_queries($node, 'postgres');
is($node->safe_psql('postgres', 'SELECT * FROM big_regions'), 'north', 'views over views follow');

$node->stop;
done_testing();
