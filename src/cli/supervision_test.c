// What `braid run` does when tasks end: the rules without processes.
#include "base/alloc.h"
#include "base/clock.h"
#include "base/strbuf.h"
#include "base/testing/test.h"
#include "supervision.h"
#include <signal.h>
#include <string.h>

enum {
    TASKS = 3,
    PS = 0,
    CHIEF = 1,
    WORKER = 2
};

typedef struct fixture {
    bd_supervision s;
    bd_supervised tasks[TASKS], *list[TASKS];
    bd_strbuf done, said; // what was done to tasks: "start ps/0, ..."; what was said
} fixture;

static void note(fixture *f, const char *what, const bd_supervised *t)
{
    bd_strbuf_appendf(&f->done, "%s%s %s", f->done.len ? ", " : "", what, t->name);
}

static bool start(void *arg, bd_supervised *t)
{
    note(arg, "start", t);
    return true;
}

static void ask_to_end(void *arg, bd_supervised *t, int sig)
{
    note(arg, sig == SIGTERM ? "end" : "signal", t);
}

static void kill_task(void *arg, bd_supervised *t)
{
    note(arg, "kill", t);
}

static void say(void *arg, const char *message)
{
    fixture *f = arg;
    bd_strbuf_appendf(&f->said, "%s\n", message);
}

static int set_up(void **state)
{
    static const char *const names[TASKS] = {"ps/0", "worker/0", "worker/1"};
    fixture *f = bd_calloc(1, sizeof *f);
    for (int i = 0; i < TASKS; i++) {
        f->tasks[i] = (bd_supervised){.name = names[i], .is_ps = i == PS};
        f->list[i] = &f->tasks[i];
    }
    f->s = (bd_supervision){
        .env = {.start = start, .ask_to_end = ask_to_end, .kill = kill_task, .say = say, .arg = f},
        .tasks = f->list,
        .count = TASKS,
        .max_restarts = 2,
        .grace_ms = 60000};
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    bd_strbuf_fini(&f->done);
    bd_strbuf_fini(&f->said);
    bd_free(f);
    return 0;
}

static void begin(fixture *f, int max_restarts)
{
    f->s.max_restarts = max_restarts;
    bd_supervision_begin(&f->s);
    assert_string_equal(bd_strbuf_str(&f->done), "start ps/0, start worker/0, start worker/1");
    bd_strbuf_clear(&f->done);
}

static void end_well(fixture *f, int task)
{
    bd_supervision_task_ended(&f->s, &f->tasks[task], 0, 0);
}

static void kill_one(fixture *f, int task)
{
    bd_supervision_task_ended(&f->s, &f->tasks[task], 0, SIGKILL);
}

// Lets all deadlines pass.
static void pass_deadlines(fixture *f)
{
    for (int i = 0; i < TASKS; i++)
        if (f->tasks[i].restart_ns != BD_FOREVER) f->tasks[i].restart_ns = 0;
    if (f->s.phase_deadline != BD_FOREVER) f->s.phase_deadline = 0;
    bd_supervision_act(&f->s);
}

static void expect_done(fixture *f, const char *what)
{
    assert_string_equal(bd_strbuf_str(&f->done), what);
    bd_strbuf_clear(&f->done);
}

static void expect_said(const fixture *f, const char *words)
{
    if (!strstr(bd_strbuf_str(&f->said), words))
        fail_msg("'%s' is not in: %s", words, bd_strbuf_str(&f->said));
}

// ---- Tests ----

static void parameter_servers_are_ended_after_the_others(void **state)
{
    fixture *f = *state;
    begin(f, 0);
    end_well(f, CHIEF);
    pass_deadlines(f);
    expect_done(f, "");
    end_well(f, WORKER);
    pass_deadlines(f);
    expect_done(f, "end ps/0");
    bd_supervision_task_ended(&f->s, &f->tasks[PS], 0, SIGTERM);
    assert_int_equal(bd_supervision_running(&f->s, true), 0);
    assert_int_equal(f->s.exit_code, 0);
}

static void a_task_that_fails_is_restarted_until_it_is_given_up(void **state)
{
    fixture *f = *state;
    begin(f, 2);
    bd_supervision_task_ended(&f->s, &f->tasks[WORKER], 3, 0);
    const int64_t first_pause = f->tasks[WORKER].restart_ns - bd_now_ns(); // at most
    assert_true(bd_supervision_deadline(&f->s) == f->tasks[WORKER].restart_ns);
    pass_deadlines(f);
    expect_done(f, "start worker/1");
    const int64_t killed_ns = bd_now_ns();
    kill_one(f, WORKER);
    assert_true(f->tasks[WORKER].restart_ns - killed_ns > first_pause * 3 / 2); // twice as long, at least
    pass_deadlines(f);
    expect_done(f, "start worker/1");
    bd_supervision_task_ended(&f->s, &f->tasks[WORKER], 5, 0);
    pass_deadlines(f);
    expect_done(f, "");
    expect_said(f, "worker/1 ended with exit code 3; restart 1 of 2 in 0.1 s");
    expect_said(f, "worker/1 was killed by signal 9 (Killed); restart 2 of 2 in 0.2 s");
    expect_said(f, "worker/1 ended with exit code 5; it has been restarted 2 times and is given up");
    assert_int_equal(f->s.exit_code, 3); // the first cause
}

