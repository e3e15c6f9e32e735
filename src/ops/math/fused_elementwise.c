// Runs a program of element-wise ops in one pass over memory.
//
// The inputs are cut into tiles that fit the cache. The vector loops of the ops (kernels/simd.h) run over a
// tile one after the other; only the last one writes to main memory. Tiles are a multiple of the widest
// vector, so each element is computed by the same instructions as by the ops' own kernels, and results are
// identical to the last bit.
//
// Inputs have the output's shape or a single element. If an input needs another kind of broadcast, the ops
// run one by one over whole tensors.
#include "ops/math/fused_elementwise.h"

#include "base/check.h"
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "ops/common/elementwise.h"
#include <string.h>

#define TILE_BYTES 4096 // a dozen tiles fit the second-level cache, a few the first

typedef struct instruction {
    const bd_kernel *kernel;
    union {
        bd_unary_state unary;
        bd_binary_state binary;
    } state;
    bool is_unary;
    int operands[2]; // index of an input, or input_count + index of an earlier instruction
    int slot;        // the tile that the instruction writes to
    bool ends[2];    // the operand has no later consumer
} instruction;

typedef struct program {
    int input_count, count;
    size_t size; // bytes of an element
    instruction code[BD_PROGRAM_OPS_MAX];
} program;

const bd_kernel *bd_elementwise_kernel(const bd_op_def *def)
{
    if (def->output_count != 1 || !def->outputs[0].type_attr || strcmp(def->outputs[0].type_attr, "T") != 0)
        return NULL; // e.g. a result of type bool
    for (int i = 0; i < def->op->kernel_count; i++) {
        const bd_kernel *k = &def->op->kernels[i];
        if (k->run == bd_unary_run || k->run == bd_binary_run) return k;
    }
    return NULL;
}

// ---- Preparing ----

static braid_code fail_program(const braid_op *node, braid_status *st)
{
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "%s '%s': ops and operands make no program", node->op_type,
                   node->name);
}

static bool take_operands(program *p, instruction *in, const bd_attr *operands, int *at)
{
    int index = (int)(in - p->code);
    for (int k = 0; k < (in->is_unary ? 1 : 2); k++) {
        if (*at >= operands->list.count) return false;
        int64_t operand = operands->list.i[(*at)++];
        if (operand < 0 || operand >= p->input_count + index) return false;
        in->operands[k] = (int)operand;
    }
    if (in->is_unary) in->operands[1] = -1;
    return true;
}

static bool is_used_after(const program *p, int value, int index)
{
    for (int i = index + 1; i < p->count; i++) {
        if (p->code[i].operands[0] == value || p->code[i].operands[1] == value) return true;
    }
    return false;
}

// A result overwrites an operand without later consumers, else it gets a new tile.
static void assign_slots(program *p)
{
    int slots = 0;
    for (int i = 0; i < p->count; i++) {
        instruction *in = &p->code[i];
        in->slot = -1;
        for (int k = 0; k < 2; k++) {
            int value = in->operands[k] - p->input_count;
            in->ends[k] = in->operands[k] >= 0 && !is_used_after(p, in->operands[k], i);
            if (value >= 0 && in->ends[k] && in->slot < 0) in->slot = p->code[value].slot;
        }
        if (in->slot < 0) in->slot = slots++;
    }
}

static braid_code program_create(const braid_op *node, void *state, braid_status *st)
{
    program *p = state;
    const bd_attr *ops = bd_node_attr(node, "ops"), *operands = bd_node_attr(node, "operands");
    p->input_count = node->input_count;
    p->size = braid_dtype_size(bd_node_attr_type(node, "T"));
    if (ops->list.count < 1 || ops->list.count > BD_PROGRAM_OPS_MAX || p->input_count > BD_PROGRAM_INPUTS_MAX)
        return fail_program(node, st);
    int at = 0;
    for (p->count = 0; p->count < ops->list.count; p->count++) {
        instruction *in = &p->code[p->count];
        const bd_op_def *def = bd_op_lookup(ops->list.s[p->count].data);
        in->kernel = def ? bd_elementwise_kernel(def) : NULL;
        if (!in->kernel) return fail_program(node, st);
        in->is_unary = in->kernel->run == bd_unary_run;
        braid_code code = in->kernel->create(node, &in->state, st);
        if (code) return code;
        if (!take_operands(p, in, operands, &at)) return fail_program(node, st);
    }
    assign_slots(p);
    return BRAID_OK;
}

