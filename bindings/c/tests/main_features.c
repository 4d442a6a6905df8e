/* What main.c of BLAKE3's C library wants in addition to blake3.h: the features of the CPU. It tries all sets of them.
 * Treewide chooses by itself, so there is one set. */
enum cpu_feature { NONE = 0, SOME = 1 << 30 };
enum cpu_feature g_cpu_features = NONE;
enum cpu_feature get_cpu_features(void);
enum cpu_feature get_cpu_features(void) { return NONE; }
