// Writes <braid/raw_ops.h>: a typed function for each op of the registry.
//
//     raw_ops FILE
//
// An attribute that the op's inputs determine has no place in the function. One with a default is a member of
// the op's struct of attributes; the others are parameters. A member of which zero cannot mean "the default"
// makes its struct begin with a mark that braid_raw_OP_defaults() sets.
#include "base/strbuf.h"
#include "graph/op.h"
#include <braid/op_list.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 110,
    NAME_MAX = 128,
};

// ---- Names ----

// Braid's own ops, which only rewrites make.
static bool is_own(const char *op)
{
    return op[0] == '_';
}

// Words that C or C++ keep for themselves, and the names that the functions use.
static const char *const reserved[] = {
    "graph",    "name",   "desc",   "attrs",    "outputs", "op",        "auto",     "bool",     "break",
    "case",     "catch",  "char",   "class",    "const",   "default",   "delete",   "do",       "double",
    "else",     "enum",   "export", "extern",   "false",   "float",     "for",      "goto",     "if",
    "inline",   "int",    "long",   "new",      "not",     "or",        "and",      "xor",      "operator",
    "private",  "public", "return", "short",    "signed",  "static",    "struct",   "switch",   "template",
    "this",     "throw",  "true",   "try",      "typedef", "typename",  "union",    "using",    "virtual",
    "unsigned", "void",   "while",  "explicit", "friend",  "namespace", "register", "volatile",
};

typedef char ident[NAME_MAX];

// The name of an argument or attribute as a C identifier.
static const char *c_name(const char *name, ident out)
{
    const char *suffix = "";
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (strcmp(name, reserved[i]) == 0) suffix = "_";
    snprintf(out, NAME_MAX, "%s%s", name, suffix);
    return out;
}

// ---- Attributes ----

static bool is_inferred(const bd_op_def *def, int attr)
{
    for (int i = 0; i < def->input_count; i++) {
        const bd_arg_def *a = &def->inputs[i];
        if (a->type_attr_index == attr || a->number_attr_index == attr || a->type_list_attr_index == attr)
            return true;
    }
    return false;
}

static bool is_optional(const bd_op_def *def, int attr)
{
    return def->attrs[attr].has_default && !is_inferred(def, attr);
}

static bool is_required(const bd_op_def *def, int attr)
{
    return !def->attrs[attr].has_default && !is_inferred(def, attr);
}

static bool is_list(const bd_attr_def *a)
{
    return a->kind == BD_ATTR_LIST;
}

// How C spells the kind: its type, and the end of the name of the function that sets it.
typedef struct spelling {
    const char *type, *setter;
} spelling;

static spelling spelling_of(bd_attr_kind kind)
{
    switch (kind) {
    case BD_ATTR_STRING: return (spelling){"const char *", "string"};
    case BD_ATTR_INT: return (spelling){"int64_t ", "int"};
    case BD_ATTR_FLOAT: return (spelling){"float ", "float"};
    case BD_ATTR_BOOL: return (spelling){"bool ", "bool"};
    case BD_ATTR_TYPE: return (spelling){"braid_dtype ", "type"};
    case BD_ATTR_SHAPE: return (spelling){"braid_shape ", "shape"};
    case BD_ATTR_TENSOR: return (spelling){"const braid_tensor *", "tensor"};
    case BD_ATTR_FUNC: return (spelling){"const char *", "func"};
    default: return (spelling){NULL, NULL};
    }
}

static spelling spelling_of_attr(const bd_op_def *def, const bd_attr_def *a)
{
    const spelling s = spelling_of(is_list(a) ? a->item_kind : a->kind);
    const bool has_list = a->item_kind != BD_ATTR_BOOL && a->item_kind != BD_ATTR_TENSOR;
    if (!s.type || (is_list(a) && !has_list)) {
        fprintf(stderr, "raw_ops: attr '%s' of op '%s' has a type that this program does not know\n", a->name,
                def->name);
        exit(1);
    }
    return s;
}

// Whether a member of this attribute that is zero has to stand for something else than the default.
static bool zero_is_a_value(const bd_attr_def *a)
{
    switch (a->kind) {
    case BD_ATTR_INT: return a->default_value.i != 0;
    case BD_ATTR_FLOAT: return a->default_value.f != 0;
    case BD_ATTR_BOOL: return a->default_value.b;
    case BD_ATTR_SHAPE: return a->default_value.shape.rank != 0;
    default: return false;
    }
}

