// Runs tables of op cases: values, errors and inferred shapes.
#include "ops/testing/op_test.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "ops/testing/op_case.h"
#include "ops/testing/op_rows.h"
#include "ops/testing/op_run.h"
#include "ops/testing/op_text.h"
// cmocka wants these before it.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void op_test_tensor(braid_tensor *t, const char *text)
{
    op_text texts[OP_TEXT_MAX];
    int count = op_text_read(text, texts);
    if (count != 1) fail_msg("not one tensor: '%s'", text);
    op_text_tensor(&texts[0], t);
    op_text_fini(texts, count);
}

static double number_at(const braid_tensor *t, int64_t i)
{
    switch (t->dtype) {
    case BRAID_FLOAT: return bd_tensor_f32(t)[i];
    case BRAID_DOUBLE: return bd_tensor_f64(t)[i];
    case BRAID_INT8: return ((int8_t *)t->data)[i];
    case BRAID_UINT8: return ((uint8_t *)t->data)[i];
    case BRAID_BOOL: return bd_tensor_bool(t)[i];
    default: return 0;
    }
}

static bool numbers_equal(double x, double y, double tolerance)
{
    if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
    if (isinf(x) || isinf(y)) return x == y;
    return fabs(x - y) <= tolerance * fmax(1, fabs(y));
}

// Of complex numbers both parts are compared.
static bool elements_equal(const braid_tensor *a, const braid_tensor *b, int64_t i, double tolerance)
{
    bool is_single = a->dtype == BRAID_FLOAT || a->dtype == BRAID_COMPLEX64;
    if (tolerance == 0) tolerance = is_single ? 4e-6 : 1e-13;
    switch (a->dtype) {
    case BRAID_STRING: {
        const bd_string *x = &bd_tensor_str(a)[i], *y = &bd_tensor_str(b)[i];
        return x->len == y->len && (x->len == 0 || memcmp(x->data, y->data, x->len) == 0);
    }
    case BRAID_FLOAT:
    case BRAID_DOUBLE: return numbers_equal(number_at(a, i), number_at(b, i), tolerance);
    case BRAID_COMPLEX64: {
        const float *x = (const float *)a->data + 2 * i, *y = (const float *)b->data + 2 * i;
        return numbers_equal((double)x[0], (double)y[0], tolerance) &&
               numbers_equal((double)x[1], (double)y[1], tolerance);
    }
    case BRAID_COMPLEX128: {
        const double *x = (const double *)a->data + 2 * i, *y = (const double *)b->data + 2 * i;
        return numbers_equal(x[0], y[0], tolerance) && numbers_equal(x[1], y[1], tolerance);
    }
    default: {
        size_t size = braid_dtype_size(a->dtype);
        return memcmp((char *)a->data + i * (int64_t)size, (char *)b->data + i * (int64_t)size, size) == 0;
    }
    }
}

void op_test_expect(const braid_tensor *got, const char *want, double tolerance, const char *where)
{
    op_text texts[OP_TEXT_MAX];
    int count = op_text_read(want, texts);
    if (count != 1) fail_msg("not one tensor: '%s'", want);
    op_case_expect(got, &texts[0], tolerance, where);
    op_text_fini(texts, count);
}

void op_case_expect(const braid_tensor *got, const op_text *want, double tolerance, const char *where)
{
    if (want->is_any) return;
    bd_strbuf text = {0};
    if (!bd_tensor_is_set(got)) fail_msg("%s: no tensor", where);
    bd_tensor_print(got, 100, &text);
    if (got->dtype != want->dtype || !bd_shape_equal(&got->shape, &want->shape))
        fail_msg("%s: got %s", where, bd_strbuf_str(&text));
    braid_tensor expected;
    op_text_tensor(want, &expected);
    for (int64_t i = 0; i < bd_tensor_count(got); i++) {
        if (!elements_equal(got, &expected, i, tolerance))
            fail_msg("%s: element %d of %s (%.9g) is not %.9g", where, (int)i, bd_strbuf_str(&text),
                     number_at(got, i), number_at(&expected, i));
    }
    bd_tensor_fini(&expected);
    bd_strbuf_fini(&text);
}

