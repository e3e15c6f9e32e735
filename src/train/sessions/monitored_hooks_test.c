// Tests of hooks of monitored sessions: their order, their arguments, and their errors.
// labels: concurrent
#include "base/testing/test.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "train/testing/small_model.h"
#include <stdio.h>
#include <unistd.h>

// ---- A hook that writes down what happens ----

typedef struct recorder {
    braid_hook hook;
    bd_strbuf *diary;
    braid_out fetched;  // with each step; op NULL: no fetch
    int64_t fail_after; // the step after which it fails; 0: never
} recorder;

static void on_begin(braid_hook *hook, braid_graph *g)
{
    recorder *r = (recorder *)hook;
    bd_strbuf_append(r->diary, "begin ");
    assert_int_equal(braid_graph_status(g, NULL), BRAID_OK);
}

static braid_code on_created(braid_hook *hook, braid_monitored_session *s, braid_status *st)
{
    (void)st;
    recorder *r = (recorder *)hook;
    bd_strbuf_appendf(r->diary, "created@%lld ", (long long)braid_monitored_session_global_step(s));
    return BRAID_OK;
}

static braid_code on_before(braid_hook *hook, braid_monitored_session *s, braid_hook_request *request,
                            braid_status *st)
{
    (void)s, (void)st;
    recorder *r = (recorder *)hook;
    bd_strbuf_append(r->diary, "before ");
    if (r->fetched.op) braid_hook_fetch(request, r->fetched);
    return BRAID_OK;
}

static braid_code on_after(braid_hook *hook, braid_monitored_session *s, braid_tensor *const *values,
                           braid_status *st)
{
    recorder *r = (recorder *)hook;
    bd_strbuf_append(r->diary, "after");
    if (r->fetched.op) bd_strbuf_appendf(r->diary, ":%.0f", (double)*(float *)braid_tensor_data(values[0]));
    bd_strbuf_append(r->diary, " ");
    if (r->fail_after && braid_monitored_session_global_step(s) >= r->fail_after - 1)
        return bd_fail(st, BRAID_DATA_LOSS, "the hook has had enough");
    return BRAID_OK;
}

static braid_code on_end(braid_hook *hook, braid_monitored_session *s, braid_status *st)
{
    (void)s, (void)st;
    bd_strbuf_append(((recorder *)hook)->diary, "end ");
    return BRAID_OK;
}

static void on_failed(braid_hook *hook, braid_monitored_session *s, const braid_status *error)
{
    (void)s;
    bd_strbuf_appendf(((recorder *)hook)->diary, "%s ", braid_code_name(braid_status_code(error)));
}

static void on_free(braid_hook *hook)
{
    bd_strbuf_append(((recorder *)hook)->diary, "free");
    bd_free(hook);
}

static recorder *record(bd_strbuf *diary)
{
    recorder *r = bd_calloc(1, sizeof *r);
    r->hook = (braid_hook){.begin = on_begin,
                           .after_create_session = on_created,
                           .before_run = on_before,
                           .after_run = on_after,
                           .end = on_end,
                           .failed = on_failed,
                           .free = on_free};
    r->diary = diary;
    return r;
}

static void expect_diary(bd_strbuf *diary, const char *want)
{
    assert_string_equal(bd_strbuf_str(diary), want);
    bd_strbuf_fini(diary);
}

// ---- A hook that runs the session itself ----

typedef struct evaluator {
    braid_hook hook;
    const small_model *model;
    float before, after, fetched; // of the last step
} evaluator;

// Fetches other outputs than the step does.
static float evaluate_more(braid_monitored_session *s, const small_model *m)
{
    braid_tensor *x = NULL, *loss[12] = {NULL};
    braid_fetch fetches[14] = {{m->x.read, &x}};
    for (int i = 0; i < 12; i++)
        fetches[1 + i] = (braid_fetch){m->loss, &loss[i]};
    assert_int_equal(braid_evaluate(s, NULL, fetches), BRAID_OK);
    float distance = 3 - *(float *)braid_tensor_data(x);
    for (int i = 0; i < 12; i++) {
        assert_float_equal(*(float *)braid_tensor_data(loss[i]), distance * distance, 1e-4f);
        braid_tensor_free(loss[i]);
    }
    braid_tensor_free(x);
    return distance * distance;
}

static braid_code evaluate_before(braid_hook *hook, braid_monitored_session *s, braid_hook_request *request,
                                  braid_status *st)
{
    (void)st;
    evaluator *e = (evaluator *)hook;
    e->before = evaluate_more(s, e->model);
    braid_hook_fetch(request, e->model->loss);
    return BRAID_OK;
}

