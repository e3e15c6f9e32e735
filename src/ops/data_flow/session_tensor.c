// Session tensor handles: values that stay on a device between the steps of a session.
//
// The kernel that makes handles lists its values and lives as long as its session, so that values which the
// client does not delete end with the session. A handle is "NODE;NUMBER;DEVICE": the client learns from the
// device where the value is.
#include "base/alloc.h"
#include "base/array.h"
#include "base/thread.h"
#include "graph/shape_fn.h"
#include "ops/common/element.h"

#include <string.h>

#define CONTAINER "__session_tensors__"

typedef struct session_tensor {
    bd_resource base;
    braid_tensor value;
} session_tensor;

static void destroy(bd_resource *r)
{
    session_tensor *t = BD_CONTAINER_OF(r, session_tensor, base);
    bd_tensor_fini(&t->value);
    bd_free(t);
}

static const bd_resource_type session_tensor_type = {.name = "SessionTensor", .destroy = destroy};

// ---- GetSessionHandle ----

typedef struct handle_state {
    bd_mutex mu;
    bd_resources *resources; // guarded by mu; NULL before the first run
    // guarded by mu; names of the values made here; deleted ones are removed when there are many
    BD_ARRAY(char *) names;
    size_t check_at; // guarded by mu; at this number of names the deleted ones are removed
} handle_state;

#define NAMES_MIN 64

static braid_code handle_create(const braid_op *node, void *state, braid_status *st)
{
    (void)node, (void)st;
    handle_state *s = state;
    bd_mutex_init(&s->mu);
    s->check_at = NAMES_MIN;
    return BRAID_OK;
}

static void handle_destroy(void *state)
{
    handle_state *s = state;
    for (size_t i = 0; i < s->names.len; i++) {
        BD_STATUS(gone_already);
        bd_resources_delete(s->resources, CONTAINER, s->names.items[i], &session_tensor_type, gone_already);
        bd_free(s->names.items[i]);
    }
    bd_array_free(&s->names);
    bd_mutex_fini(&s->mu);
}

static bool exists(bd_resources *resources, const char *name)
{
    BD_STATUS(st);
    bd_resource *r;
    if (bd_resources_lookup(resources, CONTAINER, name, &session_tensor_type, &r, st)) return false;
    bd_resource_unref(r);
    return true;
}

// Clients make a handle a step and delete it: names of deleted ones must not pile up.
static void forget_deleted_locked(handle_state *s)
{
    if (s->names.len < s->check_at) return;
    size_t kept = 0;
    for (size_t i = 0; i < s->names.len; i++) {
        if (exists(s->resources, s->names.items[i]))
            s->names.items[kept++] = s->names.items[i];
        else
            bd_free(s->names.items[i]);
    }
    s->names.len = kept;
    s->check_at = 2 * kept > NAMES_MIN ? 2 * kept : NAMES_MIN;
}

static braid_code take_over(void *arg, bd_resource **out, braid_status *st)
{
    (void)st;
    *out = arg;
    return BRAID_OK;
}

// The name of the value kept, for the caller (bd_free). NULL: the kernel has failed.
static char *keep(bd_op_ctx *c)
{
    static _Atomic uint64_t last;
    session_tensor *t = bd_calloc(1, sizeof *t);
    bd_resource_init(&t->base, &session_tensor_type);
    if (!bd_tensor_keep(&t->value, bd_input(c, 0))) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when keeping a tensor for the session");
        bd_resource_unref(&t->base);
        return NULL;
    }
    char *name = bd_asprintf("%s;%llu;%s", c->node->name, (unsigned long long)atomic_fetch_add(&last, 1) + 1,
                             c->node->assigned_device ? c->node->assigned_device : "");
    BD_STATUS(st);
    bd_resource *kept;
    if (bd_resources_lookup_or_create(
            c->step->resources, &(bd_resource_spec){CONTAINER, name, &session_tensor_type, take_over, t},
            &kept, st)) {
        bd_op_fail_status(c, st);
        bd_resource_unref(&t->base);
        bd_free(name);
        return NULL;
    }
    bd_resource_unref(kept);
    handle_state *s = c->state;
    bd_mutex_lock(&s->mu);
    s->resources = c->step->resources;
    forget_deleted_locked(s);
    bd_array_push(&s->names, bd_strdup(name));
    bd_mutex_unlock(&s->mu);
    return name;
}

