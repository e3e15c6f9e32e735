// Tests of CSVDataset. Values of well-formed files are those of Python's csv module.
// labels: concurrent
#include "base/testing/test.h"
#include "io/compression.h"
#include "io/file.h"
#include "io/testing/temp_dir.h"
#include "ops/testing/op_test.h"
#include "ops/testing/pipeline.h"
#include <stdio.h>
#include <stdlib.h>

static char *dir;

static void write_file(const char *name, const char *data)
{
    BD_STATUS(st);
    char *path = bd_path_join(dir, name);
    assert_int_equal(bd_file_write_atomic(bd_fs_current, path, data, strlen(data), st), BRAID_OK);
    bd_free(path);
}

typedef struct csv_case {
    const char *content;          // of the file
    const char *format;           // header; delimiter; quotes; NA; columns
    const char *types, *defaults; // of the components
    const char *want;
} csv_case;

#define PLAIN "bool[] false; string[] ,; bool[] true; string[] \"\"; int64[0]"
#define S3 "string,string,string", "string[] NA; string[] NA; string[] NA"

static const csv_case cases[] = {
    {"abc,def,ghi\n0,1,2\n,,", PLAIN, S3,
     "string[] abc; string[] def; string[] ghi | string[] 0; string[] 1; string[] 2 | "
     "string[] NA; string[] NA; string[] NA | end"},
    {"a,b,c\r0,1,2\r\nx,y,z\r\n", PLAIN, S3,
     "string[] a; string[] b; string[] c | string[] 0; string[] 1; string[] 2 | "
     "string[] x; string[] y; string[] z | end"},
    {"\"a\nb\",\"c\"\"d\",\"\"\n", PLAIN, S3, "string[] a\\x0ab; string[] c\\x22d; string[] NA | end"},
    {"1,-2.5,x\n 7 ,inf,\n", PLAIN, "int32,double,string", "int32[] 0; double[1] 0; string[] NA",
     "int32[] 1; double[] -2.5; string[] x | int32[] 7; double[] inf; string[] NA | end"},
    {"9000000000,1.5\nNA,NA\n", "bool[] false; string[] ,; bool[] true; string[] NA; int64[0]", "int64,float",
     "int64[] -1; float[] 0.25", "int64[] 9000000000; float[] 1.5 | int64[] -1; float[] 0.25 | end"},
    {"1:2:3:4\n5:6:7:8\n", "bool[] true; string[] :; bool[] true; string[] \"\"; int64[2] 1 3", "int32,int32",
     "int32[0]; int32[0]", "int32[] 6; int32[] 8 | end"},
    {"1,\"2\n3\",4\n5,6,7", "bool[] false; string[] ,; bool[] true; string[] \"\"; int64[1] 0", "string",
     "string[0]", "string[] 1 | string[] 5 | end"},
    {"a\"b,\"c\n", "bool[] false; string[] ,; bool[] false; string[] \"\"; int64[0]", "string,string",
     "string[0]; string[0]", "string[] a\\x22b; string[] \\x22c | end"},
    {"", PLAIN, S3, "end"},
    {"col1,col2", "bool[] true; string[] ,; bool[] true; string[] \"\"; int64[0]", "int32,int32",
     "int32[0]; int32[0]", "end"},
    // errors, and the records after them
    {"1,2\"3,4\na,b,c\"d\n9,8\"7,6,5\ne,f,g", PLAIN, S3,
     "InvalidArgument: Unquoted fields cannot have quotes inside | InvalidArgument: quotes inside | "
     "InvalidArgument: quotes inside | string[] e; string[] f; string[] g | end"},
    {"1,\"2\"3\",4\n1,\"2\"3\",4\",5,5\na,b,\"c\"d\"\ne,f,g", PLAIN, S3,
     "InvalidArgument: Quote inside a string has to be escaped by another quote | InvalidArgument: escaped | "
     "InvalidArgument: escaped | string[] e; string[] f; string[] g | end"},
    {"a,b,\"c", PLAIN, S3,
     "InvalidArgument: Reached end of file without closing quoted field in record | end"},
    {"\n1,2", PLAIN, "string,string", "string[] x; string[] x",
     "InvalidArgument: Expect 2 fields but have 1 in record | string[] 1; string[] 2 | end"},
    {"0,1,2,3", PLAIN, "float,float", "float[] 0; float[] 0",
     "InvalidArgument: Expect 2 fields but have more in record | end"},
    {"0,1,2,3", "bool[] false; string[] ,; bool[] true; string[] \"\"; int64[2] 3 4", "int32,int32",
     "int32[] 0; int32[] 0", "InvalidArgument: Expect 2 fields but have 1 in record | end"},
    {"0,", PLAIN, "int32,int32", "int32[0]; int32[0]",
     "InvalidArgument: Field 1 is required but missing in record! | end"},
    {"1.0,2", PLAIN, "int32,int32", "int32[0]; int32[0]",
     "InvalidArgument: Field 0 in record is not a valid int32: 1.0 | end"},
    {"", "bool[] true; string[] ,; bool[] true; string[] \"\"; int64[0]", "int32", "int32[0]",
     "InvalidArgument: Can't read header of file"},
};