static bool has_optional(const bd_op_def *def)
{
    for (int i = 0; i < def->attr_count; i++)
        if (is_optional(def, i)) return true;
    return false;
}

static bool needs_mark(const bd_op_def *def)
{
    for (int i = 0; i < def->attr_count; i++)
        if (is_optional(def, i) && zero_is_a_value(&def->attrs[i])) return true;
    return false;
}

// ---- Text ----

// Appends `text` as comment lines of at most WIDTH columns.
static void put_comment(bd_strbuf *out, const char *text, size_t len)
{
    const size_t room = WIDTH - strlen("/// ");
    do {
        size_t n = len;
        if (n > room)
            for (n = room; n > 1 && text[n] != ' ';)
                n--;
        if (n <= 1) n = len < room ? len : room;
        bd_strbuf_append(out, len ? "/// " : "///");
        bd_strbuf_append_n(out, text, n);
        bd_strbuf_append(out, "\n");
        text += n;
        len -= n;
        while (len && *text == ' ')
            text++, len--;
    } while (len);
}

// The page of `braid ops` on the op.
static void put_doc(const bd_op_def *def, bd_strbuf *out)
{
    char *page = braid_op_doc(def->name, NULL);
    const char *rest = page ? page : "", *line;
    size_t len;
    bool begun = false;
    while (bd_split_next(&rest, '\n', &line, &len)) {
        if (len >= 3 && memcmp(line, "## ", 3) == 0) continue;
        if (len == 0 && (!begun || !rest || !*rest)) continue;
        begun = true;
        put_comment(out, line, len);
    }
    free(page); // the caller's, by free(): this program is the caller
}

// Appends a parameter behind another one, on a new line when it does not fit. `column`: of the end so far.
static void put_parameter(bd_strbuf *out, size_t *column, bd_strbuf *item)
{
    const bool fits = *column + item->len + strlen(", )") <= WIDTH;
    bd_strbuf_appendf(out, ",%s%s", fits ? " " : "\n    ", bd_strbuf_str(item));
    *column = (fits ? *column + 2 : 4) + item->len;
    bd_strbuf_clear(item);
}

// A string as C writes it.
static void put_string(bd_strbuf *out, const char *text)
{
    bd_strbuf_append(out, "\"");
    for (; *text; text++) {
        if (*text < ' ' || *text == '"' || *text == '\\')
            bd_strbuf_appendf(out, *text == '\n' ? "\\n" : *text < ' ' ? "\\%03o" : "\\%c", *text);
        else
            bd_strbuf_append_char(out, *text);
    }
    bd_strbuf_append(out, "\"");
}

// The default of an attribute, as its comment has it.
static void put_default(bd_strbuf *out, const bd_attr *value)
{
    switch (value->kind) {
    case BD_ATTR_STRING: put_string(out, value->s.data); break;
    case BD_ATTR_INT: bd_strbuf_appendf(out, "%lld", (long long)value->i); break;
    case BD_ATTR_FLOAT: bd_strbuf_appendf(out, "%.9g", (double)value->f); break;
    case BD_ATTR_BOOL: bd_strbuf_append(out, value->b ? "true" : "false"); break;
    case BD_ATTR_TYPE: bd_strbuf_append(out, braid_dtype_name(value->type)); break;
    case BD_ATTR_SHAPE: bd_strbuf_append(out, value->shape.rank < 0 ? "of unknown rank" : "a scalar"); break;
    case BD_ATTR_LIST:
        bd_strbuf_append(out, "[");
        for (int i = 0; i < value->list.count; i++) {
            bd_attr item = {.kind = value->item_kind};
            switch (value->item_kind) {
            case BD_ATTR_STRING: item.s = value->list.s[i]; break;
            case BD_ATTR_INT: item.i = value->list.i[i]; break;
            case BD_ATTR_FLOAT: item.f = value->list.f[i]; break;
            case BD_ATTR_TYPE: item.type = value->list.type[i]; break;
            default: item.kind = BD_ATTR_NONE; break;
            }
            if (i) bd_strbuf_append(out, ", ");
            put_default(out, &item);
        }
        bd_strbuf_append(out, "]");
        break;
    default: break;
    }
}

// ---- The struct of attributes ----

