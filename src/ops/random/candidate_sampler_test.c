// Tests of candidate samplers and ComputeAccidentalHits. Values were computed from the definitions of
// TensorFlow's kernels by an independent program (Python and numpy), with seeds 7 and 11.
#include "base/alloc.h"
#include "base/testing/test.h"
#include "io/file.h"
#include "io/testing/temp_dir.h"
#include "ops/testing/op_live.h"
#include "ops/testing/op_test.h"
#include <stdio.h>

#define SEEDS "; seed=7; seed2=11"

static void uniform_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        // Unique candidates need repeated draws: seven for five candidates.
        {"UniformCandidateSampler", "num_true=1; num_sampled=5; unique=true; range_max=10" SEEDS,
         "int64[2,1] 1 3", "int64[5] 7 9 6 2 5; float[2,1] 0.521703184; float[5] 0.521703184"},
        {"UniformCandidateSampler", "num_true=2; num_sampled=4; unique=false; range_max=1000" SEEDS,
         "int64[1,2] 1 3", "int64[4] 437 99 719 816; float[1,2] 0.004; float[4] 0.004"},
        {"UniformCandidateSampler", "num_true=1; num_sampled=3; unique=true; range_max=8" SEEDS,
         "int64[2,1] -1 99", "int64[3] 5 3 7; float[2,1] 0.375; float[3] 0.375"},
        {"UniformCandidateSampler", "num_true=1; num_sampled=3; unique=true; range_max=8" SEEDS, "int64[0,1]",
         "int64[3] 5 3 7; float[0,1]; float[3] 0.375"},
        {"UniformCandidateSampler", "num_true=1; num_sampled=1; unique=false; range_max=1", "int64[1,1] 0",
         "int64[1] 0; float[1,1] 1; float[1] 1"},
        {"LogUniformCandidateSampler", "num_true=1; num_sampled=5; unique=true; range_max=10" SEEDS,
         "int64[2,1] 1 3",
         "int64[5] 0 2 4 1 5; float[2,1] 0.670907915 0.443485051; float[5] 0.870884001 0.535509586 "
         "0.377791494 0.670907915 0.328788728"},
        {"LogUniformCandidateSampler", "num_true=1; num_sampled=4; unique=false; range_max=1000" SEEDS,
         "int64[2,1] 1 3",
         "int64[4] 2 44 150 19; float[2,1] 0.234754384 0.129194662; float[4] 0.166560888 0.0127252489 "
         "0.00382163469 0.028248312"},
        {"LogUniformCandidateSampler",
         "num_true=1; num_sampled=1; unique=false; range_max=9223372036854775807" SEEDS, "int64[0,1]",
         "*; *; *"},
        {"AllCandidateSampler", "num_true=2; num_sampled=3; unique=true" SEEDS, "int64[1,2] 7 8",
         "int64[3] 0 1 2; float[1,2] 1 1; float[3] 1 1 1"},
    };
    OP_TEST_VALUES(cases);
}

