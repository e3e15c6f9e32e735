// `braid agent`: the parent of a task's process on another host than that of `braid run`, which starts it by
// ssh and speaks to it over its standard input and output (frames.h).
//
// States: waiting for START -> running -> ended, with the exit code still to be sent -> over. From each state
// the end of the input, a signal, or a silence of BD_SILENCE_MS leads to the end at once: the processes of
// the task are killed. Thus nothing is left on this host when `braid run` is killed, when ssh is, or when the
// network between the hosts is cut.
#include "base/alloc.h"
#include "base/clock.h"
#include "command.h"
#include "flags.h"
#include "frames.h"
#include "process.h"
#include "supervision.h"
#include "throwaway_keys.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

// With more than this unsent, no more is read from the task.
#define SENDING_MAX (1 << 20)
// The agent ends with this when it was given up, which nobody sees but a log of sshd.
#define EXIT_LOST 1

typedef enum agent_state {
    AGENT_WAITING,
    AGENT_RUNNING,
    AGENT_ENDED,
    AGENT_LOST
} agent_state;

typedef struct agent {
    agent_state state;
    bd_byte_queue receiving, sending;
    bd_process task; // pid 0: it has ended
    int signal_fd;
    sigset_t old_mask;
    int64_t silence_ns;
    char *key_dir; // of the task's certificate; NULL: `braid run` has sent none
} agent;

// ---- Frames of `braid run` ----

static bool take_file(agent *a, const bd_frame *f)
{
    const char *name, *data;
    size_t len;
    if (a->state != AGENT_WAITING || !bd_frame_read_file(f, &name, &data, &len) ||
        !bd_key_dir_add(&a->key_dir, name, data, len))
        return false;
    setenv(BD_TLS_DIR_VARIABLE, a->key_dir, 1); // the task inherits it
    return true;
}

static bool start_task(agent *a, const bd_frame *f)
{
    bd_start start;
    if (a->state != AGENT_WAITING || !bd_start_read(f, &start)) return false;
    const bd_process_options options = {.program = start.program,
                                        .argv = start.argv,
                                        .variables = start.variables,
                                        .variable_count = start.variable_count,
                                        .directory = start.directory,
                                        .has_notice = true,
                                        .mask = &a->old_mask};
    const int error = bd_process_start(&a->task, &options);
    bd_start_fini(&start);
    a->state = AGENT_RUNNING;
    if (!error) return true;
    char *message = bd_asprintf("cannot be started: %s\n", strerror(error));
    a->task = (bd_process){0, -1, -1, -1, -1};
    a->state = AGENT_ENDED;
    bd_frame_append(&a->sending.data, BD_FRAME_ERR, message, strlen(message));
    bd_frame_append_number(&a->sending.data, BD_FRAME_EXIT, BD_EXIT_CANNOT_RUN);
    bd_free(message);
    return true;
}

static bool on_frame(agent *a, const bd_frame *f)
{
    const int sig = f->type == BD_FRAME_SIGNAL ? bd_frame_number(f) : 0;
    switch (f->type) {
    case BD_FRAME_FILE: return take_file(a, f);
    case BD_FRAME_START: return start_task(a, f);
    case BD_FRAME_PING: bd_frame_append(&a->sending.data, BD_FRAME_PING, NULL, 0); return true;
    case BD_FRAME_SIGNAL:
        if (a->task.pid && sig > 0) kill(-a->task.pid, sig);
        return sig > 0;
    default: return false;
    }
}

static void read_input(agent *a)
{
    bool got;
    if (!bd_byte_queue_read(&a->receiving, 0, &got)) a->state = AGENT_LOST;
    if (got) a->silence_ns = bd_deadline_after_ms(BD_SILENCE_MS);
    bd_frame f;
    int more = 0;
    while (a->state != AGENT_LOST && (more = bd_frame_next(&a->receiving, &f)) > 0)
        if (!on_frame(a, &f)) a->state = AGENT_LOST;
    if (more < 0) a->state = AGENT_LOST;
}

// ---- The task ----

// Passes on a piece of what the task has written. False: there is none.
static bool read_stream(agent *a, int *fd, bd_frame_type type)
{
    char buffer[16384];
    const ssize_t n = *fd >= 0 ? read(*fd, buffer, sizeof buffer) : -1;
    if (n > 0) bd_frame_append(&a->sending.data, type, buffer, (size_t)n);
    if (n == 0 || (n < 0 && *fd >= 0 && errno != EINTR && errno != EAGAIN)) {
        close(*fd);
        *fd = -1;
    }
    return n > 0;
}

// What the processes of the task have written is there when they have ended, because pipes are read to
// their end or until another process holds them open.
static void on_task_ended(agent *a, int status)
{
    a->task.pid = 0;
    bd_kill_children();
    while (read_stream(a, &a->task.out, BD_FRAME_OUT)) {}
    while (read_stream(a, &a->task.err, BD_FRAME_ERR)) {}
    while (read_stream(a, &a->task.notice, BD_FRAME_DONE)) {}
    if (WIFSIGNALED(status))
        bd_frame_append_number(&a->sending.data, BD_FRAME_KILLED, WTERMSIG(status));
    else
        bd_frame_append_number(&a->sending.data, BD_FRAME_EXIT, WEXITSTATUS(status));
    a->state = AGENT_ENDED;
}

