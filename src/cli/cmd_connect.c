// `braid connect`: an entrance on this host to a server that speaks TLS, for programs that do not.
#include "command.h"
#include "flags.h"
#include <braid/tunnel.h>
#include <signal.h>
#include <stdio.h>

typedef struct connect_flags {
    const char *listen, *tls_dir, *allow_user, *target;
} connect_flags;

static bd_flags_result parse(connect_flags *f, int argc, char **argv)
{
    const bd_flag table[] = {
        {"listen", BD_FLAG_STRING, &f->listen, 0, "HOST:PORT|unix:/PATH",
         "where clients connect (default: 127.0.0.1, a free port)"},
        {"tls-dir", BD_FLAG_STRING, &f->tls_dir, 0, "DIR",
         "the certificate for the server is in DIR (default: BRAID_TLS_DIR)"},
        {"allow-user", BD_FLAG_STRING, &f->allow_user, 0, "USER[,USER...]",
         "take connections of these users of this host, too"},
    };
    const bd_flags flags = {
        "braid connect", "[OPTIONS] TARGET_HOST:PORT",
        "Opens an entrance on this host to a server of a cluster that speaks TLS, for programs that do not,\n"
        "as those of TensorFlow 1.x. It takes connections of its own user's processes on a loopback address,\n"
        "and carries them to the server with the user's certificate. It prints the target of sessions, and\n"
        "ends on SIGTERM or SIGINT.\n\n"
        "Example:\n"
        "  braid connect --listen 127.0.0.1:2222 --tls-dir keys/alice ps0.example:2222\n"
        "  python train.py --master grpc://127.0.0.1:2222",
        table, sizeof table / sizeof *table};
    int rest;
    const bd_flags_result result = bd_flags_parse(&flags, argc, argv, &rest);
    if (result != BD_FLAGS_OK) return result;
    if (rest + 1 != argc) {
        fprintf(stderr, "braid connect: the address of one server is expected, HOST:PORT. "
                        "See 'braid connect --help'.\n");
        return BD_FLAGS_ERROR;
    }
    f->target = argv[rest];
    return BD_FLAGS_OK;
}

// They are blocked before the tunnel starts threads, so that none of them takes a signal.
static void block_ends(sigset_t *ends)
{
    sigemptyset(ends);
    sigaddset(ends, SIGTERM);
    sigaddset(ends, SIGINT);
    sigprocmask(SIG_BLOCK, ends, NULL);
}

// Serves until a signal. A second one ends the program at once, whatever the end of the tunnel waits for.
static void serve(braid_tunnel *tunnel, const char *target, const sigset_t *ends)
{
    int number;
    printf("Listening: sessions with the target grpc://%s reach %s\n", braid_tunnel_address(tunnel), target);
    fflush(stdout);
    sigwait(ends, &number);
    sigprocmask(SIG_UNBLOCK, ends, NULL);
}

static int connect_main(int argc, char **argv)
{
    connect_flags f = {0};
    sigset_t ends;
    switch (parse(&f, argc, argv)) {
    case BD_FLAGS_HELP: return 0;
    case BD_FLAGS_ERROR: return BD_EXIT_USAGE;
    case BD_FLAGS_OK: break;
    }
    block_ends(&ends);
    braid_status *st = braid_status_new();
    braid_tunnel *tunnel = braid_tunnel_open(f.listen, f.target, f.tls_dir, f.allow_user, st);
    const int code = tunnel ? 0 : 1;
    if (tunnel)
        serve(tunnel, f.target, &ends);
    else
        fprintf(stderr, "braid connect: %s: %s\n", braid_code_name(braid_status_code(st)),
                braid_status_message(st));
    braid_tunnel_free(tunnel);
    braid_status_free(st);
    return code;
}

BD_COMMAND(connect) = {
    .name = "connect",
    .usage = "[OPTIONS] TARGET_HOST:PORT",
    .summary = "let programs without TLS reach a server",
    .main = connect_main,
};
