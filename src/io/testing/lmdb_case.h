// LMDB databases for tests, made page by page.
#ifndef BD_IO_TESTING_LMDB_CASE_H
#define BD_IO_TESTING_LMDB_CASE_H

#include "io/file.h"
#include <stdint.h>

#define LMDB_PAGE 512
#define LMDB_PAGES 8
#define LMDB_NO_ROOT UINT64_MAX

typedef struct lmdb_case {
    uint8_t bytes[LMDB_PAGES * LMDB_PAGE];
} lmdb_case;

enum {
    LMDB_BRANCH = 1,
    LMDB_LEAF = 2,
    LMDB_OVERFLOW = 4,
    LMDB_BIG = 1, // flags of nodes
    LMDB_DUPLICATES = 4
};

// A database without records, whose meta pages name `root` in transaction 1.
void lmdb_case_init(lmdb_case *c, uint64_t root);
void lmdb_case_meta(lmdb_case *c, int page, uint64_t root, uint64_t transaction);
void lmdb_case_page(lmdb_case *c, int page, int flags); // without nodes
// Appends a record to a leaf page; with LMDB_BIG `data` are the 8 bytes of a page's number and `len` is the
// length of the value there.
void lmdb_case_record(lmdb_case *c, int page, const char *key, const void *data, size_t len, int flags);
// Appends a node that names a page to a branch page.
void lmdb_case_child(lmdb_case *c, int page, const char *key, uint64_t child);
uint8_t *lmdb_case_bytes(lmdb_case *c, int page); // of a page
void lmdb_case_write(const lmdb_case *c, const char *path);

#endif
