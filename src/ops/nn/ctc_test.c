// Tests of connectionist temporal classification. Values are TensorFlow's, which adds logarithms in float;
// those of searches among paths of one probability are the ones that are found first.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

#define LOGITS                                                                                               \
    "double[4,2,3] 1.75 0.75 2.5 1.5 0.5 2.25 1.25 0.25 2 1 0 1.75 0.75 2.5 1.5 0.5 2.25 1.25 0.25 2 1 0 "   \
    "1.75 0.75; "
#define INDICES "int64[3,2] 0 0 0 1 1 0; "
#define ONE_TIME "double[1,1,3] 1 2 3; "

static void losses_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"CTCLoss", NULL, LOGITS INDICES "int32[3] 0 1 1; int32[2] 4 3",
         "double[2] 0.96846992033219359 1.1348640697187218; double[4,2,3] -0.2730845356597294 "
         "0.10556446661296022 0.16752009884909147 0.28695397132498129 0.02720314909758699 "
         "-0.31415710552140719 -0.25619138723748819 0.055100812512065292 0.2010905672748422 "
         "0.28695397132498129 -0.10219536076245177 -0.18475858076020724 -0.0077775749719474901 "
         "-0.050597772340137404 0.058375347312084991 0.11271920470830459 -0.24786745045598213 "
         "0.13514827555000003 0.11271920470830459 -0.15874467823918526 0.046025458629719573 0 0 0",
         .tolerance = 1e-7},
        // Only the order of a sequence's labels counts, not their places.
        {"CTCLoss", NULL, LOGITS "int64[3,2] 0 1 0 7 1 2; int32[3] 0 1 1; int32[2] 4 3",
         "double[2] 0.96846992033219359 1.1348640697187218; *", .tolerance = 1e-7},
        {"CTCLoss", NULL, LOGITS INDICES "int32[3] 0 0 1; int32[2] 4 3",
         "double[2] 3.9901965286085606 1.1348640697187218; *", .tolerance = 1e-7},
        {"CTCLoss", "preprocess_collapse_repeated=true", LOGITS INDICES "int32[3] 0 0 1; int32[2] 4 3",
         "double[2] 2.8260387654850487 1.1348640697187218; *", .tolerance = 1e-7},
        {"CTCLoss", "ctc_merge_repeated=false", LOGITS INDICES "int32[3] 0 0 1; int32[2] 4 3",
         "double[2] 3.5708183820793629 1.3094041386729511; *", .tolerance = 1e-7},
        {"CTCLoss", "preprocess_collapse_repeated=true; ctc_merge_repeated=false",
         LOGITS INDICES "int32[3] 0 0 1; int32[2] 4 3", "double[2] 3.226283508116961 1.3094041386729511; *",
         .tolerance = 1e-7},
        // Blanks after the labels do not count.
        {"CTCLoss", NULL, LOGITS INDICES "int32[3] 1 2 1; int32[2] 4 3",
         "double[2] 1.1370170589039328 1.1348640697187218; *", .tolerance = 1e-7},
        // A sequence of blanks alone.
        {"CTCLoss", NULL, ONE_TIME "int64[1,2] 0 0; int32[1] 2; int32[1] 1",
         "double[1] 0.40760596444438; double[1,1,3] 0.0900305731703805 0.2447284710547977 "
         "-0.3347590442251782",
         .tolerance = 1e-7},
        {"CTCLoss", NULL, "float[2,1,2] 0 1 2 3; int64[1,2] 0 0; int32[1] 0; int32[1] 2",
         "float[1] 0.76452845; float[2,1,2] -0.3087398 0.3087398 -0.3087398 0.3087398"},
    };
    OP_TEST_VALUES(cases);
}

