// Tests of LMDBDataset.
// labels: concurrent
#include "base/alloc.h"
#include "base/testing/test.h"
#include "io/testing/lmdb_case.h"
#include "io/testing/temp_dir.h"
#include "ops/testing/op_test.h"
#include "ops/testing/pipeline.h"
#include <stdio.h>
#include <stdlib.h>

static char *dir;

static void make_database(void)
{
    lmdb_case c;
    char *path = bd_path_join(dir, "db");
    lmdb_case_init(&c, 2);
    lmdb_case_page(&c, 2, LMDB_LEAF);
    lmdb_case_record(&c, 2, "a", "one", 3, 0);
    lmdb_case_record(&c, 2, "b", "two", 3, 0);
    lmdb_case_write(&c, path);
    bd_free(path);
}

static void records_are_keys_and_values(void **state)
{
    (void)state;
    static const struct {
        const char *format, *want;
    } cases[] = {
        {"LMDBDataset(string[] %1$s/db)", "string[] a; string[] one | string[] b; string[] two | end"},
        {"ExperimentalLMDBDataset(string[2] %1$s/none %1$s/db)",
         "NotFound: cannot find | string[] a; string[] one | string[] b; string[] two | end"},
        {"LMDBDataset(string[0])", "end"},
        {"ExperimentalLMDBDataset(string[0])", "end"},
        {"ExperimentalLMDBDataset(string[] %1$s/db)",
         "string[] a; string[] one | string[] b; string[] two | end"},
    };
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        char text[2048];
        pipeline_case c = {text, "string,string", cases[i].want, -2};
        snprintf(text, sizeof text, cases[i].format, dir);
        pipeline_test(&c, 1);
    }
}

static void other_types_are_refused(void **state)
{
    (void)state;
    static const char *const ops[] = {"LMDBDataset(string[] f)", "ExperimentalLMDBDataset(string[] f)"};
    for (size_t i = 0; i < BD_COUNTOF(ops); i++) {
        op_live *l = op_live_new();
        braid_out d = pipeline_make(l, ops[i], "string,int64");
        op_live_run(l, d.op, "", "InvalidArgument: output_types must be two strings");
        op_live_free(l);
    }
}

int main(void)
{
    dir = bd_temp_dir_new();
    make_database();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_keys_and_values),
        cmocka_unit_test(other_types_are_refused),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    bd_temp_dir_free(dir);
    return failed;
}
