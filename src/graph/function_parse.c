// FunctionDef messages: parsing them.
#include "graph/function_internal.h"

#include "base/check.h"
#include "graph/attr_wire.h"
#include "graph/graph_def_internal.h"
#include "graph/op_def_fields.h"
#include <stdlib.h>
#include <string.h>

typedef struct parser {
    bd_function *f;
    bd_import im; // its arena and tensors become the function's
    BD_ARRAY(bd_arg_def) inputs, outputs;
    BD_ARRAY(bd_attr_def) attr_defs;
    BD_ARRAY(bd_function_node) nodes;
    BD_ARRAY(bd_function_ret) rets, control_rets;
    BD_ARRAY(bd_named_attr) attrs;
} parser;

static braid_code malformed(parser *p, const char *what)
{
    return bd_fail(p->im.st, BRAID_INVALID_ARGUMENT, "Malformed GraphDef: %s of function '%.200s'", what,
                   p->f->name);
}

// Reads a name. Returns false when it is malformed or contains a zero byte.
static bool get_name(parser *p, bd_wire_reader *in, const char **out)
{
    bd_bytes text;
    if (!bd_wire_get_bytes(in, &text, &p->im.arena)) return false;
    if (memchr(text.data, 0, text.len)) in->failed = true;
    *out = text.data;
    return !in->failed;
}

// ---- The signature ----

static const char *name_or_null(const char *name)
{
    return name && *name ? name : NULL;
}

static braid_code parse_arg(parser *p, bd_wire_reader *in, bd_arg_def *arg)
{
    uint32_t field;
    bd_wire_type type;
    uint64_t number;
    *arg =
        (bd_arg_def){.name = "", .type_attr_index = -1, .number_attr_index = -1, .type_list_attr_index = -1};
    while (bd_wire_next(in, &field, &type)) {
        if (field == ARG_NAME && type == BD_WIRE_BYTES) {
            get_name(p, in, &arg->name);
        } else if (field == ARG_TYPE_ATTR && type == BD_WIRE_BYTES) {
            get_name(p, in, &arg->type_attr);
        } else if (field == ARG_NUMBER_ATTR && type == BD_WIRE_BYTES) {
            get_name(p, in, &arg->number_attr);
        } else if (field == ARG_TYPE_LIST_ATTR && type == BD_WIRE_BYTES) {
            get_name(p, in, &arg->type_list_attr);
        } else if ((field == ARG_TYPE || field == ARG_IS_REF) && type == BD_WIRE_VARINT) {
            if (!bd_wire_get_varint(in, &number)) break;
            if (field == ARG_IS_REF) arg->is_ref = number != 0;
            if (field == ARG_TYPE && (number > INT32_MAX || (number && !bd_dtype_is_valid((int)number))))
                return malformed(p, "an argument's type");
            if (field == ARG_TYPE) arg->type = (braid_dtype)number;
        } else {
            bd_wire_skip(in, type);
        }
    }
    arg->type_attr = name_or_null(arg->type_attr);
    arg->number_attr = name_or_null(arg->number_attr);
    arg->type_list_attr = name_or_null(arg->type_list_attr);
    if (in->failed || !*arg->name) return malformed(p, "an argument");
    return BRAID_OK;
}

static bd_attr_kind kind_of(const char *name, size_t len)
{
    for (int kind = BD_ATTR_STRING; kind <= BD_ATTR_FUNC; kind++) {
        const char *known = bd_attr_kind_name((bd_attr_kind)kind);
        if (strlen(known) == len && memcmp(known, name, len) == 0) return (bd_attr_kind)kind;
    }
    return BD_ATTR_NONE;
}

static bool set_kind(bd_attr_def *def, const char *type)
{
    static const char list[] = "list(";
    size_t len = strlen(type), prefix = sizeof list - 1;
    if (len > prefix && strncmp(type, list, prefix) == 0 && type[len - 1] == ')') {
        def->kind = BD_ATTR_LIST;
        def->item_kind = kind_of(type + prefix, len - prefix - 1);
        return def->item_kind != BD_ATTR_NONE;
    }
    def->kind = kind_of(type, len);
    return def->kind != BD_ATTR_NONE;
}