static void without_a_parameter_server_the_others_are_ended(void **state)
{
    fixture *f = *state;
    begin(f, 0);
    kill_one(f, PS);
    expect_said(f,
                "without ps/0 the training cannot go on: the other tasks are ended (--restarts N restarts");
    expect_done(f, "");
    pass_deadlines(f);
    expect_done(f, "end worker/0, end worker/1");
    end_well(f, CHIEF);
    pass_deadlines(f);
    expect_done(f, "kill worker/1");
    kill_one(f, WORKER);
    assert_int_equal(bd_supervision_running(&f->s, true), 0);
    assert_int_equal(f->s.exit_code, 128 + SIGKILL);
}

static void a_worker_that_had_ended_trains_the_steps_again_that_a_parameter_server_has_lost(void **state)
{
    fixture *f = *state;
    begin(f, 1);
    end_well(f, WORKER);
    kill_one(f, PS);
    expect_said(f,
                "worker/1 had ended and is started again, because a parameter server has lost its variables");
    pass_deadlines(f);
    expect_done(f, "start ps/0, start worker/1");
}

static void a_parameter_server_that_had_ended_is_started_again_with_a_worker_that_is_not_done(void **state)
{
    fixture *f = *state;
    begin(f, 1);
    end_well(f, PS);
    end_well(f, WORKER);
    kill_one(f, CHIEF);
    pass_deadlines(f);
    expect_done(f, "start ps/0, start worker/0, start worker/1");
}

static void a_task_whose_work_was_done_is_not_restarted(void **state)
{
    fixture *f = *state;
    begin(f, 1);
    f->tasks[WORKER].said_done = true;
    kill_one(f, WORKER);
    expect_said(f, "worker/1 was killed by signal 9 (Killed) when its work was done: it is not restarted");
    end_well(f, CHIEF);
    end_well(f, PS);
    assert_int_equal(bd_supervision_running(&f->s, true), 0);
    assert_int_equal(f->s.exit_code, 0);
    expect_done(f, "");
}

static void a_task_that_fails_by_itself_when_its_work_was_done_fails_the_run(void **state)
{
    fixture *f = *state;
    begin(f, 1);
    f->tasks[WORKER].said_done = true;
    bd_supervision_task_ended(&f->s, &f->tasks[WORKER], 4, 0);
    assert_int_equal(f->s.exit_code, 4);
}

static void a_run_goes_on_with_one_process_of_a_replicated_parameter_server(void **state)
{
    fixture *f = *state;
    f->tasks[CHIEF].is_ps = true;
    f->tasks[CHIEF].partner = &f->tasks[PS];
    f->tasks[PS].partner = &f->tasks[CHIEF];
    begin(f, 0);
    kill_one(f, PS);
    expect_said(f, "ps/0 was killed by signal 9 (Killed); worker/0 goes on without a second copy");
    assert_false(f->s.has_failed);
    kill_one(f, CHIEF);
    assert_int_equal(f->s.exit_code, 128 + SIGKILL);
}

static void a_signal_asks_all_to_end_and_a_second_one_kills(void **state)
{
    fixture *f = *state;
    begin(f, 1);
    kill_one(f, WORKER);
    bd_supervision_fail(&f->s, 128 + SIGTERM);
    bd_supervision_end(&f->s, SIGTERM);
    expect_done(f, "end ps/0, end worker/0"); // worker/1 is not restarted any more
    bd_supervision_end(&f->s, SIGTERM);
    expect_done(f, "kill ps/0, kill worker/0");
    assert_int_equal(f->s.exit_code, 128 + SIGTERM);
}

// worker/1 is an evaluator in the next tests.
static void an_evaluator_may_end_after_the_others(void **state)
{
    fixture *f = *state;
    f->tasks[WORKER].is_evaluator = true;
    begin(f, 0);
    end_well(f, CHIEF);
    pass_deadlines(f);
    assert_string_equal(bd_strbuf_str(&f->done), "");
    end_well(f, WORKER);
    pass_deadlines(f);
    assert_string_equal(bd_strbuf_str(&f->done), "end ps/0");
    assert_int_equal(f->s.exit_code, 0);
}

static void a_failure_of_training_ends_the_evaluator(void **state)
{
    fixture *f = *state;
    f->tasks[WORKER].is_evaluator = true;
    begin(f, 0);
    bd_supervision_task_ended(&f->s, &f->tasks[CHIEF], 3, 0);
    assert_string_equal(bd_strbuf_str(&f->done), "end ps/0, end worker/1");
    assert_int_equal(f->s.exit_code, 3);
}

static void a_failed_evaluator_does_not_end_training(void **state)
{
    fixture *f = *state;
    f->tasks[WORKER].is_evaluator = true;
    begin(f, 0);
    bd_supervision_task_ended(&f->s, &f->tasks[WORKER], 3, 0);
    assert_string_equal(bd_strbuf_str(&f->done), "");
    end_well(f, CHIEF);
    assert_int_equal(f->s.exit_code, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(parameter_servers_are_ended_after_the_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_task_that_fails_is_restarted_until_it_is_given_up, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(without_a_parameter_server_the_others_are_ended, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_worker_that_had_ended_trains_the_steps_again_that_a_parameter_server_has_lost, set_up,
            tear_down),
        cmocka_unit_test_setup_teardown(
            a_parameter_server_that_had_ended_is_started_again_with_a_worker_that_is_not_done, set_up,
            tear_down),
        cmocka_unit_test_setup_teardown(a_task_whose_work_was_done_is_not_restarted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_task_that_fails_by_itself_when_its_work_was_done_fails_the_run,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_run_goes_on_with_one_process_of_a_replicated_parameter_server,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_signal_asks_all_to_end_and_a_second_one_kills, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_evaluator_may_end_after_the_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_failure_of_training_ends_the_evaluator, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_failed_evaluator_does_not_end_training, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