static braid_code evaluate_after(braid_hook *hook, braid_monitored_session *s, braid_tensor *const *values,
                                 braid_status *st)
{
    (void)st;
    evaluator *e = (evaluator *)hook;
    e->after = evaluate_more(s, e->model);
    e->fetched = *(float *)braid_tensor_data(values[0]); // still the step's
    return BRAID_OK;
}

static void free_evaluator(braid_hook *hook)
{
    bd_free(hook);
}

static evaluator *evaluate_around(const small_model *m)
{
    evaluator *e = bd_calloc(1, sizeof *e);
    e->hook =
        (braid_hook){.before_run = evaluate_before, .after_run = evaluate_after, .free = free_evaluator};
    e->model = m;
    return e;
}

// ---- Tests ----

static void hooks_are_called_around_each_step(void **state)
{
    (void)state;
    bd_strbuf diary = {0};
    small_model m = small_model_make();
    recorder *r = record(&diary);
    r->fetched = m.loss;
    braid_monitored_session *s = small_model_open(&m, BRAID_HOOKS(&r->hook));
    small_model_step(s, &m);
    small_model_loss(s, &m); // hooks do not see an evaluation
    small_model_step(s, &m);
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    expect_diary(&diary, "begin created@0 before after:9 before after:7 end free");
    braid_graph_free(m.graph);
}

static void a_hook_may_evaluate(void **state)
{
    (void)state;
    bd_strbuf diary = {0};
    small_model m = small_model_make();
    recorder *r = record(&diary);
    r->fetched = m.loss;
    evaluator *first = evaluate_around(&m), *last = evaluate_around(&m);
    braid_monitored_session *s = small_model_open(&m, BRAID_HOOKS(&first->hook, &r->hook, &last->hook));
    for (float loss = 9; loss > 5; loss *= 0.81f) {
        braid_tensor *fetched = NULL, *x = NULL, *rate = braid_tensor_float(0.1f);
        assert_int_equal(
            braid_run(s, BRAID_FEED({m.rate, rate}), BRAID_FETCH({m.rate, &x}, {m.loss, &fetched}), m.train),
            BRAID_OK);
        assert_float_equal(*(float *)braid_tensor_data(fetched), loss, 1e-4f);
        assert_float_equal(*(float *)braid_tensor_data(x), 0.1f, 0);
        assert_float_equal(first->fetched, loss, 1e-4f);
        assert_float_equal(first->before, loss, 1e-4f);
        assert_float_equal(first->after, loss * 0.81f, 1e-4f);
        assert_float_equal(last->fetched, loss, 1e-4f);
        assert_float_equal(last->after, loss * 0.81f, 1e-4f);
        braid_tensor_free(fetched);
        braid_tensor_free(x);
        braid_tensor_free(rate);
    }
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    expect_diary(&diary, "begin created@0 before after:9 before after:7 before after:6 end free");
    braid_graph_free(m.graph);
}

static void program_and_hook_may_fetch_the_same(void **state)
{
    (void)state;
    bd_strbuf diary = {0};
    small_model m = small_model_make();
    recorder *r = record(&diary);
    r->fetched = m.loss;
    braid_monitored_session *s = small_model_open(&m, BRAID_HOOKS(&r->hook));
    braid_tensor *a = NULL, *b = NULL;
    assert_int_equal(braid_run(s, NULL, BRAID_FETCH({m.loss, &a}, {m.loss, &b}), NULL), BRAID_OK);
    assert_float_equal(*(float *)braid_tensor_data(a), 9, 1e-6f);
    assert_float_equal(*(float *)braid_tensor_data(b), 9, 1e-6f);
    braid_tensor_free(a);
    braid_tensor_free(b);
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    bd_strbuf_fini(&diary);
    braid_graph_free(m.graph);
}

static void progress_ends_with_the_last_step(void **state)
{
    (void)state;
    small_model m = small_model_make();
    FILE *file = tmpfile();
    int kept = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    braid_monitored_session *s =
        small_model_open(&m, BRAID_HOOKS(braid_stop_at_step(3), braid_progress(m.loss, 3)));
    while (!braid_should_stop(s))
        small_model_step(s, &m);
    braid_code code = braid_monitored_session_close(s);
    dup2(kept, STDERR_FILENO);
    close(kept);
    assert_int_equal(code, BRAID_OK);
    rewind(file);
    int last_step = 0, end = 0;
    double seconds, rate;
    assert_int_equal(fscanf(file, "step %d after %lf s, %lf steps/s%n", &last_step, &seconds, &rate, &end),
                     3);
    assert_int_equal(last_step, 3);
    assert_true(end > 0 && getc(file) == '\n' && getc(file) == EOF);
    fclose(file);
    braid_graph_free(m.graph);
}

