// `braid run`: the loop that starts the processes of a run, passes their output on, and sees their ends.
#include "tasks.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "command.h"
#include "process.h"
#include "task_process.h"
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct run_state {
    bd_run *run;
    bd_supervision supervision;
    int64_t time_limit; // of the whole run; BD_FOREVER once it has passed
    int signal_fd;
    sigset_t old_mask;
    bd_task_output outputs[2]; // standard output and standard error
    int64_t output_deadline;   // until when a slow reader of them is waited for; BD_FOREVER: no hurry yet
} run_state;

static void say(void *arg, const char *message)
{
    run_state *s = arg;
    bd_strbuf_appendf(&s->outputs[1].queue, "braid run: %s\n", message);
}

// ---- For the supervision ----

static bd_task *task_of(bd_supervised *t)
{
    return BD_CONTAINER_OF(t, bd_task, supervised);
}

static bool start(void *arg, bd_supervised *supervised)
{
    run_state *s = arg;
    bd_task *t = task_of(supervised);
    bd_task_end_output(t); // of its last process
    const int error = bd_task_start(t, s->run, &s->old_mask, s->outputs);
    if (!error) return true;
    char *message = bd_asprintf("cannot start %s: %s", supervised->name, strerror(error));
    say(s, message);
    bd_free(message);
    return false;
}

static void ask_to_end(void *arg, bd_supervised *t, int sig)
{
    (void)arg;
    bd_task_signal(task_of(t), sig);
}

static void kill_task(void *arg, bd_supervised *t)
{
    (void)arg;
    bd_task_signal(task_of(t), SIGKILL);
}

static void read_notices(void *arg)
{
    const run_state *s = arg;
    for (int i = 0; i < s->run->task_count; i++) {
        bd_task *t = &s->run->tasks[i];
        if (bd_task_says_done(t)) t->supervised.said_done = true;
    }
}

// ---- Events ----

static bd_task *find_task(const bd_run *r, pid_t pid)
{
    for (int i = 0; i < r->task_count; i++)
        if (r->tasks[i].pid == pid) return &r->tasks[i];
    return NULL; // an orphan of a task: ours, as the subreaper
}

// The task on another host that has no exit code: its ssh or its host is lost.
static void say_connection_lost(run_state *s, const bd_task *t, int exit_code, int sig)
{
    if (t->supervised.asked_to_end) return;
    const bool has_answered = t->remote.has_agent;
    char *message =
        t->remote.trouble
            ? bd_asprintf("%s on host %s is lost: %s", t->supervised.name, t->host, t->remote.trouble)
            : bd_asprintf("%s on host %s is lost: ssh %s with %s %d", t->supervised.name, t->host,
                          has_answered ? "has ended" : "could not start it and ended",
                          sig ? "signal" : "exit code", sig ? sig : exit_code);
    say(s, message);
    bd_free(message);
}

static void on_task_ended(run_state *s, bd_task *t, int status)
{
    t->pid = 0;
    int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0, exit_code = sig ? 0 : WEXITSTATUS(status);
    if (t->host) {
        bd_remote_end(t);
        if (!t->remote.has_ended) say_connection_lost(s, t, exit_code, sig);
        exit_code = t->remote.has_ended ? t->remote.exit_code : BD_EXIT_CONNECTION_LOST;
        sig = t->remote.has_ended ? t->remote.sig : 0;
    }
    bd_supervision_task_ended(&s->supervision, &t->supervised, exit_code, sig);
}

static void on_child_ended(run_state *s)
{
    siginfo_t info = {0};
    while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid) {
        pid_t pid = info.si_pid;
        bd_task *t = find_task(s->run, pid);
        if (t) kill(-pid, SIGKILL); // also kills the children of the task, while its process id is not reused
        int status;
        if (waitpid(pid, &status, 0) == pid && t) on_task_ended(s, t, status);
        info.si_pid = 0;
    }
}

// The run ends: pending output gets as long as the tasks, and no longer when asked again.
static void hurry(run_state *s)
{
    bool is_first = s->output_deadline == BD_FOREVER;
    s->output_deadline = bd_deadline_after_ms(is_first ? BD_KILL_AFTER_MS + 1000 : 0);
}