static void weighted_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"LearnedUnigramCandidateSampler", "num_true=2; num_sampled=3; unique=true; range_max=5" SEEDS,
         "int64[2,2] 2 4 2 2", "int64[3] 3 4 2; float[2,2] 0.6; float[3] 0.6"},
        {"ThreadUnsafeUnigramCandidateSampler", "num_true=1; num_sampled=6; unique=false; range_max=5" SEEDS,
         "int64[1,1] 0", "int64[6] 3 4 2 2 2 2; float[1,1] 1.2; float[6] 1.2"},
        {"FixedUnigramCandidateSampler",
         "num_true=1; num_sampled=4; unique=true; range_max=5; unigrams=[1,2,3,4,6]" SEEDS, "int64[2,1] 0 4",
         "int64[4] 4 2 3 1; float[2,1] 0.403280526 0.976716936; float[4] 0.976716936 0.810072899 "
         "0.899887025 0.656391084"},
        {"FixedUnigramCandidateSampler",
         "num_true=1; num_sampled=8; unique=false; range_max=5; unigrams=[1,2,3,4,6]" SEEDS, "int64[2,1] 0 4",
         "int64[8] 4 2 2 3 2 3 4 1; float[2,1] 0.5 3; float[8] 3 1.5 1.5 2 1.5 2 3 1"},
        {"FixedUnigramCandidateSampler",
         "num_true=1; num_sampled=4; unique=false; range_max=7; unigrams=[1,2,3,4,6]; distortion=0.75; "
         "num_reserved_ids=2" SEEDS,
         "int64[2,1] 1 6",
         "int64[4] 2 3 5 4; float[2,1] 0 1.31929147; float[4] 0.344133794 0.578761756 0.97335732 "
         "0.784455359"},
        // This shard has every second weight.
        {"FixedUnigramCandidateSampler",
         "num_true=1; num_sampled=4; unique=false; range_max=4; unigrams=[9,1,9,1,9,1,9,1]; num_shards=2; "
         "shard=1" SEEDS,
         "int64[2,1] 1 3", "int64[4] 2 1 2 2; float[2,1] 1 1; float[4] 1 1 1 1"},
    };
    OP_TEST_VALUES(cases);
}

static void refusals_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"UniformCandidateSampler", "num_true=1; num_sampled=5; unique=true; range_max=4", "int64[1,1] 0",
         "InvalidArgument: Sampler's range is too small"},
        {"UniformCandidateSampler", "num_true=1; num_sampled=2305843009213693953; unique=false; range_max=4",
         "int64[1,1] 0", "ResourceExhausted: "},
        {"LearnedUnigramCandidateSampler", "num_true=1; num_sampled=1; unique=true; range_max=4",
         "int64[1,1] 4", "InvalidArgument: `true_candidate` out of range [0, 4), received 4"},
        {"LearnedUnigramCandidateSampler", "num_true=1; num_sampled=1; unique=true; range_max=4",
         "int64[1,1] -1", "InvalidArgument: `true_candidate` out of range [0, 4), received -1"},
        {"LearnedUnigramCandidateSampler", "num_true=1; num_sampled=1; unique=true; range_max=2147483647",
         "int64[1,1] 4", "InvalidArgument: range_max must be less than 2147483647"},
        {"FixedUnigramCandidateSampler", "num_true=1; num_sampled=1; unique=true; range_max=4",
         "int64[1,1] 0", "InvalidArgument: Must provide either vocab_file or unigrams."},
        {"FixedUnigramCandidateSampler",
         "num_true=1; num_sampled=1; unique=true; range_max=4; unigrams=[1,2]; vocab_file=x", "int64[1,1] 0",
         "InvalidArgument: Must only provide one of vocab_file and unigrams."},
        {"FixedUnigramCandidateSampler",
         "num_true=1; num_sampled=1; unique=true; range_max=4; unigrams=[1,2]", "int64[1,1] 0",
         "InvalidArgument: range is 4 must be equal to weights size 2"},
        {"FixedUnigramCandidateSampler",
         "num_true=1; num_sampled=1; unique=true; range_max=1; unigrams=[1,2]; num_reserved_ids=9223372036854775807; "
         "num_shards=9223372036854775807; shard=9223372036854775806",
         "int64[1,1] 0", "InvalidArgument: Sampler's range is too small: 1 different candidates of only 0"},
        // Two of the classes have weight 0 and are never drawn.
        {"FixedUnigramCandidateSampler",
         "num_true=1; num_sampled=3; unique=true; range_max=4; unigrams=[1,0,2,0]", "int64[1,1] 0",
         "InvalidArgument: Sampler's range is too small: 3 different candidates of only 2"},
        {"FixedUnigramCandidateSampler",
         "num_true=1; num_sampled=1; unique=true; range_max=2; unigrams=[1,2]", "int64[1,1] 2",
         "InvalidArgument: `true_candidate` out of range [0, 2), received 2"},
        {"FixedUnigramCandidateSampler",
         "num_true=1; num_sampled=1; unique=true; range_max=2; vocab_file=/no/such/file", "int64[1,1] 0",
         "NotFound: /no/such/file"},
    };
    OP_TEST_VALUES(cases);
}

