// Makes resource handles, and looks up resources by handle.
#include "ops/common/handle.h"

#include "base/alloc.h"
#include <string.h>

// ---- Making ----

// A number that no other private resource of this process has in its name.
static uint64_t next_number(void)
{
    static _Atomic uint64_t last;
    return atomic_fetch_add(&last, 1);
}

void bd_handle_source_init(bd_handle_source *s, const braid_op *node, const bd_resource_type *type)
{
    const char *container = bd_node_attr_string(node, "container"),
               *shared = bd_node_attr_string(node, "shared_name");
    *s = (bd_handle_source){.type = type, .container = container};
    const bd_attr *by_node = bd_node_attr(node, "use_node_name_sharing"); // of tables
    if (!shared[0] && by_node && by_node->b) shared = node->name;
    s->is_private = !shared[0];
    s->name = s->is_private ? bd_asprintf("_%llu_%s", (unsigned long long)next_number(), node->name)
                            : bd_strdup(shared);
    bd_mutex_init(&s->mu);
}

void bd_handle_source_fini(bd_handle_source *s)
{
    BD_STATUS(st);
    // It may be gone: containers are cleared by Reset.
    if (s->is_private && s->resources) bd_resources_delete(s->resources, s->container, s->name, s->type, st);
    bd_tensor_fini(&s->handle);
    if (s->ref) bd_resource_unref(&s->ref->base);
    bd_free(s->name);
    bd_mutex_fini(&s->mu);
}

static bool make_resource_handle(const bd_op_ctx *c, const char *container, const char *name,
                                 const bd_resource_type *type, braid_tensor *handle)
{
    if (!bd_tensor_alloc(handle, BRAID_RESOURCE, &BD_SCALAR)) return false;
    bd_resource_handle *h = bd_tensor_handle(handle);
    h->device = bd_strdup(c->node->assigned_device ? c->node->assigned_device : "");
    h->container = bd_strdup(bd_resources_container(c->step->resources, container));
    h->name = bd_strdup(name);
    h->type_name = bd_strdup(type->name);
    return true;
}

// The handle of the oldest ops: a vector of two strings, container and name.
static bool make_names(const bd_op_ctx *c, const char *container, const char *name, braid_tensor *names)
{
    braid_shape two = bd_shape1(2);
    container = bd_resources_container(c->step->resources, container);
    if (!bd_tensor_alloc(names, BRAID_STRING, &two)) return false;
    bd_tensor_string_set(names, 0, container, strlen(container));
    bd_tensor_string_set(names, 1, name, strlen(name));
    return true;
}

// NULL when memory is short.
static bd_variable *make_reference(const bd_op_ctx *c, const char *container, const char *name)
{
    braid_tensor names;
    BD_STATUS(st);
    if (!make_names(c, container, name, &names)) return NULL;
    bd_variable *ref = bd_variable_new(BRAID_STRING, true);
    bool ok = bd_variable_assign(ref, &names, st) == BRAID_OK;
    bd_tensor_fini(&names);
    if (ok) return ref;
    bd_resource_unref(&ref->base);
    return NULL;
}

// The handle never changes, so it is made once.
static bool output_handle(bd_op_ctx *c, bd_handle_source *s)
{
    bool is_ref = bd_dtype_is_ref(c->node->output_types[0]);
    bd_mutex_lock(&s->mu);
    s->resources = c->step->resources;
    if (is_ref && !s->ref) s->ref = make_reference(c, s->container, s->name);
    bool ok = is_ref
                  ? s->ref != NULL
                  : s->handle.buffer || make_resource_handle(c, s->container, s->name, s->type, &s->handle);
    bd_mutex_unlock(&s->mu);
    if (!ok) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when making a handle");
    } else if (is_ref) {
        bd_output_ref(c, 0, s->ref);
    } else {
        bd_output_set(c, 0, &s->handle);
    }
    return ok;
}

bd_resource *bd_handle_source_output(bd_op_ctx *c, bd_handle_source *s,
                                     braid_code (*create)(void *arg, bd_resource **out, braid_status *st),
                                     void *arg)
{
    BD_STATUS(st);
    bd_resource *r;
    if (bd_resources_lookup_or_create(
            c->step->resources, &(bd_resource_spec){s->container, s->name, s->type, create, arg}, &r, st)) {
        bd_op_fail_status(c, st);
        return NULL;
    }
    if (output_handle(c, s)) return r;
    bd_resource_unref(r);
    return NULL;
}

bool bd_output_handle(bd_op_ctx *c, const char *container, const char *name, const bd_resource_type *type)
{
    bd_variable *ref = NULL;
    braid_tensor handle = {0};
    if (bd_dtype_is_ref(c->node->output_types[0])) {
        ref = make_reference(c, container, name);
        if (ref) bd_output_ref(c, 0, ref);
        if (ref) bd_resource_unref(&ref->base);
    } else if (c->node->output_types[0] == BRAID_STRING
                   ? make_names(c, container, name, &handle)
                   : make_resource_handle(c, container, name, type, &handle)) {
        bd_output_set(c, 0, &handle);
        bd_tensor_fini(&handle);
    }
    bool ok = ref || bd_tensor_is_set(&c->outputs[0].tensor);
    if (!ok) bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when making a handle");
    return ok;
}