// The length of a list argument in `attrs`: "N=2" or "T=[float,int32]"; -1: not given.
static int said_length(const bd_arg_def *arg, const char *attrs)
{
    const char *name = arg->number_attr ? arg->number_attr : arg->type_list_attr, *rest = attrs, *piece;
    size_t len;
    while (attrs && bd_split_next(&rest, ';', &piece, &len)) {
        piece += strspn(piece, " ");
        if (strncmp(piece, name, strlen(name)) != 0 || piece[strlen(name)] != '=') continue;
        const char *value = piece + strlen(name) + 1;
        if (*value != '[') return (int)strtol(value, NULL, 10);
        int count = value[1] != ']';
        for (; *value && *value != ']'; value++)
            count += *value == ',';
        return count;
    }
    return -1;
}

// The number of edges of each list argument: given by `attrs`, or an equal share of the rest, so that `count`
// edges fill all arguments.
static void list_lengths(const bd_op_def *def, const char *attrs, int count, int lengths[OP_TEXT_MAX])
{
    int open = 0;
    for (int i = 0; i < def->input_count; i++) {
        bool is_list = def->inputs[i].number_attr || def->inputs[i].type_list_attr;
        lengths[i] = is_list ? said_length(&def->inputs[i], attrs) : 1;
        open += lengths[i] < 0;
        if (lengths[i] > 0) count -= lengths[i];
    }
    for (int i = 0; i < def->input_count; i++) {
        if (lengths[i] < 0) lengths[i] = count / open;
    }
}

braid_op *op_test_node(braid_graph *g, const char *op, const char *attrs, const braid_out *inputs, int count)
{
    const bd_op_def *def = bd_op_lookup(op);
    if (!def) fail_msg("no op is called %s", op);
    braid_op_desc *desc = braid_op_begin(g, op, NULL);
    int lengths[OP_TEXT_MAX], at = 0;
    list_lengths(def, attrs, count, lengths);
    for (int i = 0; i < def->input_count; i++) {
        if (at + lengths[i] > count) fail_msg("%s takes more inputs than %d", op, count);
        if (def->inputs[i].number_attr || def->inputs[i].type_list_attr)
            braid_op_input_list(desc, inputs + at, lengths[i]);
        else
            braid_op_input(desc, inputs[at]);
        at += lengths[i];
    }
    if (at != count) fail_msg("%s takes %d inputs, not %d", op, at, count);
    op_text_attrs(desc, def, attrs);
    return braid_op_end(desc);
}

braid_out op_case_input(braid_graph *g, const op_text *text, bool with_shape)
{
    braid_shape shape = with_shape ? text->shape : BD_SHAPE_UNKNOWN;
    const char *op = text->is_ref ? "VariableV2" : text->is_var ? "VarHandleOp" : "Placeholder";
    braid_op_desc *desc = braid_op_begin(g, op, NULL);
    braid_op_attr_type(desc, "dtype", text->dtype);
    braid_op_attr_shape(desc, "shape", shape);
    return braid_op_end_out(desc);
}

void op_case_expect_error(const braid_status *st, const char *want, const char *where)
{
    const char *code, *words;
    size_t code_len;
    if (!op_text_error(want, &code, &code_len, &words))
        fail_msg("%s: %s: %s", where, braid_code_name(st->code), braid_status_message(st));
    const char *got = braid_code_name(st->code);
    if (strlen(got) != code_len || strncmp(got, code, code_len) != 0 ||
        !strstr(braid_status_message(st), words))
        fail_msg("%s: got %s: %s", where, got, braid_status_message(st));
}

// ---- Values ----

typedef struct case_run {
    const op_case *c;
    op_text inputs[OP_TEXT_MAX], want[OP_TEXT_MAX];
    int input_count, want_count;
    bool is_error;
    char where[256];
} case_run;

static bd_variable *make_variable(const op_text *text)
{
    bd_variable *v = bd_variable_new(text->dtype, text->is_ref);
    if (!text->has_values) return v;
    BD_STATUS(st);
    braid_tensor t;
    op_text_tensor(text, &t);
    if (bd_variable_assign(v, &t, st)) fail_msg("%s", braid_status_message(st));
    bd_tensor_fini(&t);
    return v;
}

