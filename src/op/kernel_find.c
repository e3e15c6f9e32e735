// Finds the kernel of an op: the first one whose device and type constraints match the node.
#include "base/strbuf.h"
#include "op/kernel_widen.h"
#include <string.h>

static const char *device_type_of(const bd_kernel *k)
{
    return k->device_type ? k->device_type : "CPU";
}

static void trim(const char **text, size_t *len)
{
    while (*len > 0 && **text == ' ') {
        (*text)++;
        (*len)--;
    }
    while (*len > 0 && (*text)[*len - 1] == ' ')
        (*len)--;
}

// The types of "float|double" as a set.
static bd_dtype_set parse_types(const char *text, size_t len)
{
    bd_dtype_set set = 0;
    while (len > 0) {
        const char *bar = memchr(text, '|', len);
        size_t piece_len = bar ? (size_t)(bar - text) : len;
        const char *piece = text;
        size_t used = piece_len;
        trim(&piece, &used);
        braid_dtype t = bd_dtype_parse(piece, used);
        BD_ASSERT(t != BRAID_INVALID); // the condition of a kernel names a type that does not exist
        set |= BD_DTYPE_BIT(t);
        size_t step = piece_len + (bar != NULL);
        text += step;
        len -= step;
    }
    return set;
}

static bool is_narrow_of(braid_dtype type, bd_dtype_set wide)
{
    const braid_dtype widened = bd_dtype_widened(type);
    return widened != type && (BD_DTYPE_BIT(widened) & wide);
}

bd_dtype_set bd_kernel_types(const bd_kernel *k, const char *attr)
{
    const char *rest = k->types ? k->types : "", *piece;
    size_t len;
    while (bd_split_next(&rest, ';', &piece, &len)) {
        trim(&piece, &len);
        const size_t name_len = strlen(attr);
        const char *equals = memchr(piece, '=', len);
        if (!equals || strncmp(piece, attr, name_len) != 0 ||
            (piece[name_len] != '=' && piece[name_len] != ' '))
            continue;
        bd_dtype_set set = parse_types(equals + 1, len - (size_t)(equals + 1 - piece));
        for (int t = 1; t < 32 && (k->flags & BD_KERNEL_WIDENS); t++)
            if (is_narrow_of((braid_dtype)t, set)) set |= BD_DTYPE_BIT(t);
        return set;
    }
    return ~(bd_dtype_set)0;
}

static bool attr_is_in(const bd_attr *attr, bd_dtype_set set, bool widened)
{
    if (!attr) return false;
    if (attr->kind == BD_ATTR_TYPE) {
        braid_dtype type = bd_dtype_base(attr->type);
        return (BD_DTYPE_BIT(widened ? bd_dtype_widened(type) : type) & set) != 0;
    }
    if (attr->kind != BD_ATTR_LIST || attr->item_kind != BD_ATTR_TYPE) return false;
    for (int i = 0; i < attr->list.count; i++) {
        if (!(BD_DTYPE_BIT(bd_dtype_base(attr->list.type[i])) & set)) return false;
    }
    return true;
}

// One condition, "T=float|double".
static bool condition_holds(const braid_op *node, bool widened, const char *text, size_t len)
{
    trim(&text, &len);
    if (len == 0) return true;
    const char *equals = memchr(text, '=', len);
    BD_ASSERT(equals); // a condition of a kernel is NAME=TYPE|TYPE
    char name[64];
    const char *attr = text;
    size_t name_len = (size_t)(equals - text);
    trim(&attr, &name_len);
    BD_ASSERT(name_len < sizeof name);
    memcpy(name, attr, name_len);
    name[name_len] = 0;
    size_t used = (size_t)(equals - text) + 1;
    return attr_is_in(bd_node_attr(node, name), parse_types(text + used, len - used), widened);
}

static bool kernel_fits(const bd_kernel *k, const braid_op *node, bool widened)
{
    const char *rest = k->types ? k->types : "", *piece;
    size_t len;
    while (bd_split_next(&rest, ';', &piece, &len)) {
        if (!condition_holds(node, widened, piece, len)) return false;
    }
    return true;
}

static void append_types(bd_strbuf *text, const braid_op *node)
{
    const char *separator = "";
    for (int i = 0; i < node->attr_count; i++) {
        const bd_attr *a = &node->attrs[i].value;
        if (a->kind != BD_ATTR_TYPE) continue;
        bd_strbuf_appendf(text, "%s%s=%s", separator, node->attrs[i].name, braid_dtype_name(a->type));
        separator = "; ";
    }
}

static braid_code no_kernel(const braid_op *node, const char *device_type, braid_status *st)
{
    bd_strbuf asked = {0}, have = {0};
    append_types(&asked, node);
    const bd_op *op = node->def->op;
    for (int i = 0; i < op->kernel_count; i++) {
        const bd_kernel *k = &op->kernels[i];
        bd_strbuf_appendf(&have, "%s%s", i ? ", " : "", device_type_of(k));
        if (k->types) bd_strbuf_appendf(&have, " [%s]", k->types);
        if (k->flags & BD_KERNEL_WIDENS) bd_strbuf_append(&have, " and narrower");
    }
    braid_code code = bd_fail(
        st, BRAID_NOT_FOUND,
        "No OpKernel was registered to support Op '%s' (node '%s') on device type %s with types [%s]. "
        "Registered kernels: %s",
        node->op_type, node->name, device_type, bd_strbuf_str(&asked),
        op->kernel_count ? bd_strbuf_str(&have) : "<no registered kernels>");
    bd_strbuf_fini(&asked);
    bd_strbuf_fini(&have);
    return code;
}

const bd_kernel *bd_kernel_fitting(const braid_op *node, const char *device_type, bool widened)
{
    const bd_op *op = node->def->op;
    for (int i = 0; i < op->kernel_count; i++) {
        const bd_kernel *k = &op->kernels[i];
        if (strcmp(device_type_of(k), device_type) != 0 || (widened && !(k->flags & BD_KERNEL_WIDENS)))
            continue;
        BD_ASSERT((k->run != NULL) != (k->start != NULL));
        if (kernel_fits(k, node, widened)) return k;
    }
    return NULL;
}

braid_code bd_kernel_find(const braid_op *node, const char *device_type, const bd_kernel **kernel,
                          braid_status *st)
{
    *kernel = NULL;
    if (!node->def) {
        const char *why = bd_op_unsupported(node->op_type);
        return bd_fail(st, BRAID_NOT_FOUND, "Op type not registered '%s' in this process (node '%s')%s%s",
                       node->op_type, node->name, why ? ": " : "", why ? why : "");
    }
    *kernel = bd_kernel_fitting(node, device_type, false);
    if (*kernel) return BRAID_OK;
    const bd_kernel *wider = bd_kernel_fitting(node, device_type, true);
    if (!wider) return no_kernel(node, device_type, st);
    *kernel = bd_kernel_widening(wider);
    return BRAID_OK;
}
