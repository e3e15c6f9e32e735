// The processes of a cluster on this host: starting them, their output, their end.
#include "tasks.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/done_notice.h"
#include "base/wait_limits.h"
#include "command.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// A parameter server of Braid ends by itself when its workers are done; any other is asked to after this.
#define PS_GRACE_MS 300
// A task that has not ended this long after it was asked to is killed.
#define KILL_AFTER_MS 5000
// Without a parameter server the training cannot go on: the others get this time to say so and end.
#define PS_LOST_GRACE_MS 2000
// The pause before a restart doubles with each one, until the task has run for a while.
#define RESTART_PAUSE_MIN_MS 100
#define RESTART_PAUSE_MAX_MS 10000
#define RAN_FOR_A_WHILE_MS 10000
#define EXIT_CANNOT_RUN 127

typedef enum run_phase {
    WORKING,
    PS_MAY_END,
    PS_LOST,
    ENDING,
    KILLING
} run_phase;

typedef struct run_state {
    bd_run *run;
    run_phase phase;
    int64_t phase_deadline; // BD_FOREVER: no deadline
    int64_t time_limit;     // of the whole run; BD_FOREVER once it has passed
    int64_t ps_lost_ns;     // when a parameter server has failed last; 0: never
    int exit_code;          // the first failure's
    bool failed;
    int signal_fd;
    sigset_t old_mask;
    bd_task_output outputs[2]; // standard output and standard error
    int64_t output_deadline;   // until when a slow reader of them is waited for; BD_FOREVER: no hurry yet
} run_state;

static void say(run_state *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(run_state *s, const char *format, ...)
{
    bd_strbuf *queue = &s->outputs[1].queue;
    va_list args;
    va_start(args, format);
    bd_strbuf_append(queue, "braid run: ");
    bd_strbuf_vappendf(queue, format, args);
    bd_strbuf_append_char(queue, '\n');
    va_end(args);
}

static void fail_run(run_state *s, int exit_code)
{
    if (s->failed) return;
    s->failed = true;
    s->exit_code = exit_code;
}

// ---- Starting ----

// The two ends of what a task writes: the first is read here.
typedef struct task_files {
    int out[2], err[2], notice[2];
} task_files;

// In the child, between fork and exec: only async-signal-safe calls.
static void become_task(const run_state *s, const task_files *f, char **environment, pid_t parent)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL); // if `braid run` itself is killed, its tasks are too
    if (getppid() != parent) _exit(EXIT_CANNOT_RUN);
    sigprocmask(SIG_SETMASK, &s->old_mask, NULL);
    signal(SIGPIPE, SIG_DFL);
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0 || dup2(null, 0) < 0 || dup2(f->out[1], 1) < 0 || dup2(f->err[1], 2) < 0)
        _exit(EXIT_CANNOT_RUN);
    fcntl(f->notice[1], F_SETFD, 0); // inherited
    execve(s->run->program, s->run->argv, environment);
    static const char message[] = "cannot be run\n";
    if (write(2, message, sizeof message - 1) < 0) _exit(EXIT_CANNOT_RUN);
    _exit(EXIT_CANNOT_RUN);
}

enum {
    VARIABLES = 4
};

static bool is_replaced(const char *variable, char *const replaced[VARIABLES])
{
    for (int i = 0; i < VARIABLES; i++)
        if (strncmp(variable, replaced[i], strcspn(replaced[i], "=") + 1) == 0) return true;
    return false;
}

// The environment of this process with variables of a task replaced; the caller frees these and the block.
// All tasks start at once, so one that is missing for the grace time does not come.
static char **make_environment(const bd_run *run, const bd_task *t, int notice, char *variables[VARIABLES])
{
    extern char **environ;
    size_t n = 0;
    while (environ[n])
        n++;
    variables[0] = bd_asprintf("TF_CONFIG=%s", t->tf_config);
    variables[1] = bd_asprintf(BD_GRACE_VARIABLE "=%g", (double)run->grace_ms / 1e3);
    variables[2] = bd_asprintf(BD_START_TIMEOUT_VARIABLE "=%g", (double)run->grace_ms / 1e3);
    struct stat file = {0};
    fstat(notice, &file);
    variables[3] = bd_asprintf(BD_DONE_NOTICE_VARIABLE "=%d:%llu", notice, (unsigned long long)file.st_ino);
    char **environment = bd_malloc((n + VARIABLES + 1) * sizeof *environment);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (!is_replaced(environ[i], variables)) environment[kept++] = environ[i];
    for (int i = 0; i < VARIABLES; i++)
        environment[kept++] = variables[i];
    environment[kept] = NULL;
    return environment;
}

