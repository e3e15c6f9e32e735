// Fuzzes reading of LMDB databases: every record is in memory, and the walk through the tree goes on from one
// to the next.
#include "base/check.h"
#include "base/status.h"
#include "io/little_endian.h"
#include "io/lmdb.h"
#include "io/testing/memory_fs.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// The first byte says whether the meta pages are put right: the fuzzer does not guess their numbers.
enum {
    REPAIR = 1,
    PAGE_BYTES = 512,
    RECORDS_MAX = 1000 // branches may name the same page again and again
};

static void write_file(const uint8_t *metas, size_t meta_bytes, const uint8_t *data, size_t size)
{
    BD_STATUS(st);
    bd_file *file;
    bd_file_open(bd_fs_current, "/f", BD_FILE_CREATE, &file, st);
    bd_file_write(file, metas, meta_bytes, st);
    bd_file_write(file, data, size, st);
    bd_file_close(file, st);
    BD_ASSERT(st->code == BRAID_OK);
}

// Meta pages of a tree whose root is the page behind them.
static void make_metas(uint8_t metas[2 * PAGE_BYTES], size_t size)
{
    memset(metas, 0, 2 * PAGE_BYTES);
    for (int i = 0; i < 2; i++) {
        uint8_t *meta = metas + i * PAGE_BYTES + 16;
        bd_put_le32(meta, 0xBEEFC0DE);
        bd_put_le32(meta + 4, 1);
        bd_put_le32(meta + 24, PAGE_BYTES);
        bd_put_le64(meta + 112, 2);
        bd_put_le64(meta + 120, 1 + size / PAGE_BYTES);
    }
}

static void read_all(void)
{
    BD_STATUS(st);
    bd_lmdb *db;
    bd_lmdb_record record;
    bool found = true;
    unsigned sum = 0;
    if (bd_lmdb_open(bd_fs_current, "/f", &db, st)) return;
    for (int i = 0; i < RECORDS_MAX && found && !bd_lmdb_next(db, &record, &found, st); i++) {
        for (size_t at = 0; found && at < record.key_len; at++)
            sum += ((const uint8_t *)record.key)[at];
        for (size_t at = 0; found && at < record.value_len; at++)
            sum += ((const uint8_t *)record.value)[at];
    }
    __asm__ volatile("" : : "r"(sum)); // the reads are made
    bd_lmdb_close(db);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    uint8_t metas[2 * PAGE_BYTES];
    make_metas(metas, size - 1);
    bd_memory_fs_install();
    write_file(metas, *data & REPAIR ? sizeof metas : 0, data + 1, size - 1);
    read_all();
    bd_memory_fs_uninstall();
    return 0;
}
