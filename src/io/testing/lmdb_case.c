// LMDB databases for tests. Offsets are those of LMDB 0.9's mdb.c (struct MDB_page, MDB_node, MDB_meta).
#include "io/testing/lmdb_case.h"

#include "base/testing/test.h"
#include "io/little_endian.h"
#include <string.h>

static void put16(uint8_t *at, size_t value)
{
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
}

static size_t get16(const uint8_t *at)
{
    return (size_t)at[0] | (size_t)at[1] << 8;
}

uint8_t *lmdb_case_bytes(lmdb_case *c, int page)
{
    return c->bytes + page * LMDB_PAGE;
}

void lmdb_case_page(lmdb_case *c, int page, int flags)
{
    uint8_t *p = lmdb_case_bytes(c, page);
    memset(p, 0, LMDB_PAGE);
    bd_put_le64(p, (uint64_t)page);
    put16(p + 10, (size_t)flags);
    put16(p + 12, 16);
    put16(p + 14, LMDB_PAGE);
}

void lmdb_case_meta(lmdb_case *c, int page, uint64_t root, uint64_t transaction)
{
    lmdb_case_page(c, page, 8);
    uint8_t *meta = lmdb_case_bytes(c, page) + 16;
    bd_put_le32(meta, 0xBEEFC0DE);
    bd_put_le32(meta + 4, 1);
    bd_put_le32(meta + 24, LMDB_PAGE);
    bd_put_le64(meta + 112, root);
    bd_put_le64(meta + 120, LMDB_PAGES - 1);
    bd_put_le64(meta + 128, transaction);
}

void lmdb_case_init(lmdb_case *c, uint64_t root)
{
    memset(c, 0, sizeof *c);
    lmdb_case_meta(c, 0, root, 1);
    lmdb_case_meta(c, 1, root, 1);
}

// Makes room for a node at the end of a page, and names it behind the header.
static uint8_t *add_node(lmdb_case *c, int page, const char *key, size_t data_len)
{
    uint8_t *p = lmdb_case_bytes(c, page);
    size_t lower = get16(p + 12), upper = get16(p + 14) - (8 + strlen(key) + data_len);
    put16(p + lower, upper);
    put16(p + 12, lower + 2);
    put16(p + 14, upper);
    put16(p + upper + 6, strlen(key));
    memcpy(p + upper + 8, key, strlen(key));
    return p + upper;
}

void lmdb_case_record(lmdb_case *c, int page, const char *key, const void *data, size_t len, int flags)
{
    size_t data_len = flags & LMDB_BIG ? 8 : len;
    uint8_t *node = add_node(c, page, key, data_len);
    put16(node, len & 0xffff);
    put16(node + 2, len >> 16);
    put16(node + 4, (size_t)flags);
    memcpy(node + 8 + strlen(key), data, data_len);
}

void lmdb_case_child(lmdb_case *c, int page, const char *key, uint64_t child)
{
    uint8_t *node = add_node(c, page, key, 0);
    put16(node, child & 0xffff);
    put16(node + 2, child >> 16 & 0xffff);
    put16(node + 4, child >> 32 & 0xffff);
}

void lmdb_case_write(const lmdb_case *c, const char *path)
{
    BD_STATUS(st);
    bd_file_write_atomic(bd_fs_current, path, c->bytes, sizeof c->bytes, st);
    assert_ok(st);
}