static braid_code hand_over(void *arg, bd_resource **out, braid_status *st)
{
    (void)st;
    *out = arg;
    return BRAID_OK;
}

bool bd_output_step_resource(bd_op_ctx *c, const char *name, bd_resource *r, char **stored)
{
    BD_STATUS(st);
    bd_resource *found;
    char *full = bd_asprintf("%s_%llu", name, (unsigned long long)next_number());
    braid_code code = bd_resources_lookup_or_create(
        c->step->resources, &(bd_resource_spec){c->step->container, full, r->type, hand_over, r}, &found, st);
    bool ok = !code && bd_output_handle(c, c->step->container, full, r->type);
    if (code) bd_op_fail_status(c, st);
    if (!code) bd_resource_unref(found);
    if (stored && ok) {
        *stored = full;
    } else {
        bd_free(full);
    }
    return ok;
}

// ---- Finding ----

static bd_resource *find(bd_op_ctx *c, const char *container, const char *name, const bd_resource_type *type)
{
    BD_STATUS(st);
    bd_resource *r = NULL;
    if (!c->step->resources) { // a node whose inputs are constants, computed before any step
        bd_op_fail(c, BRAID_UNIMPLEMENTED, "A constant cannot be a handle of %s/%s", container, name);
    } else if (bd_resources_lookup(c->step->resources, container, name, type, &r, st)) {
        bd_op_fail_status(c, st);
    }
    return r;
}

static char *copy_of(const bd_string *s)
{
    return bd_strndup(s->data ? s->data : "", s->len);
}

bool bd_handle_check_kind(bd_op_ctx *c, const bd_resource_handle *h, const bd_resource_type *type)
{
    if (!h->type_name || !h->type_name[0] || strcmp(h->type_name, type->name) == 0) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT,
               "Trying to access resource using the wrong type. Resource %s/%s is a %s, not a %s",
               h->container ? h->container : "", h->name, h->type_name, type->name);
    return false;
}

bool bd_input_handle(bd_op_ctx *c, int i, char **container, char **name)
{
    braid_tensor names = {0};
    bd_variable *ref = bd_input_ref(c, i);
    const braid_tensor *t = bd_input(c, i);
    bool ok = false;
    if (!ref && t->dtype == BRAID_RESOURCE && bd_tensor_count(t) == 1 && bd_tensor_handle(t)->name) {
        const bd_resource_handle *h = bd_tensor_handle(t);
        *container = bd_strdup(h->container ? h->container : "");
        *name = bd_strdup(h->name);
        return true;
    }
    if (ref)
        bd_variable_read(ref, &names);
    else
        bd_tensor_ref(&names, t);
    if (names.dtype == BRAID_STRING && bd_tensor_count(&names) == 2) {
        *container = copy_of(&bd_tensor_str(&names)[0]);
        *name = copy_of(&bd_tensor_str(&names)[1]);
        ok = true;
    }
    bd_tensor_fini(&names);
    return ok;
}

static void fail_no_handle(bd_op_ctx *c, int i, const bd_resource_type *type)
{
    braid_tensor names = {0};
    char shape[BD_SHAPE_STR_MAX];
    bd_variable *ref = bd_input_ref(c, i);
    if (ref && bd_variable_read(ref, &names)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Resource handle must have 2 elements, but had shape: %s",
                   bd_shape_str(&names.shape, shape));
    } else {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s '%s': input %d is no handle of a %s", c->node->op_type,
                   c->node->name, i, type->name);
    }
    bd_tensor_fini(&names);
}

bd_resource *bd_input_resource(bd_op_ctx *c, int i, const bd_resource_type *type)
{
    char *container, *name;
    const braid_tensor *t = bd_input(c, i);
    if (t->dtype == BRAID_RESOURCE && bd_tensor_count(t) == 1 && bd_tensor_handle(t)->name) {
        const bd_resource_handle *h = bd_tensor_handle(t);
        return bd_handle_check_kind(c, h, type) ? find(c, h->container, h->name, type) : NULL;
    }
    if (!bd_input_handle(c, i, &container, &name)) {
        fail_no_handle(c, i, type);
        return NULL;
    }
    bd_resource *r = find(c, container, name, type);
    bd_free(container);
    bd_free(name);
    return r;
}

// ---- Shapes ----

braid_code bd_shape_fn_handle(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    c->outputs[0] = bd_dtype_base(c->node->output_types[0]) == BRAID_STRING ? bd_shape1(2) : BD_SCALAR;
    return BRAID_OK;
}

braid_code bd_shape_fn_handle_of_2(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    c->outputs[0] = bd_shape1(2);
    return BRAID_OK;
}

braid_code bd_shape_ctx_handle(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape *s = &c->inputs[0];
    if (bd_dtype_base(c->node->input_types[0]) != BRAID_STRING && (s->rank <= 0 || s->dims[0] != 2))
        return bd_shape_ctx_rank(c, 0, 0, st);
    braid_code code = bd_shape_ctx_rank(c, 0, 1, st);
    if (code || s->rank < 0 || s->dims[0] < 0 || s->dims[0] == 2) return code;
    return bd_shape_ctx_fail(c, st, "Dimension must be 2 but is %lld", (long long)s->dims[0]);
}

braid_code bd_shape_fn_handle_to_scalar(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_handle(c, st);
    return code ? code : bd_shape_fn_scalar(c, st);
}