static void expected_counts_of_true_classes_are_given(void **state)
{
    (void)state;
    static const struct {
        const char *op, *attrs;
    } ops[] = {
        {"UniformCandidateSampler", "range_max=8"},
        {"LogUniformCandidateSampler", "range_max=8"},
        {"LearnedUnigramCandidateSampler", "range_max=8"},
        {"ThreadUnsafeUnigramCandidateSampler", "range_max=8"},
        {"FixedUnigramCandidateSampler", "range_max=5; unigrams=[1,2,3,4,6]"},
        {"AllCandidateSampler", ""},
    };
    for (size_t i = 0; i < BD_COUNTOF(ops); i++) {
        const char *op = ops[i].op;
        char attrs[128];
        snprintf(attrs, sizeof attrs, "num_true=2; num_sampled=3; unique=true%s%s",
                 ops[i].attrs[0] ? "; " : "", ops[i].attrs);
        const op_case cases[] = {
            {op, attrs, "int64[0,2]", "*; float[0,2]; *"},
            {op, attrs, "int64[] 1", "InvalidArgument: true_classes must be a matrix"},
            {op, attrs, "int64[2] 1", "InvalidArgument: true_classes must be a matrix"},
            {op, attrs, "int64[3,1] 1",
             "InvalidArgument: true_classes must have num_true columns, expected: 1 was: 2"},
        };
        OP_TEST_VALUES(cases);
    }
}

static braid_op *sampler(op_live *l, const char *op, const char *attrs)
{
    BD_STATUS(st);
    braid_out classes = op_live_unknown(l, "int64[2,2] 2 4 2 2");
    braid_op *node = op_test_node(l->graph, op, attrs, &classes, 1);
    if (braid_graph_status(l->graph, st)) fail_msg("%s", braid_status_message(st));
    return node;
}

// A node continues its stream, 512 steps of four words for each candidate, and a learned distribution keeps
// the true classes between calls.
static void samples_differ_from_run_to_run(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    braid_op *node = sampler(l, "LogUniformCandidateSampler",
                             "num_true=2; num_sampled=5; unique=true; range_max=10" SEEDS);
    op_live_run(l, node, "", "int64[5] 0 2 4 1 5; *; *");
    op_live_run(l, node, "",
                "int64[5] 0 1 2 7 3; *; float[5] 0.96701628 0.843133986 0.721412718 0.395689487 0.62347424");
    node = sampler(l, "LearnedUnigramCandidateSampler",
                   "num_true=2; num_sampled=3; unique=true; range_max=5" SEEDS);
    op_live_run(l, node, "", "int64[3] 3 4 2; float[2,2] 0.6; float[3] 0.6");
    op_live_run(l, node, "",
                "int64[3] 2 4 3; float[2,2] 0.904740095 0.634049714 0.904740095 0.904740095; float[3] "
                "0.904740095 0.634049714 0.375704944");
    op_live_run(l, node, "",
                "int64[3] 4 2 1; float[2,2] 0.995538771 0.84063369 0.995538771 0.995538771; float[3] "
                "0.84063369 0.995538771 0.428961694");
    node = sampler(l, "ThreadUnsafeUnigramCandidateSampler",
                   "num_true=2; num_sampled=6; unique=false; range_max=5" SEEDS);
    op_live_run(l, node, "", "int64[6] 3 4 2 2 2 2; *; *");
    op_live_run(l, node, "",
                "int64[6] 2 4 2 1 1 2; float[2,2] 2.66666675 1.33333337 2.66666675 2.66666675; float[6] "
                "2.66666675 1.33333337 2.66666675 0.666666687 0.666666687 2.66666675");
    op_live_free(l);
}

