// Tables by LevelDB itself, callable from C: the reader and writer that ours are compared with.
#ifndef BD_TESTS_INTEROP_LEVELDB_TABLE_H
#define BD_TESTS_INTEROP_LEVELDB_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// Reads all entries in order, checking all checksums. False when LevelDB finds something wrong; *error says
// what (free).
bool leveldb_table_read(const char *path,
                        void (*fn)(const char *key, size_t key_len, const char *value, size_t value_len,
                                   void *arg),
                        void *arg, char **error);

// Looks a key up; *value (free) is NULL when it is not there.
bool leveldb_table_get(const char *path, const char *key, size_t key_len, char **value, size_t *value_len,
                       char **error);

// Writes a table of `count` keys, sorted, and values, with blocks of about `block_bytes`, compressed by
// Snappy on request.
bool leveldb_table_write(const char *path, size_t block_bytes, bool compressed, const char *const *keys,
                         const char *const *values, size_t count, char **error);

#ifdef __cplusplus
}
#endif
#endif
