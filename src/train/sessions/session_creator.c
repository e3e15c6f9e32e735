// The session creators of the chief and of other workers.
#include "train/sessions/session_creator.h"

#include "base/alloc.h"
#include "base/array.h"
#include "train/sessions/session_manager.h"

typedef struct managed_creator {
    braid_session_creator creator;
    braid_session_manager manager;
    train_bootstrap boot;     // what it remembers from one session to the next
    BD_ARRAY(char *) strings; // that `manager` points to
    const char **filters;     // of manager.session
} managed_creator;

static void begin(braid_session_creator *creator, braid_graph *g)
{
    train_session_manager_finalize(&((managed_creator *)creator)->manager, g);
}

static braid_session *create_session(braid_session_creator *creator, braid_graph *g,
                                     braid_session_request *request, braid_status *st)
{
    managed_creator *c = (managed_creator *)creator;
    braid_session_options options = c->manager.session;
    if (!options.open_timeout_ms) options.open_timeout_ms = request->open_timeout_ms;
    if (train_session_manager_bootstrap(&c->manager, &c->boot, st)) return NULL;
    braid_session *s = braid_session_open(g, &options, st);
    request->is_unreachable = !s && !options.server;
    request->has_server = options.server != NULL;
    request->has_target = !options.server && options.target && *options.target;
    request->is_hopeless = c->boot.is_hopeless = false;
    if (!s) return NULL;
    c->boot.role = request->role;
    train_bootstrap_run(&c->boot, s, st);
    request->role = c->boot.role;
    // That a remote master cannot be reached has the same code, and may pass.
    request->is_hopeless = st->code && c->boot.is_hopeless && options.server;
    return train_session_if_ok(s, st);
}

static void release(braid_session_creator *creator)
{
    managed_creator *c = (managed_creator *)creator;
    for (size_t i = 0; i < c->strings.len; i++)
        bd_free(c->strings.items[i]);
    bd_array_free(&c->strings);
    bd_free(c->filters);
    bd_free(c);
}

static const char *keep_string(managed_creator *c, const char *text)
{
    if (!text) return NULL;
    char *copy = bd_strdup(text);
    bd_array_push(&c->strings, copy);
    return copy;
}

static void copy_strings(managed_creator *c)
{
    braid_session_manager *m = &c->manager;
    m->checkpoint_dir = keep_string(c, m->checkpoint_dir);
    m->checkpoint_path = keep_string(c, m->checkpoint_path);
    m->session.target = keep_string(c, m->session.target);
    const int count = m->session.device_filter_count;
    c->filters = bd_calloc((size_t)(count > 0 ? count : 0) + 1, sizeof *c->filters);
    for (int i = 0; i < count; i++)
        c->filters[i] = keep_string(c, m->session.device_filters[i]);
    m->session.device_filters = c->filters;
}

static braid_session_creator *creator_new(const braid_session_manager *m, bool is_chief)
{
    static const braid_session_manager defaults;
    managed_creator *c = bd_calloc(1, sizeof *c);
    c->creator = (braid_session_creator){
        .is_chief = is_chief, .begin = begin, .create_session = create_session, .free = release};
    c->manager = m ? *m : defaults;
    copy_strings(c);
    return &c->creator;
}

braid_session_creator *braid_chief_session_creator(const braid_session_manager *how)
{
    return creator_new(how, true);
}

braid_session_creator *braid_worker_session_creator(const braid_session_manager *how)
{
    return creator_new(how, false);
}
