# Session.pm: a session with the server, over its protocol; as much of it as
# queries need whose errors are looked at one by one.
#
#	my $s = Session->new($socket, $database, $options);
#	my $r = $s->run($sql, $copy_data);	# { rows => [[...]] } or { error, sqlstate, detail }
#	my $n = $s->describe($sql);		# number of columns; undef if it is no query
#
# A session that has lost its server answers with the error 08006.

package Session;

use strict;
use warnings;

use IO::Socket::UNIX;

sub new
{
	my ($class, $path, $database, $options) = @_;
	my $socket = IO::Socket::UNIX->new(Peer => $path) or die "$path: $!\n";
	my $self = bless { socket => $socket }, $class;
	my $body = pack('N', 3 << 16) . join('', map { "$_\0" } user => 'postgres', database => $database, options => $options) . "\0";
	print $socket pack('N', 4 + length $body) . $body;
	my $r = $self->answer;
	die "$r->{error}\n" if $r->{error};
	return $self;
}

sub alive { my ($self) = @_; return !$self->{lost} }

sub close
{
	my ($self) = @_;
	close $self->{socket};
	return;
}

sub literal
{
	my ($self, $text) = @_;
	return "E'" . ($text =~ s/\\/\\\\/gr =~ s/'/''/gr) . "'";
}

sub put
{
	my ($self, $type, $body) = @_;
	local $SIG{PIPE} = 'IGNORE';
	$self->{socket}->print($type . pack('N', 4 + length $body) . $body) && $self->{socket}->flush or $self->{lost} = 1;
	return;
}

sub get
{
	my ($self) = @_;
	my ($head, $body) = ('', '');
	if ($self->{lost} || read($self->{socket}, $head, 5) != 5) { $self->{lost} = 1; return ('lost', '') }
	my ($type, $length) = unpack('a N', $head);
	$length -= 4;
	if ($length && read($self->{socket}, $body, $length) != $length) { $self->{lost} = 1; return ('lost', '') }
	return ($type, $body);
}

# Everything up to the server's being ready again.
sub answer
{
	my ($self, $data) = @_;
	my $r = { rows => [] };
	while (1)
	{
		my ($type, $body) = $self->get;
		return { error => 'the server is gone', sqlstate => '08006', detail => '' } if $type eq 'lost';
		if ($type eq 'Z') { return $r }
		elsif ($type eq 'E' && !$r->{error})
		{
			my %field = map { substr($_, 0, 1) => substr($_, 1) } split /\0/, $body;
			@$r{qw(error sqlstate detail)} = ($field{M}, $field{C}, $field{D} // '');
		}
		elsif ($type eq 'D')
		{
			my ($n, $at, @row) = (unpack('n', $body), 2);
			for (1 .. $n)
			{
				my $length = unpack('N', substr($body, $at, 4));
				$at += 4;
				if ($length == 0xFFFFFFFF) { push @row, undef; next }
				push @row, substr($body, $at, $length);
				$at += $length;
			}
			push @{ $r->{rows} }, \@row;
		}
		elsif ($type eq 'T') { $r->{columns} = unpack('n', $body) }
		elsif ($type eq 'G')
		{
			$self->put('d', $data) if defined $data;
			$self->put('c', '');
		}
	}
}

sub run
{
	my ($self, $sql, $data) = @_;
	$self->put('Q', "$sql\0");
	return $self->answer($data);
}

sub describe
{
	my ($self, $sql) = @_;
	$self->put('P', "\0$sql\0" . pack('n', 0));
	$self->put('D', "S\0");
	$self->put('S', '');
	my $r = $self->answer;
	return $r->{error} ? undef : $r->{columns};
}

1;