// ---- In tiles ----

// A value while the program runs: a whole tensor, one tile, or a single element.
typedef struct value {
    char *data;
    bool is_single, is_tile; // a tile is addressed from its start in each pass; a tensor by the pass's offset
} value;

typedef struct machine {
    const program *p;
    value values[BD_PROGRAM_INPUTS_MAX + BD_PROGRAM_OPS_MAX];
    double singles[BD_PROGRAM_OPS_MAX]; // results of one element
    char tiles[BD_PROGRAM_OPS_MAX][TILE_BYTES] __attribute__((aligned(64)));
} machine;

static void *at(const value *v, size_t offset)
{
    return v->is_single || v->is_tile ? v->data : v->data + offset;
}

static void compute(const instruction *in, const machine *m, size_t offset, void *to, int64_t n)
{
    const value *x = &m->values[in->operands[0]];
    if (in->is_unary) {
        in->state.unary.fn(at(x, offset), to, n);
        return;
    }
    const value *y = &m->values[in->operands[1]];
    bd_single single = n == 1 || x->is_single == y->is_single ? BD_SINGLE_NONE
                       : x->is_single                         ? BD_SINGLE_X
                                                              : BD_SINGLE_Y;
    in->state.binary.fn(at(x, offset), at(y, offset), to, n, single);
}

static bool is_single_element(const braid_tensor *t, const braid_shape *of)
{
    return bd_tensor_count(t) == 1 && t->shape.rank <= of->rank;
}

// The shape of the output if each input has that shape or a single element; else NULL.
static const braid_shape *common_shape(const bd_op_ctx *c)
{
    const braid_shape *common = &bd_input(c, 0)->shape;
    for (int i = 1; i < c->input_count; i++) {
        const braid_shape *s = &bd_input(c, i)->shape;
        if (bd_shape_count(common) == 1 && (bd_shape_count(s) != 1 || s->rank > common->rank)) common = s;
    }
    for (int i = 0; i < c->input_count; i++) {
        const braid_tensor *t = bd_input(c, i);
        if (!bd_shape_equal(&t->shape, common) && !is_single_element(t, common)) return NULL;
    }
    return common;
}

// Results that depend on single elements only are computed once; the other results get tiles.
static void set_up(const bd_op_ctx *c, machine *m, const braid_shape *shape)
{
    const program *p = m->p;
    for (int i = 0; i < p->input_count; i++) {
        const braid_tensor *t = bd_input(c, i);
        m->values[i] = (value){.data = t->data, .is_single = !bd_shape_equal(&t->shape, shape)};
    }
    for (int i = 0; i < p->count; i++) {
        const instruction *in = &p->code[i];
        value *v = &m->values[p->input_count + i];
        bool is_single =
            m->values[in->operands[0]].is_single && (in->is_unary || m->values[in->operands[1]].is_single);
        *v = (value){.data = m->tiles[in->slot], .is_tile = true};
        if (!is_single) continue;
        *v = (value){.data = (char *)&m->singles[i], .is_single = true};
        compute(in, m, 0, v->data, 1);
    }
}

// Gradient ops refuse operands of different shapes; the op itself reports that error.
static bool has_gradient_apart(const machine *m)
{
    for (int i = 0; i < m->p->count; i++) {
        const instruction *in = &m->p->code[i];
        if (in->is_unary || !bd_binary_is_gradient(in->state.binary.op)) continue;
        if (m->values[in->operands[0]].is_single != m->values[in->operands[1]].is_single) return true;
    }
    return false;
}

// The output takes the memory of an input that has the output's shape and no other owner: each tile is read
// before it is written.
static braid_tensor *make_output(bd_op_ctx *c, const machine *m, const braid_shape *shape)
{
    const braid_tensor *first = bd_input(c, 0);
    for (int i = 0; i < c->input_count; i++) {
        const braid_tensor *t = bd_input(c, i);
        if (!m->values[i].is_single && t->buffer && bd_buffer_is_unique(t->buffer))
            return bd_output_forward(c, 0, i, first->dtype, shape);
    }
    return bd_output(c, 0, first->dtype, shape);
}

