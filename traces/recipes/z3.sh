# Z3 factoring a number into two primes with bit vectors.
# Packages: z3
cat > factors.smt2 <<'SMT'
(set-logic QF_BV)
(declare-const x (_ BitVec 42))
(declare-const y (_ BitVec 42))
(assert (bvult (_ bv1 42) x))
(assert (bvult x y))
(assert (bvult y (_ bv1048576 42)))
(assert (= (bvmul x y) (_ bv700003100003 42)))
(check-sat)
SMT
$RECORD z3 factors.smt2 > answer
