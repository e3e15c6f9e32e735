// The environments of functions: compiling callees, and calling them.
//
// States of a call, from bd_function_call on:
//   begun    the call holds the arguments and the environment and has a token; the executable runs, on this
//            thread or, if functions are nested deeply, in the pool, so that the stack does not grow
//   ended    its plans are done: the results are taken from the frame, the callback runs, the call is freed
#include "runtime/function_runtime.h"

#include "base/account.h"
#include "base/alloc.h"
#include "base/random.h"
#include "base/slab.h"
#include "base/thread.h"
#include "runtime/local_rendezvous.h"
#include "runtime/placer.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// The number of nested calls on one thread's stack; the next one runs in the pool.
#define NESTED_ON_STACK 32

typedef struct callee {
    bd_callee base;
    char *name;
    bd_executable *executable;
    braid_dtype types[]; // of arguments, then of results
} callee;

typedef struct environment {
    atomic_int refs; // of all views
    bd_library *library;
    bd_resources *own_resources; // a reference to the given resources; NULL: those of the device
    bd_remote_functions *remote; // a reference; NULL: there are no other tasks
    unsigned disabled_rewrites;
    bd_mutex compile_mu; // held while a callee is compiled, so that it is compiled once
    bd_mutex mu;
    bd_map callees; // key -> callee, owned; guarded by mu
    bd_device **devices;
    bd_device_info *infos;      // of the same
    bd_function_runtime *views; // of the same
    int device_count;
} environment;

static environment *environment_of(const bd_function_runtime *fs)
{
    return BD_CONTAINER_OF(fs->refs, environment, refs);
}

// ---- Compiling ----

static void free_callee(callee *c)
{
    bd_executable_unref(c->executable);
    bd_free(c->name);
    bd_free(c);
}

static int find_device(const environment *e, const char *name)
{
    for (int i = 0; i < e->device_count; i++) {
        if (strcmp(e->devices[i]->name, name) == 0) return i;
    }
    return -1;
}

// Nodes without a device are placed with the caller, as arguments and results are. Handles are placed with
// their consumers.
static void place_at_caller(braid_graph *g, bd_callee_kind kind, const char *device)
{
    for (size_t i = 0; i < g->nodes.len; i++) {
        braid_op *n = g->nodes.items[i];
        const bd_op_role role = bd_node_role(n);
        const bool is_handle = role == BD_ROLE_ARG && n->output_types[0] == BRAID_RESOURCE;
        const bool is_end = role == BD_ROLE_ARG || role == BD_ROLE_RETVAL;
        if (kind != BD_CALLEE_PLACED || (is_end && !is_handle))
            n->assigned_device = device;
        else if (!*n->device && !is_handle && !bd_node_attr(n, "_class"))
            n->device = device;
    }
}

static braid_code place(const environment *e, braid_graph *g, bd_callee_kind kind, int device,
                        braid_status *st)
{
    place_at_caller(g, kind, e->devices[device]->name);
    if (kind != BD_CALLEE_PLACED) return BRAID_OK;
    const bd_placer_options options = {.devices = e->infos,
                                       .device_count = e->device_count,
                                       .default_device = e->devices[device]->name,
                                       .allow_soft_placement = true};
    return bd_place(g, 0, &options, st);
}

static braid_code compile_body(environment *e, bd_function_body *body, bd_callee_kind kind, int device,
                               bd_executable **out, braid_status *st)
{
    const bd_local_devices here = {.devices = &e->devices[device], .infos = &e->infos[device], .count = 1};
    const bd_local_devices all = {.devices = e->devices, .infos = e->infos, .count = e->device_count};
    braid_code code = place(e, body->graph, kind, device, st);
    if (code) return code;
    return bd_executable_compile_body(body->graph, kind == BD_CALLEE_PLACED ? &all : &here,
                                      e->disabled_rewrites, out, st);
}

