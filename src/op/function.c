// Naming functions in kernels, and finding and calling them through the environment.
#include "op/function.h"

#include "base/alloc.h"
#include "base/check.h"
#include <string.h>

// ---- Which function ----

static void set_ref(bd_func_ref *out, const bd_func *f, bd_arena *arena)
{
    bd_bytes key = bd_func_bytes(f, arena);
    size_t name = strlen(f->name) + 1;
    out->memory = bd_malloc(key.len + 1 + name);
    memcpy(out->memory, key.data, key.len + 1);
    memcpy(out->memory + key.len + 1, f->name, name);
    out->key = (bd_bytes){.data = out->memory, .len = key.len};
    out->name = out->memory + key.len + 1;
}

static const bd_bytes *func_bytes(const braid_op *node, const char *attr, int index)
{
    const bd_attr *a = bd_node_attr(node, attr);
    BD_ASSERT(a && a->kind == (index < 0 ? BD_ATTR_FUNC : BD_ATTR_LIST)); // the op's definition guarantees it
    return index < 0 ? &a->s : &a->list.s[index];
}

braid_code bd_func_ref_read(const braid_op *node, const char *attr, int index, bd_func_ref *out,
                            braid_status *st)
{
    bd_arena arena = {0};
    bd_attr_tensors tensors = {0};
    bd_func f;
    *out = (bd_func_ref){0};
    braid_code code = bd_func_parse(func_bytes(node, attr, index), &arena, &tensors, &f, st);
    if (!code)
        set_ref(out, &f, &arena);
    else
        bd_status_prefix(st, "Attr '%s' of %s '%s': ", attr, node->op_type, node->name);
    for (size_t i = 0; i < tensors.len; i++)
        braid_tensor_free(tensors.items[i]);
    bd_array_free(&tensors);
    bd_arena_fini(&arena);
    return code;
}

void bd_func_ref_of_node(const braid_op *node, bd_func_ref *out)
{
    bd_arena arena = {0};
    const bd_func f = bd_func_of_node(node, &arena);
    set_ref(out, &f, &arena);
    bd_arena_fini(&arena);
}

void bd_func_ref_fini(bd_func_ref *f)
{
    bd_free(f->memory);
    *f = (bd_func_ref){0};
}

// ---- Finding and calling ----

braid_code bd_function_find_on(bd_function_runtime *fs, const bd_func_ref *f, bd_callee_kind kind,
                               const char *device, const bd_callee **out, braid_status *st)
{
    *out = NULL;
    if (!fs) return bd_fail(st, BRAID_NOT_FOUND, "Function %s is not defined.", f->name);
    return fs->ops->find(fs, f, kind, device, out, st);
}

braid_code bd_function_find(bd_function_runtime *fs, const bd_func_ref *f, bd_callee_kind kind,
                            const bd_callee **out, braid_status *st)
{
    return bd_function_find_on(fs, f, kind, fs ? fs->device : NULL, out, st);
}

void bd_function_call(bd_function_runtime *fs, const bd_callee *f, const bd_invocation *call)
{
    fs->ops->call(fs, f, call);
}

void bd_function_call_on(bd_function_runtime *fs, const bd_func_ref *f, const char *device,
                         const bd_invocation *call)
{
    fs->ops->call_on(fs, f, device, call);
}

void bd_step_call(bd_step *step, const bd_func_ref *f, bd_callee_kind kind, const braid_tensor *args,
                  int arg_count, bd_function_done_fn done, void *arg)
{
    BD_STATUS(st);
    const bd_callee *callee;
    if (bd_function_find(step->functions, f, kind, &callee, st)) {
        done(arg, NULL, 0, st);
        return;
    }
    const bd_invocation call = {.args = args, .arg_count = arg_count, .step = step, .done = done, .arg = arg};
    bd_function_call(step->functions, callee, &call);
}