// How C declares a parameter or member for an attribute: of a list, its items.
static void put_declaration(const bd_op_def *def, const bd_attr_def *a, bd_strbuf *out)
{
    ident name;
    const spelling s = spelling_of_attr(def, a);
    const bool is_pointer = s.type[strlen(s.type) - 1] == '*';
    bd_strbuf_appendf(out, "%s%s%s%s", is_list(a) && !is_pointer ? "const " : "", s.type,
                      !is_list(a)  ? ""
                      : is_pointer ? "const *"
                                   : "*",
                      c_name(a->name, name));
}

static void put_attr_struct(const bd_op_def *def, bd_strbuf *out)
{
    bd_strbuf_appendf(out, "typedef struct braid_raw_%s_attrs {\n", def->name);
    if (needs_mark(def))
        bd_strbuf_appendf(out, "    bool from_defaults; ///< braid_raw_%s_defaults() sets it\n", def->name);
    for (int i = 0; i < def->attr_count; i++) {
        const bd_attr_def *a = &def->attrs[i];
        ident name;
        if (!is_optional(def, i)) continue;
        c_name(a->name, name);
        bd_strbuf_append(out, "    ");
        put_declaration(def, a, out);
        if (is_list(a))
            bd_strbuf_appendf(out, "; ///< [%s_count]; NULL: ", name);
        else
            bd_strbuf_appendf(out, "; ///< %s",
                              a->kind == BD_ATTR_STRING ? "NULL: "
                              : a->kind == BD_ATTR_TYPE ? "BRAID_INVALID: "
                                                        : "default: ");
        put_default(out, &a->default_value);
        bd_strbuf_append(out, "\n");
        if (is_list(a)) bd_strbuf_appendf(out, "    int %s_count;\n", name);
    }
    bd_strbuf_appendf(out, "} braid_raw_%s_attrs;\n", def->name);
}

static void put_float(bd_strbuf *out, float value)
{
    if (isinf(value))
        bd_strbuf_append(out, value < 0 ? "-INFINITY" : "INFINITY");
    else
        bd_strbuf_appendf(out, "(float)%.9g", (double)value);
}

static void put_defaults(const bd_op_def *def, bd_strbuf *out)
{
    if (!needs_mark(def)) return;
    bd_strbuf_appendf(out,
                      "static inline braid_raw_%s_attrs braid_raw_%s_defaults(void)\n{\n"
                      "    braid_raw_%s_attrs attrs;\n    memset(&attrs, 0, sizeof attrs);\n"
                      "    attrs.from_defaults = true;\n",
                      def->name, def->name, def->name);
    for (int i = 0; i < def->attr_count; i++) {
        const bd_attr_def *a = &def->attrs[i];
        ident name;
        if (!is_optional(def, i) || !zero_is_a_value(a)) continue;
        bd_strbuf_appendf(out, "    attrs.%s%s = ", c_name(a->name, name),
                          a->kind == BD_ATTR_SHAPE ? ".rank" : "");
        switch (a->kind) {
        case BD_ATTR_INT: bd_strbuf_appendf(out, "%lld", (long long)a->default_value.i); break;
        case BD_ATTR_FLOAT: put_float(out, a->default_value.f); break;
        case BD_ATTR_BOOL: bd_strbuf_append(out, "true"); break;
        default: bd_strbuf_appendf(out, "%d", a->default_value.shape.rank); break;
        }
        bd_strbuf_append(out, ";\n");
    }
    bd_strbuf_append(out, "    return attrs;\n}\n");
}

// ---- Outputs ----

static bool is_list_arg(const bd_arg_def *a)
{
    return a->number_attr || a->type_list_attr;
}

// The type that the function returns, with the space behind it.
static void put_result_type(const bd_op_def *def, bd_strbuf *out)
{
    if (def->output_count == 0)
        bd_strbuf_append(out, "braid_op *");
    else if (def->output_count > 1)
        bd_strbuf_appendf(out, "braid_raw_%s_outputs ", def->name);
    else
        bd_strbuf_append(out, is_list_arg(&def->outputs[0]) ? "braid_raw_list " : "braid_out ");
}

static void put_output_struct(const bd_op_def *def, bd_strbuf *out)
{
    if (def->output_count < 2) return;
    bd_strbuf_appendf(out, "typedef struct braid_raw_%s_outputs {\n    braid_op *op;\n", def->name);
    for (int i = 0; i < def->output_count; i++) {
        ident name;
        bd_strbuf_appendf(out, "    %s%s;\n",
                          is_list_arg(&def->outputs[i]) ? "braid_raw_list " : "braid_out ",
                          c_name(def->outputs[i].name, name));
    }
    bd_strbuf_appendf(out, "} braid_raw_%s_outputs;\n", def->name);
}