static void set_allowed(parser *p, bd_attr_def *def, const bd_attr *allowed)
{
    if (allowed->kind != BD_ATTR_LIST) return;
    if (allowed->item_kind == BD_ATTR_TYPE) {
        for (int i = 0; i < allowed->list.count; i++)
            def->allowed_types |= BD_DTYPE_BIT(bd_dtype_base(allowed->list.type[i]));
    } else if (allowed->item_kind == BD_ATTR_STRING) {
        const char **strings = BD_ARENA_ARRAY(&p->im.arena, const char *, (size_t)allowed->list.count);
        for (int i = 0; i < allowed->list.count; i++)
            strings[i] = allowed->list.s[i].data;
        def->allowed_strings = strings;
        def->allowed_string_count = allowed->list.count;
    }
}

static braid_code get_attr(parser *p, bd_wire_reader *in, bd_attr *out)
{
    bd_wire_reader sub;
    *out = (bd_attr){.kind = BD_ATTR_NONE};
    if (!bd_wire_get_sub(in, &sub)) return malformed(p, "an attr");
    return bd_attr_read(&sub, out, &p->im.arena, &p->im.tensors, p->im.st);
}

static braid_code parse_attr_def(parser *p, bd_wire_reader *in, bd_attr_def *def)
{
    uint32_t field;
    bd_wire_type type;
    uint64_t number;
    const char *kind = "";
    bd_attr allowed = {.kind = BD_ATTR_NONE};
    braid_code code = BRAID_OK;
    *def = (bd_attr_def){.name = ""};
    while (!code && bd_wire_next(in, &field, &type)) {
        if (field == ATTR_NAME && type == BD_WIRE_BYTES) {
            get_name(p, in, &def->name);
        } else if (field == ATTR_TYPE && type == BD_WIRE_BYTES) {
            get_name(p, in, &kind);
        } else if (field == ATTR_DEFAULT_VALUE && type == BD_WIRE_BYTES) {
            code = get_attr(p, in, &def->default_value);
            def->has_default = true;
        } else if (field == ATTR_ALLOWED_VALUES && type == BD_WIRE_BYTES) {
            code = get_attr(p, in, &allowed);
        } else if ((field == ATTR_HAS_MINIMUM || field == ATTR_MINIMUM) && type == BD_WIRE_VARINT) {
            if (!bd_wire_get_varint(in, &number)) break;
            if (field == ATTR_MINIMUM) def->minimum = (int64_t)number;
            if (field == ATTR_HAS_MINIMUM) def->has_minimum = number != 0;
        } else {
            bd_wire_skip(in, type);
        }
    }
    if (code) return code;
    if (in->failed || !*def->name || !set_kind(def, kind)) return malformed(p, "an attr");
    set_allowed(p, def, &allowed);
    return BRAID_OK;
}

static braid_code parse_signature_field(parser *p, bd_wire_reader *in, uint32_t field)
{
    bd_wire_reader sub;
    bd_arg_def arg;
    bd_attr_def attr;
    braid_code code;
    if (field == OP_DEF_NAME) return get_name(p, in, &p->f->name) ? BRAID_OK : malformed(p, "the name");
    if (!bd_wire_get_sub(in, &sub)) return malformed(p, "the signature");
    if (field == OP_DEF_ATTR) {
        if ((code = parse_attr_def(p, &sub, &attr))) return code;
        bd_array_push(&p->attr_defs, attr);
        return BRAID_OK;
    }
    if ((code = parse_arg(p, &sub, &arg))) return code;
    if (field == OP_DEF_INPUT_ARG)
        bd_array_push(&p->inputs, arg);
    else
        bd_array_push(&p->outputs, arg);
    return BRAID_OK;
}

static braid_code parse_signature(parser *p, bd_wire_reader *in)
{
    uint32_t field;
    bd_wire_type type;
    uint64_t number;
    while (bd_wire_next(in, &field, &type)) {
        if (field <= OP_DEF_ATTR && type == BD_WIRE_BYTES) {
            braid_code code = parse_signature_field(p, in, field);
            if (code) return code;
        } else if (field == OP_DEF_IS_STATEFUL && type == BD_WIRE_VARINT) {
            if (bd_wire_get_varint(in, &number) && number) p->f->op.flags |= BD_OP_STATEFUL;
        } else {
            bd_wire_skip(in, type);
        }
    }
    return in->failed ? malformed(p, "the signature") : BRAID_OK;
}

// ---- The body ----