static void the_first_error_stays(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_strbuf diary = {0};
    small_model m = small_model_make();
    braid_monitored_session *s = small_model_open(&m, BRAID_HOOKS(&record(&diary)->hook));
    braid_tensor *value = NULL;
    assert_int_equal(braid_run(s, NULL, BRAID_FETCH({m.loss, &value}), m.train), BRAID_INVALID_ARGUMENT);
    assert_null(value);
    assert_true(braid_should_stop(s));
    braid_monitored_session_status(s, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "rate"); // it was not fed
    assert_int_equal(small_model_step(s, &m), BRAID_INVALID_ARGUMENT);
    assert_int_equal(braid_monitored_session_close(s), BRAID_INVALID_ARGUMENT);
    expect_diary(&diary, "begin created@0 before InvalidArgument free");
    braid_graph_free(m.graph);
}

// A queue that is filled and closed before training: input that ends.
typedef struct input {
    braid_op *enqueue, *close;
    braid_out next;
} input;

static input make_input(braid_graph *g)
{
    static const braid_dtype dtype = BRAID_FLOAT;
    input in;
    braid_op_desc *d = braid_op_begin(g, "FIFOQueueV2", "input");
    braid_op_attr_type_list(d, "component_types", &dtype, 1);
    braid_out queue = braid_op_end_out(d);
    braid_out one = braid_const_float(g, NULL, 1);
    d = braid_op_begin(g, "QueueEnqueueV2", NULL);
    braid_op_input(d, queue);
    braid_op_input_list(d, &one, 1);
    in.enqueue = braid_op_end(d);
    d = braid_op_begin(g, "QueueDequeueV2", NULL);
    braid_op_input(d, queue);
    braid_op_attr_type_list(d, "component_types", &dtype, 1);
    in.next = braid_op_end_out(d);
    d = braid_op_begin(g, "QueueCloseV2", NULL);
    braid_op_input(d, queue);
    in.close = braid_op_end(d);
    return in;
}

static void the_end_of_the_input_ends_training_without_an_error(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_strbuf diary = {0};
    small_model m = small_model_make();
    input in = make_input(m.graph);
    braid_monitored_session *s = small_model_open(&m, BRAID_HOOKS(&record(&diary)->hook));
    braid_session *raw = braid_monitored_session_raw(s);
    braid_op *const fill[] = {in.enqueue, in.enqueue, in.close};
    for (int i = 0; i < 3; i++) {
        braid_run_args args = {.targets = &fill[i], .target_count = 1};
        assert_int_equal(braid_session_run(raw, &args, st), BRAID_OK);
    }
    braid_tensor *value = NULL;
    int steps = 0;
    braid_code code = BRAID_OK;
    for (; !braid_should_stop(s); steps += code == BRAID_OK) {
        code = braid_run(s, NULL, BRAID_FETCH({in.next, &value}), NULL);
        if (!code) braid_tensor_free(value);
    }
    assert_int_equal(steps, 2);
    assert_int_equal(code, BRAID_OUT_OF_RANGE);
    assert_int_equal(braid_monitored_session_status(s, st), BRAID_OK);
    assert_float_equal(small_model_loss(s, &m), 9, 1e-6f); // one may still evaluate
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    expect_diary(&diary, "begin created@0 before after before after before end free");
    braid_graph_free(m.graph);
}

static void an_error_of_a_hook_is_the_sessions(void **state)
{
    (void)state;
    bd_strbuf diary = {0};
    small_model m = small_model_make();
    recorder *r = record(&diary);
    r->fail_after = 2;
    braid_monitored_session *s = small_model_open(&m, BRAID_HOOKS(&r->hook));
    int steps = 0;
    for (; !braid_should_stop(s); steps++)
        small_model_step(s, &m);
    assert_true(steps >= 1 && steps <= 2);
    assert_int_equal(braid_exit_code(braid_monitored_session_close(s)), 1);
    bd_strbuf_fini(&diary);
    braid_graph_free(m.graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hooks_are_called_around_each_step),
        cmocka_unit_test(a_hook_may_evaluate),
        cmocka_unit_test(program_and_hook_may_fetch_the_same),
        cmocka_unit_test(progress_ends_with_the_last_step),
        cmocka_unit_test(the_first_error_stays),
        cmocka_unit_test(the_end_of_the_input_ends_training_without_an_error),
        cmocka_unit_test(an_error_of_a_hook_is_the_sessions),
    };
    return BD_RUN_TESTS(tests);
}
