// The page on the ops that Braid has, made from their definitions.
#include "base/alloc.h"
#include "base/strbuf.h"
#include "graph/grad.h"
#include "graph/op.h"
#include "op/kernel.h"
#include "tensor/dtype.h"
#include <braid/op_list.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char about[] =
    "# Ops\n\n"
    "Inputs and outputs are written as in TensorFlow's registry: `N*T` is a list of N tensors of type T, `xs...` a list whose types an\n"
    "attr gives, `Ref(T)` a reference to a variable. *Types* are those that kernels serve, for each attr of the op that is a type; an op\n"
    "without them has fixed types or takes any. *Gradient*: `yes`; `none` where it is None by definition, as in TensorFlow; `-` where\n"
    "there is none. TensorFlow 1.15 does not have attrs after a `+`: a GraphDef has them only where they differ from their default.\n";

// ---- Types ----

// The types that a kernel serves, of those that the op allows. Returns false if it serves all of them.
static bool served_types(const bd_op *op, const bd_attr_def *attr, bd_dtype_set *served)
{
    *served = 0;
    for (int i = 0; i < op->kernel_count; i++)
        *served |= bd_kernel_types(&op->kernels[i], attr->name);
    if (attr->allowed_types) *served &= attr->allowed_types;
    return *served != (attr->allowed_types ? attr->allowed_types : ~(bd_dtype_set)0);
}

static bool is_type(const bd_attr_def *a)
{
    return a->kind == BD_ATTR_TYPE || (a->kind == BD_ATTR_LIST && a->item_kind == BD_ATTR_TYPE);
}

static void put_set(bd_dtype_set set, bd_strbuf *out)
{
    const char *separator = "";
    for (int t = 1; t < 32; t++) {
        if (!(set & BD_DTYPE_BIT(t)) || !bd_dtype_is_valid(t)) continue;
        bd_strbuf_appendf(out, "%s%s", separator, braid_dtype_name((braid_dtype)t));
        separator = ", ";
    }
}

static void put_types(const bd_op_def *def, bd_strbuf *out)
{
    for (int i = 0; i < def->attr_count; i++) {
        const bd_attr_def *a = &def->attrs[i];
        bd_dtype_set served;
        if (!is_type(a) || def->op->kernel_count == 0) continue;
        bd_strbuf_appendf(out, "- types `%s`: ", a->name);
        if (served_types(def->op, a, &served) || a->allowed_types)
            put_set(served, out);
        else
            bd_strbuf_append(out, "any");
        bd_strbuf_append(out, "\n");
    }
}

// ---- One op ----

static const char *gradient_of(const bd_op_entry *e)
{
    switch (bd_op_gradient_kind(e->name, e->op)) {
    case BRAID_GRADIENT_FUNCTION:
    case BRAID_GRADIENT_WALK: return "yes";
    case BRAID_GRADIENT_NOT_DIFFERENTIABLE: return "none";
    default: return "-";
    }
}

static void put_op(const bd_op_entry *entry, bd_strbuf *out)
{
    const bd_op *op = entry->op;
    bd_strbuf_appendf(out, "\n## %s\n\n%s\n\n- `%s%s`%s\n", entry->name, op->doc ? op->doc : "", entry->name,
                      op->signature, op->flags & BD_OP_STATEFUL ? ", stateful" : "");
    if (op->attrs) bd_strbuf_appendf(out, "- attrs `%s`\n", op->attrs);
    put_types(bd_op_lookup(entry->name), out);
    bd_strbuf_appendf(out, "- gradient: %s\n", gradient_of(entry));
    if (op->deviation) bd_strbuf_appendf(out, "- differs from TensorFlow's: %s\n", op->deviation);
}

// The prefix of Braid's own nodes, which only rewrites make.
static bool is_own(const char *name)
{
    return name[0] == '_';
}

static bool is_like(const char *name, const char *wanted)
{
    return strcasestr(name, wanted) != NULL;
}

static void not_found(const char *wanted, braid_status *st)
{
    bd_strbuf like = {0};
    for (size_t i = 0; i < bd_op_table_len; i++)
        if (is_like(bd_op_table[i].name, wanted))
            bd_strbuf_appendf(&like, "%s%s", like.len ? ", " : ": there are ", bd_op_table[i].name);
    const char *why = bd_op_unsupported(wanted);
    bd_fail(st, BRAID_NOT_FOUND, "No op has the name '%s'%s%s%s", wanted, why ? ": " : "", why ? why : "",
            bd_strbuf_str(&like));
    bd_strbuf_fini(&like);
}

char *braid_op_doc(const char *name, braid_status *status)
{
    BD_STATUS(own);
    braid_status *st = status ? status : own;
    bd_strbuf out = {0};
    bd_strbuf_append(&out, name ? "" : about);
    int count = 0;
    for (size_t i = 0; i < bd_op_table_len; i++) {
        if (name ? fnmatch(name, bd_op_table[i].name, 0) != 0 : is_own(bd_op_table[i].name)) continue;
        put_op(&bd_op_table[i], &out);
        count++;
    }
    if (count == 0) not_found(name ? name : "", st);
    char *given =
        count ? strdup(bd_strbuf_str(&out)) : NULL; // the caller's, by free(): not from our allocator
    if (count && !given) bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "No memory for a page of %zu bytes", out.len);
    bd_strbuf_fini(&out);
    return given;
}