static void on_signal(run_state *s, int sig)
{
    bd_supervision_fail(&s->supervision, 128 + sig);
    hurry(s);
    bd_supervision_end(&s->supervision, sig);
}

static void say_time_is_up(run_state *s)
{
    bd_strbuf names = {0};
    for (int i = 0; i < s->run->task_count; i++)
        if (s->run->tasks[i].pid)
            bd_strbuf_appendf(&names, "%s%s", names.len ? ", " : "", s->run->tasks[i].supervised.name);
    char *message = bd_asprintf("not finished after %.6g s; still running: %s",
                                (double)s->run->timeout_ms / 1000, bd_strbuf_str(&names));
    say(s, message);
    bd_free(message);
    bd_strbuf_fini(&names);
}

static int running(const run_state *s)
{
    return bd_supervision_running(&s->supervision, true);
}

static void on_time_limit(run_state *s)
{
    s->time_limit = BD_FOREVER;
    if (running(s) > 0) {
        say_time_is_up(s);
        bd_supervision_fail(&s->supervision, BD_EXIT_TIMEOUT);
    }
    hurry(s);
    if (s->supervision.phase < BD_ENDING) bd_supervision_end(&s->supervision, SIGTERM);
}

static void on_deadline(run_state *s)
{
    for (int i = 0; i < s->run->task_count; i++)
        if (s->run->tasks[i].host) bd_remote_act(&s->run->tasks[i]);
    if (bd_now_ns() >= s->time_limit) on_time_limit(s);
    bd_supervision_act(&s->supervision);
}

// ---- The loop ----

static int poll_timeout_ms(const run_state *s)
{
    const int64_t own = bd_min(s->time_limit, s->output_deadline);
    int64_t deadline = bd_min(own, bd_supervision_deadline(&s->supervision));
    for (int i = 0; i < s->run->task_count; i++)
        if (s->run->tasks[i].host) deadline = bd_min(deadline, bd_remote_deadline(&s->run->tasks[i]));
    if (deadline == BD_FOREVER) return -1;
    int64_t left = (deadline - bd_now_ns() + 999999) / 1000000;
    return left < 0 ? 0 : left > INT32_MAX ? INT32_MAX : (int)left;
}

static void read_signals(run_state *s)
{
    struct signalfd_siginfo info;
    while (read(s->signal_fd, &info, sizeof info) == sizeof info) {
        if (info.ssi_signo == SIGCHLD)
            on_child_ended(s);
        else
            on_signal(s, (int)info.ssi_signo);
    }
}

// The descriptors for poll: streams of tasks (unless the reader is behind), connections to agents, the
// output, signals. poll passes over a negative descriptor.
typedef struct poll_set {
    struct pollfd *fds; // [(BD_TASK_STREAMS + 2) * tasks + 3]
    nfds_t count, streams, remotes;
    bd_prefixed **of; // [streams]
} poll_set;

static bool is_behind(const run_state *s)
{
    return bd_task_output_waiting(&s->outputs[0]) > BD_OUTPUT_QUEUE_MAX ||
           bd_task_output_waiting(&s->outputs[1]) > BD_OUTPUT_QUEUE_MAX;
}

static void add(poll_set *set, int fd, short events, bool wanted)
{
    set->fds[set->count++] = (struct pollfd){.fd = wanted ? fd : -1, .events = events};
}

static void add_remote(poll_set *set, bd_task *t, bool behind)
{
    if (behind) bd_remote_defer(t);
    add(set, t->remote.from, POLLIN, t->host && t->pid && !behind);
    add(set, t->remote.to, POLLOUT, t->host && t->pid && bd_byte_queue_len(&t->remote.sending) > 0);
}

static void fill(poll_set *set, run_state *s)
{
    set->count = 0;
    for (int i = 0; i < BD_TASK_STREAMS * s->run->task_count; i++) {
        bd_prefixed *p = &s->run->tasks[i / BD_TASK_STREAMS].output[i % BD_TASK_STREAMS];
        if (p->from < 0 || bd_task_output_waiting(p->to) > BD_OUTPUT_QUEUE_MAX) continue;
        set->of[set->count] = p;
        add(set, p->from, POLLIN, true);
    }
    set->streams = set->count;
    const bool behind = is_behind(s);
    for (int i = 0; i < s->run->task_count; i++)
        add_remote(set, &s->run->tasks[i], behind);
    set->remotes = set->count;
    for (int i = 0; i < 2; i++)
        add(set, s->outputs[i].fd, POLLOUT, bd_task_output_waiting(&s->outputs[i]) > 0);
    add(set, s->signal_fd, POLLIN, true);
}

