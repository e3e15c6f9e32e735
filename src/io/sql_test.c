// Queries of SQLite databases.
#include "base/alloc.h"
#include "base/testing/test.h"
#include "io/sql.h"
#include "io/testing/temp_dir.h"
#include "tensor/buffer.h"
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

static char *dir, *path; // of the database

// Runs statements on the database, which is made if it is not there; the connection stays open.
static sqlite3 *write_database(const char *statements)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, statements, NULL, NULL, NULL), SQLITE_OK);
    return db;
}

static int make_database(void **state)
{
    (void)state;
    path = bd_path_join(dir, "db");
    sqlite3_close(
        write_database("CREATE TABLE t (i, r, s);"
                       "INSERT INTO t VALUES (1, 0.5, 'one'), ('2', '1.5', x'610062'), (NULL, NULL, NULL)"));
    return 0;
}

static int remove_database(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_file_remove(bd_fs_current, path, st);
    bd_free(path);
    return 0;
}

static bd_sql *open_query(const char *query)
{
    BD_STATUS(st);
    bd_sql *sql;
    bd_sql_open(bd_fs_current, path, query, NULL, NULL, &sql, st);
    assert_ok(st);
    return sql;
}

static bool next(bd_sql *sql)
{
    BD_STATUS(st);
    bool has_row;
    bd_sql_next(sql, &has_row, st);
    assert_ok(st);
    return has_row;
}

static void expect_text(bd_sql *sql, const char *want, size_t want_len)
{
    BD_STATUS(st);
    const char *text;
    size_t len;
    bd_sql_text(sql, 2, &text, &len, st);
    assert_ok(st);
    assert_int_equal(len, want_len);
    assert_memory_equal(text, want, len);
}

static void expect_refused(const char *query, braid_code code, const char *message)
{
    BD_STATUS(st);
    bd_sql *sql;
    bd_sql_open(bd_fs_current, path, query, NULL, NULL, &sql, st);
    assert_error(st, code, message);
    assert_null(sql);
}

static void rows_have_columns_of_any_type(void **state)
{
    (void)state;
    bd_sql *sql = open_query("SELECT * FROM t ORDER BY rowid");
    assert_int_equal(bd_sql_column_count(sql), 3);
    assert_true(next(sql));
    assert_int_equal(bd_sql_int(sql, 0), 1);
    assert_true(bd_sql_real(sql, 1) == 0.5);
    expect_text(sql, "one", 3);
    assert_true(next(sql));
    assert_int_equal(bd_sql_int(sql, 0), 2);
    assert_true(bd_sql_real(sql, 1) == 1.5);
    expect_text(sql, "a\0b", 3);
    assert_true(next(sql));
    assert_int_equal(bd_sql_int(sql, 0), 0);
    assert_true(bd_sql_real(sql, 1) == 0);
    expect_text(sql, "", 0);
    assert_false(next(sql));
    bd_sql_close(sql);
}

static void a_query_only_reads(void **state)
{
    (void)state;
    static const char *const refused[] = {
        "INSERT INTO t VALUES (1, 2, 3)", "DROP TABLE t",       "ATTACH DATABASE '/tmp/other' AS o",
        "PRAGMA hard_heap_limit = 1",     "UPDATE t SET i = 1", "CREATE TABLE u (i)",
    };
    for (size_t i = 0; i < BD_COUNTOF(refused); i++)
        expect_refused(refused[i], i == 5 ? BRAID_UNKNOWN : BRAID_INVALID_ARGUMENT, "not authorized");
    expect_refused("SELECT absent FROM t", BRAID_UNKNOWN, "no such column: absent");
    expect_refused(" ", BRAID_INVALID_ARGUMENT, "is empty");
    bd_sql *sql = open_query("VACUUM INTO 'copy'"); // its error comes when it runs
    BD_STATUS(st);
    bool has_row;
    bd_sql_next(sql, &has_row, st);
    assert_int_not_equal(st->code, BRAID_OK);
    bd_sql_close(sql);
}

static void memory_of_queries_counts_against_the_limit_of_the_pool(void **state)
{
    (void)state;
    BD_STATUS(st);
    bool has_row;
    bd_sql *sql = open_query("WITH RECURSIVE c(x) AS (SELECT 1 UNION SELECT x + 1 FROM c LIMIT 10000000) "
                             "SELECT count(*) FROM c"); // UNION keeps all rows
    bd_buffer_pool_set_limit(bd_buffer_pool_get_stats().bytes_in_use + (16 << 20));
    bd_sql_next(sql, &has_row, st);
    assert_error(st, BRAID_RESOURCE_EXHAUSTED, "it needs more memory than there may be");
    bd_sql_close(sql);
    sql = open_query("SELECT count(*) FROM t"); // the memory is free again
    assert_true(next(sql));
    bd_sql_close(sql);
    bd_buffer_pool_set_limit(SIZE_MAX);
}

