// Tests of the four forms of each optimizer: reference and resource variables, whole or by rows. Values were
// computed from the definitions in double, independently of this code.
#include "base/strbuf.h"
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

typedef struct optimizer {
    const char *name;
    int var_count;
    const char *before, *behind;    // scalars before and behind the gradient in the signature
    double vars[4][2], after[4][2]; // the variable and its slots, for a gradient of 0.5 and -1
    bool dense_only;                // the optimizer has no form for rows
    bool resource_only;             // nor of reference variables
} optimizer;

static const optimizer optimizers[] = {
    {"GradientDescent", 1, "; double[] 0.5", "", {{1, 2}}, {{0.75, 2.5}}, true},
    {"Adam",
     3,
     "; double[] 0.9; double[] 0.999; double[] 0.001; double[] 0.9; double[] 0.999; double[] 1e-8",
     "",
     {{1, 2}, {0.1, -0.2}, {0.01, 0.02}},
     {{0.9995625000432342, 2.0006113012156357}, {0.14, -0.28}, {0.01024, 0.02098}},
     true},
    {"Momentum", 2, "; double[] 0.1", "; double[] 0.9", {{1, 2}, {0.5, -1}}, {{0.905, 2.19}, {0.95, -1.9}}},
    {"ProximalGradientDescent",
     1,
     "; double[] 0.1; double[] 0.2; double[] 0.3",
     "",
     {{1, 2}},
     {{0.9029126213592232, 2.0194174757281553}}},
    {"Adagrad",
     2,
     "; double[] 0.1",
     "",
     {{1, 2}, {0.1, 0.2}},
     {{0.9154845745271484, 2.091287092917528}, {0.35, 1.2}}},
    {"ProximalAdagrad",
     2,
     "; double[] 0.1; double[] 0.2; double[] 0.3",
     "",
     {{1, 2}, {0.1, 0.2}},
     {{0.8391269039501686, 2.0177707466434884}, {0.35, 1.2}}},
    {"AdagradDA",
     3,
     "",
     "; double[] 0.1; double[] 0.02; double[] 0.3; int64[] 3",
     {{1, 2}, {0.3, -0.4}, {0.1, 0.2}},
     {{-0.10856680431394314, 0.11303770904554451}, {0.8, -1.4}, {0.35, 1.2}}},
    {"Adadelta",
     3,
     "; double[] 0.1; double[] 0.9; double[] 0.001",
     "",
     {{1, 2}, {0.1, 0.2}, {0.03, 0.04}},
     {{0.9741523028438536, 2.038197836759378}, {0.115, 0.28}, {0.033681034482758616, 0.050590747330960854}}},
    {"RMSProp",
     3,
     "; double[] 0.1; double[] 0.9; double[] 0.5; double[] 0.001",
     "",
     {{1, 2}, {0.1, 0.2}, {0.3, -0.4}},
     {{0.7031949451213242, 2.388645669476136}, {0.115, 0.28}, {0.29680505487867587, -0.3886456694761362}}},
    {"CenteredRMSProp",
     4,
     "; double[] 0.1; double[] 0.9; double[] 0.5; double[] 0.001",
     "",
     {{1, 2}, {0.2, -0.1}, {0.1, 0.2}, {0.3, -0.4}},
     {{0.6509531428354918, 2.4020717522524886},
      {0.23, -0.19},
      {0.115, 0.28},
      {0.34904685716450823, -0.4020717522524887}}},
    {"Ftrl",
     3,
     "",
     "; double[] 0.1; double[] 0.001; double[] 0.01; double[] -0.5",
     {{1, 2}, {0.1, 0.2}, {0.3, -0.4}},
     {{0.3289716773165658, 1.3088244864138157}, {0.35, 1.2}, {-1.9538021229312361, -14.364630390207486}}},
    {"AdagradV2",
     2,
     "; double[] 0.1; double[] 0.01",
     "",
     {{1, 2}, {0.1, 0.2}},
     {{0.9168894000700255, 2.0904612980256965}, {0.35, 1.2}}},
    {"AdaMax",
     3,
     "; double[] 0.9; double[] 0.001; double[] 0.9; double[] 0.999; double[] 1e-8",
     "",
     {{1, 2}, {0.1, -0.2}, {0.01, 0.02}},
     {{0.997200000056, 2.002799999972}, {0.14, -0.28}, {0.5, 1.0}},
     true},
    {"AdamWithAmsgrad",
     4,
     "; double[] 0.9; double[] 0.999; double[] 0.001; double[] 0.9; double[] 0.999; double[] 1e-8",
     "",
     {{1, 2}, {0.1, -0.2}, {0.01, 0.02}, {0.5, 0.01}},
     {{0.9999373900975155, 2.0006113012156357}, {0.14, -0.28}, {0.01024, 0.02098}, {0.5, 0.02098}},
     true,
     true},
    {"KerasMomentum",
     2,
     "; double[] 0.1",
     "; double[] 0.9",
     {{1, 2}, {0.5, -1}},
     {{1.4, 1.2}, {0.4, -0.8}},
     false,
     true},
    {"AddSign",
     2,
     "; double[] 0.1; double[] 1; double[] 0.5; double[] 0.9",
     "",
     {{1, 2}, {-2, -0.2}},
     {{0.975, 2.15}, {-1.75, -0.28}},
     true},
    {"PowerSign",
     2,
     "; double[] 0.1; double[] 2; double[] 0.5; double[] 0.9",
     "",
     {{1, 2}, {-2, -0.2}},
     {{0.9816060279414279, 2.2718281828459044}, {-1.75, -0.28}},
     true},
    {"FtrlV2",
     3,
     "",
     "; double[] 0.1; double[] 0.001; double[] 0.01; double[] 0.02; double[] -0.5",
     {{1, 2}, {0.1, 0.2}, {0.3, -0.4}},
     {{0.322233223410693, 1.3015348280148855}, {0.35, 1.2}, {-1.913802122931236, -14.284630390207486}}},
};