static void sequences_that_do_not_fit_are_left_out_or_refused(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"CTCLoss", NULL, LOGITS INDICES "int32[3] 0 1 1; int32[2] 1 3",
         "InvalidArgument: Not enough time for target transition sequence (required: 2, available: 1)"},
        {"CTCLoss", "ignore_longer_outputs_than_inputs=true", LOGITS INDICES "int32[3] 0 1 1; int32[2] 1 3",
         "double[2] 0 1.1348640697187218; double[4,2,3] 0 0 0 0.28695397132498129 0.02720314909758699 "
         "-0.31415710552140719 0 0 0 0.28695397132498129 -0.10219536076245177 -0.18475858076020724 0 0 0 "
         "0.11271920470830459 -0.24786745045598213 0.13514827555000003 0 0 0 0 0 0",
         .tolerance = 1e-7},
        {"CTCLoss", "ignore_longer_outputs_than_inputs=true", LOGITS INDICES "int32[3] 0 1 1; int32[2] 0 3",
         "double[2] 0 1.1348640697187218; *", .tolerance = 1e-7},
        // Equal labels need a blank between them: there is no path, and the gradient is the softmax.
        {"CTCLoss", NULL, LOGITS INDICES "int32[3] 0 0 1; int32[2] 2 3",
         "double[2] inf 1.1348640697187218; double[4,2,3] 0.28695397132498129 0.10556446661296022 "
         "0.60748156206205839 0.28695397132498129 0.02720314909758699 -0.31415710552140719 "
         "0.28695397132498129 0.10556446661296022 0.60748156206205839 0.28695397132498129 "
         "-0.10219536076245177 -0.18475858076020724 0 0 0 0.11271920470830459 -0.24786745045598213 "
         "0.13514827555000003 0 0 0 0 0 0",
         .tolerance = 1e-7},
        {"CTCLoss", NULL, ONE_TIME "int64[1,2] 0 0; int32[1] 0; int32[1] -1",
         "InvalidArgument: seq_len(0) < 0"},
        {"CTCLoss", NULL, ONE_TIME "int64[1,2] 0 0; int32[1] 0; int32[1] 2",
         "InvalidArgument: sequence_length(0) <= 1"},
        {"CTCLoss", NULL, ONE_TIME "int64[0,2]; int32[0]; int32[1] 1",
         "InvalidArgument: Labels length is zero in batch 0"},
        {"CTCLoss", NULL, LOGITS INDICES "int32[3] 0 -1 1; int32[2] 4 3",
         "InvalidArgument: All labels must be nonnegative integers, batch: 0 label: -1"},
        {"CTCLoss", NULL, LOGITS INDICES "int32[3] 2 1 1; int32[2] 4 3",
         "InvalidArgument: Saw a non-null label (index >= num_classes - 1) following a null label, batch: 0"},
        {"CTCLoss", NULL, LOGITS "int64[3,2] 0 0 0 1 2 0; int32[3] 1; int32[2] 4 3",
         "InvalidArgument: out of bounds"},
        {"CTCLoss", NULL, LOGITS "int64[3,2] 0 0 0 -1 1 0; int32[3] 1; int32[2] 4 3",
         "InvalidArgument: out of bounds"},
        {"CTCLoss", NULL, LOGITS "int64[3,2] 0 0 0 9223372036854775807 1 0; int32[3] 1; int32[2] 4 3",
         "InvalidArgument: out of bounds"},
        {"CTCLoss", NULL, LOGITS "int64[3,2] 1 0 0 1 0 2; int32[3] 1; int32[2] 4 3",
         "InvalidArgument: out of order"},
        {"CTCLoss", NULL, LOGITS "int64[3,2] 0 1 0 1 1 2; int32[3] 1; int32[2] 4 3",
         "InvalidArgument: repeated"},
        {"CTCLoss", NULL, LOGITS "int64[3,1] 0 1 2; int32[3] 1; int32[2] 4 3",
         "InvalidArgument: labels_indices must have 2 columns"},
        {"CTCLoss", NULL, LOGITS INDICES "int32[2] 1; int32[2] 4 3",
         "InvalidArgument: labels_indices and labels_values must contain the same number of rows"},
        {"CTCLoss", NULL, LOGITS INDICES "int32[3,1] 1; int32[2] 4 3",
         "InvalidArgument: labels_values is not a vector"},
        {"CTCLoss", NULL, LOGITS INDICES "int32[3] 1; int32[3] 4 3 2",
         "InvalidArgument: len(sequence_length) != batch_size.  len(sequence_length):  3 batch_size: 2"},
        {"CTCLoss", NULL, LOGITS INDICES "int32[3] 1; int32[2,1] 4 3",
         "InvalidArgument: sequence_length is not a vector"},
        {"CTCLoss", NULL, "double[] 1; int64[] 0; int32[] 1; int32[] 1",
         "InvalidArgument: inputs is not a 3-Tensor"},
        {"CTCLoss", NULL, "double[4,0,3]; int64[0,2]; int32[0]; int32[0]",
         "InvalidArgument: batch_size must not be 0"},
        {"CTCLoss", NULL, "double[0,1,3]; int64[0,2]; int32[0]; int32[1] 0",
         "InvalidArgument: Max time or first dimension of input cannot be 0."},
        {"CTCLoss", NULL, "double[1,1,0]; int64[1,2] 0 0; int32[1] 0; int32[1] 1",
         "InvalidArgument: inputs has no classes"},
    };
    OP_TEST_VALUES(cases);
}

static void the_gradient_is_that_of_the_loss(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"CTCLoss", NULL, LOGITS INDICES "int32[3] 0 1 1; int32[2] 4 3", "1 2 3"},
        {"CTCLoss", NULL, LOGITS INDICES "int32[3] 1 1 0; int32[2] 4 2", "1 2 3"},
        {"CTCLoss", "ctc_merge_repeated=false", LOGITS INDICES "int32[3] 0 0 1; int32[2] 4 3", "1 2 3"},
        {"CTCLoss", "preprocess_collapse_repeated=true", LOGITS INDICES "int32[3] 0 0 1; int32[2] 3 3",
         "1 2 3"},
    };
    OP_TEST_GRADIENTS(cases);
}

