// Tests of SqlDataset.
// labels: concurrent
#include "base/testing/test.h"
#include "io/file.h"
#include "io/testing/temp_dir.h"
#include "ops/testing/op_test.h"
#include "ops/testing/pipeline.h"
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

static char *dir;

static void make_database(void)
{
    sqlite3 *db;
    char *path = bd_path_join(dir, "db");
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db, "CREATE TABLE t (i, s); INSERT INTO t VALUES (1, 'a'), (-2, 'b'), (300, NULL)", NULL,
                     NULL, NULL),
        SQLITE_OK);
    sqlite3_close(db);
    bd_free(path);
}

static const struct {
    const char *driver, *source, *query, *types, *want;
} cases[] = {
    {"sqlite", "db", "SELECT i, s FROM t WHERE i < 300 ORDER BY i", "int64,string",
     "int64[] -2; string[] b | int64[] 1; string[] a | end"},
    {"sqlite", "db", "SELECT i, i, i, i, i, i FROM t WHERE i = 300", "int8,uint8,int16,uint16,int32,double",
     "int8[] 44; uint8[] 44; int16[] 300; uint16[] 300; int32[] 300; double[] 300 | end"},
    {"sqlite", "db", "SELECT s = 'a' FROM t WHERE s ORDER BY i", "bool", "end"},
    {"sqlite", "db", "SELECT i > 0, i < 0 FROM t ORDER BY i LIMIT 2", "bool,bool",
     "bool[] false; bool[] true | bool[] true; bool[] false | end"},
    {"sqlite", "db", "SELECT i FROM t WHERE 0", "int64", "end"},
    {"sqlite", "db", "SELECT i FROM t", "int64,int64",
     "InvalidArgument: The number of columns in query (1) must match the number of elements in output_types (2). | end"},
    {"sqlite", "db", "DELETE FROM t", "int64", "InvalidArgument: a query may only read | end"},
    {"sqlite", "db", "SELEC", "int64", "Unknown: syntax error | end"},
    {"sqlite", "none", "SELECT 1", "int64", "NotFound: cannot open | end"},
};

static void rows_are_elements(void **state)
{
    (void)state;
    static const char *const ops[] = {"SqlDataset", "ExperimentalSqlDataset"};
    for (size_t i = 0; i < 2 * BD_COUNTOF(cases); i++) {
        char text[2048], query[512];
        size_t len = 0;
        for (const char *c = cases[i / 2].query; *c; c++) // blanks separate elements
            len += (size_t)snprintf(query + len, sizeof query - len,
                                    *c == ' ' || *c == ';' ? "\\x%02x" : "%c", *c);
        pipeline_case c = {text, cases[i / 2].types, cases[i / 2].want, -2};
        snprintf(text, sizeof text, "%s(string[] %s; string[] %s/%s; string[] %s)", ops[i % 2],
                 cases[i / 2].driver, dir, cases[i / 2].source, query);
        pipeline_test(&c, 1);
    }
}

static void other_databases_types_and_shapes_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *types, *want;
    } rows[] = {
        {"SqlDataset(string[] mysql; string[] f; string[] q)", "int64",
         "InvalidArgument: The database type, `mysql`, is not supported by SqlDataset."},
        {"SqlDataset(string[] sqlite; string[] f; string[] q)", "float",
         "InvalidArgument: Each element of `output_types_` must be one of: string, int8"},
    };
    for (size_t i = 0; i < BD_COUNTOF(rows); i++) {
        op_live *l = op_live_new();
        braid_out d = pipeline_make(l, rows[i].text, rows[i].types);
        op_live_run(l, d.op, "", rows[i].want);
        op_live_free(l);
    }
}

int main(void)
{
    dir = bd_temp_dir_new();
    make_database();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_elements),
        cmocka_unit_test(other_databases_types_and_shapes_are_refused),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    bd_temp_dir_free(dir);
    return failed;
}