typedef struct form {
    const optimizer *o;
    bool is_resource, rows;
} form;

// The shapes of the variables and the gradient of a case; the variables' values are those of the table.
typedef enum layout {
    VECTOR, // [2]
    ROWS,   // [3,1]: the table's values are the outer two
    SCALAR, // []: the first of the table
    EMPTY,  // [0]
} layout;

static void append_variable(bd_strbuf *text, const char *kind, const double values[2], layout shape)
{
    switch (shape) {
    case VECTOR: bd_strbuf_appendf(text, "%sdouble[2] %.17g %.17g", kind, values[0], values[1]); break;
    case ROWS: bd_strbuf_appendf(text, "%sdouble[3,1] %.17g 7 %.17g", kind, values[0], values[1]); break;
    case SCALAR: bd_strbuf_appendf(text, "%sdouble[] %.17g", kind, values[0]); break;
    case EMPTY: bd_strbuf_appendf(text, "%sdouble[0] empty", kind); break;
    }
}

static void append_variables(bd_strbuf *text, const char *kind, int count, const double values[4][2],
                             layout shape)
{
    for (int i = 0; i < count; i++) {
        bd_strbuf_append(text, i ? "; " : "");
        append_variable(text, kind, values[i], shape);
    }
}

// Appends "; double[] 0.1; double[] 0.9" with the scalar of number `vector`, counted in *at, as a vector.
static void append_scalars(bd_strbuf *text, const char *scalars, int *at, int vector)
{
    for (const char *p = scalars; *p; p++) {
        bd_strbuf_append_char(text, *p);
        if (*p == '[' && (*at)++ == vector) bd_strbuf_append_char(text, '1');
    }
}

static int scalar_count(const optimizer *o)
{
    int count = 0;
    for (int part = 0; part < 2; part++) {
        for (const char *p = part ? o->behind : o->before; *p; p++)
            count += *p == '[';
    }
    return count;
}

// A variation of a case. NULL: the layout's inputs.
typedef struct variation {
    layout shape;
    const char *last_slot; // the last variable, without its kind
    const char *grad;      // with the indices of rows
    int vector;            // the number of a scalar input that is a vector instead; -1: none
    const char *error;     // NULL: the update succeeds, also on empty tensors
    bool is_unchanged;     // the variables are
} variation;

static void check(const form *f, const variation *v)
{
    static const char *const grads[] = {"double[2] 0.5 -1", "double[2,1] -1 0.5; int32[2] 2 0",
                                        "double[] 0.5", "double[0]"};
    const optimizer *o = f->o;
    const char *kind = f->is_resource ? "var " : "ref ";
    bd_strbuf name = {0}, inputs = {0}, after = {0}, want = {0};
    int at = 0, from_table = o->var_count - (v->last_slot != NULL);
    bd_strbuf_appendf(&name, "%s%sApply%s", f->is_resource ? "Resource" : "", f->rows ? "Sparse" : "",
                      o->name);
    append_variables(&inputs, kind, from_table, o->vars, v->shape);
    if (v->last_slot) bd_strbuf_appendf(&inputs, "; %s%s", kind, v->last_slot);
    append_scalars(&inputs, o->before, &at, v->vector);
    bd_strbuf_appendf(&inputs, "; %s", v->grad ? v->grad : grads[v->shape]);
    append_scalars(&inputs, o->behind, &at, v->vector);
    const double(*results)[2] = v->error || v->is_unchanged ? o->vars : o->after;
    append_variables(&after, "", from_table, results, v->shape);
    append_variables(&want, "", f->is_resource ? 0 : 1, results, v->shape);
    op_case c = {.op = bd_strbuf_str(&name),
                 .inputs = bd_strbuf_str(&inputs),
                 .want = v->error ? v->error : bd_strbuf_str(&want),
                 .after = bd_strbuf_str(&after)};
    op_test_values(&c, 1);
    bd_strbuf_fini(&name);
    bd_strbuf_fini(&inputs);
    bd_strbuf_fini(&after);
    bd_strbuf_fini(&want);
}