static braid_code create_resource(void *text, bd_resource **out, braid_status *st)
{
    (void)st;
    *out = &make_variable(text)->base;
    return BRAID_OK;
}

// A resource variable of the step: `v` is its handle. Returns a reference to it.
static bd_variable *make_resource(const op_text *text, bd_step *step, int i, bd_value *v)
{
    BD_STATUS(st);
    char name[16];
    bd_resource *r;
    snprintf(name, sizeof name, "var%d", i);
    if (bd_resources_lookup_or_create(
            step->resources, &(bd_resource_spec){"", name, &bd_variable_type, create_resource, (void *)text},
            &r, st) ||
        bd_tensor_init(&v->tensor, BRAID_RESOURCE, &BD_SCALAR, st))
        fail_msg("%s", braid_status_message(st));
    *bd_tensor_handle(&v->tensor) = (bd_resource_handle){
        .container = bd_strdup(""), .name = bd_strdup(name), .type_name = bd_strdup(bd_variable_type.name)};
    return BD_CONTAINER_OF(r, bd_variable, base);
}

// Makes an input, and the object that keeps it after the run: the variable, or the value if it is shared.
static void make_input(const case_run *r, int i, bool is_shared, bd_step *step, bd_value *v, bd_value *holder)
{
    const op_text *text = &r->inputs[i];
    *v = *holder = (bd_value){0};
    if (text->is_var) {
        holder->ref = make_resource(text, step, i, v);
        if (is_shared) bd_variable_read(holder->ref, &holder->tensor);
        return;
    }
    if (text->is_ref) {
        v->ref = make_variable(text);
    } else {
        op_text_tensor(text, &v->tensor);
    }
    if (is_shared || text->is_ref) op_value_ref(holder, v);
}

static void check_outputs(const case_run *r, const braid_op *node, const bd_value *outputs)
{
    if (node->output_count != r->want_count) fail_msg("%s: %d outputs", r->where, node->output_count);
    for (int i = 0; i < r->want_count; i++) {
        braid_tensor got = {0};
        if (outputs[i].ref) {
            bd_variable_read(outputs[i].ref, &got);
        } else {
            bd_tensor_ref(&got, &outputs[i].tensor);
        }
        op_case_expect(&got, &r->want[i], r->c->tolerance, r->where);
        braid_shape merged;
        if (!bd_shape_merge(&got.shape, &node->output_shapes[i], &merged))
            fail_msg("%s: output %d was inferred to have another shape", r->where, i);
        bd_tensor_fini(&got);
    }
}

static void check_variables(const case_run *r, const bd_value *inputs)
{
    op_text after[OP_TEXT_MAX];
    int count = r->c->after ? op_text_read(r->c->after, after) : 0;
    for (int i = 0, k = 0; i < r->input_count && k < count; i++) {
        if (!inputs[i].ref) continue;
        braid_tensor got = {0};
        bd_variable_read(inputs[i].ref, &got);
        op_case_expect(&got, &after[k++], r->c->tolerance, r->where);
        bd_tensor_fini(&got);
    }
    op_text_fini(after, count);
}

// Runs the node over new values, which are shared or not.
static void run_values(const case_run *r, const braid_op *node, bool is_shared)
{
    BD_STATUS(st);
    bd_value inputs[OP_TEXT_MAX], holders[OP_TEXT_MAX], outputs[OP_TEXT_MAX] = {0};
    bd_step step;
    op_step_init(&step);
    for (int i = 0; i < r->input_count; i++)
        make_input(r, i, is_shared, &step, &inputs[i], &holders[i]);
    if (op_run_node(node, &step, inputs, outputs, st)) {
        op_case_expect_error(st, r->c->want, r->where);
    } else if (r->is_error) {
        fail_msg("%s: no error", r->where);
    } else {
        check_outputs(r, node, outputs);
        for (int i = 0; is_shared && i < r->input_count; i++) { // the kernel must not have written to them
            if (bd_tensor_is_set(&holders[i].tensor))
                op_case_expect(&holders[i].tensor, &r->inputs[i], 0, r->where);
        }
    }
    check_variables(r, holders);
    op_step_fini(&step);
    for (int i = 0; i < node->output_count; i++)
        bd_value_fini(&outputs[i]);
    for (int i = 0; i < r->input_count; i++) {
        bd_value_fini(&inputs[i]);
        bd_value_fini(&holders[i]);
    }
}

