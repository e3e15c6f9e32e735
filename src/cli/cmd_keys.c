// `braid keys`: the certificates of a cluster.
#include "command.h"
#include "flags.h"
#include <braid/keys.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define DAYS_DEFAULT 365
#define DAY_S 86400
#define WORDS_MAX 4 // one more than there may be

static int fail(const braid_status *st)
{
    fprintf(stderr, "braid keys: %s: %s\n", braid_code_name(braid_status_code(st)), braid_status_message(st));
    return 1;
}

static int make_authority(const char *dir, braid_status *st)
{
    if (braid_keys_new(dir, st)) return fail(st);
    printf("The authority is in %s: keep ca.key on this host. For the tasks, and for each client:\n"
           "  braid keys add --role task %s ps0\n"
           "  braid keys add --role client %s alice\n",
           dir, dir, dir);
    return 0;
}

static int add(const char *dir, const char *name, const char *role_name, int days, braid_status *st)
{
    const braid_role role = role_name ? braid_role_from_name(role_name) : BRAID_ROLE_NONE;
    if (role_name && role == BRAID_ROLE_NONE) {
        fprintf(stderr, "braid keys: '%s' is no role: task, client and viewer are.\n", role_name);
        return BD_EXIT_USAGE;
    }
    if (braid_keys_add(dir, name, role, days, st)) return fail(st);
    printf(
        "The certificate is in %s/%s: copy the directory to where it is used, and name it by --tls-dir or\n"
        "BRAID_TLS_DIR.\n",
        dir, name);
    return 0;
}

static int revoke(const char *dir, const char *name, braid_status *st)
{
    if (braid_keys_revoke(dir, name, st)) return fail(st);
    printf(
        "The certificates of %s are revoked: copy %s/crl.pem to the directories that tasks and clients use\n"
        "(--tls-dir, BRAID_TLS_DIR), those on other hosts, too. They take it within ten seconds.\n",
        name, dir);
    return 0;
}

// How many certificates of a table are of no use.
typedef struct listed {
    int expired, revoked;
} listed;

// A table of the certificates: name, role, and for how long they are valid.
static void print(void *arg, const braid_certificate *c)
{
    const int64_t now = (int64_t)time(NULL);
    listed *of = arg;
    char date[32];
    const time_t end = (time_t)c->not_after;
    struct tm utc;
    gmtime_r(&end, &utc);
    strftime(date, sizeof date, "%Y-%m-%d", &utc);
    const char *role = c->role == BRAID_ROLE_NONE ? "-" : braid_role_name(c->role);
    if (c->is_revoked) {
        printf("%-24s %-8s REVOKED\n", c->name, role);
        of->revoked++;
    } else if (c->not_after > now) {
        printf("%-24s %-8s until %s, %lld days\n", c->name, role, date,
               (long long)(c->not_after - now) / DAY_S);
    } else {
        printf("%-24s %-8s EXPIRED on %s\n", c->name, role, date);
        of->expired++;
    }
}

static int show(const char *dir, braid_status *st)
{
    listed of = {0};
    if (braid_keys_list(dir, print, &of, st)) return fail(st);
    if (of.expired) printf("Renew what has expired: braid keys add %s NAME\n", dir);
    if (of.revoked) printf("A holder of what is revoked gets a new one by: braid keys add %s NAME\n", dir);
    return of.expired || of.revoked ? 1 : 0;
}

static int run(char **args, int count, const char *role, int days, braid_status *st)
{
    const char *action = count > 0 ? args[0] : "";
    if (strcmp(action, "new") == 0 && count == 2 && !role) return make_authority(args[1], st);
    if (strcmp(action, "add") == 0 && count == 3) return add(args[1], args[2], role, days, st);
    if (strcmp(action, "revoke") == 0 && count == 3 && !role) return revoke(args[1], args[2], st);
    if (strcmp(action, "show") == 0 && count == 2 && !role) return show(args[1], st);
    fprintf(stderr, "braid keys: new DIR, add DIR NAME, revoke DIR NAME, or show DIR is expected. See "
                    "'braid keys --help'.\n");
    return BD_EXIT_USAGE;
}

static int keys_main(int argc, char **argv)
{
    const char *role = NULL;
    int64_t days = DAYS_DEFAULT;
    const bd_flag table[] = {
        {"role", BD_FLAG_STRING, &role, 0, "ROLE", "what its holder may do: task, client or viewer"},
        {"days", BD_FLAG_INT, &days, 1, "N", "how long the certificate is valid (default 365)"},
    };
    const bd_flags flags = {
        "braid keys", "[OPTIONS] new DIR | add DIR NAME | revoke DIR NAME | show DIR",
        "Makes the certificates of a cluster, whose tasks and clients then speak TLS and serve only each\n"
        "other. 'new' makes an authority in DIR. 'add' makes DIR/NAME, a directory with a certificate for\n"
        "--tls-dir or BRAID_TLS_DIR, or renews it; servers and clients take the renewed files without a\n"
        "restart. 'revoke' revokes all certificates that NAME has had, by DIR/crl.pem, which takes effect\n"
        "where it is copied beside a certificate. 'show' lists the certificates of an authority, or the one\n"
        "in a --tls-dir, and until when they are valid; it exits with 1 when one has expired or is revoked.\n\n"
        "Roles: a task serves and calls other tasks; a client opens sessions; a viewer looks (braid status).\n"
        "A task may do all that a client may, and a client all that a viewer may.\n\n"
        "Example:\n"
        "  braid keys new keys\n"
        "  braid keys --role task add keys ps0\n"
        "  braid keys --role client --days 30 add keys alice\n"
        "  braid keys show keys\n"
        "  braid keys revoke keys alice",
        table, sizeof table / sizeof *table};
    char *words[WORDS_MAX];
    int count = 0;
    for (int at = 0, next = 0; at < argc; at += next) { // options may stand before, between and behind words
        if (at > 0 && count < WORDS_MAX) words[count++] = argv[at];
        switch (bd_flags_parse(&flags, argc - at, argv + at, &next)) {
        case BD_FLAGS_HELP: return 0;
        case BD_FLAGS_ERROR: return BD_EXIT_USAGE;
        case BD_FLAGS_OK: break;
        }
    }
    braid_status *st = braid_status_new();
    const int code = run(words, count, role, days > INT32_MAX ? INT32_MAX : (int)days, st);
    braid_status_free(st);
    return code;
}

BD_COMMAND(keys) = {
    .name = "keys",
    .usage = "[OPTIONS] new DIR | add DIR NAME | revoke DIR NAME | show DIR",
    .summary = "make, revoke and list the certificates of a cluster",
    .main = keys_main,
};