#define ONE_SEQUENCE "double[6,1,3] 0 1 0 0 1 0 0 0 1 0 1 0 3 3 3 1 0 0; "

static void greedy_decoders_take_the_best_class_at_each_time(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"CTCGreedyDecoder", NULL, ONE_SEQUENCE "int32[1] 6",
         "int64[5,2] 0 0 0 1 0 2 0 3 0 4; int64[5] 1 1 1 0 0; int64[2] 1 5; double[1,1] -8"},
        {"CTCGreedyDecoder", "merge_repeated=true", ONE_SEQUENCE "int32[1] 6",
         "int64[3,2] 0 0 0 1 0 2; int64[3] 1 1 0; int64[2] 1 3; double[1,1] -8"},
        {"CTCGreedyDecoder", NULL, LOGITS "int32[2] 4 3",
         "int64[3,2] 0 0 0 1 1 0; int64[3] 1; int64[2] 2 2; double[2,1] -9 -6.25"},
        {"CTCGreedyDecoder", NULL, "float[2,1,2] 1 0 0 1; int32[1] 1",
         "int64[1,2] 0 0; int64[1] 0; int64[2] 1 1; float[1,1] -1"},
        {"CTCGreedyDecoder", NULL, "float[1,1,2] nan; int32[1] 1",
         "int64[1,2] 0 0; int64[1] 0; int64[2] 1 1; float[1,1] nan"},
        {"CTCGreedyDecoder", NULL, ONE_SEQUENCE "int32[1] 0",
         "int64[0,2]; int64[0]; int64[2] 1 0; double[1,1] 0"},
        {"CTCGreedyDecoder", NULL, ONE_SEQUENCE "int32[1] -1",
         "int64[0,2]; int64[0]; int64[2] 1 0; double[1,1] 0"},
        {"CTCGreedyDecoder", NULL, ONE_SEQUENCE "int32[1] 7", "FailedPrecondition: sequence_length(0) <= 6"},
        {"CTCGreedyDecoder", NULL, ONE_SEQUENCE "int32[2] 1",
         "FailedPrecondition: len(sequence_length) != batch_size.  len(sequence_length):  2 batch_size: 1"},
        {"CTCGreedyDecoder", NULL, "float[2,0,2]; int32[0]", "InvalidArgument: inputs must not be empty"},
        {"CTCGreedyDecoder", NULL, "float[] 1; int32[] 1", "InvalidArgument: inputs is not a 3-Tensor"},
        {"CTCGreedyDecoder", NULL, "float[1,1,2] 1; int32[] 1",
         "InvalidArgument: sequence_length is not a vector"},
    };
    OP_TEST_VALUES(cases);
}

// The probabilities of a label and the blank at four times.
#define TWO_CLASSES                                                                                          \
    "double[4,1,2] -2.302585092994046 -0.10536051565782628 -0.10536051565782628 -2.302585092994046 "         \
    "-2.302585092994046 -0.10536051565782628 -0.10536051565782628 -2.302585092994046; "

