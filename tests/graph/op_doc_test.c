// The page on ops: each op is on it, with the types that its kernels serve.
#include "base/alloc.h"
#include "base/testing/test.h"
#include "graph/op.h"
#include "op/kernel.h"
#include <braid/op_list.h>
#include <stdio.h>
#include <stdlib.h>

static void every_op_is_on_the_page(void **state)
{
    (void)state;
    BD_STATUS(st);
    char *page = braid_op_doc(NULL, st);
    assert_ok(st);
    for (size_t i = 0; i < bd_op_table_len; i++) {
        char *heading = bd_asprintf("\n## %s\n", bd_op_table[i].name);
        assert_true((strstr(page, heading) != NULL) == (bd_op_table[i].name[0] != '_'));
        bd_free(heading);
    }
    free(page);
}

static void an_op_is_told_about(void **state)
{
    (void)state;
    BD_STATUS(st);
    char *page = braid_op_doc("SegmentMea?", st);
    assert_ok(st);
    assert_non_null(strstr(page, "- `SegmentMean(data: T, segment_ids: Tindices) -> (output: T)`\n"));
    assert_non_null(strstr(page, "- types `Tindices`: int32, int64\n"));
    assert_non_null(strstr(page, "- gradient: yes\n"));
    free(page);
    page = braid_op_doc("VariableV2", st);
    assert_ok(st);
    assert_non_null(strstr(page, "stateful"));
    assert_non_null(strstr(page, "- types `dtype`: any\n"));
    free(page);
}

static void errors_of_unknown_names_suggest_similar_ones(void **state)
{
    (void)state;
    BD_STATUS(st);
    assert_null(braid_op_doc("intopk", st));
    assert_error(st, BRAID_NOT_FOUND, "No op has the name 'intopk': there are InTopK");
    assert_null(braid_op_doc("QuantizedConv2DAndRelu", st));
    assert_error(st, BRAID_NOT_FOUND, "quantized");
    assert_null(braid_op_doc("NobodyKnows", st));
    assert_error(st, BRAID_NOT_FOUND, "No op has the name 'NobodyKnows'");
}

static void no_supported_op_is_listed_as_unsupported(void **state)
{
    (void)state;
    for (size_t i = 0; i < bd_op_table_len; i++)
        if (bd_op_unsupported(bd_op_table[i].name)) fail_msg("%s", bd_op_table[i].name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_is_on_the_page),
        cmocka_unit_test(an_op_is_told_about),
        cmocka_unit_test(errors_of_unknown_names_suggest_similar_ones),
        cmocka_unit_test(no_supported_op_is_listed_as_unsupported),
    };
    return BD_RUN_TESTS(tests);
}
