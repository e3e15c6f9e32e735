// Optimizers' updates: ops that change variables in place by a gradient.
//
// With use_locking, and always for resource variables (whose values, once read, must not change), the kernel
// holds the variables' locks, taken in the order of their addresses. Otherwise updates are lock-free
// (Hogwild!): see base/hogwild.h.
#include "ops/training/training.h"
#include "base/check.h"
#include "base/half.h"
#include "base/prefetch.h"
#include "base/stream_copy.h"
#include "ops/state/variable.h"

#include <string.h>

static bool is_gradient(const bd_arg_def *arg)
{
    return strcmp(arg->name, "grad") == 0 || strcmp(arg->name, "delta") == 0;
}

static bool is_variable(const bd_arg_def *arg)
{
    return arg->is_ref || arg->type == BRAID_RESOURCE;
}

static bool is_indices(const bd_arg_def *arg)
{
    return strcmp(arg->name, "indices") == 0;
}

void bd_training_bind(const braid_op *node, bd_optimizer_fn fn, bd_training_state *s)
{
    static const char *const options[] = {"use_nesterov", "update_slots", "multiply_linear_by_lr"};
    s->fn = fn;
    s->dtype = bd_node_attr_type(node, "T");
    s->fns = &bd_kernels()->training[s->dtype == BRAID_DOUBLE ? BD_F64 : BD_F32];
    s->is_resource = !node->def->inputs[0].is_ref;
    s->locks = s->is_resource || bd_node_attr_bool(node, "use_locking");
    for (size_t i = 0; i < BD_COUNTOF(options); i++)
        s->option = s->option || (bd_node_attr(node, options[i]) && bd_node_attr_bool(node, options[i]));
    s->grad = s->indices = -1;
    for (int i = 0; i < node->def->input_count; i++) {
        const bd_arg_def *arg = &node->def->inputs[i];
        if (is_variable(arg)) {
            BD_ASSERT(i == s->var_count && i < BD_UPDATE_VARS_MAX);
            s->var_count++;
        } else if (is_gradient(arg)) {
            s->grad = i;
        } else if (is_indices(arg)) {
            s->indices = i;
        } else {
            BD_ASSERT(s->scalar_count < BD_UPDATE_SCALARS_MAX);
            s->scalars[s->scalar_count++] = i;
        }
    }
}

// ---- Checks ----

static const char *input_name(const bd_op_ctx *c, int i)
{
    return c->node->def->inputs[i].name;
}

static double scalar_value(const braid_tensor *t)
{
    switch (t->dtype) {
    case BRAID_FLOAT: return *bd_tensor_f32(t);
    case BRAID_DOUBLE: return *bd_tensor_f64(t);
    case BRAID_HALF: return (double)bd_float_of_half(*(const uint16_t *)t->data);
    case BRAID_BFLOAT16: return (double)bd_float_of_bfloat16(*(const uint16_t *)t->data);
    default: return (double)*bd_tensor_i64(t);
    }
}

// The ranges of scalars in the definitions of proximal Adagrad and FTRL, and their names in errors where the
// inputs' names are too short.
static const struct scalar_range {
    const char *name, *words;
    int sign;       // of the values: 1, -1
    bool with_zero; // 0 is allowed
} ranges[] = {
    {"lr", "lr", 1, false},
    {"l1", "l1 regularization strength", 1, true},
    {"l2", "l2 regularization strength", 1, true},
    {"l2_shrinkage", "l2 shrinkage regularization strength", 1, true},
    {"lr_power", "lr_power", -1, true},
};

static const struct scalar_range *range_of(const char *name)
{
    for (size_t i = 0; i < BD_COUNTOF(ranges); i++) {
        if (strcmp(ranges[i].name, name) == 0) return &ranges[i];
    }
    return NULL;
}

// If lr scales the linear term, a rate of 0 divides nothing. NULL: any value.
static bool is_in_range(const bd_training_state *s, const struct scalar_range *r, double value)
{
    return !r || value * r->sign > 0 || (value == 0 && (r->with_zero || s->option));
}

static const char *words_of_range(const struct scalar_range *r)
{
    if (r->sign < 0) return "non-positive ";
    return r->with_zero ? "non-negative " : "positive ";
}

static void fail_scalar(bd_op_ctx *c, const bd_training_state *s, int input)
{
    const struct scalar_range *r = range_of(input_name(c, input));
    char text[BD_SHAPE_STR_MAX];
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s is not a %sscalar: %s", r ? r->words : input_name(c, input),
               r && s->has_ranges ? words_of_range(r) : "", bd_shape_str(&bd_input(c, input)->shape, text));
}

