// Tests of dual coordinate ascent. Values are TensorFlow 1.15's.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"
#include "ops/training/sdca.h"

// Two examples that share no feature, so that their order is of no account.
#define TWO                                                                                                  \
    "num_sparse_features=1; num_sparse_features_with_values=1; num_dense_features=1; num_inner_iterations=1; "
#define FEATURES "int64[3] 0 0 1; int64[3] 7 9 8; float[3] 1 2 -1.5; float[2,2] 1 0 0 0.5; float[2] 1 2; "
#define WEIGHTS "int64[3] 9 8 7; float[3] 0.5 -0.75 1; float[2,1] 0.3 -0.6; "

#define SPARSE                                                                                                 \
    "loss_type=squared_loss; num_sparse_features=1; num_sparse_features_with_values=0; num_dense_features=0; " \
    "l1=0; l2=1; num_loss_partitions=1; num_inner_iterations=1"
#define VALUED                                                                                                 \
    "loss_type=squared_loss; num_sparse_features=1; num_sparse_features_with_values=1; num_dense_features=0; " \
    "l1=0; l2=1; num_loss_partitions=1; num_inner_iterations=1"
#define DENSE(LOSS)                                                                                          \
    "loss_type=" LOSS "; num_sparse_features=0; num_sparse_features_with_values=0; num_dense_features=1; "   \
    "l1=0; l2=1; num_loss_partitions=1; num_inner_iterations=1"
#define NONE                                                                                                   \
    "loss_type=squared_loss; num_sparse_features=0; num_sparse_features_with_values=0; num_dense_features=0; " \
    "l1=0; l2=1; num_loss_partitions=1; num_inner_iterations=1"

