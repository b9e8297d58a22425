# f2c translating 2,000 generated Fortran subroutines to C.
# Packages: f2c mawk
mawk 'BEGIN {
  for (i = 1; i <= 2000; i++) {
    depth = 1 + i % 3
    printf "      SUBROUTINE S%04d(N, M, A, B, X, INFO)\n", i
    print  "      INTEGER N, M, INFO, I1, I2, I3, K"
    print  "      DOUBLE PRECISION A(N,*), B(M), X(*), T, TEMP"
    printf "      COMMON /BLK%d/ T(%d)\n", i % 40, 10 + i % 7
    printf "      PARAMETER (K = %d)\n", i
    print  "      INFO = 0"
    print  "      IF (N .LE. 0 .OR. M .LT. N) THEN"
    printf "         INFO = -%d\n         RETURN\n      END IF\n", i % 9
    for (d = 1; d <= depth; d++)
      printf "      DO %d I%d = 1, %s\n", 100 * d, d, d % 2 ? "N" : "M"
    for (s = 0; s <= i % 11; s++)
      printf "         TEMP = X(I1)*A(I1,%s) + %d.5D0*B(%s) - DABS(T(%d))/K\n",
        (depth > 1 ? "I2" : "K"), i + s, (depth > 2 ? "I3" : "I1"), 1 + s % 10
    printf "         IF (TEMP .GT. X(I1)) X(I1) = DMAX1(TEMP, A(I1,%d))\n", 1 + i % 5
    for (d = depth; d >= 1; d--)
      printf "%5d CONTINUE\n", 100 * d
    if (i > 1)
      printf "      IF (X(1) .LT. T(1)) CALL S%04d(N, M, A, B, X, INFO)\n", i - 1
    print  "      WRITE (*, *) \047INFO =\047, INFO"
    print  "      END"
  }
}' > subroutines.f
$RECORD f2c -A -Nx4000 subroutines.f 2> messages
