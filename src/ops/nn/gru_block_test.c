// Tests of GRUBlockCell and its gradient. Values computed with numpy in double: from the equations, and by
// central differences.
#include "base/check.h"
#include "base/testing/test.h"
#include "ops/testing/program.h"

static void values_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"GRUBlockCell", NULL,
         "float[2,3] 0 0.875 0.625 0 0.375 0.375; float[2,2] 0 -0.125 -0.75 0.375; float[5,4] 0.875 -0.375 -0.125 -0.625 -0.25 -0.5 0.25 0.375 -0.125 -0.25 0.25 -0.875 -0.625 -0.375 -0.5 0.75 -0.25 -0.75 1 0.75; float[5,2] 0.5 -0.5 0.875 -0.125 0.75 0 0.625 0.875 0.125 0.625; float[4] 0 0.125 0.125 0.75; float[2] -1 0.375",
         "float[2,2] 0.43398146 0.4073334 0.55832699 0.46101678; float[2,2] 0.5926666 0.60766317 0.74316801 0.56985265; float[2,2] 0.22413957 0.22963307 -0.5585551 0.06966071; float[2,2] 0.091299532 0.014135615 -0.70083082 0.24365911"},
        {"GRUBlockCellGrad", NULL,
         "float[2,3] 0 0.875 0.625 0 0.375 0.375; float[2,2] 0 -0.125 -0.75 0.375; float[5,4] 0.875 -0.375 -0.125 -0.625 -0.25 -0.5 0.25 0.375 -0.125 -0.25 0.25 -0.875 -0.625 -0.375 -0.5 0.75 -0.25 -0.75 1 0.75; float[5,2] 0.5 -0.5 0.875 -0.125 0.75 0 0.625 0.875 0.125 0.625; float[4] 0 0.125 0.125 0.75; float[2] -1 0.375; float[2,2] 0.43398146 0.4073334 0.55832699 0.46101678; float[2,2] 0.5926666 0.60766317 0.74316801 0.56985265; float[2,2] 0.22413957 0.22963307 -0.5585551 0.06966071; float[2,2] -1 0 0.5 0.25",
         "float[2,3] -0.20074579 -0.32571297 -0.27698945 -0.045554816 0.069632559 0.046950306; float[2,2] -0.72520282 0.033317595 0.49234821 0.17558916; float[2,2] -0.38686956 0 0.088352286 0.107015; float[2,4] 0 0.0014593016 0.054110183 0 -0.027531116 0.0072613785 -0.018270479 0.018711238",
         .tolerance = 1e-5},
        {"GRUBlockCell", NULL, "float[0,2]; float[0,1]; float[3,2] 1; float[3,1] 1; float[2] 1; float[1] 1",
         "float[0,1]; float[0,1]; float[0,1]; float[0,1]"},
        {"GRUBlockCell", NULL, "float[1,0]; float[1,1] 2; float[1,2] 0; float[1,1] 0; float[2] 0; float[1] 0",
         "float[1,1] 0.5; float[1,1] 0.5; float[1,1] 0; float[1,1] 1"},
        {"GRUBlockCellGrad", NULL,
         "float[0,2]; float[0,1]; float[3,2] 1; float[3,1] 1; float[2] 1; float[1] 1; float[0,1]; float[0,1]; float[0,1]; float[0,1]",
         "float[0,2]; float[0,1]; float[0,1]; float[0,2]"},
    };
    OP_TEST_VALUES(cases);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"GRUBlockCell", NULL, "float[2] 1; float[1,3] 1; float[5,6] 1; float[5,3] 1; float[6] 1; float[3] 1",
         "InvalidArgument: Rank of x must be 2, but is 1"},
        {"GRUBlockCell", NULL,
         "float[1,2] 1; float[2,3] 1; float[5,6] 1; float[5,3] 1; float[6] 1; float[3] 1",
         "InvalidArgument: h_prev.dims(0) != batch_size: 2 vs. 1"},
        {"GRUBlockCell", NULL,
         "float[1,2] 1; float[1,3] 1; float[6,6] 1; float[5,3] 1; float[6] 1; float[3] 1",
         "InvalidArgument: w_ru.dim_size(0) != input_size + cell_size: 6 vs. 5"},
        {"GRUBlockCell", NULL,
         "float[1,2] 1; float[1,3] 1; float[5,5] 1; float[5,3] 1; float[6] 1; float[3] 1",
         "InvalidArgument: w_ru.dim_size(1) != cell_size * 2: 5 vs. 6"},
        {"GRUBlockCell", NULL,
         "float[1,2] 1; float[1,3] 1; float[5,6] 1; float[4,3] 1; float[6] 1; float[3] 1",
         "InvalidArgument: w_c.dim_size(0) != input_size + cell_size: 4 vs. 5"},
        {"GRUBlockCell", NULL,
         "float[1,2] 1; float[1,3] 1; float[5,6] 1; float[5,2] 1; float[6] 1; float[3] 1",
         "InvalidArgument: w_c.dim_size(1) != cell_size: 2 vs. 3"},
        {"GRUBlockCell", NULL,
         "float[1,2] 1; float[1,3] 1; float[5,6] 1; float[5,3] 1; float[5] 1; float[3] 1",
         "InvalidArgument: b_ru.dim_size(0) != cell_size * 2: 5 vs. 6"},
        {"GRUBlockCell", NULL,
         "float[1,2] 1; float[1,3] 1; float[5,6] 1; float[5,3] 1; float[6,1] 1; float[3] 1",
         "InvalidArgument: Rank of b_ru must be 1"},
        {"GRUBlockCell", NULL,
         "float[1,2] 1; float[1,3] 1; float[5,6] 1; float[5,3] 1; float[6] 1; float[2] 1",
         "InvalidArgument: b_c.dim_size(0) != cell_size: 2 vs. 3"},
        {"GRUBlockCellGrad", NULL,
         "float[1,2] 1; float[1,3] 1; float[5,6] 1; float[5,3] 1; float[6] 1; float[3] 1; float[1,3] 1; float[1,2] 1; float[1,3] 1; float[1,3] 1",
         "InvalidArgument: u.dims(1) != cell_size: 2 vs. 3"},
        {"GRUBlockCell", NULL, "float[] 1; float[1,3] 1; float[5,6] 1; float[5,3] 1; float[6] 1; float[3] 1",
         "InvalidArgument: Rank of x must be 2, but is 0"},
        {"GRUBlockCellGrad", NULL,
         "float[1,2] 1; float[1,3] 1; float[5,6] 1; float[5,3] 1; float[6] 1; float[3] 1; float[1,3] 1; float[1,3] 1; float[1,3] 1; float[] 1",
         "InvalidArgument: Rank of d_h must be 2, but is 0"},
    };
    OP_TEST_VALUES(cases);
    static const op_shape_case shapes[] = {
        {"GRUBlockCell", NULL, "[?,2]; [?,3]; ?; ?; ?; ?", "[?,3]; [?,3]; [?,3]; [?,3]"},
        {"GRUBlockCell", NULL, "[2]; [?,3]; ?; ?; ?; ?",
         "InvalidArgument: Shape must be rank 2 but is rank 1"},
        {"GRUBlockCellGrad", NULL, "[4,2]; [?,3]; [5,6]; ?; ?; ?; ?; ?; ?; ?", "[4,2]; [4,3]; [4,3]; [4,6]"},
    };
    OP_TEST_SHAPES(shapes);
}

