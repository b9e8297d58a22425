# GiNaC expanding, dividing and factoring polynomials.
# Packages: ginac-tools
cat > algebra <<'GINSH'
p = expand((a+b+c+d+1)^12):
q = expand((a-b+2*c)^8*(b+c-d)^3):
nops(expand(p*(a-d)^2));
gcd(expand(q*(a+1)), expand(q*(d-2)));
normal((a^12-b^12)/(a^4-b^4));
factor(expand((a+b)^4*(c-d)^3*(a*c-1)));
nops(series(exp(sin(x))*log(1+x),x==0,20));
GINSH
$RECORD ginsh algebra > answers