static void a_vocabulary_file_gives_the_weights(void **state)
{
    (void)state;
    BD_STATUS(st);
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"a,1\r\nb,2\nc,x, 3\n\nd,4\n6",
         "int64[4] 4 2 3 1; *; float[4] 0.976716936 0.810072899 0.899887025 0.656391084"},
        {"a,1\nb,two\n", "InvalidArgument: Wrong vocabulary format at line: b,two"},
        {"a,1\nb,\n", "InvalidArgument: Wrong vocabulary format at line: b,"},
        {"a,1\nb,1\n", "InvalidArgument: range is 5 must be equal to weights size 2"},
        {"1\n1\n1\n1\n1\n1\n1\n", "InvalidArgument: range is 5 must be equal to weights size 7"},
        {"", "InvalidArgument: range is 5 must be equal to weights size 0"},
    };
    char *dir = bd_temp_dir_new();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *path = bd_asprintf("%s/vocabulary", dir);
        assert_int_equal(bd_file_write_atomic(bd_fs_current, path, cases[i].text, strlen(cases[i].text), st),
                         BRAID_OK);
        char *attrs =
            bd_asprintf("num_true=2; num_sampled=4; unique=true; range_max=5; vocab_file=%s" SEEDS, path);
        op_live *l = op_live_new();
        op_live_run(l, sampler(l, "FixedUnigramCandidateSampler", attrs), "", cases[i].want);
        op_live_free(l);
        bd_free(attrs);
        bd_free(path);
    }
    bd_temp_dir_free(dir);
}

static void hits_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        // The example of TensorFlow's own test.
        {"ComputeAccidentalHits", "num_true=2", "int64[3,2] 1 2 0 4 3 3; int64[5] 0 1 2 3 4",
         "int32[6] 0 0 1 1 2 2; int64[6] 1 2 0 4 3 3; float[6] -3.4028234663852886e38"},
        // If a candidate was drawn twice, its last index counts.
        {"ComputeAccidentalHits", "num_true=1", "int64[3,1] 7 8 -9; int64[4] 7 -9 7 5",
         "int32[2] 0 2; int64[2] 2 1; float[2] -3.4028234663852886e38"},
        {"ComputeAccidentalHits", "num_true=1", "int64[0,1]; int64[0]", "int32[0]; int64[0]; float[0]"},
        {"ComputeAccidentalHits", "num_true=0", "int64[3,0]; int64[2] 1 2", "int32[0]; int64[0]; float[0]"},
        {"ComputeAccidentalHits", "num_true=2", "int64[3,1] 7; int64[4] 1",
         "InvalidArgument: true_candidates must be a batch_size * num_true matrix"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"UniformCandidateSampler", "num_true=2; num_sampled=5; unique=true; range_max=9", "int64[7,?]",
         "[5]; [7,2]; [5]"},
        {"LogUniformCandidateSampler", "num_true=2; num_sampled=5; unique=true; range_max=9", "int64?",
         "[5]; [?,2]; [5]"},
        {"AllCandidateSampler", "num_true=2; num_sampled=5; unique=true", "int64[7]",
         "InvalidArgument: Shape must be rank 2 but is rank 1"},
        {"ComputeAccidentalHits", "num_true=2", "int64[7,2]; int64[5]", "[?]; [?]; [?]"},
        {"ComputeAccidentalHits", "num_true=2", "int64[7,2]; int64[]",
         "InvalidArgument: Shape must be rank 1"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uniform_follows_its_definition),
        cmocka_unit_test(weighted_follows_its_definition),
        cmocka_unit_test(refusals_follow_the_definition),
        cmocka_unit_test(expected_counts_of_true_classes_are_given),
        cmocka_unit_test(samples_differ_from_run_to_run),
        cmocka_unit_test(a_vocabulary_file_gives_the_weights),
        cmocka_unit_test(hits_follow_the_definition),
        cmocka_unit_test(shapes_are_inferred),
    };
    return BD_RUN_TESTS(tests);
}