static callee *make_callee(const bd_function_body *body, const char *name)
{
    const size_t args = (size_t)body->arg_count, rets = (size_t)body->ret_count;
    callee *c = bd_calloc(1, sizeof *c + (args + rets) * sizeof c->types[0]);
    if (args) memcpy(c->types, body->arg_types, args * sizeof c->types[0]);
    if (rets) memcpy(c->types + args, body->ret_types, rets * sizeof c->types[0]);
    c->name = bd_strdup(name);
    c->base = (bd_callee){.arg_types = c->types,
                          .ret_types = c->types + args,
                          .arg_count = body->arg_count,
                          .ret_count = body->ret_count};
    return c;
}

static braid_code instantiate(environment *e, const bd_func_ref *f, bd_callee_kind kind,
                              bd_function_body *body, braid_status *st)
{
    bd_arena arena = {0};
    bd_attr_tensors tensors = {0};
    bd_func func;
    braid_code code = bd_func_parse(&f->key, &arena, &tensors, &func, st);
    if (!code && kind == BD_CALLEE_GRADIENT)
        code = bd_function_gradient(e->library, &func, body, st);
    else if (!code)
        code = bd_function_instantiate(e->library, &func, body, st);
    for (size_t i = 0; i < tensors.len; i++)
        braid_tensor_free(tensors.items[i]);
    bd_array_free(&tensors);
    bd_arena_fini(&arena);
    return code;
}

static braid_code compile(environment *e, const bd_func_ref *f, bd_callee_kind kind, int device, callee **out,
                          braid_status *st)
{
    bd_function_body body;
    braid_code code = instantiate(e, f, kind, &body, st);
    if (code) return code;
    callee *c = make_callee(&body, f->name);
    c->base.state = bd_function_state(e->library, f->name);
    code = compile_body(e, &body, kind, device, &c->executable, st);
    bd_function_body_fini(&body);
    if (code) {
        bd_status_suffix(st, "\n\t In function %s", f->name);
        free_callee(c);
        return code;
    }
    *out = c;
    return BRAID_OK;
}

// ---- Finding ----

static callee *look_up(environment *e, const char *key, size_t len)
{
    bd_mutex_lock(&e->mu);
    callee *c = bd_map_get_n(&e->callees, key, len);
    bd_mutex_unlock(&e->mu);
    return c;
}

typedef struct callee_key {
    const char *data;
    size_t len;
    const bd_func_ref *function;
    bd_callee_kind kind;
    int device;
} callee_key;

static braid_code find_or_compile(environment *e, const callee_key *k, callee **out, braid_status *st)
{
    braid_code code = BRAID_OK;
    *out = look_up(e, k->data, k->len);
    if (*out) return BRAID_OK;
    bd_mutex_lock(&e->compile_mu);
    *out = look_up(e, k->data, k->len);
    if (!*out) code = compile(e, k->function, k->kind, k->device, out, st);
    bd_mutex_lock(&e->mu);
    if (!code) bd_map_put_n(&e->callees, k->data, k->len, *out);
    bd_mutex_unlock(&e->mu);
    bd_mutex_unlock(&e->compile_mu);
    return code;
}

static braid_code find(bd_function_runtime *fs, const bd_func_ref *f, bd_callee_kind kind,
                       const char *device_name, const bd_callee **out, braid_status *st)
{
    environment *e = environment_of(fs);
    const int device = find_device(e, device_name);
    if (device < 0)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Function %s is to run on %s, which is no device of this task (%s)", f->name,
                       device_name, fs->device);
    char small[256];
    const size_t len = f->key.len + 2;
    char *key = len <= sizeof small ? small : bd_malloc(len);
    memcpy(key, f->key.data, f->key.len);
    key[f->key.len] = (char)kind;
    key[f->key.len + 1] = (char)device; // devices of a process are few
    callee *c;
    const callee_key k = {.data = key, .len = len, .function = f, .kind = kind, .device = device};
    const braid_code code = find_or_compile(e, &k, &c, st);
    if (key != small) bd_free(key);
    *out = code ? NULL : &c->base;
    return code;
}

// ---- Calling ----

void bd_function_runtime_clear(bd_function_runtime *fs, const char *container)
{
    const environment *e = environment_of(fs);
    for (int i = 0; i < e->device_count; i++)
        bd_resources_clear(e->views[i].resources, container);
}

