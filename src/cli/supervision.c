// The supervision of a run: what happens when a task ends, or when something is due.
#include "supervision.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/strbuf.h"
#include <signal.h>
#include <string.h>

// A parameter server of Braid ends by itself when its workers are done; any other is asked to after this.
#define PS_GRACE_MS 300
// Without a parameter server the training cannot go on: the others get this time to say so and end.
#define PS_LOST_GRACE_MS 2000
// The pause before a restart doubles with each one, until the task has run for a while.
#define RESTART_PAUSE_MIN_MS 100
#define RESTART_PAUSE_MAX_MS 10000
#define RAN_FOR_A_WHILE_MS 10000

static void say(const bd_supervision *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(const bd_supervision *s, const char *format, ...)
{
    bd_strbuf message = {0};
    va_list args;
    va_start(args, format);
    bd_strbuf_vappendf(&message, format, args);
    va_end(args);
    s->env.say(s->env.arg, bd_strbuf_str(&message));
    bd_strbuf_fini(&message);
}

void bd_supervision_fail(bd_supervision *s, int exit_code)
{
    if (!s->has_failed) s->exit_code = exit_code;
    s->has_failed = true;
}

int bd_supervision_running(const bd_supervision *s, bool count_ps)
{
    int n = 0;
    for (int i = 0; i < s->count; i++) {
        const bd_supervised *t = s->tasks[i];
        n += (t->is_running || t->restart_ns != BD_FOREVER) && (count_ps || !t->is_ps);
    }
    return n;
}

// Whether tasks run, or will, that an evaluator waits for.
static bool is_training(const bd_supervision *s)
{
    for (int i = 0; i < s->count; i++) {
        const bd_supervised *t = s->tasks[i];
        if (!t->is_ps && !t->is_evaluator && (t->is_running || t->restart_ns != BD_FOREVER)) return true;
    }
    return false;
}

static void set_phase(bd_supervision *s, bd_supervision_phase phase, int64_t in_ms)
{
    s->phase = phase;
    s->phase_deadline = in_ms < 0 ? BD_FOREVER : bd_deadline_after_ms(in_ms);
}

// ---- Ending ----

static void ask_all_to_end(bd_supervision *s, int sig)
{
    for (int i = 0; i < s->count; i++) {
        bd_supervised *t = s->tasks[i];
        t->restart_ns = BD_FOREVER;
        if (!t->is_running) continue;
        t->asked_to_end = true;
        s->env.ask_to_end(s->env.arg, t, sig);
    }
    set_phase(s, BD_ENDING, BD_KILL_AFTER_MS);
}

static void kill_all(bd_supervision *s)
{
    for (int i = 0; i < s->count; i++) {
        bd_supervised *t = s->tasks[i];
        if (!t->is_running) continue;
        say(s, "%s did not end in %d s and is killed", t->name, BD_KILL_AFTER_MS / 1000);
        s->env.kill(s->env.arg, t);
    }
    set_phase(s, BD_KILLING, -1);
}

void bd_supervision_end(bd_supervision *s, int sig)
{
    if (s->phase < BD_ENDING)
        ask_all_to_end(s, sig);
    else if (s->phase == BD_ENDING)
        kill_all(s);
}

// ---- Starting ----

static bool start(bd_supervision *s, bd_supervised *t)
{
    t->restart_ns = BD_FOREVER;
    t->said_done = false;
    t->is_running = s->env.start(s->env.arg, t);
    t->started_ns = bd_now_ns();
    if (t->is_running) return true;
    bd_supervision_fail(s, BD_EXIT_CANNOT_RUN);
    bd_supervision_end(s, SIGTERM);
    return false;
}

void bd_supervision_begin(bd_supervision *s)
{
    s->phase_deadline = BD_FOREVER;
    for (int i = 0; i < s->count; i++)
        s->tasks[i]->restart_ns = BD_FOREVER;
    for (int i = 0; i < s->count && start(s, s->tasks[i]); i++) {}
}

// ---- Work that is done ----

static bool has_ended_well(const bd_supervised *t)
{
    return !t->is_running && t->restart_ns == BD_FOREVER && !t->exit_code;
}

// The other process of the task has a copy of the variables.
static bool has_running_partner(const bd_supervised *t)
{
    return t->partner && t->partner->is_running;
}

// A parameter server has said that all workers are done, or all others have done their work.
static bool is_work_done(const bd_supervision *s)
{
    int others = 0, done = 0;
    for (int i = 0; i < s->count; i++) {
        const bd_supervised *t = s->tasks[i];
        if (t->is_ps && t->said_done) return true;
        others += !t->is_ps;
        done += !t->is_ps && (t->said_done || has_ended_well(t));
    }
    return others > 0 && done == others;
}

// ---- Restarting ----

static bool may_restart(const bd_supervision *s, const bd_supervised *t)
{
    return s->phase == BD_WORKING && t->restarts < s->max_restarts;
}

static void plan_restart(bd_supervision *s, bd_supervised *t, const char *why)
{
    const bool ran_for_a_while = bd_now_ns() - t->started_ns >= RAN_FOR_A_WHILE_MS * INT64_C(1000000);
    int64_t pause_ms = RESTART_PAUSE_MIN_MS;
    for (int i = 0; i < t->restarts && !ran_for_a_while && pause_ms < RESTART_PAUSE_MAX_MS; i++)
        pause_ms *= 2;
    // Of two tasks that are restarted, the first is still there when the second comes.
    pause_ms = bd_min(pause_ms, bd_min(RESTART_PAUSE_MAX_MS, s->grace_ms / 2));
    t->restarts++;
    t->restart_ns = bd_deadline_after_ms(pause_ms);
    say(s, "%s %s; restart %d of %d in %.1f s", t->name, why, t->restarts, s->max_restarts,
        (double)pause_ms / 1e3);
}

// A task that waits for its restart; NULL: there is none. Without `of_ps`, parameter servers do not count.
static const bd_supervised *find_restart(const bd_supervision *s, bool of_ps)
{
    for (int i = 0; i < s->count; i++)
        if (s->tasks[i]->restart_ns != BD_FOREVER && (of_ps || !s->tasks[i]->is_ps)) return s->tasks[i];
    return NULL;
}

static bool has_ps_ended(const bd_supervision *s)
{
    for (int i = 0; i < s->count; i++)
        if (s->tasks[i]->is_ps && has_ended_well(s->tasks[i]) && !has_running_partner(s->tasks[i]))
            return true;
    return false;
}

// A parameter server that failed, or that had ended when another task is restarted, has lost its variables.
// Tasks that were started before and have ended well do not know it. They are started again with the next
// restart of any task: parameter servers hold variables, the chief restores them, and the other workers train
// the lost steps again.
static void start_ended_again(bd_supervision *s)
{
    const bd_supervised *with = find_restart(s, true);
    if (s->phase != BD_WORKING || !with || bd_supervision_running(s, false) == 0) return;
    if (has_ps_ended(s) && find_restart(s, false)) s->ps_lost_ns = bd_now_ns();
    for (int i = 0; i < s->count; i++) {
        bd_supervised *t = s->tasks[i];
        if (!has_ended_well(t) || t->started_ns > s->ps_lost_ns) continue;
        t->restart_ns = with->restart_ns;
        say(s, "%s had ended and is started again, because %s", t->name,
            t->is_ps ? "others are not done" : "a parameter server has lost its variables");
    }
}

// ---- Ends ----

static char *describe_end(int exit_code, int sig)
{
    return sig ? bd_asprintf("was killed by signal %d (%s)", sig, strsignal(sig))
               : bd_asprintf("ended with exit code %d", exit_code);
}

// The failure of a task whose work is not done, and that is not restarted.
static void on_loss(bd_supervision *s, bd_supervised *t, const char *why)
{
    if (t->restarts)
        say(s, "%s %s; it has been restarted %d time%s and is given up", t->name, why, t->restarts,
            t->restarts == 1 ? "" : "s");
    else
        say(s, "%s %s", t->name, why);
    bd_supervision_fail(s, t->first_failure);
    const bool partner_comes = t->partner && t->partner->restart_ns != BD_FOREVER;
    if (!t->is_ps || partner_comes || s->phase != BD_WORKING) return;
    say(s, "without %s the training cannot go on: the other tasks are ended%s", t->name,
        s->max_restarts ? "" : " (--restarts N restarts tasks)");
    set_phase(s, BD_PS_LOST, PS_LOST_GRACE_MS);
}

// A task whose work was done is not restarted. That it was killed is no failure where a restart would make up
// for it; nor is it one when a parameter server ends because it has not heard that the others are done.
static void on_late_failure(bd_supervision *s, bd_supervised *t, int sig, const char *why)
{
    const bool is_harmless = sig ? sig == SIGKILL : t->is_ps && !t->said_done;
    say(s, "%s %s when its work was done: it is not restarted", t->name, why);
    const bool has_restarts = s->phase <= BD_PS_MAY_END && t->restarts < s->max_restarts;
    if (is_harmless && (has_restarts || has_running_partner(t)))
        t->exit_code = 0;
    else
        bd_supervision_fail(s, t->first_failure ? t->first_failure : t->exit_code);
}

static void on_failure(bd_supervision *s, bd_supervised *t, int sig, const char *why)
{
    if (s->env.read_notices) s->env.read_notices(s->env.arg);
    if (t->said_done || (t->is_ps && is_work_done(s))) {
        on_late_failure(s, t, sig, why);
        return;
    }
    if (t->is_ps && !has_running_partner(t)) s->ps_lost_ns = bd_now_ns();
    if (!t->first_failure) t->first_failure = t->exit_code;
    if (may_restart(s, t))
        plan_restart(s, t, why);
    else if (has_running_partner(t))
        say(s, "%s %s; %s goes on%s", t->name, why, t->partner->name,
            t->restarts ? "" : " without a second copy (--restarts N restarts tasks)");
    else
        on_loss(s, t, why);
}

void bd_supervision_task_ended(bd_supervision *s, bd_supervised *t, int exit_code, int sig)
{
    t->is_running = false;
    t->exit_code = sig ? 128 + sig : exit_code;
    if (t->exit_code && !t->asked_to_end) {
        char *why = describe_end(exit_code, sig);
        on_failure(s, t, sig, why);
        bd_free(why);
    }
    start_ended_again(s);
    if (s->phase == BD_WORKING && s->has_failed && !is_training(s) && bd_supervision_running(s, false) > 0)
        bd_supervision_end(s, SIGTERM);
    if (s->phase == BD_WORKING && bd_supervision_running(s, false) == 0 &&
        bd_supervision_running(s, true) > 0)
        set_phase(s, BD_PS_MAY_END, PS_GRACE_MS);
}

// ---- Deadlines ----

int64_t bd_supervision_deadline(const bd_supervision *s)
{
    int64_t deadline = s->phase_deadline;
    for (int i = 0; i < s->count; i++)
        deadline = bd_min(deadline, s->tasks[i]->restart_ns);
    return deadline;
}

void bd_supervision_act(bd_supervision *s)
{
    const int64_t now = bd_now_ns();
    for (int i = 0; i < s->count; i++)
        if (now >= s->tasks[i]->restart_ns) start(s, s->tasks[i]);
    if (now >= s->phase_deadline) bd_supervision_end(s, SIGTERM);
}
