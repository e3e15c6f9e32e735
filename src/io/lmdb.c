// The file format of LMDB 0.9: http://www.lmdb.tech/doc/ and its header of pages.
//
// A file is pages of one size, which the meta pages 0 and 1 state. The meta page of the later transaction is
// in force. It names the root of a B+ tree: branch pages, whose nodes name pages, above leaf pages, whose
// nodes are records. A page begins with a header and the offsets of its nodes. A value that does not fit into
// a leaf is in consecutive overflow pages.
#include "io/lmdb.h"

#include "base/alloc.h"
#include "base/status.h"
#include "io/little_endian.h"
#include <string.h>

#define MAGIC 0xBEEFC0DEu
#define VERSION 1
#define PAGE_SIZE_MIN 512
#define PAGE_SIZE_MAX 65536
// LMDB's own limit.
#define DEPTH_MAX 32
#define NO_PAGE UINT64_MAX

// Of a page: its flags, where the offsets of nodes end, and the first of them.
enum {
    PAGE_FLAGS = 10,
    PAGE_LOWER = 12,
    PAGE_HEADER = 16
};

enum {
    PAGE_BRANCH = 0x01,
    PAGE_LEAF = 0x02,
    PAGE_OVERFLOW = 0x04
};

// Of a meta page, behind the header of the page: the database of free pages states the page size, the main
// one follows it.
enum {
    META_MAGIC = 0,
    META_VERSION = 4,
    META_PAGE_SIZE = 24,
    META_MAIN_ROOT = 112,
    META_LAST_PAGE = 120,
    META_TRANSACTION = 128,
    META_BYTES = 136
};

// Of a node: the size of its data, or the page that it names, in three parts; flags; the size of its key.
enum {
    NODE_LOW = 0,
    NODE_HIGH = 2,
    NODE_FLAGS = 4,
    NODE_KEY_SIZE = 6,
    NODE_HEADER = 8
};

enum {
    NODE_IS_BIG = 0x01,
    NODE_HAS_DUPLICATES = 0x04
};

// A page on the way from the root to the leaf that is read.
typedef struct level {
    uint8_t *page; // [page_size], owned
    int at, count; // the next node, and the number of nodes
} level;

struct bd_lmdb {
    bd_file *file; // owned
    size_t page_size;
    uint64_t root, last_page;
    level levels[DEPTH_MAX];
    int depth;      // levels in use; 0 before the first record and behind the last one
    bool has_begun; // the root was read
    uint8_t *big;   // a value in overflow pages; owned
};

static unsigned get_le16(const uint8_t *p)
{
    return (unsigned)p[0] | (unsigned)p[1] << 8;
}

static braid_code damaged(const bd_lmdb *db, braid_status *st, const char *what)
{
    return bd_fail(st, BRAID_DATA_LOSS, "%s is damaged: %s", db->file->path, what);
}

// ---- Opening ----

// Takes over what a meta page says, if its transaction is not before *transaction.
static bool read_meta(bd_lmdb *db, const uint8_t *meta, uint64_t *transaction)
{
    size_t page_size = bd_get_le32(meta + META_PAGE_SIZE);
    if (bd_get_le32(meta + META_MAGIC) != MAGIC || bd_get_le32(meta + META_VERSION) != VERSION) return false;
    if (page_size < PAGE_SIZE_MIN || page_size > PAGE_SIZE_MAX || (page_size & (page_size - 1))) return false;
    if (bd_get_le64(meta + META_TRANSACTION) < *transaction) return true;
    *transaction = bd_get_le64(meta + META_TRANSACTION);
    db->page_size = page_size;
    db->root = bd_get_le64(meta + META_MAIN_ROOT);
    db->last_page = bd_get_le64(meta + META_LAST_PAGE);
    return true;
}

static braid_code read_metas(bd_lmdb *db, braid_status *st)
{
    uint8_t meta[META_BYTES];
    uint64_t transaction = 0;
    size_t got;
    for (int i = 0; i < 2; i++) {
        uint64_t offset = (uint64_t)i * db->page_size + PAGE_HEADER;
        if (bd_file_read_at(db->file, offset, meta, sizeof meta, &got, st)) return st->code;
        if (got < sizeof meta || !read_meta(db, meta, &transaction))
            return bd_fail(st, BRAID_DATA_LOSS, "%s is no LMDB database of a 64-bit machine", db->file->path);
    }
    return BRAID_OK;
}

braid_code bd_lmdb_open(const bd_fs *fs, const char *path, bd_lmdb **out, braid_status *st)
{
    bd_file_info info;
    bd_file *file;
    *out = NULL;
    if (bd_file_get_info(fs, path, &info, st)) return st->code;
    char *name = info.is_dir ? bd_path_join(path, "data.mdb") : bd_strdup(path);
    braid_code code = bd_file_open(fs, name, BD_FILE_READ, &file, st);
    bd_free(name);
    if (code) return code;
    bd_lmdb *db = bd_calloc(1, sizeof *db);
    db->file = file;
    if (read_metas(db, st)) {
        bd_lmdb_close(db);
        return st->code;
    }
    *out = db;
    return BRAID_OK;
}

