/* Code that gains by it is compiled twice, for any processor and for AVX2, with different names for
 * its definitions. */
#ifndef SIMALLOC_VARIANT_H
#define SIMALLOC_VARIANT_H

#ifdef SIMALLOC_AVX2
#define VARIANT(name) name##_avx2
#else
#define VARIANT(name) name
#endif

#endif
