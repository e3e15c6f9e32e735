// `braid status`: what the tasks of a cluster are doing.
//
// Between two drawings it waits for an event: a signal, or a key. The signals are blocked from the start,
// before the library starts threads, and read from a signalfd.
#include "base/alloc.h"
#include "base/clock.h"
#include "base/strbuf.h"
#include "cluster_view.h"
#include "command.h"
#include "flags.h"
#include "screen.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define WATCH_DEFAULT_MS 2000
// The time between the two descriptions that rates are made of, when there is no --watch.
#define RATE_MS 500
#define TIMEOUT_DEFAULT_MS 3000
#define WAIT_DEFAULT_MS 60000
#define WORDS_MAX 2 // one more than there may be

typedef struct status_flags {
    bool json, waits;
    int64_t watch_ms, timeout_ms; // 0: once; the default
    const char *tls_dir;
} status_flags;

typedef struct watch {
    const status_flags *flags;
    braid_monitor *monitor;
    bd_cluster_view view;
    bd_screen screen;
    bool draws; // on a terminal; else lines for a log
    int signals;
    int exit_signal;
    bool is_over;
} watch;

static int fail(const braid_status *st)
{
    fprintf(stderr, "braid status: %s: %s\n", braid_code_name(braid_status_code(st)),
            braid_status_message(st));
    return 1;
}

// ---- Output ----

static bool print(const char *text, size_t len)
{
    if (fwrite(text, 1, len, stdout) == len && fflush(stdout) == 0) return true;
    fprintf(stderr, "braid status: stdout: %s\n", strerror(errno));
    return false;
}

static bool print_lines(const bd_view_lines *lines)
{
    bd_strbuf out = {0};
    for (size_t i = 0; i < lines->len; i++) {
        bd_screen_append_line(&out, &lines->items[i], 0, bd_screen_has_colours());
        bd_strbuf_append_char(&out, '\n');
    }
    const bool is_printed = print(bd_strbuf_str(&out), out.len);
    bd_strbuf_fini(&out);
    return is_printed;
}

static bool print_json(const bd_cluster_view *v)
{
    char *json = bd_cluster_view_json(v);
    const bool is_printed = print(json, strlen(json));
    bd_free(json);
    return is_printed;
}

static bool show(watch *w)
{
    if (w->flags->json) return print_json(&w->view);
    bd_view_lines lines = {0};
    const bool is_log = w->flags->watch_ms && !w->draws;
    if (is_log)
        bd_cluster_view_log(&w->view, &lines);
    else
        bd_cluster_view_show(&w->view, &lines);
    const bool is_shown = w->draws ? bd_screen_draw(&w->screen, &lines) : print_lines(&lines);
    bd_view_lines_fini(&lines);
    return is_shown;
}

// ---- Waiting ----

