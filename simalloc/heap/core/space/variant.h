/* Names for code that is compiled twice, for any processor and for AVX2, because AVX2 makes it
 * faster. */
#ifndef SIMALLOC_VARIANT_H
#define SIMALLOC_VARIANT_H

#ifdef SIMALLOC_AVX2
#define VARIANT(name) name##_avx2
#else
#define VARIANT(name) name
#endif

#endif