static void serve_remotes(const poll_set *set, run_state *s)
{
    for (int i = 0; i < s->run->task_count; i++) {
        const struct pollfd *fds = &set->fds[set->streams + 2 * (nfds_t)i];
        if (fds[0].revents) bd_remote_read(&s->run->tasks[i]);
        if (fds[1].revents) bd_remote_flush(&s->run->tasks[i]);
    }
}

static void poll_once(poll_set *set, run_state *s)
{
    fill(set, s);
    if (poll(set->fds, set->count, poll_timeout_ms(s)) > 0) {
        for (nfds_t i = 0; i < set->streams; i++)
            if (set->fds[i].revents) bd_prefixed_pump(set->of[i]);
        serve_remotes(set, s);
        for (int i = 0; i < 2; i++)
            if (set->fds[set->remotes + (nfds_t)i].revents) bd_task_output_flush(&s->outputs[i]);
        if (set->fds[set->remotes + 2].revents) read_signals(s);
    }
    on_deadline(s);
}

// Reads the rest of the pipes after all tasks have ended. It does not wait for a pipe that another process
// holds open.
static void drain(run_state *s)
{
    for (int i = 0; i < s->run->task_count; i++)
        bd_task_end_output(&s->run->tasks[i]);
}

// Until all tasks have ended and their output is written: a slow reader is waited for until a signal or the
// time limit.
static void wait_for_tasks(run_state *s)
{
    size_t fds = (BD_TASK_STREAMS + 2) * (size_t)s->run->task_count + 3;
    poll_set set = {.fds = bd_malloc(fds * sizeof *set.fds), .of = bd_malloc(fds * sizeof(bd_prefixed *))};
    while (running(s) > 0)
        poll_once(&set, s);
    bd_kill_children(); // orphans of tasks
    drain(s);
    while (bd_task_output_waiting(&s->outputs[0]) + bd_task_output_waiting(&s->outputs[1]) > 0 &&
           bd_now_ns() < s->output_deadline)
        poll_once(&set, s);
    bd_free(set.of);
    bd_free(set.fds);
}

static void open_signals(run_state *s)
{
    sigset_t set;
    sigemptyset(&set);
    const int handled[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD};
    for (size_t i = 0; i < sizeof handled / sizeof *handled; i++)
        sigaddset(&set, handled[i]);
    sigprocmask(SIG_BLOCK, &set, &s->old_mask);
    s->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    signal(SIGPIPE, SIG_IGN);
}

int bd_run_tasks(bd_run *run)
{
    run_state s = {.run = run, .outputs = {{.fd = 1}, {.fd = 2}}, .output_deadline = BD_FOREVER};
    bd_supervised **tasks = bd_calloc((size_t)run->task_count, sizeof *tasks);
    for (int i = 0; i < run->task_count; i++) {
        tasks[i] = &run->tasks[i].supervised;
        for (int j = 0; j < BD_TASK_STREAMS; j++)
            run->tasks[i].output[j].from = -1;
        run->tasks[i].notice = run->tasks[i].remote.to = run->tasks[i].remote.from = -1;
    }
    s.supervision = (bd_supervision){.env = {start, ask_to_end, kill_task, read_notices, say, &s},
                                     .tasks = tasks,
                                     .count = run->task_count,
                                     .max_restarts = run->max_restarts,
                                     .grace_ms = run->grace_ms};
    s.time_limit = run->timeout_ms ? bd_deadline_after_ms(run->timeout_ms) : BD_FOREVER;
    bd_adopt_orphans();
    open_signals(&s);
    bd_supervision_begin(&s.supervision);
    wait_for_tasks(&s);
    for (int i = 0; i < run->task_count; i++)
        if (run->tasks[i].notice >= 0) close(run->tasks[i].notice);
    for (int i = 0; i < 2; i++)
        bd_strbuf_fini(&s.outputs[i].queue);
    close(s.signal_fd);
    sigprocmask(SIG_SETMASK, &s.old_mask, NULL);
    bd_free(tasks);
    return s.supervision.exit_code;
}
