// `braid timeline`: a traced step as a table or in Chrome's trace format.
#include "command.h"
#include "flags.h"
#include <braid/monitoring.h>
#include <braid/run_metadata.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The default number of ops for each device: a screen.
#define ROWS_DEFAULT 15
#define TIMEOUT_DEFAULT_MS 60000

typedef struct timeline_flags {
    const char *output, *tag, *server, *tls_dir;
    int64_t rows, timeout_ms;
    bool memory;
} timeline_flags;

static bd_flags_result parse(timeline_flags *f, int argc, char **argv, const char **path)
{
    const bd_flag table[] = {
        {"server", BD_FLAG_STRING, &f->server, 0, "HOST:PORT",
         "trace the next step that begins there, in place of FILE"},
        {"timeout", BD_FLAG_SECONDS, &f->timeout_ms, 0, "SECONDS",
         "how long to wait for that step (default 60)"},
        {"tls-dir", BD_FLAG_STRING, &f->tls_dir, 0, "DIR",
         "speak TLS with the certificate in DIR (default: BRAID_TLS_DIR)"},
        {"output", BD_FLAG_STRING, &f->output, 0, "FILE",
         "write a timeline for chrome://tracing or Perfetto ('-': to stdout)"},
        {"memory", BD_FLAG_BOOL, &f->memory, 0, NULL, "add the memory of outputs to the timeline"},
        {"tag", BD_FLAG_STRING, &f->tag, 0, "TAG",
         "the step with this tag in an event file (default: the last step)"},
        {"rows", BD_FLAG_INT, &f->rows, 0, "N", "ops of each device in the table (default 15; 0: all)"},
    };
    const bd_flags flags = {
        "braid timeline", "[OPTIONS] FILE | --server HOST:PORT",
        "Shows the timeline of a traced step. FILE is a serialized RunMetadata message, written by a\n"
        "TensorFlow program (run_metadata.SerializeToString()) or by braid_run_metadata_write, or an event\n"
        "file. --server traces a cluster at work: the next step that the task begins as a master, as\n"
        "'braid status' names it.\n"
        "Prints the time of each op on each device, and the transfers from other tasks.\n\n"
        "Example:\n"
        "  braid timeline --output step.json run_metadata.pb\n"
        "  braid timeline --server localhost:2223",
        table, sizeof table / sizeof *table};
    int rest;
    const bd_flags_result result = bd_flags_parse(&flags, argc, argv, &rest);
    if (result != BD_FLAGS_OK) return result;
    if (rest + (f->server ? 0 : 1) == argc) {
        *path = argv[rest]; // NULL behind the last
        return BD_FLAGS_OK;
    }
    if (rest == argc)
        fprintf(stderr, "braid timeline: FILE is missing. See 'braid timeline --help'.\n");
    else if (f->server)
        fprintf(stderr, "braid timeline: --server takes the place of FILE '%s'.\n", argv[rest]);
    else
        fprintf(stderr, "braid timeline: unexpected argument '%s': one file at a time.\n", argv[rest + 1]);
    return BD_FLAGS_ERROR;
}

static int fail(const braid_status *st)
{
    fprintf(stderr, "braid timeline: %s: %s\n", braid_code_name(braid_status_code(st)),
            braid_status_message(st));
    return 1;
}

static int print(const char *text)
{
    if (fputs(text, stdout) >= 0 && !fflush(stdout)) return 0;
    fprintf(stderr, "braid timeline: stdout: %s\n", strerror(errno));
    return 1;
}

static int show(const braid_run_metadata *m, const timeline_flags *f, braid_status *st)
{
    const braid_timeline_options options = {.show_memory = f->memory};
    if (f->output && strcmp(f->output, "-") != 0)
        return braid_run_metadata_timeline_write(m, &options, f->output, st) ? fail(st) : 0;
    char *text = f->output ? braid_run_metadata_timeline(m, &options, st)
                           : braid_run_metadata_summary(m, (int)f->rows, st);
    if (!text) return fail(st);
    const int code = print(text);
    free(text); // the caller's, by free(): we are the caller
    return code;
}

static braid_run_metadata *get(const timeline_flags *f, const char *path, braid_status *st)
{
    if (!f->server) return braid_run_metadata_read(path, f->tag, st);
    const braid_monitor_options options = {.timeout_ms = f->timeout_ms, .tls_dir = f->tls_dir};
    return braid_trace_task(f->server, &options, st);
}

static int timeline_main(int argc, char **argv)
{
    timeline_flags f = {.rows = ROWS_DEFAULT, .timeout_ms = TIMEOUT_DEFAULT_MS};
    const char *path = NULL;
    switch (parse(&f, argc, argv, &path)) {
    case BD_FLAGS_HELP: return 0;
    case BD_FLAGS_ERROR: return BD_EXIT_USAGE;
    case BD_FLAGS_OK: break;
    }
    braid_status *st = braid_status_new();
    braid_run_metadata *m = get(&f, path, st);
    const int code = m ? show(m, &f, st) : fail(st);
    braid_run_metadata_free(m);
    braid_status_free(st);
    return code;
}

BD_COMMAND(timeline) = {
    .name = "timeline",
    .usage = "[OPTIONS] FILE | --server HOST:PORT",
    .summary = "show the timeline of a traced step",
    .main = timeline_main,
};