static int open_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaddset(&set, signals[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

// Ctrl-Z: the shell gets its screen, and this program draws again when it goes on.
static void stop(watch *w)
{
    const bool drew = w->screen.is_open;
    bd_screen_close(&w->screen);
    kill(getpid(), SIGSTOP);
    if (drew) bd_screen_open(&w->screen);
}

static void take_signals(watch *w)
{
    struct signalfd_siginfo info;
    while (read(w->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGTSTP) {
            stop(w);
        } else if (info.ssi_signo != SIGWINCH) {
            w->is_over = true;
            w->exit_signal = (int)info.ssi_signo;
        }
    }
}

static void take_keys(watch *w)
{
    char keys[64];
    const ssize_t n = read(STDIN_FILENO, keys, sizeof keys);
    if (n == 0) w->screen.has_keys = false; // the end: there are no more
    for (ssize_t i = 0; i < n; i++)
        w->is_over |= keys[i] == 'q' || keys[i] == 'Q';
}

// Waits for the deadline, or the end. A new size of the window is drawn at once.
static void wait_until(watch *w, int64_t deadline_ns)
{
    int64_t left_ms;
    while (!w->is_over && (left_ms = bd_deadline_left_ms(deadline_ns)) > 0) {
        struct pollfd events[] = {{.fd = w->signals, .events = POLLIN},
                                  {.fd = w->screen.has_keys ? STDIN_FILENO : -1, .events = POLLIN}};
        if (poll(events, 2, left_ms < INT32_MAX ? (int)left_ms : INT32_MAX) <= 0) continue;
        if (events[1].revents) take_keys(w);
        if (events[0].revents) {
            take_signals(w);
            if (w->draws && !w->is_over && !show(w)) w->is_over = true;
        }
    }
}

// ---- The command ----

// Rates need two descriptions.
static void look(watch *w)
{
    if (!w->flags->json) {
        wait_until(w, bd_deadline_after_ms(RATE_MS));
        if (!w->is_over) bd_cluster_view_refresh(&w->view, w->monitor);
    }
    if (!w->is_over && !show(w)) w->is_over = true;
}

static void look_again_and_again(watch *w)
{
    w->draws = isatty(STDOUT_FILENO) && !w->flags->json;
    if (w->draws) bd_screen_open(&w->screen);
    while (!w->is_over) {
        const int64_t next_ns = bd_deadline_after_ms(w->flags->watch_ms);
        if (!show(w)) break;
        wait_until(w, next_ns);
        if (!w->is_over) bd_cluster_view_refresh(&w->view, w->monitor);
    }
    bd_screen_close(&w->screen);
}

static int64_t timeout_of(const status_flags *f)
{
    const int64_t default_ms = f->waits ? WAIT_DEFAULT_MS : TIMEOUT_DEFAULT_MS;
    return f->timeout_ms ? f->timeout_ms : default_ms;
}

static int run(const char *address, const status_flags *f, braid_status *st)
{
    watch w = {.flags = f, .signals = open_signals()};
    const braid_monitor_options options = {
        .timeout_ms = timeout_of(f), .waits = f->waits, .tls_dir = f->tls_dir};
    w.monitor = braid_monitor_new(&options, st);
    int code = 1;
    if (!w.monitor || bd_cluster_view_open(&w.view, w.monitor, address, st)) {
        fail(st);
    } else {
        if (f->watch_ms)
            look_again_and_again(&w);
        else
            look(&w);
        code = w.exit_signal ? 128 + w.exit_signal : bd_cluster_view_answers(&w.view) == w.view.count ? 0 : 1;
    }
    bd_cluster_view_fini(&w.view);
    braid_monitor_free(w.monitor);
    close(w.signals);
    return code;
}

static bd_flags_result parse(status_flags *f, int argc, char **argv, const char **address)
{
    const bd_flag table[] = {
        {"watch", BD_FLAG_OPTIONAL_SECONDS, &f->watch_ms, WATCH_DEFAULT_MS, "[SECONDS]",
         "show it again and again, every 2 seconds by default"},
        {"json", BD_FLAG_BOOL, &f->json, 0, NULL, "print all that the tasks say, as JSON"},
        {"tls-dir", BD_FLAG_STRING, &f->tls_dir, 0, "DIR",
         "speak TLS with the certificate in DIR (default: BRAID_TLS_DIR)"},
        {"timeout", BD_FLAG_SECONDS, &f->timeout_ms, 0, "SECONDS",
         "how long to wait for a task's answer (default 3; with --wait 60)"},
        {"wait", BD_FLAG_BOOL, &f->waits, 0, NULL, "wait for tasks that have not started yet"},
    };
    const bd_flags flags = {
        "braid status", "HOST:PORT [OPTIONS]",
        "Shows what a cluster is doing: its tasks, their memory and variables, sessions and their steps, and\n"
        "what steps in progress wait for. HOST:PORT is the address of any task, which names the others; they\n"
        "are asked at the same time. A certificate of the role viewer is enough. The exit code is 0 when all\n"
        "tasks have answered, else 1.\n\n"
        "--watch redraws a terminal until 'q' or Ctrl-C; elsewhere it prints a line each time.\n\n"
        "Example:\n"
        "  braid status localhost:2222 --watch",
        table, sizeof table / sizeof *table};
    char *words[WORDS_MAX];
    int count = 0;
    for (int at = 0, next = 0; at < argc; at += next) { // options may stand before and behind the address
        if (at > 0 && count < WORDS_MAX) words[count++] = argv[at];
        const bd_flags_result result = bd_flags_parse(&flags, argc - at, argv + at, &next);
        if (result != BD_FLAGS_OK) return result;
    }
    if (count == 1) {
        *address = words[0];
        return BD_FLAGS_OK;
    }
    fprintf(stderr, "braid status: the address of one task is expected. See 'braid status --help'.\n");
    return BD_FLAGS_ERROR;
}

static int status_main(int argc, char **argv)
{
    status_flags f = {0};
    const char *address = NULL;
    switch (parse(&f, argc, argv, &address)) {
    case BD_FLAGS_HELP: return 0;
    case BD_FLAGS_ERROR: return BD_EXIT_USAGE;
    case BD_FLAGS_OK: break;
    }
    braid_status *st = braid_status_new();
    const int code = run(address, &f, st);
    braid_status_free(st);
    return code;
}

BD_COMMAND(status) = {
    .name = "status",
    .usage = "HOST:PORT [OPTIONS]",
    .summary = "show what a cluster is doing",
    .main = status_main,
};