static void a_pass_moves_duals_and_weights(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"SdcaOptimizerV2", "loss_type=logistic_loss; " TWO "l1=0.25; l2=1; num_loss_partitions=1",
         FEATURES "float[2] 1 0; " WEIGHTS "float[2,4] 0.25 0 0 0 -0.5 1 2 3",
         "float[2,4] 0.232435212 0.241008446 -0.562335134 1 -0.563733935 2.04283643 -1.38629436 2; float[3] -0.035129562 0.191201881 -0.017564781; float[2,1] -0.017564781 -0.0637339577"},
        {"SdcaOptimizerV2", "loss_type=squared_loss; " TWO "l1=0.25; l2=0.5; num_loss_partitions=3",
         FEATURES "float[2] 1.5 -2; " WEIGHTS "float[2,4] 0.25 0 0 0 -0.5 1 2 3",
         "float[2,4] 0.270270258 0.5 -0.34375 1 -0.558870971 5.40562487 -1.75 2; float[3] 0.0810810775 0.353225797 0.0405405387; float[2,1] 0.0405405387 -0.117741935"},
        {"SdcaOptimizerV2", "loss_type=hinge_loss; " TWO "l1=0.25; l2=1; num_loss_partitions=1",
         FEATURES "float[2] 1 0; " WEIGHTS "float[2,4] 0.25 0 0 0 -0.125 1 2 3",
         "float[2,4] 0.200000003 0 -0.25 1 -0.439999998 3.1500001 -0.25 2; float[3] -0.100000001 0.944999993 -0.0500000007; float[2,1] -0.0500000007 -0.314999998"},
        {"SdcaOptimizer", "loss_type=smooth_hinge_loss; " TWO "l1=0; l2=1; num_loss_partitions=1",
         FEATURES "float[2] 0 1; " WEIGHTS "float[2,4] -0.25 0 0 0 0.5 1 2 3",
         "float[2,4] -0.685714304 2.79999995 -0.21875 1 0.445833325 0.0306250043 -0.75 2; float[3] -0.871428549 0.162499994 -0.435714275; float[2,1] -0.435714275 -0.0541666634"},
        {"SdcaOptimizerV2", "loss_type=poisson_loss; " TWO "l1=0.25; l2=1; num_loss_partitions=2",
         FEATURES "float[2] 2 0; " WEIGHTS "float[2,4] 0.5 0 0 0 -0.5 1 2 3",
         "float[2,4] 0.429293782 1.06929672 -0.891802311 1 -0.607362866 3.55426097 -1.69314718 2; float[3] -0.141412452 0.322088659 -0.0707062259; float[2,1] -0.0707062259 -0.107362881"},
        {"SdcaOptimizerV2", "loss_type=hinge_loss; " TWO "l1=0.25; l2=1; num_loss_partitions=1",
         FEATURES "float[2] 1 1; " WEIGHTS "float[2,4] 1.5 0 0 0 -0.5 1 2 3",
         "float[2,4] 1 0 inf 1 0 0.850000024 inf 2; float[3] -1 -1.5 -0.5; float[2,1] -0.5 0.5"},
        {"SdcaOptimizerV2", "loss_type=smooth_hinge_loss; " TWO "l1=0.25; l2=1; num_loss_partitions=1",
         FEATURES "float[2] 1 1; " WEIGHTS "float[2,4] 1.5 0 0 0 -0.5 1 2 3",
         "float[2,4] 1 0 inf 1 0 0.180625007 inf 2; float[3] -1 -1.5 -0.5; float[2,1] -0.5 0.5"},
        {"SdcaOptimizerV2", "loss_type=poisson_loss; " TWO "l1=0.25; l2=1; num_loss_partitions=1",
         FEATURES "float[2] 1 2; " WEIGHTS "float[2,4] 1.5 0 0 0 2 1 2 3",
         "float[2,4] 0.899838328 2.36929679 inf 1 1.66579807 1.25426102 0 2; float[3] -1.20032334 1.00260592 -0.600161672; float[2,1] -0.600161672 -0.334201962"},
        {"SdcaOptimizerV2",
         "loss_type=squared_loss; adaptive=false; num_sparse_features=1; num_sparse_features_with_values=0; num_dense_features=0; l1=0; l2=1; num_loss_partitions=1; num_inner_iterations=1",
         "int64[1] 0; int64[1] 3; float[1] 1; float[1] 1; int64[1] 3; float[1] 0.5; float[1,4] 0 0 0 0",
         "float[1,4] 0.25 0.125 0 1; float[1] 0.25"},
        {"SdcaOptimizerV2",
         "loss_type=squared_loss; adaptive=true; num_sparse_features=0; num_sparse_features_with_values=0; num_dense_features=1; l1=0; l2=1; num_loss_partitions=1; num_inner_iterations=1",
         "float[1,1] 2; float[1] 1; float[1] 1; float[1] 0.5; float[1,4] 0 0 0 0",
         "float[1,4] 0 0 0 1; float[1] 0"},
        {"SdcaOptimizer",
         "loss_type=squared_loss; adaptative=false; num_sparse_features=0; num_sparse_features_with_values=0; num_dense_features=1; l1=0; l2=1; num_loss_partitions=1; num_inner_iterations=1",
         "float[0,2]; float[0]; float[0]; float[2] 0.5 1; float[0,4]", "float[0,4]; float[2] 0 0"},
        // The shapes of examples' weights and labels are of no account.
        {"SdcaOptimizer", DENSE("squared_loss"),
         "float[1,1] 2; float[] 1; float[] 1; float[] 0.5; float[1,4] 0", "float[1,4] 0 0 0 1; float[] 0"},
        {"SdcaOptimizerV2", DENSE("squared_loss"),
         "float[1,1] 2; float[] 1; float[] 1; float[] 0.5; float[1,4] 0", "float[1,4] 0 0 0 1; float[] 0"},
        {"SdcaOptimizerV2", DENSE("hinge_loss"), "float[0,1]; float[0]; float[0]; float[1] 0.5; float[0,4]",
         "float[0,4]; float[1] 0"},
        // An example of weight 0, whose prediction is its label: its norm is 0, too.
        {"SdcaOptimizerV2", DENSE("hinge_loss"),
         "float[1,1] 2; float[1] 0; float[1] 1; float[1] 0.5; float[1,4] 0", "float[1,4] 0; float[1] 0"},
        // Of two weights of one feature the last one counts.
        {"SdcaOptimizer", SPARSE,
         "int64[1] 0; int64[1] 3; float[1] 1; float[1] 1; int64[2] 3 3; float[2] 9 0.5; "
         "float[1,4] 0",
         "float[1,4] 0.25 0.125 0 1; float[2] 0 0.25"},
    };
    OP_TEST_VALUES(cases);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"SdcaOptimizer", NONE, "float[1] 1; float[1] 1; float[1,4] 0",
         "InvalidArgument: Requires at least one feature to train."},
        {"SdcaOptimizerV2", SPARSE,
         "int64[1] 0; int64[1] 4; float[1] 1; float[1] 1; int64[1] 3; float[1] 0; "
         "float[1,4] 0",
         "InvalidArgument: Found sparse feature indices out of valid range: 4"},
        {"SdcaOptimizer", SPARSE,
         "int64[1] 1; int64[1] 3; float[1] 1; float[1] 1; int64[1] 3; float[1] 0; "
         "float[1,4] 0",
         "InvalidArgument: Found example index 1 of 1 examples"},
        {"SdcaOptimizer", SPARSE,
         "int64[1] -9223372036854775808; int64[1] 3; float[1] 1; float[1] 1; int64[1] 3; "
         "float[1] 0; float[1,4] 0",
         "InvalidArgument: Found example index -9223372036854775808"},
        {"SdcaOptimizer", SPARSE,
         "int64[2] 1 0; int64[2] 3; float[2] 1; float[2] 1; int64[1] 3; float[1] 0; "
         "float[2,4] 0",
         "InvalidArgument: Example indices do not ascend: 0 after 1"},
        {"SdcaOptimizer", SPARSE,
         "int64[2] 0; int64[2] 3; float[1] 1; float[1] 1; int64[1] 3; float[1] 0; "
         "float[1,4] 0",
         "InvalidArgument: Duplicate index in sparse vector."},
        {"SdcaOptimizer", SPARSE,
         "int64[2] 0; int64[1] 3; float[1] 1; float[1] 1; int64[1] 3; float[1] 0; "
         "float[1,4] 0",
         "InvalidArgument: mismatched example_indices and feature_indices: 2 vs 1"},
        {"SdcaOptimizer", SPARSE,
         "int64[1] 0; int64[1] 3; float[1] 1; float[1] 1; int64[2] 3 4; float[1] 0; "
         "float[1,4] 0",
         "InvalidArgument: sparse_indices at index 0 has 2 elements for 1 weights"},
        {"SdcaOptimizer", VALUED,
         "int64[1] 0; int64[1] 3; float[2] 1; float[1] 1; float[1] 1; int64[1] 3; "
         "float[1] 0; float[1,4] 0",
         "InvalidArgument: sparse_feature_values at index 0 has 2 elements for 1"},
        {"SdcaOptimizer", DENSE("squared_loss"),
         "float[2,1] 1; float[1] 1; float[1] 1; float[1] 0; float[1,4] 0",
         "InvalidArgument: Dense features at index 0 have 2 rows for 1 examples"},
        {"SdcaOptimizer", DENSE("squared_loss"),
         "float[2] 1; float[1] 1; float[1] 1; float[1] 0; float[1,4] 0",
         "InvalidArgument: Dense features at index 0 must be rank 2 but is rank 1"},
        {"SdcaOptimizerV2", DENSE("squared_loss"),
         "float[1,2] 1; float[1] 1; float[1] 1; float[1] 0; float[1,4] 0",
         "InvalidArgument: More dense features than we have parameters for: 2"},
        {"SdcaOptimizer", DENSE("squared_loss"), "float[1,0]; float[1] 1; float[1] 1; float[0]; float[1,4] 0",
         "InvalidArgument: More dense features than we have parameters for: 0"},
        {"SdcaOptimizer", DENSE("squared_loss"),
         "float[1,1] 1; float[1] 1; float[1] 1; float[2] 0; float[1,4] 0",
         "InvalidArgument: Dense features at index 0 have 1 columns for 2 weights"},
        {"SdcaOptimizer", DENSE("squared_loss"),
         "float[1,1] 1; float[1] 1; float[2] 1; float[1] 0; float[1,4] 0",
         "InvalidArgument: Expected 1 example labels but got 2"},
        {"SdcaOptimizer", DENSE("squared_loss"),
         "float[1,1] 1; float[1] 1; float[1] 1; float[1] 0; float[2,4] 0",
         "InvalidArgument: Expected shape [1,4] for example_state_data, got [2,4]"},
        {"SdcaOptimizer", DENSE("squared_loss"),
         "float[1,1] 1; float[1] 1; float[1] 1; float[1] 0; float[4] 0",
         "InvalidArgument: example_state_data must be rank 2 but is rank 1"},
        {"SdcaOptimizer", DENSE("hinge_loss"),
         "float[1,1] 1; float[1] 1; float[1] 2; float[1] 0; float[1,4] 0",
         "InvalidArgument: Only labels of 0.0 or 1.0 are supported right now. Found example with label: 2"},
        {"SdcaOptimizer", DENSE("poisson_loss"),
         "float[1,1] 1; float[1] 1; float[1] -2; float[1] 0; float[1,4] 0",
         "InvalidArgument: Only non-negative labels"},
    };
    OP_TEST_VALUES(cases);
}