static bool read_scalars(bd_op_ctx *c, const bd_training_state *s, bd_update *u)
{
    for (int i = 0; i < s->scalar_count; i++) {
        const braid_tensor *t = bd_input(c, s->scalars[i]);
        bool ok = t->shape.rank == 0;
        if (ok) u->scalars[i] = scalar_value(t);
        if (ok && s->has_ranges) ok = is_in_range(s, range_of(input_name(c, s->scalars[i])), u->scalars[i]);
        if (ok) continue;
        fail_scalar(c, s, s->scalars[i]);
        return false;
    }
    return true;
}

static bool check_shape(bd_op_ctx *c, const braid_shape *var, int i, const braid_shape *other)
{
    if (bd_shape_equal(var, other)) return true;
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s and %s do not have the same shape: %s %s", input_name(c, 0),
               input_name(c, i), bd_shape_str(var, a), bd_shape_str(other, b));
    return false;
}

// Checks the gradient of some rows: one row for each index, each shaped like a row of the variable.
static bool check_rows(bd_op_ctx *c, const bd_training_state *s, const braid_shape *var)
{
    const braid_tensor *indices = bd_input(c, s->indices);
    const braid_shape *grad = &bd_input(c, s->grad)->shape;
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    if (var->rank < 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "var must be at least 1 dimensional");
    } else if (indices->shape.rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "indices must be one-dimensional, not %s",
                   bd_shape_str(&indices->shape, a));
    } else if (grad->rank < 1 || grad->dims[0] != indices->shape.dims[0]) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "grad must be the same size as indices in the first dimension: %s, %s",
                   bd_shape_str(grad, a), bd_shape_str(&indices->shape, b));
    } else if (grad->rank != var->rank) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "var and grad do not have the same rank: %s, %s",
                   bd_shape_str(var, a), bd_shape_str(grad, b));
    }
    for (int d = 1; d < var->rank && !bd_op_failed(c); d++) {
        if (grad->dims[d] != var->dims[d])
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "var and grad must match in dimension %d: %s, %s", d,
                       bd_shape_str(var, a), bd_shape_str(grad, b));
    }
    return !bd_op_failed(c);
}

// ---- The variables ----

typedef struct var_list {
    int count;
    bd_variable *items[BD_UPDATE_VARS_MAX]; // a reference each
} var_list;

// TensorFlow's updates call a variable that does not exist their own mistake.
static bd_variable *input_resource(bd_op_ctx *c, int i, braid_dtype dtype)
{
    bd_variable *v = bd_input_variable(c, i, dtype);
    if (v || c->status.code != BRAID_NOT_FOUND) return v;
    BD_STATUS(missing);
    bd_status_move(missing, &c->status);
    bd_op_fail(c, BRAID_INTERNAL, "Invalid variable reference. %s", braid_status_message(missing));
    return NULL;
}

static bool take_variables(bd_op_ctx *c, const bd_training_state *s, var_list *vars)
{
    for (vars->count = 0; vars->count < s->var_count; vars->count++) {
        bd_variable *v = s->is_resource ? input_resource(c, vars->count, bd_input(c, s->grad)->dtype)
                                        : bd_input_ref(c, vars->count);
        if (!v) return false;
        if (!s->is_resource) bd_resource_ref(&v->base);
        vars->items[vars->count] = v;
    }
    return true;
}

static void give_back(var_list *vars)
{
    while (vars->count > 0)
        bd_resource_unref(&vars->items[--vars->count]->base);
}

// The changes of the variables, in the order of the variables' addresses, each once.
typedef struct change_list {
    int count;
    bd_variable_change items[BD_UPDATE_VARS_MAX];
} change_list;

static int change_order(const var_list *vars, bd_variable *order[BD_UPDATE_VARS_MAX])
{
    int len = 0;
    for (int i = 0; i < vars->count; i++) {
        bd_variable *v = vars->items[i];
        int at = 0;
        while (at < len && (uintptr_t)order[at] < (uintptr_t)v)
            at++;
        if (at < len && order[at] == v) continue;
        memmove(order + at + 1, order + at, sizeof *order * (size_t)(len - at));
        order[at] = v;
        len++;
    }
    return len;
}

static bool begin_changes(bd_op_ctx *c, const bd_training_state *s, const var_list *vars,
                          change_list *changes)
{
    bd_variable *order[BD_UPDATE_VARS_MAX];
    const int count = change_order(vars, order);
    // A variable that is given twice is changed twice, the second time from the content of the first.
    const bool is_whole = s->indices < 0 && count == vars->count;
    const bd_variable_part part = is_whole ? BD_VARIABLE_WHOLE : BD_VARIABLE_ELEMENTS;
    BD_STATUS(st);
    for (changes->count = 0; changes->count < count;) {
        const int i = changes->count++;
        if (bd_variable_begin_change(&changes->items[i], order[i], part, s->locks, st)) {
            bd_op_fail_status(c, st);
            return false;
        }
    }
    return true;
}

