/* Functions of treewide.h that return their results as values: Swift would clear the 1,912 bytes of a hasher before it hands
 * them to a function that fills them. */
#ifndef TREEWIDE_SWIFT_VALUES_H
#define TREEWIDE_SWIFT_VALUES_H

#include "treewide.h"

/* A digest, as words in the order of the machine. */
typedef struct {
  uint64_t words[4];
} treewide_swift_digest;

static inline treewide_hasher treewide_swift_hasher(const treewide_mode *mode) {
  treewide_hasher hasher;
  treewide_init(&hasher, mode);
  return hasher;
}

static inline treewide_swift_digest treewide_swift_hash(const void *input, size_t len) {
  treewide_swift_digest digest;
  treewide_hash(input, len, (uint8_t *)digest.words);
  return digest;
}

static inline treewide_swift_digest treewide_swift_hash_mode(const treewide_mode *mode, const void *input, size_t len) {
  treewide_swift_digest digest;
  treewide_hash_mode(mode, input, len, (uint8_t *)digest.words, TREEWIDE_OUT_LEN);
  return digest;
}

static inline treewide_swift_digest treewide_swift_finalize(const treewide_hasher *hasher) {
  treewide_swift_digest digest;
  treewide_finalize(hasher, 0, (uint8_t *)digest.words, TREEWIDE_OUT_LEN);
  return digest;
}

static inline treewide_swift_digest treewide_swift_stream_finalize(const treewide_stream *stream) {
  treewide_swift_digest digest;
  treewide_stream_finalize(stream, 0, (uint8_t *)digest.words, TREEWIDE_OUT_LEN);
  return digest;
}

static inline treewide_reader treewide_swift_reader(const treewide_hasher *hasher) {
  treewide_reader reader;
  treewide_reader_init(&reader, hasher);
  return reader;
}

#endif