// A batch of `n` examples with one dense feature, 1, and a weight of 0.
static void order_of(bool adaptive, const float *duals_and_rest, float *labels, int64_t n, int64_t *order)
{
    enum {
        MOST = 64
    };
    float ones[MOST], weight = 0, update = 0;
    double norms[MOST];
    for (int i = 0; i < MOST; i++)
        norms[i] = ones[i] = 1;
    bd_sdca_options o = {.loss = bd_sdca_loss_find("squared_loss"),
                         .dense_count = 1,
                         .l2 = 1,
                         .partitions = 1,
                         .adaptive = adaptive};
    bd_sdca_dense dense = {.rows = ones, .weights = &weight, .updates = &update, .width = 1};
    bd_sdca_batch b = {.o = &o,
                       .example_count = n,
                       .example_weights = ones,
                       .labels = labels,
                       .norms = norms,
                       .dense = &dense};
    assert_true(bd_sdca_order(&b, duals_and_rest, order));
}

static void an_order_without_sampling_has_each_example_once(void **state)
{
    (void)state;
    float duals[64 * 4] = {0}, labels[64] = {0};
    int64_t order[64], again[64], other[64], times[64] = {0};
    order_of(false, duals, labels, 64, order);
    for (int i = 0; i < 64; i++)
        times[order[i]]++;
    for (int i = 0; i < 64; i++)
        assert_int_equal(times[i], 1);
    order_of(false, duals, labels, 64, again);
    assert_memory_equal(again, order, sizeof order);
    duals[0] = 1;
    order_of(false, duals, labels, 64, other);
    assert_memory_not_equal(other, order, sizeof order);
}

