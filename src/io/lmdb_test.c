// Records of LMDB databases. That files of LMDB itself are read was checked with liblmdb 0.9.24.
#include "base/alloc.h"
#include "base/testing/test.h"
#include "io/little_endian.h"
#include "io/lmdb.h"
#include "io/testing/lmdb_case.h"
#include "io/testing/temp_dir.h"
#include <stdlib.h>
#include <string.h>

static char *dir, *path;

static bd_lmdb *open_case(const lmdb_case *c)
{
    BD_STATUS(st);
    bd_lmdb *db;
    lmdb_case_write(c, path);
    bd_lmdb_open(bd_fs_current, path, &db, st);
    assert_ok(st);
    return db;
}

static void expect(bd_lmdb *db, const char *key, const char *value, size_t len)
{
    BD_STATUS(st);
    bd_lmdb_record r;
    bool found;
    bd_lmdb_next(db, &r, &found, st);
    assert_ok(st);
    assert_true(found);
    assert_int_equal(r.key_len, strlen(key));
    assert_memory_equal(r.key, key, r.key_len);
    assert_int_equal(r.value_len, len);
    assert_memory_equal(r.value, value, len);
}

static void expect_end(bd_lmdb *db)
{
    BD_STATUS(st);
    bd_lmdb_record r;
    bool found;
    bd_lmdb_next(db, &r, &found, st);
    assert_ok(st);
    assert_false(found);
    bd_lmdb_close(db);
}

static void expect_error(bd_lmdb *db, braid_code code, const char *message)
{
    BD_STATUS(st);
    bd_lmdb_record r;
    bool found;
    bd_lmdb_next(db, &r, &found, st);
    assert_error(st, code, message);
    assert_false(found);
    bd_lmdb_close(db);
}

static void records_come_in_the_order_of_the_tree(void **state)
{
    (void)state;
    lmdb_case c;
    lmdb_case_init(&c, 2);
    lmdb_case_page(&c, 2, LMDB_BRANCH);
    lmdb_case_child(&c, 2, "", 4);
    lmdb_case_child(&c, 2, "m", 3);
    lmdb_case_page(&c, 3, LMDB_LEAF);
    lmdb_case_record(&c, 3, "m", "", 0, 0);
    lmdb_case_page(&c, 4, LMDB_LEAF);
    lmdb_case_record(&c, 4, "a", "one", 3, 0);
    lmdb_case_record(&c, 4, "b", "two", 3, 0);
    bd_lmdb *db = open_case(&c);
    expect(db, "a", "one", 3);
    expect(db, "b", "two", 3);
    expect(db, "m", "", 0);
    expect_end(db);
}

static void a_long_value_is_in_pages_of_its_own(void **state)
{
    (void)state;
    lmdb_case c;
    char value[700];
    uint8_t number[8];
    memset(value, 'v', sizeof value);
    bd_put_le64(number, 3);
    lmdb_case_init(&c, 2);
    lmdb_case_page(&c, 2, LMDB_LEAF);
    lmdb_case_record(&c, 2, "long", number, sizeof value, LMDB_BIG);
    lmdb_case_page(&c, 3, LMDB_OVERFLOW);
    memcpy(lmdb_case_bytes(&c, 3) + 16, value, sizeof value);
    bd_lmdb *db = open_case(&c);
    expect(db, "long", value, sizeof value);
    expect_end(db);
}

static void the_later_transaction_is_in_force(void **state)
{
    (void)state;
    for (int later = 0; later < 2; later++) {
        lmdb_case c;
        lmdb_case_init(&c, LMDB_NO_ROOT);
        lmdb_case_meta(&c, later, 2, 7);
        lmdb_case_page(&c, 2, LMDB_LEAF);
        lmdb_case_record(&c, 2, "a", "1", 1, 0);
        bd_lmdb *db = open_case(&c);
        expect(db, "a", "1", 1);
        expect_end(db);
    }
}

static void a_database_may_be_empty_and_a_directory(void **state)
{
    (void)state;
    BD_STATUS(st);
    lmdb_case c;
    lmdb_case_init(&c, LMDB_NO_ROOT);
    expect_end(open_case(&c));
    char *within = bd_path_join(dir, "data.mdb");
    lmdb_case_write(&c, within);
    bd_free(within);
    bd_lmdb *db;
    bd_lmdb_open(bd_fs_current, dir, &db, st);
    assert_ok(st);
    expect_end(db);
}

static void damage_is_an_error(void **state)
{
    (void)state;
    static const char *const messages[] = {
        "a page is not within the database", "the tree is too deep",
        "a page of the tree has no nodes",   "a node is not within its page",
        "a value is not within its page",    "a value is not within the database",
        "a page of the tree has no nodes",
    };
    uint8_t number[8];
    bd_put_le64(number, LMDB_PAGES - 1);
    for (size_t i = 0; i < BD_COUNTOF(messages); i++) {
        lmdb_case c;
        lmdb_case_init(&c, i == 0 ? LMDB_PAGES : 2);
        lmdb_case_page(&c, 2, i == 1 ? LMDB_BRANCH : i == 2 ? LMDB_OVERFLOW : LMDB_LEAF);
        if (i == 1) lmdb_case_child(&c, 2, "", 2);
        if (i == 3 || i == 4) lmdb_case_record(&c, 2, "a", "1", 1, 0);
        if (i == 3) memset(lmdb_case_bytes(&c, 2) + 16, 0xff, 2);              // where the node is
        if (i == 4) lmdb_case_bytes(&c, 2)[LMDB_PAGE - 10 + 2] = 1;            // 65537 bytes
        if (i == 5) lmdb_case_record(&c, 2, "a", number, LMDB_PAGE, LMDB_BIG); // two pages
        expect_error(open_case(&c), BRAID_DATA_LOSS, messages[i]);
    }
}

static void what_is_not_read_is_refused(void **state)
{
    (void)state;
    BD_STATUS(st);
    lmdb_case c;
    bd_lmdb *db;
    lmdb_case_init(&c, 2);
    lmdb_case_page(&c, 2, LMDB_LEAF);
    lmdb_case_record(&c, 2, "a", "1", 1, LMDB_DUPLICATES);
    expect_error(open_case(&c), BRAID_UNIMPLEMENTED, "keys with several values");
    bd_file_write_atomic(bd_fs_current, path, "text", 4, st);
    bd_lmdb_open(bd_fs_current, path, &db, st);
    assert_error(st, BRAID_DATA_LOSS, "is no LMDB database");
    bd_file_remove(bd_fs_current, path, st);
    bd_lmdb_open(bd_fs_current, path, &db, st);
    assert_error(st, BRAID_NOT_FOUND, "No such file");
}

int main(void)
{
    dir = bd_temp_dir_new();
    path = bd_path_join(dir, "db");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_come_in_the_order_of_the_tree),
        cmocka_unit_test(a_long_value_is_in_pages_of_its_own),
        cmocka_unit_test(the_later_transaction_is_in_force),
        cmocka_unit_test(a_database_may_be_empty_and_a_directory),
        cmocka_unit_test(damage_is_an_error),
        cmocka_unit_test(what_is_not_read_is_refused),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    bd_free(path);
    bd_temp_dir_free(dir);
    return failed;
}