// An expression for the length of a list of outputs: of the list of inputs that has the same attribute, of
// the attribute's parameter, or its value.
static void put_count(const bd_op_def *def, const bd_arg_def *arg, bd_strbuf *out)
{
    const int attr = arg->number_attr ? arg->number_attr_index : arg->type_list_attr_index;
    ident name;
    for (int i = 0; i < def->input_count; i++) {
        const bd_arg_def *in = &def->inputs[i];
        if (in->number_attr_index != attr && in->type_list_attr_index != attr) continue;
        bd_strbuf_appendf(out, "%s_count", c_name(in->name, name));
        return;
    }
    const bd_attr_def *a = &def->attrs[attr];
    c_name(a->name, name);
    if (is_required(def, attr))
        bd_strbuf_appendf(out, is_list(a) ? "%s_count" : "(int)%s", name);
    else if (is_list(a))
        bd_strbuf_appendf(out, "attrs && attrs->%s ? attrs->%s_count : %d", name, name,
                          a->default_value.list.count);
    else
        bd_strbuf_appendf(out, "(int)(attrs ? attrs->%s : %lld)", name, (long long)a->default_value.i);
}

static void put_list_result(const bd_op_def *def, const bd_arg_def *arg, const char *from, bd_strbuf *out)
{
    bd_strbuf_appendf(out, "(braid_raw_make_list)(op, %s, ", from);
    put_count(def, arg, out);
    bd_strbuf_append(out, ")");
}

static void put_outputs(const bd_op_def *def, bd_strbuf *out)
{
    if (def->output_count == 0) {
        bd_strbuf_append(out, "    return (braid_op_end)(desc);\n");
        return;
    }
    if (def->output_count == 1 && !is_list_arg(&def->outputs[0])) {
        bd_strbuf_append(out, "    return (braid_op_end_out)(desc);\n");
        return;
    }
    bd_strbuf_append(out, "    braid_op *op = (braid_op_end)(desc);\n");
    if (def->output_count == 1) {
        bd_strbuf_append(out, "    return ");
        put_list_result(def, &def->outputs[0], "0", out);
        bd_strbuf_append(out, ";\n");
        return;
    }
    bd_strbuf_appendf(out, "    braid_raw_%s_outputs outputs;\n    outputs.op = op;\n", def->name);
    bd_strbuf from = {0}; // where the next output begins: behind the last list, and a number
    int behind = 0;
    ident name, list = "";
    for (int i = 0; i < def->output_count; i++) {
        const bd_arg_def *arg = &def->outputs[i];
        c_name(arg->name, name);
        bd_strbuf_clear(&from);
        if (*list) bd_strbuf_appendf(&from, "outputs.%s.first + outputs.%s.count + ", list, list);
        bd_strbuf_appendf(&from, "%d", behind++);
        bd_strbuf_appendf(out, "    outputs.%s = ", name);
        if (is_list_arg(arg)) {
            put_list_result(def, arg, bd_strbuf_str(&from), out);
            memcpy(list, name, sizeof list);
            behind = 0;
        } else {
            bd_strbuf_appendf(out, "braid_output(op, %s)", bd_strbuf_str(&from));
        }
        bd_strbuf_append(out, ";\n");
    }
    bd_strbuf_append(out, "    return outputs;\n");
    bd_strbuf_fini(&from);
}

// ---- The function ----

static void put_parameters(const bd_op_def *def, bd_strbuf *out, size_t column)
{
    bd_strbuf item = {0};
    ident name;
    bd_strbuf_append(&item, "(braid_graph *graph, const char *name");
    column += item.len;
    bd_strbuf_append(out, bd_strbuf_str(&item));
    bd_strbuf_clear(&item);
    for (int i = 0; i < def->input_count; i++) {
        const bool list = is_list_arg(&def->inputs[i]);
        c_name(def->inputs[i].name, name);
        bd_strbuf_appendf(&item, list ? "const braid_out *%s, int %s_count" : "braid_out %s", name, name);
        put_parameter(out, &column, &item);
    }
    for (int i = 0; i < def->attr_count; i++) {
        const bd_attr_def *a = &def->attrs[i];
        if (!is_required(def, i)) continue;
        put_declaration(def, a, &item);
        if (is_list(a)) bd_strbuf_appendf(&item, ", int %s_count", c_name(a->name, name));
        put_parameter(out, &column, &item);
    }
    if (has_optional(def)) {
        bd_strbuf_appendf(&item, "const braid_raw_%s_attrs *attrs", def->name);
        put_parameter(out, &column, &item);
    }
    bd_strbuf_append(out, ")\n");
    bd_strbuf_fini(&item);
}