static void end_changes(change_list *changes, bool are_made)
{
    while (changes->count > 0)
        bd_variable_end_change(&changes->items[--changes->count], are_made);
}

static const bd_variable_change *change_of(const change_list *changes, const bd_variable *v)
{
    int i = 0;
    while (changes->items[i].v != v)
        i++;
    return &changes->items[i];
}

static bool check_initialized(bd_op_ctx *c, const var_list *vars, const change_list *changes)
{
    for (int i = 0; i < vars->count; i++) {
        if (bd_tensor_is_set(&change_of(changes, vars->items[i])->value)) continue;
        bd_op_fail(c, BRAID_FAILED_PRECONDITION, "Attempting to use uninitialized variables: %s",
                   c->node->input_count > i ? c->node->inputs[i].op->name : c->node->name);
        return false;
    }
    return true;
}

// ---- Piece by piece: 16-bit floating types, by way of float, and from one memory to another ----

#define PIECE 512 // elements; the variables' and the gradient's stay in the first cache

// An update of elements at `from` to those at `to`, which is the same memory or all of it other memory.
typedef struct update_job {
    bd_update u; // its variables are not set
    const void *from[BD_UPDATE_VARS_MAX];
    void *to[BD_UPDATE_VARS_MAX];
} update_job;

typedef union piece {
    _Alignas(BD_ALIGNMENT) float f32[PIECE];
    double f64[PIECE];
} piece;

BD_HOGWILD static void widen(braid_dtype dtype, const uint16_t *from, float *to, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = dtype == BRAID_HALF ? bd_float_of_half(from[i]) : bd_float_of_bfloat16(from[i]);
}

BD_HOGWILD static void narrow(braid_dtype dtype, const float *from, uint16_t *to, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = dtype == BRAID_HALF ? bd_half_of_float(from[i]) : bd_bfloat16_of_float(from[i]);
}

static bool is_short(const bd_training_state *s)
{
    return s->dtype == BRAID_HALF || s->dtype == BRAID_BFLOAT16;
}

// Elements of variable `k` to compute with: in place, or in `p`.
static void *load(const bd_training_state *s, const update_job *job, int k, size_t at, int64_t n, piece *p)
{
    const char *from = (const char *)job->from[k] + at;
    if (is_short(s))
        widen(s->dtype, (const uint16_t *)from, p->f32, n);
    else if (job->from[k] == job->to[k])
        return (char *)job->to[k] + at;
    else
        memcpy(p, from, (size_t)n * braid_dtype_size(s->dtype));
    return p;
}

static void store(const bd_training_state *s, const update_job *job, int k, size_t at, int64_t n,
                  const piece *p)
{
    char *to = (char *)job->to[k] + at;
    if (is_short(s))
        narrow(s->dtype, p->f32, (uint16_t *)to, n);
    else if (job->from[k] != job->to[k])
        bd_stream_copy(to, p, (size_t)n * braid_dtype_size(s->dtype));
}

static void update_pieces(const update_job *job, const bd_training_state *s)
{
    const size_t size = braid_dtype_size(s->dtype);
    piece vars[BD_UPDATE_VARS_MAX], grad;
    bd_update part = job->u;
    for (int64_t i = 0; i < job->u.count; i += PIECE) {
        const size_t at = (size_t)i * size;
        part.count = job->u.count - i < PIECE ? job->u.count - i : PIECE;
        for (int k = 0; k < s->var_count; k++)
            part.vars[k] = load(s, job, k, at, part.count, &vars[k]);
        part.grad = (const char *)job->u.grad + at;
        if (is_short(s)) {
            widen(s->dtype, part.grad, grad.f32, part.count);
            part.grad = grad.f32;
        }
        s->fn(&part);
        for (int k = 0; k < s->var_count; k++)
            store(s, job, k, at, part.count, &vars[k]);
    }
    bd_stream_copy_end();
}

static void update(update_job *job, const bd_training_state *s)
{
    bool in_place = !is_short(s);
    for (int k = 0; k < s->var_count; k++) {
        in_place = in_place && job->from[k] == job->to[k];
        job->u.vars[k] = job->to[k];
    }
    if (in_place)
        s->fn(&job->u);
    else
        update_pieces(job, s);
}

// ---- Running ----

static void update_all(update_job *job, const bd_training_state *s, const var_list *vars,
                       const change_list *changes, const braid_tensor *grad)
{
    for (int i = 0; i < s->var_count; i++) {
        const bd_variable_change *change = change_of(changes, vars->items[i]);
        job->from[i] = change->before.data;
        job->to[i] = change->value.data;
    }
    job->u.grad = grad->data;
    job->u.count = bd_tensor_count(grad);
    update(job, s);
}