static bool open_files(task_files *f)
{
    *f = (task_files){{-1, -1}, {-1, -1}, {-1, -1}};
    return pipe2(f->out, O_CLOEXEC) == 0 && pipe2(f->err, O_CLOEXEC) == 0 &&
           socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, f->notice) == 0;
}

static void close_file(int *fd)
{
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

static void close_files(task_files *f)
{
    for (int i = 0; i < 2; i++) {
        close_file(&f->out[i]);
        close_file(&f->err[i]);
        close_file(&f->notice[i]);
    }
}

static pid_t fork_task(const run_state *s, const bd_task *t, const task_files *f)
{
    char *variables[VARIABLES];
    char **environment = make_environment(s->run, t, f->notice[1], variables);
    const pid_t parent = getpid(), pid = fork();
    if (pid == 0) become_task(s, f, environment, parent);
    for (int i = 0; i < VARIABLES; i++)
        bd_free(variables[i]);
    bd_free(environment);
    return pid;
}

static bool start_task(run_state *s, bd_task *t)
{
    task_files f;
    const pid_t pid = open_files(&f) ? fork_task(s, t, &f) : -1;
    if (pid < 0) {
        say(s, "cannot start %s: %s", t->name, strerror(errno));
        close_files(&f);
        return false;
    }
    setpgid(pid, pid); // in both processes, because either may be first
    t->pid = pid;
    t->started_ns = bd_now_ns();
    t->restart_ns = BD_FOREVER;
    t->said_done = false;
    close_file(&t->notice);
    t->notice = f.notice[0];
    close(f.out[1]);
    close(f.err[1]);
    close(f.notice[1]);
    fcntl(f.out[0], F_SETFL, O_NONBLOCK);
    fcntl(f.err[0], F_SETFL, O_NONBLOCK);
    t->output[0] = (bd_prefixed){.from = f.out[0], .to = &s->outputs[0], .prefix = t->prefixes[0]};
    t->output[1] = (bd_prefixed){.from = f.err[0], .to = &s->outputs[1], .prefix = t->prefixes[1]};
    return true;
}

// ---- Ending ----

static void signal_task(bd_task *t, int sig)
{
    if (t->pid) kill(-t->pid, sig);
}

// The tasks that run or are about to be restarted.
static int running(const bd_run *r, bool count_ps)
{
    int n = 0;
    for (int i = 0; i < r->task_count; i++)
        n += (r->tasks[i].pid || r->tasks[i].restart_ns != BD_FOREVER) && (count_ps || !r->tasks[i].is_ps);
    return n;
}

static void set_phase(run_state *s, run_phase phase, int64_t in_ms)
{
    s->phase = phase;
    s->phase_deadline = in_ms < 0 ? BD_FOREVER : bd_deadline_after_ms(in_ms);
}

// Asks the running tasks to end, with the signal that was received (or SIGTERM).
static void ask_all_to_end(run_state *s, int sig)
{
    for (int i = 0; i < s->run->task_count; i++) {
        bd_task *t = &s->run->tasks[i];
        t->restart_ns = BD_FOREVER;
        if (!t->pid) continue;
        t->asked_to_end = true;
        signal_task(t, sig);
    }
    set_phase(s, ENDING, KILL_AFTER_MS);
}

static void kill_all(run_state *s)
{
    for (int i = 0; i < s->run->task_count; i++) {
        bd_task *t = &s->run->tasks[i];
        if (!t->pid) continue;
        say(s, "%s did not end in %d s and is killed", t->name, KILL_AFTER_MS / 1000);
        signal_task(t, SIGKILL);
    }
    set_phase(s, KILLING, -1);
}

// ---- Work that is done ----

// Reads what the task has said. Nothing is waited for: what a task that has ended said is there.
static void read_notice(bd_task *t)
{
    char text[256], *line = bd_asprintf("done %s\n", t->name);
    const ssize_t len = t->notice >= 0 ? recv(t->notice, text, sizeof text - 1, MSG_DONTWAIT) : -1;
    text[len > 0 ? len : 0] = '\0';
    t->said_done = t->said_done || strstr(text, line);
    bd_free(line);
}

static bool has_ended_well(const bd_task *t)
{
    return !t->pid && t->restart_ns == BD_FOREVER && !t->exit_code;
}

// The other process of the task has a copy of the variables.
static bool has_running_partner(const bd_task *t)
{
    return t->partner && t->partner->pid;
}

// A parameter server has said that all workers are done, or all others have done their work.
static bool is_work_done(const bd_run *r)
{
    int others = 0, done = 0;
    for (int i = 0; i < r->task_count; i++) {
        const bd_task *t = &r->tasks[i];
        if (t->is_ps && t->said_done) return true;
        others += !t->is_ps;
        done += !t->is_ps && (t->said_done || has_ended_well(t));
    }
    return others > 0 && done == others;
}

// ---- Restarting ----

static bool may_restart(const run_state *s, const bd_task *t)
{
    return s->phase == WORKING && t->restarts < s->run->max_restarts;
}

static void plan_restart(run_state *s, bd_task *t, const char *why)
{
    const bool ran_for_a_while = bd_now_ns() - t->started_ns >= RAN_FOR_A_WHILE_MS * INT64_C(1000000);
    int64_t pause_ms = RESTART_PAUSE_MIN_MS;
    for (int i = 0; i < t->restarts && !ran_for_a_while && pause_ms < RESTART_PAUSE_MAX_MS; i++)
        pause_ms *= 2;
    // Of two tasks that are restarted, the first is still there when the second comes.
    pause_ms = bd_min(pause_ms, bd_min(RESTART_PAUSE_MAX_MS, s->run->grace_ms / 2));
    t->restarts++;
    t->restart_ns = bd_deadline_after_ms(pause_ms);
    say(s, "%s %s; restart %d of %d in %.1f s", t->name, why, t->restarts, s->run->max_restarts,
        (double)pause_ms / 1e3);
}

// A task that waits for its restart; NULL: there is none. Without `of_ps`, parameter servers do not count.
static const bd_task *find_restart(const bd_run *r, bool of_ps)
{
    for (int i = 0; i < r->task_count; i++)
        if (r->tasks[i].restart_ns != BD_FOREVER && (of_ps || !r->tasks[i].is_ps)) return &r->tasks[i];
    return NULL;
}

static bool has_ps_ended(const bd_run *r)
{
    for (int i = 0; i < r->task_count; i++)
        if (r->tasks[i].is_ps && has_ended_well(&r->tasks[i]) && !has_running_partner(&r->tasks[i]))
            return true;
    return false;
}

// A parameter server that failed, or that had ended when another task is restarted, has lost its variables.
// Tasks that were started before and have ended well do not know it. They are started again with the next
// restart of any task: parameter servers hold variables, the chief restores them, and the other workers train
// the lost steps again.
static void start_ended_again(run_state *s)
{
    const bd_task *with = find_restart(s->run, true);
    if (s->phase != WORKING || !with || running(s->run, false) == 0) return;
    if (has_ps_ended(s->run) && find_restart(s->run, false)) s->ps_lost_ns = bd_now_ns();
    for (int i = 0; i < s->run->task_count; i++) {
        bd_task *t = &s->run->tasks[i];
        if (!has_ended_well(t) || t->started_ns > s->ps_lost_ns) continue;
        t->restart_ns = with->restart_ns;
        say(s, "%s had ended and is started again, because %s", t->name,
            t->is_ps ? "others are not done" : "a parameter server has lost its variables");
    }
}

// Reads what the task that has ended has written.
static void end_output(bd_task *t)
{
    for (int i = 0; i < 2; i++) {
        bd_prefixed *p = &t->output[i];
        while (p->from >= 0 && bd_prefixed_pump(p) == BD_PUMP_MORE)
            continue;
        bd_prefixed_end(p);
    }
}

static void restart_due(run_state *s, int64_t now)
{
    for (int i = 0; i < s->run->task_count; i++) {
        bd_task *t = &s->run->tasks[i];
        if (now < t->restart_ns) continue;
        t->restart_ns = BD_FOREVER;
        end_output(t);
        if (start_task(s, t)) continue;
        fail_run(s, EXIT_CANNOT_RUN);
        ask_all_to_end(s, SIGTERM);
    }
}

// ---- Ends ----

static char *describe_end(int status, int exit_code)
{
    return WIFSIGNALED(status)
               ? bd_asprintf("was killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)))
               : bd_asprintf("ended with exit code %d", exit_code);
}

// The failure of a task whose work is not done, or that is not restarted.
static void on_loss(run_state *s, bd_task *t, const char *why)
{
    if (t->restarts)
        say(s, "%s %s; it has been restarted %d time%s and is given up", t->name, why, t->restarts,
            t->restarts == 1 ? "" : "s");
    else
        say(s, "%s %s", t->name, why);
    fail_run(s, t->first_failure);
    const bool partner_comes = t->partner && t->partner->restart_ns != BD_FOREVER;
    if (!t->is_ps || partner_comes || s->phase != WORKING) return;
    say(s, "without %s the training cannot go on: the other tasks are ended%s", t->name,
        s->run->max_restarts ? "" : " (--restarts N restarts tasks)");
    set_phase(s, PS_LOST, PS_LOST_GRACE_MS);
}

// A task whose work was done is not restarted. That it was killed is no failure where a restart would make up
// for it; nor is it one when a parameter server ends because it has not heard that the others are done.
static void on_late_failure(run_state *s, bd_task *t, int status, const char *why)
{
    const bool is_harmless = WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : t->is_ps && !t->said_done;
    say(s, "%s %s when its work was done: it is not restarted", t->name, why);
    const bool has_restarts = s->phase <= PS_MAY_END && t->restarts < s->run->max_restarts;
    if (is_harmless && (has_restarts || has_running_partner(t)))
        t->exit_code = 0;
    else
        fail_run(s, t->first_failure ? t->first_failure : t->exit_code);
}

static void on_task_failed(run_state *s, bd_task *t, int status)
{
    for (int i = 0; i < s->run->task_count; i++)
        read_notice(&s->run->tasks[i]);
    char *why = describe_end(status, t->exit_code);
    if (t->said_done || (t->is_ps && is_work_done(s->run))) {
        on_late_failure(s, t, status, why);
    } else {
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
    bd_free(why);
}

static void on_task_ended(run_state *s, bd_task *t, int status)
{
    t->pid = 0;
    t->exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (t->exit_code && !t->asked_to_end) on_task_failed(s, t, status);
    start_ended_again(s);
    if (s->phase == WORKING && running(s->run, false) == 0 && running(s->run, true) > 0)
        set_phase(s, PS_MAY_END, PS_GRACE_MS);
}

static bd_task *find_task(const bd_run *r, pid_t pid)
{
    for (int i = 0; i < r->task_count; i++)
        if (r->tasks[i].pid == pid) return &r->tasks[i];
    return NULL; // an orphan of a task: ours, as the subreaper
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
    s->output_deadline = bd_deadline_after_ms(is_first ? KILL_AFTER_MS + 1000 : 0);
}

static void on_signal(run_state *s, int sig)
{
    fail_run(s, 128 + sig);
    hurry(s);
    if (s->phase == ENDING) {
        kill_all(s); // asked twice: at once
        return;
    }
    if (s->phase != KILLING) ask_all_to_end(s, sig);
}

static void say_time_is_up(run_state *s)
{
    bd_strbuf names = {0};
    for (int i = 0; i < s->run->task_count; i++)
        if (s->run->tasks[i].pid)
            bd_strbuf_appendf(&names, "%s%s", names.len ? ", " : "", s->run->tasks[i].name);
    say(s, "not finished after %.6g s; still running: %s", (double)s->run->timeout_ms / 1000,
        bd_strbuf_str(&names));
    bd_strbuf_fini(&names);
}

static void on_deadline(run_state *s)
{
    int64_t now = bd_now_ns();
    restart_due(s, now);
    if (now >= s->time_limit) {
        s->time_limit = BD_FOREVER;
        if (running(s->run, true) > 0) {
            say_time_is_up(s);
            fail_run(s, BD_EXIT_TIMEOUT);
        }
        hurry(s);
        if (s->phase < ENDING) ask_all_to_end(s, SIGTERM);
    }
    if (now >= s->phase_deadline) {
        if (s->phase < ENDING)
            ask_all_to_end(s, SIGTERM);
        else if (s->phase == ENDING)
            kill_all(s);
    }
}

// Children of children that outlived their task are ours now (subreaper): they do not outlive the run.
static void kill_orphans(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    for (;;) {
        FILE *f = fopen(path, "re");
        int pid = 0;
        bool any = f && fscanf(f, "%d", &pid) == 1;
        if (f) fclose(f);
        if (!any) return;
        kill(pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
}

// ---- The loop ----

static int poll_timeout_ms(const run_state *s)
{
    int64_t deadline = bd_min(bd_min(s->time_limit, s->phase_deadline), s->output_deadline);
    for (int i = 0; i < s->run->task_count; i++)
        deadline = bd_min(deadline, s->run->tasks[i].restart_ns);
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

// The descriptors for poll: streams of tasks (unless the reader is behind), the output, signals.
typedef struct poll_set {
    struct pollfd *fds; // [2 * tasks + 3]
    nfds_t count, streams;
    bd_prefixed **of; // [streams]
} poll_set;

static void fill(poll_set *set, run_state *s)
{
    set->count = 0;
    for (int i = 0; i < 2 * s->run->task_count; i++) {
        bd_prefixed *p = &s->run->tasks[i / 2].output[i % 2];
        if (p->from < 0 || bd_task_output_waiting(p->to) > BD_OUTPUT_QUEUE_MAX) continue;
        set->of[set->count] = p;
        set->fds[set->count++] = (struct pollfd){.fd = p->from, .events = POLLIN};
    }
    set->streams = set->count;
    for (int i = 0; i < 2; i++) { // poll passes over a negative descriptor
        bool waits = bd_task_output_waiting(&s->outputs[i]) > 0;
        set->fds[set->count++] = (struct pollfd){.fd = waits ? s->outputs[i].fd : -1, .events = POLLOUT};
    }
    set->fds[set->count++] = (struct pollfd){.fd = s->signal_fd, .events = POLLIN};
}

static void poll_once(poll_set *set, run_state *s)
{
    fill(set, s);
    if (poll(set->fds, set->count, poll_timeout_ms(s)) > 0) {
        for (nfds_t i = 0; i < set->streams; i++)
            if (set->fds[i].revents) bd_prefixed_pump(set->of[i]);
        for (int i = 0; i < 2; i++)
            if (set->fds[set->streams + (nfds_t)i].revents) bd_task_output_flush(&s->outputs[i]);
        if (set->fds[set->streams + 2].revents) read_signals(s);
    }
    on_deadline(s);
}

// Reads the rest of the pipes after all tasks have ended. It does not wait for a pipe that another process
// holds open.
static void drain(run_state *s)
{
    for (int i = 0; i < s->run->task_count; i++)
        end_output(&s->run->tasks[i]);
}

// Until all tasks have ended and their output is written: a slow reader is waited for until a signal or the
// time limit.
static void wait_for_tasks(run_state *s)
{
    size_t fds = 2 * (size_t)s->run->task_count + 3;
    poll_set set = {.fds = bd_malloc(fds * sizeof *set.fds), .of = bd_malloc(fds * sizeof(bd_prefixed *))};
    while (running(s->run, true) > 0)
        poll_once(&set, s);
    kill_orphans();
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
    run_state s = {.run = run,
                   .phase_deadline = BD_FOREVER,
                   .outputs = {{.fd = 1}, {.fd = 2}},
                   .output_deadline = BD_FOREVER};
    s.time_limit = run->timeout_ms ? bd_deadline_after_ms(run->timeout_ms) : BD_FOREVER;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    open_signals(&s);
    for (int i = 0; i < run->task_count; i++) {
        run->tasks[i].output[0].from = run->tasks[i].output[1].from = -1;
        run->tasks[i].restart_ns = BD_FOREVER;
        run->tasks[i].notice = -1;
    }
    for (int i = 0; i < run->task_count; i++)
        if (!start_task(&s, &run->tasks[i])) {
            fail_run(&s, EXIT_CANNOT_RUN);
            ask_all_to_end(&s, SIGTERM);
            break;
        }
    wait_for_tasks(&s);
    for (int i = 0; i < run->task_count; i++)
        close_file(&run->tasks[i].notice);
    for (int i = 0; i < 2; i++)
        bd_strbuf_fini(&s.outputs[i].queue);
    close(s.signal_fd);
    sigprocmask(SIG_SETMASK, &s.old_mask, NULL);
    return s.exit_code;
}