static void handle_run(bd_op_ctx *c)
{
    char *name = keep(c);
    braid_tensor *y = name ? bd_output(c, 0, c->node->output_types[0], &BD_SCALAR) : NULL;
    if (y && y->dtype == BRAID_STRING) {
        bd_tensor_string_set(y, 0, name, strlen(name));
    } else if (y) {
        bd_resource_handle *h = bd_tensor_handle(y);
        h->device = bd_strdup(c->node->assigned_device ? c->node->assigned_device : "");
        h->container = bd_strdup(CONTAINER);
        h->name = bd_strdup(name);
        h->type_name = bd_strdup(session_tensor_type.name);
    }
    bd_free(name);
}

// ---- GetSessionTensor, DeleteSessionTensor ----

// The handle in input 0 as text of C (bd_free). NULL: the kernel has failed.
static char *handle_input(bd_op_ctx *c)
{
    const braid_tensor *t = bd_input(c, 0);
    const bd_string *s = bd_tensor_str(t);
    if (t->shape.rank == 0 && (s->len == 0 || !memchr(s->data, 0, s->len)))
        return bd_asprintf("%.*s", (int)bd_min((int64_t)s->len, INT32_MAX), s->len ? s->data : "");
    bd_op_fail(c, BRAID_INVALID_ARGUMENT,
               "handle must be a scalar string that GetSessionHandle gave, got shape %s",
               bd_shape_str(&t->shape, (char[BD_SHAPE_STR_MAX]){0}));
    return NULL;
}

static void get_run(bd_op_ctx *c)
{
    BD_STATUS(st);
    bd_resource *r;
    char *handle = handle_input(c);
    if (!handle) return;
    if (bd_resources_lookup(c->step->resources, CONTAINER, handle, &session_tensor_type, &r, st)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "The tensor with handle '%.512s' is not in the session store.",
                   handle);
    } else {
        const braid_tensor *value = &BD_CONTAINER_OF(r, session_tensor, base)->value;
        if (value->dtype == c->node->output_types[0])
            bd_output_set(c, 0, value);
        else
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "The tensor with handle '%.512s' is %s, not %s", handle,
                       braid_dtype_name(value->dtype), braid_dtype_name(c->node->output_types[0]));
        bd_resource_unref(r);
    }
    bd_free(handle);
}

static void delete_run(bd_op_ctx *c)
{
    BD_STATUS(st);
    char *handle = handle_input(c);
    if (handle && bd_resources_delete(c->step->resources, CONTAINER, handle, &session_tensor_type, st))
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Failed to delete a tensor with handle '%.512s' in the session store.", handle);
    bd_free(handle);
}

// ---- Ops ----

static braid_code handle_only_shape(bd_shape_ctx *c, braid_status *st)
{
    return bd_shape_ctx_rank(c, 0, 0, st);
}

static braid_code get_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = BD_SHAPE_UNKNOWN;
    return handle_only_shape(c, st);
}

#define HANDLE_KERNEL                                                                                        \
    BD_KERNELS({.state_size = sizeof(handle_state),                                                          \
                .create = handle_create,                                                                     \
                .destroy = handle_destroy,                                                                   \
                .run = handle_run})
#define HANDLE_DOC "Keeps a value for later steps of the session, and gives a handle for it."
BD_OP(GetSessionHandle) = {
    .signature = "(value: T) -> (handle: string)",
    .attrs = "T:type",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = HANDLE_KERNEL,
    .doc = HANDLE_DOC,
};
BD_OP(GetSessionHandleV2) = {
    .signature = "(value: T) -> (handle: resource)",
    .attrs = "T:type",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = HANDLE_KERNEL,
    .doc = HANDLE_DOC,
};
BD_OP(GetSessionTensor) = {
    .signature = "(handle: string) -> (value: dtype)",
    .attrs = "dtype:type",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = get_shape,
    .kernels = BD_KERNELS({.run = get_run}),
    .doc = "The value that a handle names.",
};
BD_OP(DeleteSessionTensor) = {
    .signature = "(handle: string) -> ()",
    .attrs = NULL,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = handle_only_shape,
    .kernels = BD_KERNELS({.run = delete_run}),
    .doc = "Frees the value that a handle names.",
};