static void records_follow_the_csv_format(void **state)
{
    (void)state;
    static const char *const ops[] = {"CSVDataset", "ExperimentalCSVDataset"};
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        char text[2048];
        pipeline_case c = {text, cases[i].types, cases[i].want, -2};
        write_file("f", cases[i].content);
        snprintf(text, sizeof text, "%s(string[] %s/f; string[] \"\"; int64[] 1; %s; %s)", ops[i % 2], dir,
                 cases[i].format, cases[i].defaults);
        pipeline_test(&c, 1);
    }
}

static void files_are_read_one_after_another(void **state)
{
    (void)state;
    char text[2048];
    write_file("1", "a,1,x\nb,2,y");
    write_file("2", "c,3,z\n");
    snprintf(
        text, sizeof text,
        "CSVDatasetV2(string[2] %s/1 %s/2; string[] \"\"; int64[] 9; bool[] false; string[] ,; bool[] true; "
        "string[] \"\"; int64[0]; string[0]; string[0]; int64[1] 1)",
        dir, dir);
    pipeline_case c = {text, "string,string",
                       "string[] a; string[] x | string[] b; string[] y | string[] c; string[] z | end", -2};
    pipeline_test(&c, 1);
    snprintf(text, sizeof text,
             "CSVDataset(string[] %s/1; string[] GZIP; int64[] 9; bool[] false; string[] ,; bool[] true; "
             "string[] \"\"; int64[0]; string[0]) IgnoreErrorsDataset()",
             dir);
    c = (pipeline_case){text, "string", "end", -2};
    pipeline_test(&c, 1);
}

#define BAD(BUFFER, DELIMITER, SELECT, DEFAULTS)                                                             \
    "CSVDataset(string[] f; string[] \"\"; int64[] " BUFFER "; bool[] false; string[] " DELIMITER            \
    "; bool[] true; string[] \"\"; " SELECT "; " DEFAULTS ")"

static void malformed_records_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } rows[] = {
        {BAD("0", ",", "int64[0]", "string[0]"), "InvalidArgument: buffer_size should be positive"},
        {BAD("1", ",,", "int64[0]", "string[0]"), "InvalidArgument: field_delim should be only 1 char"},
        {BAD("1", ",", "int64[2] 1 2", "string[0]"), "InvalidArgument: select_cols should match output size"},
        {BAD("1", ",", "int64[1] -1", "string[0]"),
         "InvalidArgument: select_cols should be non-negative indices"},
        {BAD("1", ",", "int64[2] 1 1", "string[0]; string[0]"),
         "InvalidArgument: select_cols should be strictly increasing indices"},
    };
    for (size_t i = 0; i < BD_COUNTOF(rows); i++) {
        op_live *l = op_live_new();
        braid_out d = pipeline_make(l, rows[i].text, i == 4 ? "string,string" : "string");
        op_live_run(l, d.op, "", rows[i].want);
        op_live_free(l);
    }
    static const op_shape_case shapes[] = {
        {"CSVDataset", "output_shapes=[[]]",
         "string[]; string[]; int64[]; bool[]; string[]; bool[]; string[]; int64[?]; float[2]",
         "InvalidArgument: Shape of a default must be a length-0 or length-1 vector, or a scalar."},
        {"CSVDataset", "output_shapes=[[]]",
         "string[]; string[]; int64[]; bool[]; string[]; bool[]; string[]; int64[]; float[]",
         "InvalidArgument: Shape must be rank 1 but is rank 0"},
    };
    OP_TEST_SHAPES(shapes);
}

int main(void)
{
    dir = bd_temp_dir_new();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_follow_the_csv_format),
        cmocka_unit_test(files_are_read_one_after_another),
        cmocka_unit_test(malformed_records_are_refused),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    bd_temp_dir_free(dir);
    return failed;
}
