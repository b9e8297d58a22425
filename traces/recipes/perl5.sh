# Perl filling and justifying lines with breaks that make the spaces as even as possible.
# Packages: perl-base wamerican
cat > fill.pl <<'PERL'
use strict;
use warnings;

my ($width, $indent) = (66, 5);
my @words = map { chomp; $_ } <>;
while (my @paragraph = splice @words, 0, 100) {
    print ' ' x $indent, justified($_), "\n" for lines(@paragraph);
    print "\n";
}

# The breaks of least total badness, by dynamic programming from the end.
sub lines {
    my @words = @_;
    my @best = map { { badness => 0, line => [], rest => undef } } 0 .. @words;
    for my $first (reverse 0 .. $#words) {
        my @choices;
        my $length = -1;
        for my $last ($first .. $#words) {
            $length += 1 + length $words[$last];
            last if $length > $width;
            my $spare = $last == $#words ? 0 : ($width - $length)**2;
            push @choices, {
                badness => $spare + $best[$last + 1]{badness},
                line    => [@words[$first .. $last]],
                rest    => $best[$last + 1],
            };
        }
        ($best[$first]) = sort { $a->{badness} <=> $b->{badness} } @choices;
    }
    my @lines;
    for (my $at = $best[0]; $at->{rest}; $at = $at->{rest}) {
        push @lines, $at->{line};
    }
    return @lines;
}

sub justified {
    my @words = @{ $_[0] };
    my $text = shift @words;
    while (@words) {
        my $spare = $width - length join '', $text, @words;
        my $spaces = int($spare / @words);
        $text .= ' ' x ($spaces > 3 ? 1 : $spaces) . shift @words;
    }
    return $text;
}
PERL
PERL_HASH_SEED=0 $RECORD perl fill.pl /usr/share/dict/words > filled