static void a_query_neither_sees_nor_sets_addresses_of_the_process(void **state)
{
    (void)state;
    if (!sqlite3_compileoption_used("ENABLE_FTS3_TOKENIZER")) skip();
    expect_refused("SELECT hex(fts3_tokenizer('simple'))", BRAID_UNKNOWN, "not authorized");
    expect_refused("SELECT FTS3_Tokenizer('simple', x'4141414141414141')", BRAID_UNKNOWN, "not authorized");
}

static void a_name_is_a_path_and_no_uri(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_sql *sql;
    char *uri = bd_asprintf("file:%s?vfs=unix", path);
    bd_sql_open(bd_fs_current, uri, "SELECT 1 FROM t", NULL, NULL, &sql, st);
    assert_error(st, BRAID_NOT_FOUND, "cannot open ./file:");
    bd_free(uri);
}

static void a_write_ahead_log_is_read(void **state)
{
    (void)state;
    sqlite3 *writer = write_database("PRAGMA journal_mode = WAL; INSERT INTO t VALUES (9, 9, 9)");
    bd_sql *sql = open_query("SELECT count(*), 0, max(i) FROM t");
    assert_true(next(sql));
    assert_int_equal(bd_sql_int(sql, 0), 4);
    bd_sql_close(sql);
    sqlite3_close(writer); // which removes the log
    sql = open_query("SELECT count(*), 0, max(i) FROM t");
    assert_true(next(sql));
    assert_int_equal(bd_sql_int(sql, 0), 4);
    bd_sql_close(sql);
}

static void a_journal_that_a_writer_left_behind_is_an_error(void **state)
{
    (void)state;
    BD_STATUS(st);
    // The head of a journal of one page of 4096 bytes.
    static const unsigned char head[512] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7, 0, 0,
                                            0,    1,    0,    0,    0,    0,    0,    0,    0, 2,
                                            0,    0,    2,    0,    0,    0,    0x10, 0};
    char *journal = bd_asprintf("%s-journal", path);
    bd_file_write_atomic(bd_fs_current, journal, head, sizeof head, st);
    assert_ok(st);
    bd_sql *sql;
    braid_code code = bd_sql_open(bd_fs_current, path, "SELECT * FROM t", NULL, NULL, &sql, st);
    assert_int_equal(code, BRAID_FAILED_PRECONDITION);
    bd_file_remove(bd_fs_current, journal, st);
    bd_free(journal);
}

static void what_is_no_database_is_lost_data(void **state)
{
    (void)state;
    BD_STATUS(st);
    char text[4096];
    memset(text, 'x', sizeof text);
    bd_file_write_atomic(bd_fs_current, path, text, sizeof text, st);
    assert_ok(st);
    expect_refused("SELECT * FROM t", BRAID_DATA_LOSS, "file is not a database");
}

static bool stops_at_once(void *arg)
{
    (void)arg;
    return true;
}

static void a_query_ends_when_its_rows_are_not_wanted(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_sql *sql;
    bd_sql_open(bd_fs_current, path,
                "WITH RECURSIVE r (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT sum(i) FROM r",
                stops_at_once, NULL, &sql, st);
    assert_ok(st);
    bool has_row;
    bd_sql_next(sql, &has_row, st);
    assert_error(st, BRAID_CANCELLED, "interrupted");
    bd_sql_close(sql);
}

int main(void)
{
    dir = bd_temp_dir_new();
#define ON_A_DATABASE(TEST) cmocka_unit_test_setup_teardown(TEST, make_database, remove_database)
    const struct CMUnitTest tests[] = {
        ON_A_DATABASE(rows_have_columns_of_any_type),
        ON_A_DATABASE(a_query_only_reads),
        ON_A_DATABASE(memory_of_queries_counts_against_the_limit_of_the_pool),
        ON_A_DATABASE(a_query_neither_sees_nor_sets_addresses_of_the_process),
        ON_A_DATABASE(a_name_is_a_path_and_no_uri),
        ON_A_DATABASE(a_write_ahead_log_is_read),
        ON_A_DATABASE(a_journal_that_a_writer_left_behind_is_an_error),
        ON_A_DATABASE(what_is_no_database_is_lost_data),
        ON_A_DATABASE(a_query_ends_when_its_rows_are_not_wanted),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    bd_temp_dir_free(dir);
    return failed;
}