static void put_optional(const bd_op_def *def, const bd_attr_def *a, bd_strbuf *out)
{
    ident name;
    const spelling s = spelling_of_attr(def, a);
    c_name(a->name, name);
    bd_strbuf_append(out, "    if (");
    switch (a->kind) {
    case BD_ATTR_INT: bd_strbuf_appendf(out, "attrs->%s != %lld", name, (long long)a->default_value.i); break;
    case BD_ATTR_FLOAT:
        bd_strbuf_appendf(out, "attrs->%s != ", name);
        put_float(out, a->default_value.f);
        break;
    case BD_ATTR_BOOL: bd_strbuf_appendf(out, "%sattrs->%s", a->default_value.b ? "!" : "", name); break;
    case BD_ATTR_SHAPE:
        bd_strbuf_appendf(out, "attrs->%s.rank != %d", name, a->default_value.shape.rank);
        break;
    default: bd_strbuf_appendf(out, "attrs->%s", name); break;
    }
    bd_strbuf_appendf(out, ") (braid_op_attr_%s%s)(desc, \"%s\", attrs->%s", s.setter,
                      is_list(a) ? "_list" : "", a->name, name);
    if (is_list(a)) bd_strbuf_appendf(out, ", attrs->%s_count", name);
    bd_strbuf_append(out, ");\n");
}

static void put_required(const bd_op_def *def, const bd_attr_def *a, bd_strbuf *out)
{
    ident name;
    c_name(a->name, name);
    bd_strbuf_appendf(out, "    (braid_op_attr_%s%s)(desc, \"%s\", %s", spelling_of_attr(def, a).setter,
                      is_list(a) ? "_list" : "", a->name, name);
    if (is_list(a)) bd_strbuf_appendf(out, ", %s_count", name);
    bd_strbuf_append(out, ");\n");
}

static void put_body(const bd_op_def *def, bd_strbuf *out)
{
    ident name;
    bd_strbuf_appendf(out, "{\n    braid_op_desc *desc = (braid_op_begin)(graph, \"%s\", name);\n",
                      def->name);
    for (int i = 0; i < def->input_count; i++) {
        c_name(def->inputs[i].name, name);
        bd_strbuf_appendf(out,
                          is_list_arg(&def->inputs[i]) ? "    (braid_op_input_list)(desc, %s, %s_count);\n"
                                                       : "    (braid_op_input)(desc, %s);\n",
                          name, name);
    }
    for (int i = 0; i < def->attr_count; i++)
        if (is_required(def, i)) put_required(def, &def->attrs[i], out);
    if (has_optional(def)) {
        if (needs_mark(def))
            bd_strbuf_appendf(
                out, "    if (attrs && !attrs->from_defaults) (braid_raw_unmarked)(graph, \"%s\");\n",
                def->name);
        bd_strbuf_append(out, "    if (attrs) {\n");
        for (int i = 0; i < def->attr_count; i++) {
            if (!is_optional(def, i)) continue;
            bd_strbuf_append(out, "    ");
            put_optional(def, &def->attrs[i], out);
        }
        bd_strbuf_append(out, "    }\n");
    }
    put_outputs(def, out);
    bd_strbuf_append(out, "}\n");
}

static void put_op(const bd_op_def *def, bd_strbuf *out)
{
    bd_strbuf_appendf(out, "\n// ---- %s ----\n\n", def->name);
    if (has_optional(def)) put_attr_struct(def, out);
    put_defaults(def, out);
    put_output_struct(def, out);
    put_doc(def, out);
    const size_t start = out->len;
    bd_strbuf_append(out, "static inline ");
    put_result_type(def, out);
    bd_strbuf_appendf(out, "braid_raw_%s", def->name);
    put_parameters(def, out, out->len - start);
    put_body(def, out);
}

