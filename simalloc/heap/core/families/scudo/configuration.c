/* Configurations of Scudo: LLVM's default and Android's. */
#include "families/scudo/parts.h"

static const uint32_t default_sizes[] = {
    128,   32,    64,    96,    128,   160,   192,   224,   256,   320,   384,   448,
    512,   640,   768,   896,   1024,  1280,  1536,  1792,  2048,  2560,  3072,  3584,
    4096,  5120,  6144,  7168,  8192,  10240, 12288, 14336, 16384, 20480, 24576, 28672,
    32768, 40960, 49152, 57344, 65536, 81920, 98304, 114688, 131072,
};

static const uint32_t android_sizes[] = {
    64,   32,   48,   64,   80,   96,   112,  144,   176,   192,   224,
    288,  352,  448,  592,  800,  1104, 1648, 2096,  2576,  3120,  4112,
    4624, 7120, 8720, 11664, 14224, 16400, 18448, 23056, 29456, 33296, 65552,
};

const struct configuration scudo_configurations[] = {
    [CONFIG_DEFAULT] =
        {
            .sizes = default_sizes,
            .classes = sizeof default_sizes / sizeof *default_sizes,
            .max_cached = 14,
            .cached_bytes = 1024,
            .runs = 8,
            .region = UINT64_C(4) << 30,
            .group_bits = 21,
            .gain = 15 * PAGE,
        },
    [CONFIG_ANDROID] =
        {
            .sizes = android_sizes,
            .classes = sizeof android_sizes / sizeof *android_sizes,
            .max_cached = 13,
            .cached_bytes = 8192,
            .runs = 4,
            .region = UINT64_C(256) << 20,
            .group_bits = 20,
            .gain = 7 * PAGE,
        },
};