// Builds the node over placeholders that know their shapes or do not, and runs it.
static void run_case(const case_run *r, bool with_shapes)
{
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_out in[OP_TEXT_MAX];
    for (int i = 0; i < r->input_count; i++)
        in[i] = op_case_input(g, &r->inputs[i], with_shapes);
    braid_op *node = op_test_node(g, r->c->op, r->c->attrs, in, r->input_count);
    if (braid_graph_status(g, st)) {
        if (!with_shapes) op_case_expect_error(st, r->c->want, r->where);
        if (with_shapes && !r->is_error) fail_msg("%s: %s", r->where, braid_status_message(st));
        const op_row row = op_row_of_texts(r->inputs, r->input_count);
        op_row_note_error(&row, r->c->op);
    } else {
        run_values(r, node, true);
        run_values(r, node, false);
    }
    braid_graph_free(g);
}

void op_test_values(const op_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        case_run r = {.c = &cases[i]};
        const char *code, *words;
        size_t code_len;
        snprintf(r.where, sizeof r.where, "%s(%s) {%s} -> %s", r.c->op, r.c->inputs,
                 r.c->attrs ? r.c->attrs : "", r.c->want);
        r.is_error = op_text_error(r.c->want, &code, &code_len, &words);
        r.input_count = op_text_read(r.c->inputs, r.inputs);
        if (!r.is_error) r.want_count = op_text_read(r.c->want, r.want);
        run_case(&r, false);
        run_case(&r, true);
        op_text_fini(r.inputs, r.input_count);
        op_text_fini(r.want, r.want_count);
    }
}

// ---- Shapes ----

static braid_out shape_input(braid_graph *g, const op_text *text)
{
    if (!text->has_values) return op_case_input(g, text, true);
    braid_tensor value;
    op_text_tensor(text, &value);
    braid_op_desc *desc = braid_op_begin(g, "Const", NULL);
    braid_op_attr_type(desc, "dtype", value.dtype);
    braid_op_attr_tensor(desc, "value", &value);
    bd_tensor_fini(&value);
    return braid_op_end_out(desc);
}

static void check_inferred(const op_shape_case *c, const braid_op *node, const char *where)
{
    op_text want[OP_TEXT_MAX];
    int want_count = op_text_read(c->want, want);
    if (node->output_count != want_count) fail_msg("%s: %d outputs", where, node->output_count);
    for (int i = 0; i < want_count; i++) {
        char text[BD_SHAPE_STR_MAX];
        if (!bd_shape_equal(&node->output_shapes[i], &want[i].shape))
            fail_msg("%s: output %d is %s", where, i, bd_shape_str(&node->output_shapes[i], text));
    }
    op_text_fini(want, want_count);
}

void op_test_shapes(const op_shape_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const op_shape_case *c = &cases[i];
        BD_STATUS(st);
        char where[256];
        snprintf(where, sizeof where, "%s(%s) {%s} -> %s", c->op, c->inputs, c->attrs ? c->attrs : "",
                 c->want);
        op_text inputs[OP_TEXT_MAX];
        int input_count = op_text_read(c->inputs, inputs);
        braid_graph *g = braid_graph_new();
        braid_out in[OP_TEXT_MAX];
        for (int k = 0; k < input_count; k++)
            in[k] = shape_input(g, &inputs[k]);
        braid_op *node = op_test_node(g, c->op, c->attrs, in, input_count);
        const op_row row = op_row_of_texts(inputs, input_count);
        const char *code, *words;
        size_t code_len;
        if (braid_graph_status(g, st)) {
            op_case_expect_error(st, c->want, where);
            op_row_note_error(&row, c->op);
        } else if (op_text_error(c->want, &code, &code_len, &words)) {
            fail_msg("%s: no error", where);
        } else {
            check_inferred(c, node, where);
            op_row_note_shapes(&row, c->op);
        }
        braid_graph_free(g);
        op_text_fini(inputs, input_count);
    }
}