static const char head[] =
    "// Every op of the registry as a typed function (TensorFlow's tf.raw_ops). Generated from the registry.\n"
    "//\n"
    "//     braid_out product = braid_raw_MatMul(graph, \"xw\", x, w, NULL);\n"
    "//     product = braid_raw_MatMul(graph, NULL, x, w, &(braid_raw_MatMul_attrs){.transpose_b = true});\n"
    "//     braid_raw_TopKV2_attrs any_order = braid_raw_TopKV2_defaults();\n"
    "//     any_order.sorted = false;\n"
    "//     braid_out best = braid_raw_TopKV2(graph, NULL, scores, k, &any_order).values;\n"
    "//\n"
    "// The function of an op is braid_raw_ and the op's own name. It takes the graph, the node's name (NULL:\n"
    "// the op's name), the inputs in order (a list as pointer and number), and the attributes that have no\n"
    "// default and do not follow from the inputs. Attributes with a default are in a struct; NULL stands for\n"
    "// the defaults. In a struct, members that are zero are at their defaults. Where zero is a value of its\n"
    "// own, the struct must come from braid_raw_OP_defaults(), else the graph fails. Attributes at their\n"
    "// defaults are not set, so that a seed of 0 leaves the graph's seed in force.\n"
    "//\n"
    "// It returns the output, a list of outputs, a struct of several, or the node of an op without outputs.\n"
    "// Errors are the graph's (graph.h).\n"
    "#ifndef BRAID_RAW_OPS_H\n"
    "#define BRAID_RAW_OPS_H\n\n"
    "#include <braid/graph.h>\n"
    "#include <math.h>\n"
    "#include <string.h>\n\n"
    "#ifdef __cplusplus\n"
    "extern \"C\" {\n"
    "#endif\n\n"
    "/// Outputs of one node that follow each other. `count` is what was asked for, also when the graph has\n"
    "/// failed and `op` is NULL.\n"
    "typedef struct braid_raw_list {\n"
    "    braid_op *op;\n"
    "    int first, count;\n"
    "} braid_raw_list;\n\n"
    "/// The output `index` of a list; its op is NULL when the list is not as long.\n"
    "static inline braid_out braid_raw_at(braid_raw_list list, int index)\n"
    "{\n"
    "    return braid_output(index >= 0 && index < list.count ? list.op : NULL, list.first + index);\n"
    "}\n\n"
    "static inline braid_raw_list braid_raw_make_list(braid_op *op, int first, int count)\n"
    "{\n"
    "    braid_raw_list list;\n"
    "    list.op = op;\n"
    "    list.first = first;\n"
    "    list.count = count;\n"
    "    return list;\n"
    "}\n\n"
    "static inline void braid_raw_unmarked(braid_graph *graph, const char *op)\n"
    "{\n"
    "    (braid_graph_fail)(graph, BRAID_INVALID_ARGUMENT,\n"
    "                       \"The attributes of an op '%s' do not come from braid_raw_%s_defaults()\", op, op);\n"
    "}\n";

// Macros that note the program's line, as those of braid/locations.h do.
static void put_locations(bd_strbuf *out)
{
    bd_strbuf_append(out, "\n// ---- The line of each call, for errors: see braid/locations.h ----\n\n"
                          "#if !defined(__cplusplus) && !defined(BRAID_NO_LOCATIONS)\n");
    for (size_t i = 0; i < bd_op_table_len; i++) {
        const char *name = bd_op_table[i].name;
        if (!is_own(name))
            bd_strbuf_appendf(
                out,
                "#define braid_raw_%s(graph, ...) braid_raw_%s((braid_here(__FILE__, __LINE__), "
                "(graph)), __VA_ARGS__)\n",
                name, name);
    }
    bd_strbuf_append(out, "#endif\n");
}

static const char tail[] = "\n#ifdef __cplusplus\n"
                           "}\n"
                           "#endif\n"
                           "#endif\n";

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: raw_ops FILE\n");
        return 2;
    }
    bd_strbuf out = {0};
    bd_strbuf_append(&out, head);
    for (size_t i = 0; i < bd_op_table_len; i++)
        if (!is_own(bd_op_table[i].name)) put_op(bd_op_lookup(bd_op_table[i].name), &out);
    put_locations(&out);
    bd_strbuf_append(&out, tail);
    FILE *file = fopen(argv[1], "w");
    bool ok = file && fwrite(out.data, 1, out.len, file) == out.len;
    if (file && fclose(file) != 0) ok = false;
    if (!ok) perror(argv[1]);
    bd_strbuf_fini(&out);
    return ok ? 0 : 1;
}