static braid_code parse_node(parser *p, bd_wire_reader *in)
{
    bd_parsed_node n = {.name = "", .op = "", .device = ""};
    braid_code code = bd_import_parse_node(&p->im, in, &n);
    if (!code && (!*n.name || !*n.op)) code = malformed(p, "a node without a name or an op");
    if (!code) {
        bd_arena *arena = &p->im.arena;
        bd_function_node node = {.name = n.name, .op = n.op, .device = n.device};
        node.input_count = (int)n.inputs.len;
        node.inputs = bd_arena_memdup(arena, n.inputs.items, n.inputs.len * sizeof *node.inputs);
        node.attr_count = (int)n.attrs.len;
        node.attrs = bd_arena_memdup(arena, n.attrs.items, n.attrs.len * sizeof *node.attrs);
        bd_attrs_sort(node.attrs, node.attr_count);
        bd_array_push(&p->nodes, node);
    }
    bd_array_free(&n.inputs);
    bd_array_free(&n.attrs);
    return code;
}

static braid_code parse_ret(parser *p, bd_wire_reader *in, bd_function_ret *ret)
{
    uint32_t field;
    bd_wire_type type;
    *ret = (bd_function_ret){.name = "", .value = ""};
    while (bd_wire_next(in, &field, &type)) {
        if (field == BD_MAP_ENTRY_KEY && type == BD_WIRE_BYTES)
            get_name(p, in, &ret->name);
        else if (field == BD_MAP_ENTRY_VALUE && type == BD_WIRE_BYTES)
            get_name(p, in, &ret->value);
        else
            bd_wire_skip(in, type);
    }
    return in->failed ? malformed(p, "a result") : BRAID_OK;
}

static braid_code parse_function_attr(parser *p, bd_wire_reader *in)
{
    uint32_t field;
    bd_wire_type type;
    bd_named_attr attr = {.name = ""};
    braid_code code = BRAID_OK;
    while (!code && bd_wire_next(in, &field, &type)) {
        if (field == BD_MAP_ENTRY_KEY && type == BD_WIRE_BYTES)
            get_name(p, in, &attr.name);
        else if (field == BD_MAP_ENTRY_VALUE && type == BD_WIRE_BYTES)
            code = get_attr(p, in, &attr.value);
        else
            bd_wire_skip(in, type);
    }
    if (code || in->failed) return code ? code : malformed(p, "an attr");
    bd_array_push(&p->attrs, attr);
    return BRAID_OK;
}

static braid_code parse_field(parser *p, bd_wire_reader *in, uint32_t field)
{
    bd_function_ret ret;
    braid_code code;
    switch (field) {
    case FUNCTION_SIGNATURE: return parse_signature(p, in);
    case FUNCTION_NODE_DEF: return parse_node(p, in);
    case FUNCTION_ATTR: return parse_function_attr(p, in);
    default:
        if ((code = parse_ret(p, in, &ret))) return code;
        if (field == FUNCTION_RET)
            bd_array_push(&p->rets, ret);
        else
            bd_array_push(&p->control_rets, ret);
        return BRAID_OK;
    }
}

static braid_code parse_fields(parser *p, bd_wire_reader *in)
{
    uint32_t field;
    bd_wire_type type;
    while (bd_wire_next(in, &field, &type)) {
        bd_wire_reader sub;
        if (type != BD_WIRE_BYTES || field == 2 || field > FUNCTION_CONTROL_RET) {
            bd_wire_skip(in, type);
            continue;
        }
        if (!bd_wire_get_sub(in, &sub)) break;
        braid_code code = parse_field(p, &sub, field);
        if (code) return code;
    }
    if (in->failed) return malformed(p, "a field");
    return *p->f->name ? BRAID_OK : malformed(p, "the missing name");
}

// ---- The whole ----

static int compare_attrs(const void *a, const void *b)
{
    return strcmp(((const bd_named_attr *)a)->name, ((const bd_named_attr *)b)->name);
}

void bd_attrs_sort(bd_named_attr *attrs, int count)
{
    if (count > 1) qsort(attrs, (size_t)count, sizeof *attrs, compare_attrs);
}

static int compare_rets(const void *a, const void *b)
{
    return strcmp(((const bd_function_ret *)a)->name, ((const bd_function_ret *)b)->name);
}

static int index_of_attr(const bd_op_def *def, const char *name)
{
    for (int i = 0; name && i < def->attr_count; i++) {
        if (strcmp(def->attrs[i].name, name) == 0) return i;
    }
    return -1;
}

