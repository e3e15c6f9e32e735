// Session creators: the built-in ones, and a program's own around one of them.
// labels: concurrent
#include "base/testing/test.h"

#include "base/alloc.h"
#include "train/testing/small_model.h"
#include <string.h>

// ---- A creator of a program's own ----

// Calls another creator, counts, and can fail instead.
typedef struct counting_creator {
    braid_session_creator creator;
    braid_session_creator *inner; // owned; NULL: it returns no session
    braid_code code;              // of its first sessions
    int failures;                 // how many of these are still to come
    int *created, *freed;
} counting_creator;

static void begin_inner(braid_session_creator *creator, braid_graph *g)
{
    braid_session_creator *inner = ((counting_creator *)creator)->inner;
    if (inner) inner->begin(inner, g);
}

static braid_session *create_by_inner(braid_session_creator *creator, braid_graph *g,
                                      braid_session_request *request, braid_status *st)
{
    counting_creator *c = (counting_creator *)creator;
    ++*c->created;
    if (c->failures-- > 0) {
        bd_fail(st, c->code, "no session today");
        return NULL;
    }
    return c->inner ? c->inner->create_session(c->inner, g, request, st) : NULL;
}

static void free_inner(braid_session_creator *creator)
{
    counting_creator *c = (counting_creator *)creator;
    if (c->inner) c->inner->free(c->inner);
    ++*c->freed;
    bd_free(c);
}

static int created, freed;

static counting_creator *count_around(braid_session_creator *inner)
{
    created = freed = 0;
    counting_creator *c = bd_calloc(1, sizeof *c);
    c->creator = (braid_session_creator){
        .is_chief = true, .begin = begin_inner, .create_session = create_by_inner, .free = free_inner};
    c->inner = inner;
    c->created = &created;
    c->freed = &freed;
    return c;
}

static braid_monitored_session *open_by(const small_model *m, counting_creator *c, braid_hook *const *hooks)
{
    return braid_monitored_session_open(m->graph,
                                        &(braid_session_config){.creator = &c->creator, .hooks = hooks});
}

// A hook that loses the session of its first step.
static braid_code lose_once(braid_hook *hook, braid_monitored_session *s, braid_tensor *const *values,
                            braid_status *st)
{
    (void)s, (void)values;
    if (!hook->after_run) return BRAID_OK;
    hook->after_run = NULL;
    return bd_fail(st, BRAID_UNAVAILABLE, "the session is lost");
}

static void each_session_is_made_by_the_programs_creator(void **state)
{
    (void)state;
    small_model m = small_model_make();
    braid_hook loser = {.after_run = lose_once};
    braid_monitored_session *s =
        open_by(&m, count_around(braid_chief_session_creator(NULL)), BRAID_HOOKS(&loser));
    assert_true(braid_monitored_session_is_chief(s));
    assert_int_equal(created, 1);
    assert_int_equal(small_model_step(s, &m), BRAID_OK);
    assert_int_equal(created, 2);
    assert_float_equal(small_model_loss(s, &m), 9 * 0.81f, 1e-5f); // the new session's variables began anew
    assert_int_equal(freed, 0);
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    assert_int_equal(freed, 1);
    braid_graph_free(m.graph);
}

static void a_creator_that_fails_is_asked_again_when_that_may_help(void **state)
{
    (void)state;
    static const struct {
        braid_code code;
        int created;
    } table[] = {{BRAID_UNAVAILABLE, 3}, {BRAID_ABORTED, 3}, {BRAID_PERMISSION_DENIED, 1}};
    for (size_t i = 0; i < BD_COUNTOF(table); i++) {
        small_model m = small_model_make();
        counting_creator *c = count_around(braid_chief_session_creator(NULL));
        c->code = table[i].code;
        c->failures = 2;
        braid_monitored_session *s = open_by(&m, c, NULL);
        assert_int_equal(created, table[i].created);
        const braid_code want = table[i].created == 1 ? table[i].code : BRAID_OK;
        assert_int_equal(braid_monitored_session_close(s), want);
        assert_int_equal(freed, 1);
        braid_graph_free(m.graph);
    }
}