static void prefetch_rows(const bd_training_state *s, char *const first[BD_UPDATE_VARS_MAX], int64_t row,
                          size_t bytes)
{
    for (int k = 0; k < s->var_count; k++)
        bd_prefetch_row(first[k] + (size_t)row * bytes, bytes);
}

// Updates the rows that indices name, one after the other: a row named twice is updated twice. `first` has
// the rows of each variable.
static void update_rows(bd_op_ctx *c, update_job *job, const bd_training_state *s,
                        char *const first[BD_UPDATE_VARS_MAX], int64_t rows, const braid_tensor *grad)
{
    const braid_tensor *indices = bd_input(c, s->indices);
    size_t size = braid_dtype_size(grad->dtype);
    job->u.count = bd_shape_count_range(&grad->shape, 1, grad->shape.rank);
    const int64_t count = grad->shape.dims[0];
    for (int64_t i = 0; i < count; i++) {
        const int64_t ahead = i + BD_ROWS_AHEAD < count ? bd_tensor_index(indices, i + BD_ROWS_AHEAD) : -1;
        if (ahead >= 0 && ahead < rows) prefetch_rows(s, first, ahead, (size_t)job->u.count * size);
        int64_t row = bd_tensor_index(indices, i); // read once: a reference may change meanwhile
        if (row < 0 || row >= rows) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "Index %lld at offset %lld in indices is out of range [0, %lld)", (long long)row,
                       (long long)i, (long long)rows);
            return;
        }
        for (int k = 0; k < s->var_count; k++)
            job->from[k] = job->to[k] = first[k] + (size_t)(row * job->u.count) * size;
        job->u.grad = (const char *)grad->data + (size_t)(i * job->u.count) * size;
        update(job, s);
    }
}

static void apply(bd_op_ctx *c, const bd_training_state *s, const var_list *vars, const change_list *changes)
{
    update_job job = {.u = {.option = s->option, .fns = s->fns}};
    char *first[BD_UPDATE_VARS_MAX] = {0};
    const braid_tensor *grad = bd_input(c, s->grad);
    if (!read_scalars(c, s, &job.u) || !check_initialized(c, vars, changes)) return;
    const braid_shape *shape = &change_of(changes, vars->items[0])->value.shape;
    for (int i = 0; i < s->var_count; i++) {
        const braid_tensor *value = &change_of(changes, vars->items[i])->value;
        if (!check_shape(c, shape, i, &value->shape)) return;
        first[i] = value->data;
    }
    if (s->indices >= 0) {
        if (check_rows(c, s, shape)) update_rows(c, &job, s, first, shape->dims[0], grad);
    } else if (check_shape(c, shape, s->grad, &grad->shape)) {
        update_all(&job, s, vars, changes, grad);
    }
}

void bd_training_run(bd_op_ctx *c)
{
    const bd_training_state *s = c->state;
    var_list vars = {0};
    if (take_variables(c, s, &vars)) {
        change_list changes = {0};
        if (begin_changes(c, s, &vars, &changes)) apply(c, s, &vars, &changes);
        end_changes(&changes, !bd_op_failed(c));
        if (!s->is_resource && !bd_op_failed(c)) bd_output_ref(c, 0, vars.items[0]);
    }
    give_back(&vars);
}

// ---- Shapes ----

braid_code bd_training_shape(bd_shape_ctx *c, braid_status *st)
{
    const bd_arg_def *args = c->node->def->inputs;
    braid_shape shape = bd_shape_ctx_variable(c, 0), rows = BD_SHAPE_UNKNOWN;
    int grad = -1, indices = -1;
    for (int i = 0; i < c->input_count; i++) {
        const char *name = args[i].name;
        braid_code code = BRAID_OK;
        if (is_indices(&args[i])) {
            indices = i;
            code = bd_shape_ctx_rank(c, i, 1, st);
        } else if (is_gradient(&args[i])) {
            grad = i;
        } else if (!is_variable(&args[i])) {
            code = bd_shape_ctx_rank(c, i, 0, st);
        } else {
            braid_shape slot = bd_shape_ctx_variable(c, i);
            if (!bd_shape_merge(&shape, &slot, &shape))
                return bd_shape_ctx_fail(c, st, "%s and %s do not have the same shape", args[0].name, name);
        }
        if (code) return code;
    }
    rows = shape;
    if (indices >= 0 && rows.rank > 0)
        rows.dims[0] = c->inputs[indices].rank == 1 ? c->inputs[indices].dims[0] : -1;
    if (!bd_shape_merge(&rows, &c->inputs[grad], &rows))
        return bd_shape_ctx_fail(c, st, "%s and %s do not have the same shape", args[0].name,
                                 args[grad].name);
    if (c->output_count > 0) c->outputs[0] = indices >= 0 ? shape : rows;
    return BRAID_OK;
}
