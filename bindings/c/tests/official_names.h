/* BLAKE3's C library under other names, so that one program can have it and treewide. Its sources are compiled with this
 * header in front; tests include it after blake3.h. */
#ifdef BLAKE3_H
void official_hasher_init(blake3_hasher *self);
void official_hasher_init_keyed(blake3_hasher *self, const uint8_t key[BLAKE3_KEY_LEN]);
void official_hasher_init_derive_key(blake3_hasher *self, const char *context);
void official_hasher_init_derive_key_raw(blake3_hasher *self, const void *context, size_t context_len);
void official_hasher_update(blake3_hasher *self, const void *input, size_t input_len);
void official_hasher_update_tbb(blake3_hasher *self, const void *input, size_t input_len);
void official_hasher_finalize(const blake3_hasher *self, uint8_t *out, size_t out_len);
void official_hasher_finalize_seek(const blake3_hasher *self, uint64_t seek, uint8_t *out, size_t out_len);
void official_hasher_reset(blake3_hasher *self);
#else
#define blake3_version official_version
#define blake3_hasher_init official_hasher_init
#define blake3_hasher_init_keyed official_hasher_init_keyed
#define blake3_hasher_init_derive_key official_hasher_init_derive_key
#define blake3_hasher_init_derive_key_raw official_hasher_init_derive_key_raw
#define blake3_hasher_update official_hasher_update
#define blake3_hasher_update_tbb official_hasher_update_tbb
#define blake3_hasher_finalize official_hasher_finalize
#define blake3_hasher_finalize_seek official_hasher_finalize_seek
#define blake3_hasher_reset official_hasher_reset
#endif