static void on_child_ended(agent *a)
{
    siginfo_t info = {0};
    while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid) {
        const pid_t pid = info.si_pid;
        if (pid == a->task.pid) kill(-pid, SIGKILL); // its children, while its process id is not reused
        int status;
        if (waitpid(pid, &status, 0) == pid && pid == a->task.pid) on_task_ended(a, status);
        info.si_pid = 0;
    }
}

static void read_signals(agent *a)
{
    struct signalfd_siginfo info;
    while (read(a->signal_fd, &info, sizeof info) == sizeof info) {
        if (info.ssi_signo == SIGCHLD)
            on_child_ended(a);
        else
            a->state = AGENT_LOST;
    }
}

// ---- The loop ----

static int timeout_ms(const agent *a)
{
    const int64_t left = (a->silence_ns - bd_now_ns() + 999999) / 1000000;
    return left < 0 ? 0 : (int)left;
}

static void poll_once(agent *a)
{
    const bool reads = bd_byte_queue_len(&a->sending) < SENDING_MAX;
    struct pollfd fds[] = {
        {.fd = 0, .events = POLLIN},
        {.fd = bd_byte_queue_len(&a->sending) ? 1 : -1, .events = POLLOUT},
        {.fd = a->signal_fd, .events = POLLIN},
        {.fd = reads ? a->task.out : -1, .events = POLLIN},
        {.fd = reads ? a->task.err : -1, .events = POLLIN},
        {.fd = a->task.notice, .events = POLLIN},
    };
    if (poll(fds, sizeof fds / sizeof *fds, timeout_ms(a)) > 0) {
        if (fds[3].revents) read_stream(a, &a->task.out, BD_FRAME_OUT);
        if (fds[4].revents) read_stream(a, &a->task.err, BD_FRAME_ERR);
        if (fds[5].revents) read_stream(a, &a->task.notice, BD_FRAME_DONE);
        if (fds[2].revents) read_signals(a);
        if (fds[0].revents && a->state != AGENT_LOST) read_input(a);
        if (fds[1].revents && !bd_byte_queue_write(&a->sending, 1)) a->state = AGENT_LOST;
    }
    if (bd_now_ns() >= a->silence_ns) a->state = AGENT_LOST;
}

static void open_signals(agent *a)
{
    sigset_t set;
    sigemptyset(&set);
    const int handled[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD};
    for (size_t i = 0; i < sizeof handled / sizeof *handled; i++)
        sigaddset(&set, handled[i]);
    sigprocmask(SIG_BLOCK, &set, &a->old_mask);
    a->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    signal(SIGPIPE, SIG_IGN);
}

static int serve(void)
{
    agent a = {.task = {0, -1, -1, -1, -1}, .silence_ns = bd_deadline_after_ms(BD_SILENCE_MS)};
    open_signals(&a);
    bd_adopt_orphans();
    fcntl(0, F_SETFL, fcntl(0, F_GETFL) | O_NONBLOCK);
    fcntl(1, F_SETFL, fcntl(1, F_GETFL) | O_NONBLOCK);
    bd_frame_append(&a.sending.data, BD_FRAME_HELLO, BD_HELLO, strlen(BD_HELLO));
    while (a.state < AGENT_ENDED || (a.state == AGENT_ENDED && bd_byte_queue_len(&a.sending) > 0))
        poll_once(&a);
    if (a.task.pid) kill(-a.task.pid, SIGKILL);
    bd_kill_children();
    const int fds[] = {a.task.out, a.task.err, a.task.notice, a.signal_fd};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0) close(fds[i]);
    bd_key_dir_remove(a.key_dir);
    bd_byte_queue_fini(&a.receiving);
    bd_byte_queue_fini(&a.sending);
    return a.state == AGENT_LOST ? EXIT_LOST : 0;
}

static int agent_main(int argc, char **argv)
{
    const bd_flags flags = {
        "braid agent", "",
        "Starts a task on this host for 'braid run --hosts' on another one, which calls this command by ssh.\n"
        "It ends, and kills the task, when its standard input ends or is silent for 20 seconds.",
        NULL, 0};
    int rest;
    switch (bd_flags_parse(&flags, argc, argv, &rest)) {
    case BD_FLAGS_HELP: return 0;
    case BD_FLAGS_ERROR: return BD_EXIT_USAGE;
    case BD_FLAGS_OK: break;
    }
    if (rest == argc) return serve();
    fprintf(stderr, "braid agent: unexpected argument '%s'. See 'braid agent --help'.\n", argv[rest]);
    return BD_EXIT_USAGE;
}

BD_COMMAND(agent) = {
    .name = "agent",
    .usage = "",
    .summary = "start a task for 'braid run' of another host",
    .main = agent_main,
};