static void each_form(bool rows, void (*check_form)(const form *f))
{
    for (size_t i = 0; i < BD_COUNTOF(optimizers); i++) {
        if (rows && optimizers[i].dense_only) continue;
        for (int is_resource = optimizers[i].resource_only; is_resource < 2; is_resource++)
            check_form(&(form){&optimizers[i], is_resource, rows});
    }
}

static void check_whole(const form *f)
{
    check(f, &(variation){.shape = VECTOR, .vector = -1});
    check(f, &(variation){.shape = SCALAR, .vector = -1});
    check(f, &(variation){.shape = EMPTY, .vector = -1});
}

static void check_whole_refused(const form *f)
{
    check(f, &(variation){.shape = VECTOR,
                          .grad = "double[3] 0.5 -1 2",
                          .vector = -1,
                          .error = "InvalidArgument: do not have the same shape: [2] [3]"});
    check(f, &(variation){.shape = VECTOR,
                          .grad = "double[1,2] 0.5 -1",
                          .vector = -1,
                          .error = "InvalidArgument: do not have the same shape: [2] [1,2]"});
}

// Checks the refused inputs of whole variables and of rows.
static void check_refused(const form *f)
{
    layout shape = f->rows ? ROWS : VECTOR;
    for (int i = 0; i < scalar_count(f->o); i++)
        check(f, &(variation){.shape = shape, .vector = i, .error = "InvalidArgument: scalar: [1]"});
    if (f->o->var_count == 1) return;
    check(f, &(variation){.shape = shape,
                          .last_slot = "double[3] 1",
                          .vector = -1,
                          .error = "InvalidArgument: do not have the same shape: "});
    check(f, &(variation){.shape = shape,
                          .last_slot = "double[3]",
                          .vector = -1,
                          .error = "FailedPrecondition: Attempting to use uninitialized variables: "});
}

static void check_rows(const form *f)
{
    check(f, &(variation){.shape = ROWS, .vector = -1});
    check(f,
          &(variation){.shape = ROWS, .grad = "double[0,1]; int64[0]", .vector = -1, .is_unchanged = true});
    check(f, &(variation){.shape = EMPTY, .grad = "double[0]; int64[0]", .vector = -1, .is_unchanged = true});
}

static void check_rows_refused(const form *f)
{
    static const variation cases[] = {
        {ROWS, NULL, "double[1,1] 1; int32[1] 3", -1,
         "InvalidArgument: Index 3 at offset 0 in indices is out of range"},
        {ROWS, NULL, "double[1,1] 1; int64[1] -1", -1,
         "InvalidArgument: Index -1 at offset 0 in indices is out of range"},
        {EMPTY, NULL, "double[1] 1; int32[1] 0", -1,
         "InvalidArgument: Index 0 at offset 0 in indices is out of range"},
        {SCALAR, NULL, "double[1] 1; int32[1] 0", -1, "InvalidArgument: var must be at least 1 dimensional"},
        {ROWS, NULL, "double[1,1] 1; int32[] 0", -1, "InvalidArgument: indices must be one-dimensional"},
        {ROWS, NULL, "double[1,1] 1; int32[2] 0", -1,
         "InvalidArgument: grad must be the same size as indices in the first dimension"},
        {ROWS, NULL, "double[] 1; int32[1] 0", -1,
         "InvalidArgument: grad must be the same size as indices in the first dimension"},
        {ROWS, NULL, "double[1,2] 1; int32[1] 0", -1,
         "InvalidArgument: var and grad must match in dimension 1"},
    };
    for (size_t i = 0; i < BD_COUNTOF(cases); i++)
        check(f, &cases[i]);
}

static void each_form_updates_whole_variables(void **state)
{
    (void)state;
    each_form(false, check_whole);
    each_form(false, check_whole_refused);
    each_form(false, check_refused);
}

static void each_form_updates_rows_of_variables(void **state)
{
    (void)state;
    each_form(true, check_rows);
    each_form(true, check_rows_refused);
    each_form(true, check_refused);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_form_updates_whole_variables),
        cmocka_unit_test(each_form_updates_rows_of_variables),
    };
    return BD_RUN_TESTS(tests);
}
