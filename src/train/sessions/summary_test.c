// Summary nodes of each kind: their names, and the tags of their values.
#include "base/testing/test.h"

#include "train/testing/graph_text.h"
#include <braid/braid.h>
#include <string.h>

static void each_kind_has_the_nodes_of_tensorflow(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    const braid_out number = braid_const_float(g, "number", 2);
    braid_summary_scalar(g, "loss", number);
    braid_summary_histogram(g, "weights", number);
    braid_summary_image(g, "image", braid_zeros(g, BRAID_FLOAT, BRAID_SHAPE(1, 2, 2, 1)), 1);
    braid_summary_audio(g, "sound", braid_zeros(g, BRAID_FLOAT, BRAID_SHAPE(1, 8, 1)), 8000, 1);
    braid_summary_text(g, "words", braid_const_string(g, "text", "hello"));
    const braid_out merged = braid_summary_merge_all(g);
    expect_nodes(g, "loss", "loss/tags = Const\nloss = ScalarSummary loss/tags:0 number:0\n");
    expect_nodes(g, "weights", "weights/tag = Const\nweights = HistogramSummary weights/tag:0 number:0\n");
    expect_nodes(g, "sound",
                 "sound/tag = Const\nsound/sample_rate = Const\n"
                 "sound = AudioSummaryV2 sound/tag:0 zeros_1:0 sound/sample_rate:0\n");
    expect_nodes(g, "words",
                 "words/tag = Const\nwords/serialized_summary_metadata = Const\n"
                 "words = TensorSummaryV2 words/tag:0 text:0 words/serialized_summary_metadata:0\n");
    braid_session *s = braid_session_open(g, NULL, st);
    braid_tensor *value = NULL;
    braid_session_run(s, &(braid_run_args){.fetches = &(braid_fetch){merged, &value}, .fetch_count = 1}, st);
    assert_ok(st);
    size_t len;
    const char *bytes = braid_tensor_string_at(value, 0, &len);
    static const char *const tags[] = {"loss", "weights", "image", "sound", "words"};
    for (size_t i = 0; i < BD_COUNTOF(tags); i++)
        assert_non_null(memmem(bytes, len, tags[i], strlen(tags[i])));
    braid_tensor_free(value);
    braid_session_close(s, st);
    braid_graph_free(g);
}

static void without_summaries_there_is_none_to_merge(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    assert_null(braid_summary_merge_all(g).op);
    assert_int_equal(braid_graph_num_ops(g), 0);
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_has_the_nodes_of_tensorflow),
        cmocka_unit_test(without_summaries_there_is_none_to_merge),
    };
    return BD_RUN_TESTS(tests);
}