static void beam_searches_find_the_most_likely_sequences(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"CTCBeamSearchDecoder", "beam_width=10; top_paths=1", LOGITS "int32[2] 4 3",
         "int64[3,2] 0 0 0 1 1 0; int64[3] 0 1 1; int64[2] 2 2; double[2,1] -0.96846992 -1.13486407",
         .tolerance = 1e-7},
        {"CTCBeamSearchDecoder", "beam_width=10; top_paths=2; merge_repeated=false", LOGITS "int32[2] 4 3",
         "int64[3,2] 0 0 0 1 1 0; int64[3,2] 0 0 1 0 1 1; int64[3] 0 1 1; int64[3] 1 0 1; int64[2] 2 2; "
         "int64[2] 2 2; double[2,2] -0.96846992 -1.13701706 -1.13486407 -1.18274850",
         .tolerance = 1e-7},
        // A narrow beam finds others.
        {"CTCBeamSearchDecoder", "beam_width=2; top_paths=2", LOGITS "int32[2] 4 3",
         "int64[4,2] 0 0 0 1 1 0 1 1; int64[2,2] 0 0 1 0; int64[4] 0 1 0 1; int64[2] 1 1; int64[2] 2 2; "
         "int64[2] 2 1; double[2,2] -1.39414037 -1.54931619 -1.27454656 -1.42972238",
         .tolerance = 1e-7},
        {"CTCBeamSearchDecoder", "beam_width=10; top_paths=2", TWO_CLASSES "int32[1] 4",
         "int64[1,2] 0 0; int64[1,2] 0 0; int64[1] 0; int64[1] 0; int64[2] 1 1; int64[2] 1 1; "
         "double[1,2] -0.30367597 -1.37120873",
         .tolerance = 1e-7},
        {"CTCBeamSearchDecoder", "beam_width=10; top_paths=2; merge_repeated=false", TWO_CLASSES "int32[1] 4",
         "int64[2,2] 0 0 0 1; int64[1,2] 0 0; int64[2] 0; int64[1] 0; int64[2] 1 2; int64[2] 1 1; "
         "double[1,2] -0.30367597 -1.37120873",
         .tolerance = 1e-7},
        {"CTCBeamSearchDecoder", "beam_width=10; top_paths=3; merge_repeated=false",
         "double[3,1,3] 0; int32[1] 3",
         "int64[1,2] 0 0; int64[1,2] 0 0; int64[2,2] 0 0 0 1; int64[1] 0; int64[1] 1; int64[2] 0 1; "
         "int64[2] 1 1; int64[2] 1 1; int64[2] 1 2; double[1,3] -1.50407740 -1.50407740 -1.68639899",
         .tolerance = 1e-7},
        // A class that has no probability, and one that is a number without meaning.
        {"CTCBeamSearchDecoder", "beam_width=4; top_paths=1", "float[2,1,3] -inf 0 0 -inf 0 0; int32[1] 2",
         "int64[1,2] 0 0; int64[1] 1; int64[2] 1 1; float[1,1] -0.2876821"},
        {"CTCBeamSearchDecoder", "beam_width=4; top_paths=1", "float[2,1,3] nan; int32[1] 2",
         "int64[0,2]; int64[0]; int64[2] 1 0; float[1,1] nan"},
        {"CTCBeamSearchDecoder", "beam_width=8; top_paths=1", LOGITS "int32[2] 0 -3",
         "int64[0,2]; int64[0]; int64[2] 2 0; double[2,1] 0"},
        {"CTCBeamSearchDecoder", "beam_width=9223372036854775807; top_paths=1", "float[2,1,1] 3; int32[1] 2",
         "int64[0,2]; int64[0]; int64[2] 1 0; float[1,1] 0"},
        {"CTCBeamSearchDecoder", "beam_width=1; top_paths=2", LOGITS "int32[2] 4 3",
         "InvalidArgument: requested more paths than the beam width."},
        {"CTCBeamSearchDecoder", "beam_width=8; top_paths=8", LOGITS "int32[2] 1 0",
         "InvalidArgument: Less leaves in the beam search than requested."},
        {"CTCBeamSearchDecoder", "beam_width=8; top_paths=1", LOGITS "int32[2] 4 5",
         "FailedPrecondition: sequence_length(1) <= 4"},
        {"CTCBeamSearchDecoder", "beam_width=8; top_paths=1", "float[0,2,3]; int32[2] 0",
         "InvalidArgument: inputs must not be empty"},
        {"CTCBeamSearchDecoder", "beam_width=8; top_paths=1", "float[] 0; int32[] 0",
         "InvalidArgument: inputs is not a 3-Tensor"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"CTCLoss", NULL, "[5,?,3]; int64[?,2]; int32[?]; int32[4]", "[4]; [5,4,3]"},
        {"CTCLoss", NULL, "?; int64?; int32?; int32?", "[?]; [?,?,?]"},
        {"CTCLoss", NULL, "[5,2,3]; int64[4,2]; int32[3]; int32[2]",
         "InvalidArgument: Dimensions must be equal, but are 4 and 3"},
        {"CTCLoss", NULL, "[5,2]; int64?; int32?; int32?",
         "InvalidArgument: Shape must be rank 3 but is rank 2"},
        {"CTCGreedyDecoder", NULL, "[5,2,3]; int32[?]", "int64[?,2]; int64[?]; int64[2]; [2,1]"},
        {"CTCGreedyDecoder", NULL, "[5,2,3]; int32[3]",
         "InvalidArgument: Dimensions must be equal, but are 2 and 3"},
        {"CTCBeamSearchDecoder", "beam_width=4; top_paths=2", "?; int32[7]",
         "int64[?,2]; int64[?,2]; int64[?]; int64[?]; int64[2]; int64[2]; [7,2]"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_follow_the_definition),
        cmocka_unit_test(sequences_that_do_not_fit_are_left_out_or_refused),
        cmocka_unit_test(the_gradient_is_that_of_the_loss),
        cmocka_unit_test(greedy_decoders_take_the_best_class_at_each_time),
        cmocka_unit_test(beam_searches_find_the_most_likely_sequences),
        cmocka_unit_test(shapes_are_inferred),
    };
    return BD_RUN_TESTS(tests);
}