static void run_tiles(const machine *m, char *out, int64_t n)
{
    const program *p = m->p;
    int64_t tile = TILE_BYTES / (int64_t)p->size;
    for (int64_t i = 0; i < n && !bd_interrupted(); i += tile) {
        size_t offset = (size_t)i * p->size;
        int64_t count = bd_min(tile, n - i);
        for (int k = 0; k < p->count; k++) {
            const value *v = &m->values[p->input_count + k];
            if (v->is_single) continue;
            compute(&p->code[k], m, offset, k == p->count - 1 ? out + offset : v->data, count);
        }
    }
}

// ---- Op by op ----

static void take_operand(const bd_op_ctx *c, bd_value *results, int operand, bool ends, bd_value *to)
{
    if (operand < c->input_count) {
        bd_tensor_ref(&to->tensor, bd_input(c, operand));
    } else if (ends) {
        *to = results[operand - c->input_count]; // its memory may be reused
        results[operand - c->input_count] = (bd_value){0};
    } else {
        bd_tensor_ref(&to->tensor, &results[operand - c->input_count].tensor);
    }
}

static void run_instruction(bd_op_ctx *c, instruction *in, bd_value *results, int index)
{
    bd_value operands[2] = {0};
    bool is_twice = in->operands[0] == in->operands[1];
    take_operand(c, results, in->operands[0], in->ends[0] && !is_twice, &operands[0]);
    if (!in->is_unary) take_operand(c, results, in->operands[1], in->ends[1] && !is_twice, &operands[1]);
    bd_op_ctx one = {.node = c->node,
                     .state = &in->state,
                     .inputs = operands,
                     .outputs = &results[index],
                     .input_count = in->is_unary ? 1 : 2,
                     .output_count = 1,
                     .step = c->step};
    in->kernel->run(&one);
    bd_value_fini(&operands[0]);
    bd_value_fini(&operands[1]);
    if (!bd_op_failed(&one)) return;
    bd_op_fail_status(c, &one.status);
    bd_op_fail_part(c, index);
    bd_status_fini(&one.status);
}

static void run_apart(bd_op_ctx *c, program *p)
{
    bd_value results[BD_PROGRAM_OPS_MAX] = {0};
    for (int i = 0; i < p->count && !bd_op_failed(c); i++)
        run_instruction(c, &p->code[i], results, i);
    if (!bd_op_failed(c)) bd_output_set(c, 0, &results[p->count - 1].tensor);
    for (int i = 0; i < p->count; i++)
        bd_value_fini(&results[i]);
}

static void program_run(bd_op_ctx *c)
{
    machine m; // not cleared: most of it is tiles
    m.p = c->state;
    memset(m.values, 0, sizeof m.values);
    const braid_shape *common = common_shape(c);
    if (!common) {
        run_apart(c, c->state);
        return;
    }
    const braid_shape shape = *common;
    set_up(c, &m, &shape);
    if (has_gradient_apart(&m)) {
        run_apart(c, c->state);
        return;
    }
    braid_tensor *y = make_output(c, &m, &shape);
    if (y) run_tiles(&m, y->data, bd_tensor_count(y));
}

static braid_code program_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st; // the op that gets incompatible shapes reports the error when it runs
    c->outputs[0] = c->inputs[0];
    for (int i = 1; i < c->input_count; i++) {
        if (!bd_shape_broadcast(&c->outputs[0], &c->inputs[i], &c->outputs[0]))
            c->outputs[0] = BD_SHAPE_UNKNOWN;
    }
    return BRAID_OK;
}

BD_OP(_FusedElementwise) = {
    .signature = "(inputs: N*T) -> (output: T)",
    .attrs = "N:int>=1; T:type{double,float}; ops:list(string); operands:list(int)",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = program_shape,
    .kernels = BD_KERNELS(
        {.types = BD_FLOATS, .state_size = sizeof(program), .create = program_create, .run = program_run}),
    .fusion = &(const bd_fusion){.rewrite = BRAID_REWRITE_ELEMENTWISE, .run = bd_fuse_elementwise},
    .doc =
        "Runs element-wise ops in sequence; an operand is an input (numbered from 0) or, after the inputs, the result of an earlier op. Made by rewrites.",
};
