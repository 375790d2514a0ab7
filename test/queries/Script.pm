# Script.pm: a script for psql cut into its statements.
#
#	for my $s (statements($text, \%variables)) { $s->{sql}; $s->{data} }
#
# Comments go, variables are put in, \set and \getenv are done, other commands of
# psql are left out; "data" are the lines after a COPY FROM stdin.

package Script;

use strict;
use warnings;

use Exporter qw(import);
our @EXPORT_OK = qw(statements);

sub statements
{
	my ($text, $variables) = @_;
	my (@statements, $sql, $depth, $atomic);
	my $begin = sub { ($sql, $depth, $atomic) = ('', 0, 0) };
	my $end = sub {
		push @statements, { sql => $sql } if $sql =~ /\S/;
		$begin->();
	};
	$begin->();
	for ($text)
	{
		pos = 0;
		while (pos() < length)
		{
			if (/\G--[^\n]*/gc) { }
			elsif (m{\G/\*.*?\*/}gcs) { $sql .= ' ' }
			elsif (/\G[eE]'(?:[^'\\]|\\.|'')*'/gcs) { $sql .= $& }
			elsif (/\G'(?:[^']|'')*'/gcs) { $sql .= $& }
			elsif (/\G"(?:[^"]|"")*"/gcs) { $sql .= $& }
			elsif (/\G\$(\w*)\$.*?\$\1\$/gcs) { $sql .= $& }
			elsif (/\G::/gc) { $sql .= $& }
			elsif (/\G:(['"]?)(\w+)\1/gc)
			{
				my ($all, $quote, $value) = ($&, $1, $variables->{$2});
				$sql .= defined $value ? "$quote$value$quote" : $all;
			}
			elsif (/\G\\(\w*\+?)([^\n]*)/gc)
			{
				my ($command, $rest) = ($1, $2);
				if ($command =~ /^g/) { $end->() if $command ne 'getenv' }
				elsif ($command eq 'set' && $rest =~ /^\s*(\w+)\s+(.*?)\s*$/)
				{
					my ($name, $words) = ($1, $2);
					$variables->{$name} = join '', map { /^:(\w+)$/ ? $variables->{$1} // '' : s/^'|'$//gr } split ' ', $words;
				}
			}
			elsif (/\G;/gc)
			{
				if ($depth > 0 || $atomic > 0) { $sql .= ';'; next }
				my $copy = $sql =~ /^\s*COPY\b.*\bFROM\s+stdin\b/is;
				$end->();
				if ($copy && /\G[^\n]*\n(.*?)^\\\.$/gcms) { $statements[-1]{data} = $1 }
			}
			elsif (/\G[\w\$]+/gc)
			{
				my $word = $&;
				$atomic++ if $sql =~ /^\s*CREATE\b/i && ($word =~ /^begin$/i || $atomic && $word =~ /^case$/i);
				$atomic-- if $atomic && $word =~ /^end$/i;
				$sql .= $word;
			}
			elsif (/\G./gcs)
			{
				$depth++ if $& eq '(';
				$depth-- if $& eq ')';
				$sql .= $&;
			}
		}
	}
	$end->();
	return @statements;
}

1;