void bd_lmdb_close(bd_lmdb *db)
{
    BD_STATUS(st);
    if (!db) return;
    for (int i = 0; i < DEPTH_MAX; i++)
        bd_free(db->levels[i].page);
    bd_free(db->big);
    bd_file_close(db->file, st);
    bd_free(db);
}

// ---- Pages ----

// Reads a page of the tree as the lowest level.
static braid_code descend(bd_lmdb *db, uint64_t number, braid_status *st)
{
    if (db->depth == DEPTH_MAX) return damaged(db, st, "the tree is too deep");
    if (number < 2 || number > db->last_page) return damaged(db, st, "a page is not within the database");
    level *l = &db->levels[db->depth];
    if (!l->page) l->page = bd_malloc(db->page_size);
    if (bd_file_read_exact(db->file, number * db->page_size, l->page, db->page_size, st)) return st->code;
    const unsigned flags = get_le16(l->page + PAGE_FLAGS), lower = get_le16(l->page + PAGE_LOWER);
    if (!(flags & (PAGE_BRANCH | PAGE_LEAF)) || lower < PAGE_HEADER + 2 || lower > db->page_size)
        return damaged(db, st, "a page of the tree has no nodes");
    l->count = (int)(lower - PAGE_HEADER) / 2;
    l->at = 0;
    db->depth++;
    return BRAID_OK;
}

// A node of a level, whose header and key are within the page; *room is what follows the key there. NULL: it
// is not within the page.
static const uint8_t *node_at(const bd_lmdb *db, const level *l, int i, size_t *room)
{
    size_t offset = get_le16(l->page + PAGE_HEADER + 2 * i);
    if (offset < PAGE_HEADER || offset + NODE_HEADER > db->page_size) return NULL;
    const uint8_t *node = l->page + offset;
    size_t used = offset + NODE_HEADER + get_le16(node + NODE_KEY_SIZE);
    if (used > db->page_size) return NULL;
    *room = db->page_size - used;
    return node;
}

// Reads a value from overflow pages, whose first is `number`.
static braid_code read_big(bd_lmdb *db, uint64_t number, size_t len, braid_status *st)
{
    uint8_t header[PAGE_HEADER];
    if (number < 2 || number > db->last_page ||
        (len + PAGE_HEADER - 1) / db->page_size > db->last_page - number)
        return damaged(db, st, "a value is not within the database");
    uint64_t offset = number * db->page_size;
    if (bd_file_read_exact(db->file, offset, header, sizeof header, st)) return st->code;
    if (!(get_le16(header + PAGE_FLAGS) & PAGE_OVERFLOW))
        return damaged(db, st, "a value is in a page of another kind");
    bd_free(db->big);
    db->big = bd_try_malloc(len ? len : 1);
    if (!db->big) return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "OOM when reading a value of %zu bytes", len);
    return bd_file_read_exact(db->file, offset + PAGE_HEADER, db->big, len, st);
}

static braid_code read_record(bd_lmdb *db, const uint8_t *node, size_t room, bd_lmdb_record *r,
                              braid_status *st)
{
    const unsigned flags = get_le16(node + NODE_FLAGS);
    r->key_len = get_le16(node + NODE_KEY_SIZE);
    r->key = node + NODE_HEADER;
    r->value = node + NODE_HEADER + r->key_len;
    r->value_len = (size_t)get_le16(node + NODE_LOW) | (size_t)get_le16(node + NODE_HIGH) << 16;
    if (flags & NODE_HAS_DUPLICATES)
        return bd_fail(st, BRAID_UNIMPLEMENTED, "%s has keys with several values (MDB_DUPSORT)",
                       db->file->path);
    if (!(flags & NODE_IS_BIG))
        return r->value_len <= room ? BRAID_OK : damaged(db, st, "a value is not within its page");
    if (room < sizeof(uint64_t)) return damaged(db, st, "a node is not within its page");
    braid_code code = read_big(db, bd_get_le64(r->value), r->value_len, st);
    r->value = db->big;
    return code;
}

braid_code bd_lmdb_next(bd_lmdb *db, bd_lmdb_record *record, bool *found, braid_status *st)
{
    *found = false;
    if (!db->has_begun && db->root != NO_PAGE && descend(db, db->root, st)) return st->code;
    db->has_begun = true;
    while (db->depth > 0) {
        level *l = &db->levels[db->depth - 1];
        if (l->at == l->count) {
            db->depth--;
            continue;
        }
        size_t room;
        const uint8_t *node = node_at(db, l, l->at++, &room);
        if (!node) return damaged(db, st, "a node is not within its page");
        if (get_le16(l->page + PAGE_FLAGS) & PAGE_LEAF) {
            *found = !read_record(db, node, room, record, st);
            return st->code;
        }
        uint64_t page = (uint64_t)get_le16(node + NODE_LOW) | (uint64_t)get_le16(node + NODE_HIGH) << 16 |
                        (uint64_t)get_le16(node + NODE_FLAGS) << 32;
        if (descend(db, page, st)) return st->code;
    }
    return BRAID_OK;
}
