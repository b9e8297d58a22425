/* What is quick enough to gain by it is compiled twice, for any processor and for those with
 * AVX2; what it defines has another name then. */
#ifndef SIMALLOC_VARIANT_H
#define SIMALLOC_VARIANT_H

#ifdef SIMALLOC_AVX2
#define VARIANT(name) name##_avx2
#else
#define VARIANT(name) name
#endif

#endif