// If the signature lacks an argument's attr, no call of the function can be valid.
static braid_code check_args(parser *p, bd_arg_def *args, int count)
{
    for (int i = 0; i < count; i++) {
        bd_arg_def *a = &args[i];
        const struct {
            const char *attr;
            int *index;
            bd_attr_kind kind, item_kind;
        } uses[] = {
            {a->type_attr, &a->type_attr_index, BD_ATTR_TYPE, BD_ATTR_NONE},
            {a->number_attr, &a->number_attr_index, BD_ATTR_INT, BD_ATTR_NONE},
            {a->type_list_attr, &a->type_list_attr_index, BD_ATTR_LIST, BD_ATTR_TYPE},
        };
        for (size_t k = 0; k < BD_COUNTOF(uses); k++) {
            if (!uses[k].attr) continue;
            *uses[k].index = index_of_attr(&p->f->def, uses[k].attr);
            const bd_attr_def *def = *uses[k].index < 0 ? NULL : &p->f->def.attrs[*uses[k].index];
            if (!def || def->kind != uses[k].kind || def->item_kind != uses[k].item_kind)
                return malformed(p, "an argument whose attr is missing");
        }
        if (!a->type && !a->type_attr && !a->type_list_attr)
            return malformed(p, "an argument without a type");
    }
    return BRAID_OK;
}

// Calls by its name have the kernel of the op _FunctionCall.
static void make_op(bd_function *f)
{
    const bd_op_def *call = bd_op_lookup("_FunctionCall");
    f->op.name = f->name;
    f->op.gradient = bd_function_op_gradient;
    if (call) {
        f->op.kernels = call->op->kernels;
        f->op.kernel_count = call->op->kernel_count;
    }
    f->def.name = f->name;
    f->def.op = &f->op;
}

static void keep_arrays(parser *p)
{
    bd_function *f = p->f;
    bd_arena *arena = &p->im.arena;
#define KEEP(to, count, array)                                                                               \
    ((to) = bd_arena_memdup(arena, (array).items, (array).len * sizeof *(array).items),                      \
     (count) = (int)(array).len, bd_array_free(&(array)))
    KEEP(f->def.inputs, f->def.input_count, p->inputs);
    KEEP(f->def.outputs, f->def.output_count, p->outputs);
    KEEP(f->def.attrs, f->def.attr_count, p->attr_defs);
    KEEP(f->nodes, f->node_count, p->nodes);
    KEEP(f->rets, f->ret_count, p->rets);
    KEEP(f->control_rets, f->control_ret_count, p->control_rets);
    KEEP(f->attrs, f->attr_count, p->attrs);
#undef KEEP
    bd_attrs_sort(f->attrs, f->attr_count);
    if (f->ret_count > 1) qsort(f->rets, (size_t)f->ret_count, sizeof *f->rets, compare_rets);
    if (f->control_ret_count > 1)
        qsort(f->control_rets, (size_t)f->control_ret_count, sizeof *f->control_rets, compare_rets);
}

braid_code bd_function_parse(const bd_bytes *message, bd_function **out, braid_status *st)
{
    bd_function *f = bd_calloc(1, sizeof *f);
    parser p = {.f = f, .im = {.st = st}};
    atomic_init(&f->refs, 1);
    f->name = "";
    f->wire =
        (bd_bytes){.data = bd_arena_strndup(&p.im.arena, message->data, message->len), .len = message->len};
    bd_slice slice;
    bd_wire_reader in = bd_wire_reader_block(&slice, f->wire.data, f->wire.len);
    braid_code code = parse_fields(&p, &in);
    keep_arrays(&p);
    if (!code) code = check_args(&p, f->def.inputs, f->def.input_count);
    if (!code) code = check_args(&p, f->def.outputs, f->def.output_count);
    make_op(f);
    f->arena = p.im.arena;
    f->tensors.items = p.im.tensors.items;
    f->tensors.len = p.im.tensors.len;
    f->tensors.cap = p.im.tensors.cap;
    if (!code) code = bd_charge_set(&f->charge, sizeof *f + f->arena.held, "A function", p.im.st);
    if (code) {
        bd_function_unref(f);
        f = NULL;
    }
    *out = f;
    return code;
}

void bd_function_unref(bd_function *f)
{
    if (!f || atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) != 1) return;
    for (size_t i = 0; i < f->tensors.len; i++)
        braid_tensor_free(f->tensors.items[i]);
    bd_array_free(&f->tensors);
    bd_arena_fini(&f->arena);
    bd_charge_fini(&f->charge);
    bd_free(f);
}