// The gradients of all inputs, from those of some outputs.
static void gradients_are_correct(void **state)
{
    (void)state;
    static const struct {
        const char *input, *gradient;
    } rows[] = {
        {"float[2,3] 0.875 -0.5 -0.625 -0.125 0.75 0",
         "float[2,3] -0.21364648 -0.31873472 -0.14734226 -0.18278037 0.15807736 -0.24733447"},
        {"float[2,2] 0.75 0.25 0 -0.125", "float[2,2] -0.88792804 -0.059721627 0.26263361 0.044571081"},
        {"float[5,4] -0.25 -0.5 1 -0.125 0.5 -1 0.375 -0.25 0.5 -0.375 1 -1 -0.75 0.125 0.75 -0.25 -0.5 0.75 0.125 -0.625",
         "float[5,4] -0.0061474156 -0.0023894113 -0.28974596 -0.0043019225 0.0035128089 0.00071506912 0.13904057 0.025811535 0.0043910112 0.0017922893 0.210452 0 -0.0052692135 -0.0021507471 -0.2525424 0 -0.0017564045 -0.00059712199 -0.079293961 -0.0043019225"},
        {"float[5,2] -0.625 0 1 -0.875 -1 1 0.5 -0.125 0.25 0.125",
         "float[5,2] -0.19581366 -0.0061996114 0.26374468 0.037197668 0.11988649 0 -0.015782688 0 -0.023025504 -0.00089366686"},
        {"float[4] -0.625 -1 -0.125 -1", "float[4] -0.0070256179 -0.0038260127 -0.37581791 0.03441538"},
        {"float[2] -0.5 -0.625", "float[2] 0.031962277 0.049596891"},
    };
    enum {
        INPUTS = BD_COUNTOF(rows)
    };
    for (int k = 0; k < INPUTS; k++) {
        program *p = program_new();
        braid_out inputs[INPUTS], grads[INPUTS];
        for (int i = 0; i < INPUTS; i++)
            inputs[i] = program_feed(p, rows[i].input);
        braid_op *op = op_test_node(p->g, "GRUBlockCell", NULL, inputs, INPUTS);
        const braid_out ys[] = {{op, 3}};
        const braid_out dys[] = {program_feed(p, "float[2,2] -1 0 0.5 0.25")};
        braid_gradients(p->g, ys, 1, inputs, INPUTS, dys, grads);
        program_expect(p, &grads[k], 1, rows[k].gradient);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_follow_the_definition),
        cmocka_unit_test(wrong_inputs_are_errors),
        cmocka_unit_test(gradients_are_correct),
    };
    return BD_RUN_TESTS(tests);
}