static void a_creator_must_return_a_session_or_an_error(void **state)
{
    (void)state;
    BD_STATUS(st);
    small_model m = small_model_make();
    braid_monitored_session *s = open_by(&m, count_around(NULL), NULL);
    braid_monitored_session_status(s, st);
    assert_error(st, BRAID_INTERNAL, "neither a session nor an error");
    braid_monitored_session_close(s);
    braid_graph_free(m.graph);
}

static void a_creator_needs_its_function(void **state)
{
    (void)state;
    BD_STATUS(st);
    small_model m = small_model_make();
    braid_session_creator empty = {.is_chief = true};
    braid_monitored_session *s =
        braid_monitored_session_open(m.graph, &(braid_session_config){.creator = &empty});
    braid_monitored_session_status(s, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "has no create_session");
    braid_monitored_session_close(s);
    braid_graph_free(m.graph);
}

// ---- The built-in creators ----

// The chief's creator makes the values that another worker's creator waits for. The strings of the manager
// are copied.
static void the_creators_of_chief_and_worker_share_the_variables(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_server *server = braid_server_start_local(NULL, st);
    assert_ok(st);
    char *target = bd_strdup(braid_server_target(server));
    small_model of_chief = small_model_make(), of_worker = small_model_make();
    braid_session_creator *chief =
        braid_chief_session_creator(&(braid_session_manager){.session.target = target});
    braid_session_creator *worker = braid_worker_session_creator(
        &(braid_session_manager){.session.target = target, .wait_timeout_ms = 10000});
    memset(target, 'x', strlen(target));
    bd_free(target);
    braid_monitored_session *first =
        braid_monitored_session_open(of_chief.graph, &(braid_session_config){.creator = chief});
    assert_int_equal(small_model_step(first, &of_chief), BRAID_OK);
    braid_monitored_session *second =
        braid_monitored_session_open(of_worker.graph, &(braid_session_config){.creator = worker});
    assert_false(braid_monitored_session_is_chief(second));
    assert_float_equal(small_model_loss(second, &of_worker), 9 * 0.81f, 1e-5f);
    assert_int_equal(braid_monitored_session_close(second), BRAID_OK);
    assert_int_equal(braid_monitored_session_close(first), BRAID_OK);
    braid_graph_free(of_chief.graph);
    braid_graph_free(of_worker.graph);
    braid_server_free(server);
}

// It would wait for hours for a process that cannot see its variables.
static void a_worker_in_this_process_has_no_chief_to_wait_for(void **state)
{
    (void)state;
    BD_STATUS(st);
    small_model m = small_model_make();
    braid_monitored_session *s = braid_monitored_session_open(
        m.graph, &(braid_session_config){.creator = braid_worker_session_creator(NULL)});
    braid_monitored_session_status(s, st);
    assert_error(st, BRAID_FAILED_PRECONDITION, "a session in this process is seen by no other process");
    braid_monitored_session_close(s);
    braid_status_clear(st);
    braid_session_manager manager = {.wait_timeout_ms = 0};
    assert_null(braid_wait_for_session(m.graph, &manager, st));
    assert_error(st, BRAID_FAILED_PRECONDITION, "braid_prepare_session");
    braid_graph_free(m.graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_session_is_made_by_the_programs_creator),
        cmocka_unit_test(a_creator_that_fails_is_asked_again_when_that_may_help),
        cmocka_unit_test(a_creator_must_return_a_session_or_an_error),
        cmocka_unit_test(a_creator_needs_its_function),
        cmocka_unit_test(a_worker_in_this_process_has_no_chief_to_wait_for),
        cmocka_unit_test(the_creators_of_chief_and_worker_share_the_variables),
    };
    return BD_RUN_TESTS(tests);
}