static void sampling_prefers_examples_far_from_their_optimum(void **state)
{
    (void)state;
    float duals[64 * 4] = {0}, labels[64] = {0};
    int64_t order[64], times[64] = {0};
    for (int i = 0; i < 4; i++)
        labels[10 + i] = i == 2 ? 1e6F : 1; // the others have their optimal dual variable, 0
    order_of(true, duals, labels, 64, order);
    assert_int_equal(order[0], 12);
    for (int i = 0; i < 64; i++)
        times[order[i]]++;
    for (int i = 10; i < 14; i++)
        assert_in_range(times[i], 1, 10);
    assert_in_range(times[0], 0, 1);
}

static void shrinking_moves_weights_towards_zero(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"SdcaShrinkL1", "num_features=2; l1=0.5; l2=2",
         "ref float[3] 1 -2 0.1; ref float[2,2] -0.1 0.25 -0.25 inf", "",
         "float[3] 0.75 -1.75 0; float[2,2] 0 0 0 inf"},
        {"SdcaShrinkL1", "num_features=1; l1=0; l2=1", "ref float[] 3", "", "float[] 3"},
        {"SdcaShrinkL1", "num_features=1; l1=0; l2=1", "ref float[0] empty", "", "float[0]"},
        {"SdcaShrinkL1", "num_features=0; l1=0; l2=1", "", ""},
        {"SdcaShrinkL1", "num_features=1; l1=0; l2=1", "ref float[2]",
         "FailedPrecondition: uninitialized value"},
    };
    OP_TEST_VALUES(cases);
}

static void prints_are_two_numbers(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"SdcaFprint", NULL, "string[2] abc very",
         "int64[2,2] 4143508125394299908 -6879828354153669051 -3865590914417775740 6305916648831618487"},
        {"SdcaFprint", NULL, "string[0]", "int64[0,2]"},
        {"SdcaFprint", NULL, "string[] abc", "InvalidArgument: Input must be a vector, got shape []"},
        {"SdcaFprint", NULL, "string[1,1] abc", "InvalidArgument: Input must be a vector, got shape [1,1]"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_those_of_weights(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"SdcaOptimizer", SPARSE, "int64[?]; int64[?]; [?]; [?]; int64[?]; [7]; [?,4]", "[?,4]; [7]"},
        {"SdcaOptimizerV2", DENSE("squared_loss"), "[?,3]; [?]; [?]; [3,1]; [5,4]", "[5,4]; [3,1]"},
        {"SdcaFprint", NULL, "string[?]", "[?,2]"},
        {"SdcaFprint", NULL, "string[2,2]", "InvalidArgument: Shape must be rank 1 but is rank 2"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pass_moves_duals_and_weights),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(an_order_without_sampling_has_each_example_once),
        cmocka_unit_test(sampling_prefers_examples_far_from_their_optimum),
        cmocka_unit_test(shrinking_moves_weights_towards_zero),
        cmocka_unit_test(prints_are_two_numbers),
        cmocka_unit_test(shapes_are_those_of_weights),
    };
    return BD_RUN_TESTS(tests);
}