typedef struct call {
    bd_function_runtime *fs; // a reference
    const callee *callee;
    bd_function_done_fn done;
    void *arg;
    bd_step step;
    bd_call_frame frame;
    bool has_own_step;
    char container[40];
    braid_tensor values[]; // of arguments, then of results
} call;

static void drop_values(call *c, int from, int to)
{
    for (int i = from; i < to; i++)
        bd_tensor_fini(&c->values[i]);
}

static void free_call(call *c)
{
    bd_function_runtime *fs = c->fs;
    drop_values(c, 0, c->frame.arg_count + c->frame.ret_count);
    bd_slab_free(c);
    bd_function_runtime_unref(fs);
}

static braid_code check_results(const call *c, braid_status *st)
{
    for (int i = 0; i < c->frame.ret_count; i++) {
        if (!bd_tensor_is_set(&c->frame.rets[i]))
            return bd_fail(st, BRAID_INTERNAL, "Retval[%d] does not have value: function %s", i,
                           c->callee->name);
    }
    return BRAID_OK;
}

// The arguments go first: a result may then be the only one to hold its memory.
static void ended(void *arg, const braid_status *from)
{
    call *c = arg;
    BD_STATUS(st);
    bd_status_copy(st, from);
    if (!st->code) check_results(c, st);
    drop_values(c, 0, c->frame.arg_count);
    if (c->has_own_step) bd_function_runtime_clear(c->fs, c->container);
    bd_rendezvous_unref(c->step.rendezvous);
    bd_cancellation_unref(c->step.cancellation);
    c->done(c->arg, st->code ? NULL : c->frame.rets, st->code ? 0 : c->frame.ret_count, st);
    free_call(c);
}

static void start(void *arg)
{
    call *c = arg;
    // The callee lives as long as the environment, which the end of the call may drop before this returns.
    bd_function_runtime *fs = bd_function_runtime_ref(c->fs);
    bd_executable_start(c->callee->executable, &c->step, fs->pool, ended, c);
    bd_function_runtime_unref(fs);
}

// Sets the step of a call: fields of the caller's step, and new ones. A body that spans devices has a
// rendezvous of its own, because calls of one function would use the same keys.
static void set_step(call *c, const bd_invocation *from)
{
    const bool sends = bd_executable_uses_rendezvous(c->callee->executable);
    const bool is_cut = bd_executable_partition_count(c->callee->executable) > 1;
    c->has_own_step = !from->step;
    if (from->step) {
        c->step = *from->step;
    } else {
        c->step.id =
            (int64_t)(bd_random_u64() >> 2) + 1; // as the ids of sessions' steps: the upper two bits are 0
        c->step.pool = c->fs->pool;
        c->step.account = bd_account_current;
        snprintf(c->container, sizeof c->container, BD_STEP_CONTAINER_PREFIX "%" PRId64, c->step.id);
        c->step.container = c->container;
    }
    if (c->step.rendezvous && !is_cut)
        bd_rendezvous_ref(c->step.rendezvous);
    else
        c->step.rendezvous = sends ? bd_local_rendezvous_new() : NULL;
    c->step.functions = c->fs;
    c->step.call_depth++;
    c->step.frame = &c->frame;
    c->step.cancellation = bd_cancellation_new(from->step ? from->step->cancellation : from->cancellation);
}

static braid_code check_call(const callee *f, const bd_invocation *from, braid_status *st)
{
    if (from->step && from->step->call_depth >= BD_CALL_DEPTH_MAX)
        return bd_fail(
            st, BRAID_RESOURCE_EXHAUSTED,
            "Function %s is called from functions that call each other %d deep, which is the limit", f->name,
            BD_CALL_DEPTH_MAX);
    if (from->arg_count != f->base.arg_count)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Expects %d arguments, but %d is provided: function %s",
                       f->base.arg_count, from->arg_count, f->name);
    for (int i = 0; i < from->arg_count; i++) {
        if (from->args[i].dtype == bd_dtype_base(f->base.arg_types[i])) continue;
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Expects arg[%d] to be %s but %s is provided: function %s",
                       i, braid_dtype_name(bd_dtype_base(f->base.arg_types[i])),
                       braid_dtype_name(from->args[i].dtype), f->name);
    }
    return BRAID_OK;
}

static void call_function(bd_function_runtime *fs, const bd_callee *f, const bd_invocation *from)
{
    const callee *what = BD_CONTAINER_OF(f, callee, base);
    BD_STATUS(st);
    if (check_call(what, from, st)) {
        from->done(from->arg, NULL, 0, st);
        return;
    }
    const size_t values = (size_t)f->arg_count + (size_t)f->ret_count;
    call *c = bd_slab_alloc(sizeof *c + values * sizeof c->values[0]);
    c->fs = bd_function_runtime_ref(fs);
    c->callee = what;
    c->done = from->done;
    c->arg = from->arg;
    c->frame = (bd_call_frame){.args = c->values,
                               .arg_count = f->arg_count,
                               .rets = c->values + f->arg_count,
                               .ret_count = f->ret_count};
    for (int i = 0; i < f->arg_count; i++)
        bd_tensor_ref(&c->values[i], &from->args[i]);
    set_step(c, from);
    const bool is_deep = c->step.call_depth % NESTED_ON_STACK == 0;
    if (!is_deep || !fs->pool || !bd_thread_pool_submit(fs->pool, start, c)) start(c);
}

static void call_function_on(bd_function_runtime *fs, const bd_func_ref *f, const char *device,
                             const bd_invocation *from)
{
    environment *e = environment_of(fs);
    BD_STATUS(st);
    const bd_callee *what;
    if (e->remote && find_device(e, device) < 0)
        e->remote->ops->call(e->remote, &(bd_remote_call){e->library, f, device, e->disabled_rewrites, from});
    else if (find(fs, f, BD_CALLEE_LOCAL, device, &what, st))
        from->done(from->arg, NULL, 0, st);
    else
        call_function(fs, what, from);
}

// ---- Beginning and end ----

static void destroy(bd_function_runtime *fs)
{
    environment *e = environment_of(fs);
    size_t pos = 0;
    void *c;
    while (bd_map_next(&e->callees, &pos, NULL, &c))
        free_callee(c);
    bd_map_fini(&e->callees);
    bd_mutex_fini(&e->mu);
    bd_mutex_fini(&e->compile_mu);
    bd_library_unref(e->library);
    bd_resources_unref(e->own_resources);
    bd_remote_functions_unref(e->remote);
    bd_free(e->devices);
    bd_free(e->infos);
    bd_free(e->views);
    bd_free(e);
}

bd_function_runtime *bd_function_runtime_new(bd_library *library, const bd_function_surroundings *around)
{
    static const bd_function_runtime_ops ops = {
        .find = find, .call = call_function, .call_on = call_function_on, .destroy = destroy};
    const bd_local_devices *devices = around->devices;
    const size_t count = (size_t)devices->count;
    environment *e = bd_calloc(1, sizeof *e);
    atomic_init(&e->refs, 1);
    bd_mutex_init(&e->mu);
    bd_mutex_init(&e->compile_mu);
    e->library = bd_library_ref(library);
    e->own_resources = bd_resources_ref(around->resources);
    e->remote = bd_remote_functions_ref(around->remote);
    e->disabled_rewrites = around->disabled_rewrites;
    e->device_count = devices->count;
    e->devices = bd_memdup(devices->devices, count * sizeof(bd_device *));
    e->infos = bd_memdup(devices->infos, count * sizeof *e->infos);
    e->views = bd_calloc(count, sizeof *e->views);
    for (size_t i = 0; i < count; i++) {
        const bd_device *d = e->devices[i];
        e->views[i] = (bd_function_runtime){.ops = &ops,
                                            .refs = &e->refs,
                                            .device = d->name,
                                            .resources = e->own_resources ? e->own_resources : d->resources,
                                            .pool = d->pool,
                                            .io_pool = d->io_pool};
    }
    return &e->views[0];
}

bd_function_runtime *bd_function_runtime_on(bd_function_runtime *fs, const bd_device *device)
{
    const environment *e = environment_of(fs);
    const int i = find_device(e, device->name);
    return i < 0 ? fs : &e->views[i];
}
